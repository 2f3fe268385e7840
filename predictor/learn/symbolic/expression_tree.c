/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/learn/symbolic/expression_tree.h"

/* Probability that growth stops at a node above the depth limit. Half and twice were compared. */
#define LEAF_PROBABILITY 0.2
/* Standard deviation of a perturbed constant, relative to its value. Half and twice were compared.
 */
#define MUTATION_DEVIATION 0.1

void ft_grower_init(struct ft_grower *g, uint64_t seed, size_t variables, unsigned primitives)
{
  *g = (struct ft_grower){ .variables = variables };
  ft_random_seed(&g->random, seed);
  for (unsigned symbol = FT_SYMBOL_ADD; symbol < FT_SYMBOLS; symbol++)
    if (primitives & 1u << symbol) {
      if (ft_symbol_arity(symbol) == 1)
        g->unary[g->unary_count++] = (uint8_t)symbol;
      else
        g->binary[g->binary_count++] = (uint8_t)symbol;
    }
}

static double draw_constant(struct ft_grower *g)
{
  return exp(ft_random_normal(&g->random));
}

static uint8_t draw_operator(struct ft_grower *g)
{
  uint32_t i = ft_grower_below(g, g->unary_count + g->binary_count);

  return i < g->unary_count ? g->unary[i] : g->binary[i - g->unary_count];
}

static int draw_node(struct ft_grower *g, const struct ft_expression *e)
{
  return (int)ft_grower_below(g, e->length);
}

/* Sets node AT to a random variable or constant. */
static void add_terminal(struct ft_grower *g, struct ft_expression *e, int at)
{
  /* a constant is as likely as each variable */
  uint32_t v = ft_grower_below(g, (uint32_t)g->variables + 1);
  bool constant = v == g->variables;

  e->symbol[at] = constant ? FT_SYMBOL_CONSTANT : FT_SYMBOL_VARIABLE;
  e->variable[at] = constant ? 0 : (uint8_t)v;
  e->constant[at] = constant ? draw_constant(g) : 0;
}

/* Sets every field of the node, because nodes are compared with memcmp. */
static void append_symbol(struct ft_expression *e, uint8_t symbol)
{
  e->variable[e->length] = 0;
  e->constant[e->length] = 0;
  e->symbol[e->length++] = symbol;
}

static void grow_subtree(struct ft_grower *g, struct ft_expression *e, int depth)
{
  uint8_t symbol;

  if (depth <= 0 || e->length > FT_EXPRESSION_NODES / 2 || ft_grower_chance(g, LEAF_PROBABILITY)) {
    add_terminal(g, e, e->length++);
    return;
  }
  symbol = draw_operator(g);
  for (int i = 0; i < ft_symbol_arity(symbol); i++)
    grow_subtree(g, e, depth - 1);
  append_symbol(e, symbol);
}

void ft_expression_tree_grow(struct ft_grower *g, struct ft_expression *e, int depth)
{
  e->length = 0;
  grow_subtree(g, e, depth);
}

/* Copies COUNT nodes of FROM, from SOURCE on, to TO, from TARGET on. */
static void copy_nodes(struct ft_expression *to, int target, const struct ft_expression *from,
                       int source, int count)
{
  memcpy(to->symbol + target, from->symbol + source, (size_t)count);
  memcpy(to->variable + target, from->variable + source, (size_t)count);
  memcpy(to->constant + target, from->constant + source, (size_t)count * sizeof *to->constant);
}

void ft_expression_tree_copy(struct ft_expression *to, const struct ft_expression *from)
{
  to->length = from->length;
  copy_nodes(to, 0, from, 0, from->length);
}

/* Returns whether the evaluation of E needs more than FT_EXPRESSION_DEPTH stack elements. */
static bool too_deep(const struct ft_expression *e)
{
  int depth = 0, deepest = 0;

  for (int i = 0; i < e->length; i++) {
    depth += 1 - ft_symbol_arity(e->symbol[i]);
    deepest = depth > deepest ? depth : deepest;
  }
  return deepest > FT_EXPRESSION_DEPTH;
}

