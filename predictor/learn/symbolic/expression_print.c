/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints equations; polynomials are expanded. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/learn/symbolic/expression.h"

enum {
  MONOMIALS = 64, /* largest number of terms of an expanded polynomial; bounds memory */
  DEGREE = 12,    /* largest degree of one */
  LEAVES = (FT_EXPRESSION_NODES + 1) / 2 /* largest number of leaves of a binary tree */
};

/* Variables of an equation, in ascending order. */
struct variable_list {
  int count;
  uint8_t variable[LEAVES];
};

struct monomial {
  double coefficient;
  uint8_t power[LEAVES]; /* exponent of each variable of the list */
};

struct polynomial {
  int count;
  struct monomial term[MONOMIALS];
};

static struct variable_list list_variables(const struct ft_expression *e)
{
  struct variable_list r = { 0 };

  for (int i = 0; i < e->length; i++) {
    uint8_t v = e->variable[i];
    int at = 0;

    if (e->symbol[i] != FT_SYMBOL_VARIABLE)
      continue;
    while (at < r.count && r.variable[at] < v)
      at++;
    if (at < r.count && r.variable[at] == v)
      continue;
    memmove(r.variable + at + 1, r.variable + at, (size_t)(r.count - at));
    r.variable[at] = v;
    r.count++;
  }
  return r;
}

static int variable_index(const struct variable_list *r, uint8_t variable)
{
  int at = 0;

  while (r->variable[at] != variable)
    at++;
  return at;
}

/* Adds M to P, combined with a term of equal powers. Returns false if there are too many terms. */
static bool add_term(struct polynomial *p, const struct monomial *m)
{
  for (int i = 0; i < p->count; i++)
    if (memcmp(p->term[i].power, m->power, sizeof m->power) == 0) {
      p->term[i].coefficient += m->coefficient;
      return true;
    }
  if (p->count == MONOMIALS)
    return false;
  p->term[p->count++] = *m;
  return true;
}

static bool multiply_polynomials(const struct polynomial *a, const struct polynomial *b,
                                 struct polynomial *out)
{
  out->count = 0;
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++) {
      struct monomial m = a->term[i];
      int degree = 0;

      m.coefficient *= b->term[j].coefficient;
      for (int v = 0; v < LEAVES; v++)
        degree += m.power[v] = (uint8_t)(m.power[v] + b->term[j].power[v]);
      if (degree > DEGREE || !add_term(out, &m))
        return false;
    }
  return true;
}

static bool add_polynomial(const struct polynomial *b, double sign, struct polynomial *a)
{
  for (int i = 0; i < b->count; i++) {
    struct monomial m = b->term[i];

    m.coefficient *= sign;
    if (!add_term(a, &m))
      return false;
  }
  return true;
}

/* Applies symbol I to a stack of polynomials. Returns false if the result is no polynomial or too
 * long. */
static bool step_polynomial(const struct ft_expression *e, const struct variable_list *r, int i,
                            struct polynomial *stack, int *top)
{
  struct polynomial *a, result, twice;
  struct monomial m = { .coefficient = 1 };

  switch ((enum ft_symbol)e->symbol[i]) {
  case FT_SYMBOL_CONSTANT:
    m.coefficient = e->constant[i];
    break;
  case FT_SYMBOL_VARIABLE:
    m.coefficient = 1 / e->scale[i];
    m.power[variable_index(r, e->variable[i])] = 1;
    break;
  case FT_SYMBOL_ADD:
  case FT_SYMBOL_SUBTRACT:
    --*top;
    return add_polynomial(&stack[*top], e->symbol[i] == FT_SYMBOL_ADD ? 1 : -1, &stack[*top - 1]);
  case FT_SYMBOL_MULTIPLY:
    --*top;
    a = &stack[*top - 1];
    if (!multiply_polynomials(a, &stack[*top], &result))
      return false;
    *a = result;
    return true;
  case FT_SYMBOL_SQUARE:
  case FT_SYMBOL_CUBE:
    a = &stack[*top - 1];
    if (!multiply_polynomials(a, a, &result))
      return false;
    if (e->symbol[i] == FT_SYMBOL_CUBE) {
      if (!multiply_polynomials(&result, a, &twice))
        return false;
      result = twice;
    }
    *a = result;
    return true;
  default:
    return false;
  }
  stack[*top].count = 1;
  stack[(*top)++].term[0] = m;
  return true;
}

