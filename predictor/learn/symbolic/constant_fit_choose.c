/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the constants of an equation that are independent parameters. */
#include "config.h"

#include "predictor/learn/symbolic/constant_fit_work.h"

/*
 * Role of a node. ADDED: an ancestor already adds a free constant to the value of the node; SCALED:
 * an ancestor multiplies the value by one. Another such constant would be redundant. FITTED: a
 * constant subtree that is a parameter.
 */
enum { ADDED = 1, SCALED = 2, FITTED = 4 };

struct roles {
  uint8_t role[FT_EXPRESSION_NODES];
  int constant[FT_EXPRESSION_NODES]; /* first constant of a subtree without variables; -1 with */
};

static void find_constant_subtrees(const struct ft_expression *e, const struct ft_links *s,
                                   struct roles *r)
{
  for (int i = 0; i < e->length; i++) {
    int l = s->left[i], k = s->right[i];

    r->role[i] = 0;
    r->constant[i] = -1;
    if (e->symbol[i] == FT_SYMBOL_CONSTANT)
      r->constant[i] = i;
    else if (l >= 0 && r->constant[l] >= 0 && (k < 0 || r->constant[k] >= 0))
      r->constant[i] = r->constant[l];
  }
}

/* Sets the roles of node I's operands C and X. C, a constant subtree, is a parameter unless node I
 * has the role EFFECT. X gets EFFECT, and the roles INHERITED of node I. */
static void assign_constant_operand(struct roles *r, int i, int c, int x, uint8_t effect,
                                    uint8_t inherited)
{
  r->role[c] = r->role[i] & effect ? 0 : FITTED;
  r->role[x] = effect | (r->role[i] & inherited);
}

/* Sets the roles of the operands of node I, whose subtree contains a variable. */
static void pass_roles_down(const struct ft_expression *e, const struct ft_links *s,
                            struct roles *r, int i)
{
  int l = s->left[i], k = s->right[i];
  bool lc = l >= 0 && r->constant[l] >= 0, kc = k >= 0 && r->constant[k] >= 0;

  switch ((enum ft_symbol)e->symbol[i]) {
  case FT_SYMBOL_ADD:
  case FT_SYMBOL_SUBTRACT:
    if (lc || kc)
      assign_constant_operand(r, i, lc ? l : k, lc ? k : l, ADDED, SCALED);
    else
      r->role[l] = r->role[k] = r->role[i] & ADDED;
    break;
  case FT_SYMBOL_MULTIPLY:
  case FT_SYMBOL_DIVIDE:
    if (lc && e->symbol[i] == FT_SYMBOL_DIVIDE)
      assign_constant_operand(r, i, l, k, SCALED, 0);
    else if (lc || kc)
      assign_constant_operand(r, i, lc ? l : k, lc ? k : l, SCALED, ADDED);
    else
      r->role[l] = r->role[k] = r->role[i] & SCALED;
    break;
  case FT_SYMBOL_SQUARE:
  case FT_SYMBOL_CUBE:
  case FT_SYMBOL_ROOT:
    r->role[l] = r->role[i] & SCALED;
    break;
  case FT_SYMBOL_EXPONENTIAL:
    r->role[l] = r->role[i] & SCALED ? ADDED : 0;
    break;
  case FT_SYMBOL_MINIMUM:
    r->role[l] = lc ? FITTED : 0;
    r->role[k] = kc ? FITTED : 0;
    break;
  case FT_SYMBOL_LOG:
  case FT_SYMBOL_SINE:
  case FT_SYMBOL_COSINE:
  case FT_SYMBOL_CONSTANT:
  case FT_SYMBOL_VARIABLE:
  case FT_SYMBOLS:
    break;
  }
}

int ft_constant_fit_choose(const struct ft_expression *e, const struct ft_links *s, int max,
                           int *node)
{
  bool chosen[FT_EXPRESSION_NODES] = { false };
  struct roles r;
  int count = 0;

  if (!e->length)
    return 0;
  find_constant_subtrees(e, s, &r);
  r.role[e->length - 1] = ADDED | SCALED;
  for (int i = e->length - 1; i >= 0; i--) {
    if (r.constant[i] < 0)
      pass_roles_down(e, s, &r, i);
    else if (r.role[i] & FITTED)
      chosen[r.constant[i]] = true;
  }
  for (int i = 0; i < e->length && count < max; i++)
    if (chosen[i])
      node[count++] = i;
  return count;
}