static bool nodes_equal(const struct ft_expression *a, int i, const struct ft_expression *b, int j,
                        int count)
{
  return memcmp(a->symbol + i, b->symbol + j, (size_t)count) == 0 &&
         memcmp(a->variable + i, b->variable + j, (size_t)count) == 0 &&
         memcmp(a->constant + i, b->constant + j, (size_t)count * sizeof *a->constant) == 0;
}

/*
 * Sets OUT to BASE with nodes FIRST..LAST replaced by COUNT nodes of SOURCE from FROM on. Returns
 * false, with OUT a copy of BASE, if the result is too long, too deep or unchanged.
 */
static bool splice_nodes(const struct ft_expression *base, int first, int last,
                         const struct ft_expression *source, int from, int count,
                         struct ft_expression *out)
{
  int tail = base->length - last - 1, length = first + count + tail;

  if (length <= FT_EXPRESSION_NODES &&
      (count != last + 1 - first || !nodes_equal(base, first, source, from, count))) {
    copy_nodes(out, 0, base, 0, first);
    copy_nodes(out, first, source, from, count);
    copy_nodes(out, first + count, base, last + 1, tail);
    out->length = (uint8_t)length;
    if (!too_deep(out))
      return true;
  }
  ft_expression_tree_copy(out, base);
  return false;
}

void ft_expression_tree_cross(struct ft_grower *g, const struct ft_expression *a,
                              const struct ft_expression *b, struct ft_expression *x,
                              struct ft_expression *y, bool changed[2])
{
  int i = draw_node(g, a), j = draw_node(g, b);
  int si = ft_expression_start(a, i), sj = ft_expression_start(b, j);

  changed[0] = splice_nodes(a, si, i, b, sj, j + 1 - sj, x);
  changed[1] = splice_nodes(b, sj, j, a, si, i + 1 - si, y);
}

/* ---- mutations: E, a copy of OLD, is mutated; returns whether E changed ---- */

/* Replaces a subtree by a random tree. */
static bool mutate_subtree(struct ft_grower *g, const struct ft_expression *old,
                           struct ft_expression *e)
{
  struct ft_expression grown;
  int i = draw_node(g, old);

  ft_expression_tree_grow(g, &grown, 2);
  return splice_nodes(old, ft_expression_start(old, i), i, &grown, 0, grown.length, e);
}

/* Replaces a symbol by another with the same number of operands. */
static bool mutate_node(struct ft_grower *g, const struct ft_expression *old,
                        struct ft_expression *e)
{
  int i = draw_node(g, old), arity = ft_symbol_arity(old->symbol[i]);

  if (arity == 0)
    add_terminal(g, e, i);
  else if (arity == 1)
    e->symbol[i] = g->unary[ft_grower_below(g, g->unary_count)];
  else
    e->symbol[i] = g->binary[ft_grower_below(g, g->binary_count)];
  return !nodes_equal(old, i, e, i, 1);
}

/* Inserts a symbol above a subtree. */
static bool mutate_insert(struct ft_grower *g, const struct ft_expression *old,
                          struct ft_expression *e)
{
  struct ft_expression inserted;
  int i = draw_node(g, old), start = ft_expression_start(old, i), count = i + 1 - start;
  uint8_t symbol = draw_operator(g);

  if (count + 2 > FT_EXPRESSION_NODES)
    return false;
  copy_nodes(&inserted, 0, old, start, count);
  inserted.length = (uint8_t)count;
  if (ft_symbol_arity(symbol) == 2)
    add_terminal(g, &inserted, inserted.length++);
  append_symbol(&inserted, symbol);
  return splice_nodes(old, start, i, &inserted, 0, inserted.length, e);
}

/* Replaces a symbol by one of its operands. */
static bool mutate_shrink(struct ft_grower *g, const struct ft_expression *old,
                          struct ft_expression *e)
{
  int i = draw_node(g, old), arity = ft_symbol_arity(old->symbol[i]), last = i - 1, start;