static int compare_degrees(const struct monomial *a, const struct monomial *b)
{
  int da = 0, db = 0;

  for (int v = 0; v < LEAVES; v++) {
    da += a->power[v];
    db += b->power[v];
  }
  return da != db ? db - da : memcmp(b->power, a->power, sizeof a->power);
}

static bool expand_polynomial(const struct ft_expression *e, const struct variable_list *r,
                              struct polynomial *out)
{
  struct polynomial stack[FT_EXPRESSION_DEPTH];
  struct monomial constant = { .coefficient = e->intercept };
  int top = 0;

  for (int i = 0; i < e->length; i++)
    if (!step_polynomial(e, r, i, stack, &top))
      return false;
  *out = stack[0];
  for (int i = 0; i < out->count; i++)
    out->term[i].coefficient *= e->slope;
  if (!add_term(out, &constant))
    return false;
  for (int i = 1; i < out->count; i++)
    for (int j = i; j > 0 && compare_degrees(&out->term[j - 1], &out->term[j]) > 0; j--) {
      struct monomial m = out->term[j];

      out->term[j] = out->term[j - 1];
      out->term[j - 1] = m;
    }
  return true;
}

struct style {
  bool latex;
  int digits; /* significant digits of a coefficient */
};

/* Prints a coefficient; in LaTeX an exponent becomes a power of ten. */
static int print_coefficient(double value, struct style style, struct ft_buf *out)
{
  char text[40];
  const char *exponent;

  (void)snprintf(text, sizeof text, "%.*g", style.digits, value);
  exponent = style.latex ? strchr(text, 'e') : NULL;
  if (!exponent)
    return ft_buf_printf(out, "%s", text);
  /* "e+09" and "e-05" */
  return ft_buf_printf(out, "%.*s \\times 10^{%s%s}", (int)(exponent - text), text,
                       exponent[1] == '-' ? "-" : "", exponent + 2 + strspn(exponent + 2, "0"));
}

/* Returns the LaTeX of a character that TeX treats specially; NULL for others. */
static const char *latex_escape(char c)
{
  static const struct {
    char c;
    const char *tex;
  } special[] = { { '_', "\\_" },       { '%', "\\%" },    { '&', "\\&" },
                  { '#', "\\#" },       { '$', "\\$" },    { ' ', "\\ " },
                  { '{', "\\{" },       { '}', "\\}" },    { '\\', "{\\backslash}" },
                  { '^', "{\\wedge}" }, { '~', "{\\sim}" } };

  for (size_t i = 0; i < sizeof special / sizeof *special; i++)
    if (special[i].c == c)
      return special[i].tex;
  return NULL;
}

static int print_name(const char *name, struct style style, struct ft_buf *out)
{
  if (!style.latex)
    return ft_buf_printf(out, "%s", name);
  if (ft_buf_printf(out, "\\mathrm{") < 0)
    return -1;
  for (; *name; name++) {
    const char *tex = latex_escape(*name);

    if ((tex ? ft_buf_printf(out, "%s", tex) : ft_buf_printf(out, "%c", *name)) < 0)
      return -1;
  }
  return ft_buf_printf(out, "}");
}

static int print_monomial(const struct monomial *m, const struct variable_list *r,
                          const char *const *names, struct style style, struct ft_buf *out)
{
  if (print_coefficient(fabs(m->coefficient), style, out) < 0)
    return -1;
  for (int v = 0; v < r->count; v++) {
    if (!m->power[v])
      continue;
    if (ft_buf_printf(out, style.latex ? " \\cdot " : "*") < 0 ||
        print_name(names[r->variable[v]], style, out) < 0)
      return -1;
    if (m->power[v] > 1 && ft_buf_printf(out, style.latex ? "^{%d}" : "^%d", m->power[v]) < 0)
      return -1;
  }
  return 0;
}

static int print_polynomial(const struct polynomial *p, const struct variable_list *r,
                            const char *const *names, struct style style, struct ft_buf *out)
{
  bool first = true;

  for (int i = 0; i < p->count; i++) {
    const struct monomial *m = &p->term[i];

    if (m->coefficient == 0)
      continue;
    if (ft_buf_printf(out, "%s",
                      first ? (m->coefficient < 0 ? "-" : "")
                            : (m->coefficient < 0 ? " - " : " + ")) < 0 ||
        print_monomial(m, r, names, style, out) < 0)
      return -1;
    first = false;
  }
  return first ? ft_buf_printf(out, "0") : 0;
}

/* Text before, between and after operands; [0]: plain, [1]: LaTeX. */
static const struct form {
  const char *before[2], *between[2], *after[2];
} forms[FT_SYMBOLS] = {
  [FT_SYMBOL_ADD] = { { "(", "\\left(" }, { " + ", " + " }, { ")", "\\right)" } },
  [FT_SYMBOL_SUBTRACT] = { { "(", "\\left(" }, { " - ", " - " }, { ")", "\\right)" } },
  [FT_SYMBOL_MULTIPLY] = { { "", "" }, { "*", " \\cdot " }, { "", "" } },
  [FT_SYMBOL_DIVIDE] = { { "(", "\\frac{" }, { "/", "}{" }, { ")", "}" } },
  [FT_SYMBOL_SQUARE] = { { "(", "\\left(" }, { 0 }, { ")^2", "\\right)^{2}" } },
  [FT_SYMBOL_CUBE] = { { "(", "\\left(" }, { 0 }, { ")^3", "\\right)^{3}" } },
  [FT_SYMBOL_ROOT] = { { "sqrt(abs(", "\\sqrt{\\left|" }, { 0 }, { "))", "\\right|}" } },
  [FT_SYMBOL_LOG] = { { "log(1 + abs(", "\\log\\left(1 + \\left|" },
                      { 0 },
                      { "))", "\\right|\\right)" } },
  [FT_SYMBOL_SINE] = { { "sin(", "\\sin\\left(" }, { 0 }, { ")", "\\right)" } },
  [FT_SYMBOL_COSINE] = { { "cos(", "\\cos\\left(" }, { 0 }, { ")", "\\right)" } },
  [FT_SYMBOL_EXPONENTIAL] = { { "exp(", "\\exp\\left(" }, { 0 }, { ")", "\\right)" } },
  [FT_SYMBOL_MINIMUM] = { { "min(", "\\min\\left(" }, { ", ", ", " }, { ")", "\\right)" } }
};

/* Prints a variable divided by its scale, if that is not 1. */
static int print_variable(const char *name, double scale, struct style style, struct ft_buf *out)
{
  bool divided = scale != 1;

  if (divided && ft_buf_printf(out, style.latex ? "\\frac{" : "(") < 0)
    return -1;
  if (print_name(name, style, out) < 0)
    return -1;
  if (!divided)
    return 0;
  if (ft_buf_printf(out, style.latex ? "}{" : "/") < 0 || print_coefficient(scale, style, out) < 0)
    return -1;
  return ft_buf_printf(out, style.latex ? "}" : ")");
}

/* Returns the value of the subtree that ends at I; NAN if it has a variable. */
static double constant_subtree_value(const struct ft_expression *e, int i)
{
  int start = ft_expression_start(e, i);
  struct ft_expression part = { .length = (uint8_t)(i + 1 - start), .slope = 1 };

  if (memchr(e->symbol + start, FT_SYMBOL_VARIABLE, part.length))
    return NAN;
  memcpy(part.symbol, e->symbol + start, part.length);
  memcpy(part.constant, e->constant + start, part.length * sizeof *part.constant);
  return ft_expression_evaluate(&part, NULL);
}

static int print_tree(const struct ft_expression *e, int i, const char *const *names,
                      struct style style, struct ft_buf *out)
{
  const struct form *form = &forms[e->symbol[i]];
  double value = constant_subtree_value(e, i);
  /* a product prints without brackets; as a divisor it needs them: a / (b * c) */
  bool bracket = !style.latex && e->symbol[i] == FT_SYMBOL_DIVIDE &&
                 e->symbol[i - 1] == FT_SYMBOL_MULTIPLY &&
                 !isfinite(constant_subtree_value(e, i - 1));