  if (!arity)
    return false;
  if (arity == 2 && ft_grower_below(g, 2))
    last = ft_expression_start(old, last) - 1;
  start = ft_expression_start(old, last);
  return splice_nodes(old, ft_expression_start(old, i), i, old, start, last + 1 - start, e);
}

/* Redraws or perturbs every constant. */
static bool mutate_constants(struct ft_grower *g, const struct ft_expression *old,
                             struct ft_expression *e)
{
  bool changed = false;

  for (int i = 0; i < old->length; i++)
    if (old->symbol[i] == FT_SYMBOL_CONSTANT) {
      e->constant[i] =
          ft_grower_below(g, 2)
              ? draw_constant(g)
              : old->constant[i] * (1 + MUTATION_DEVIATION * ft_random_normal(&g->random));
      changed = true;
    }
  return changed;
}

bool ft_expression_tree_mutate(struct ft_grower *g, struct ft_expression *e)
{
  static bool (*const operators[])(struct ft_grower *, const struct ft_expression *,
                                   struct ft_expression *) = { mutate_subtree, mutate_node,
                                                               mutate_insert, mutate_shrink,
                                                               mutate_constants };
  struct ft_expression old;

  ft_expression_tree_copy(&old, e);
  return operators[ft_grower_below(g, sizeof operators / sizeof *operators)](g, &old, e);
}

/* Returns the value of the subtree FIRST..LAST of E at X. */
static double subtree_value(const struct ft_expression *e, int first, int last, const double *x)
{
  struct ft_expression part = { .slope = 1 };

  part.length = (uint8_t)(last + 1 - first);
  copy_nodes(&part, 0, e, first, part.length);
  memcpy(part.scale, e->scale + first, part.length * sizeof *part.scale);
  return ft_expression_evaluate(&part, x);
}

static bool reads_variable(const struct ft_expression *e, int first, int last)
{
  for (int i = first; i <= last; i++)
    if (e->symbol[i] == FT_SYMBOL_VARIABLE)
      return true;
  return false;
}

/* Returns the last node of the operand of the minimum at node I that is the smaller one on all
 * rows; -1 if neither is. */
static int smaller_operand(const struct ft_expression *e, int i, const struct ft_row_blocks *rows)
{
  int right = ft_expression_start(e, i - 1), left = ft_expression_start(e, right - 1);
  bool left_acts = false, right_acts = false;

  for (size_t r = 0; r < rows->rows && !(left_acts && right_acts); r++) {
    double x[FT_EXPRESSION_VARIABLES], a, b;

    for (size_t c = 0; c < rows->columns; c++)
      x[c] = rows->x[c * rows->padded + r];
    a = subtree_value(e, left, right - 1, x);
    b = subtree_value(e, right, i - 1, x);
    left_acts |= !(b <= a);
    right_acts |= !(a <= b);
  }
  return left_acts && right_acts ? -1 : right_acts ? i - 1 : right - 1;
}

bool ft_expression_tree_prune(struct ft_expression *e, const struct ft_row_blocks *rows)
{
  int before = e->length;

  for (int i = e->length - 1; i >= 0; i--) {
    struct ft_expression old = *e, constant = { .length = 1, .symbol = { FT_SYMBOL_CONSTANT } };
    int first = ft_expression_start(e, i), kept;

    if (first < i && !reads_variable(e, first, i)) {
      constant.constant[0] = subtree_value(e, first, i, NULL);
      if (isfinite(constant.constant[0]) && splice_nodes(&old, first, i, &constant, 0, 1, e))
        i = first;
    } else if (e->symbol[i] == FT_SYMBOL_MINIMUM && (kept = smaller_operand(e, i, rows)) >= 0) {
      int start = ft_expression_start(&old, kept);

      if (splice_nodes(&old, first, i, &old, start, kept + 1 - start, e))
        i = first + kept + 1 - start;
    }
  }
  return e->length < before;
}