  if (isfinite(value))
    return print_coefficient(value, style, out);
  if (e->symbol[i] == FT_SYMBOL_VARIABLE)
    return print_variable(names[e->variable[i]], e->scale[i], style, out);
  if (ft_buf_printf(out, "%s", form->before[style.latex]) < 0)
    return -1;
  if (form->between[style.latex] &&
      (print_tree(e, ft_expression_start(e, i - 1) - 1, names, style, out) < 0 ||
       ft_buf_printf(out, "%s", form->between[style.latex]) < 0))
    return -1;
  if ((bracket && ft_buf_printf(out, "(") < 0) || print_tree(e, i - 1, names, style, out) < 0 ||
      (bracket && ft_buf_printf(out, ")") < 0))
    return -1;
  return ft_buf_printf(out, "%s", form->after[style.latex]);
}

/* Prints an equation that is no polynomial; intercept 0 and slope 1 are omitted. */
static int print_whole(const struct ft_expression *e, const char *const *names, struct style style,
                       struct ft_buf *out)
{
  if (e->intercept != 0 && (print_coefficient(e->intercept, style, out) < 0 ||
                            ft_buf_printf(out, e->slope < 0 ? " - " : " + ") < 0))
    return -1;
  if (e->intercept == 0 && e->slope < 0 && ft_buf_printf(out, "-") < 0)
    return -1;
  if (fabs(e->slope) != 1 && (print_coefficient(fabs(e->slope), style, out) < 0 ||
                              ft_buf_printf(out, style.latex ? " \\cdot " : "*") < 0))
    return -1;
  return print_tree(e, e->length - 1, names, style, out);
}

static int print_unit(const char *unit, struct style style, struct ft_buf *out)
{
  if (!unit || !unit[0])
    return 0;
  if (!style.latex)
    return ft_buf_printf(out, " [%s]", unit);
  return ft_buf_printf(out, "\\;") < 0 ? -1 : print_name(unit, style, out);
}

int ft_expression_print(const struct ft_expression *e, const char *const *names, const char *unit,
                        bool latex, int digits, struct ft_buf *out)
{
  const struct style style = { latex, digits };
  struct variable_list r = list_variables(e);
  struct polynomial p;

  if ((expand_polynomial(e, &r, &p) ? print_polynomial(&p, &r, names, style, out)
                                    : print_whole(e, names, style, out)) < 0)
    return -1;
  return print_unit(unit, style, out);
}

static int print_factor(const struct ft_terms *t, size_t i, struct style style, struct ft_buf *out)
{
  bool bracket = style.latex && t->scale[i] != 1;

  if (ft_buf_printf(out, "%s%s", style.latex ? " \\cdot " : "*", bracket ? "\\left(" : "") < 0 ||
      print_variable(t->name[i], t->scale[i], style, out) < 0 ||
      ft_buf_printf(out, "%s^%s", bracket ? "\\right)" : "", style.latex ? "{" : "") < 0 ||
      print_coefficient(t->coefficient[i], style, out) < 0)
    return -1;
  return ft_buf_printf(out, style.latex ? "}" : "");
}

static int print_summand(const struct ft_terms *t, size_t i, struct style style, struct ft_buf *out)
{
  if (ft_buf_printf(out, t->coefficient[i] < 0 ? " - " : " + ") < 0 ||
      print_coefficient(fabs(t->coefficient[i]), style, out) < 0 ||
      ft_buf_printf(out, style.latex ? " \\cdot " : "*") < 0)
    return -1;
  return print_variable(t->name[i], t->scale[i], style, out);
}

int ft_terms_print(const struct ft_terms *t, const char *unit, bool latex, int digits,
                   struct ft_buf *out)
{
  const struct style style = { latex, digits };

  if (print_coefficient(t->constant, style, out) < 0)
    return -1;
  for (size_t i = 0; i < t->count; i++) {
    if (t->coefficient[i] == 0)
      continue;
    if ((t->product ? print_factor : print_summand)(t, i, style, out) < 0)
      return -1;
  }
  return print_unit(unit, style, out);
}
