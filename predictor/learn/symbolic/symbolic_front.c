/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pareto front of a search: the best tree of each length, refitted and cross-validated, and the
 * chosen equation. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/learn/symbolic/constant_fit.h"
#include "predictor/learn/symbolic/symbolic_work.h"

enum {
  LATE_STEPS = 60,           /* Levenberg-Marquardt steps on the front */
  MIN_ROWS_PER_PARAMETER = 2 /* fewest rows per parameter of the chosen equation; by judgement */
};

/* Held-out relative error below which an equation counts as exact. */
#define EXACT 1e-6

/* Resolution of an error: smaller differences are rounding errors. */
#define ROUNDING 1e-9

/* Cross-validates P and counts its parameters. ERRORS gets the error of each row. */
static void validate_point(const struct ft_symbolic_search *f, struct ft_symbolic_point *p,
                           double *errors)
{
  double *scratch = f->copy + f->data.padded * (f->data.columns + 2);

  p->validated = ft_constant_fit_validate(&f->data, &p->expression, f->sweep, f->set.constants,
                                          f->set.seed, scratch, errors);
  p->parameters = 1 + (p->expression.intercept != 0);
  if (f->set.constants)
    p->parameters += (unsigned)ft_constant_fit_fitted(f->sweep);
}

/*
 * Returns the description length of the expression E in nats: for each node, the choice among the
 * possible symbols. The order of commutative operands costs nothing. An intercept counts as an
 * addition of a constant. The slope costs nothing, because units are arbitrary.
 */
static double expression_description(const struct ft_symbolic_search *f,
                                     const struct ft_expression *e)
{
  double leaf = log((double)f->data.columns + 1);
  double inner = log((double)(f->grower.unary_count + f->grower.binary_count));
  double size = e->intercept != 0 ? inner + leaf - M_LN2 : 0;

  for (int i = 0; i < e->length; i++) {
    size += ft_symbol_arity(e->symbol[i]) ? inner : leaf;
    if (e->symbol[i] == FT_SYMBOL_ADD || e->symbol[i] == FT_SYMBOL_MULTIPLY ||
        e->symbol[i] == FT_SYMBOL_MINIMUM)
      size -= M_LN2;
  }
  return size;
}

/*
 * Returns the description length of P and of the rows given P, whose relative errors are assumed
 * Laplace distributed (minimum description length: Rissanen 1978; for expressions Bartlett, Desmond
 * and Ferreira 2023). The cross-validated error alone would prefer long expressions, because the
 * search has used all rows.
 */
static double description_length(const struct ft_symbolic_search *f,
                                 const struct ft_symbolic_point *p)
{
  return expression_description(f, &p->expression) +
         (double)f->data.rows * log(p->validated + ROUNDING);
}

double ft_symbolic_fit_expression(const struct ft_symbolic_search *f, struct ft_expression *e,
                                  int steps)
{
  double error = f->set.constants ? ft_constant_fit(&f->data, e, f->sweep, steps)
                                  : ft_constant_fit_error(&f->data, e, f->sweep);

  return f->set.primitives & 1u << FT_SYMBOL_DIVIDE && !ft_interval_divisors_nonzero(e, f->range)
             ? INFINITY
             : error;
}

/* Removes the intercept of P if that shortens the description and the error remains below LIMIT. */
static void try_without_intercept(const struct ft_symbolic_search *f, double limit,
                                  struct ft_symbolic_point *p, double *errors)
{
  struct ft_symbolic_point q = *p;

  ft_sweep_through_origin(f->sweep, true);
  q.mape = ft_symbolic_fit_expression(f, &q.expression, LATE_STEPS);
  if (q.mape < limit) {
    validate_point(f, &q, f->held_out + FT_SYMBOLIC_FRONT * f->data.rows);
    q.description = description_length(f, &q);
    if (q.description < p->description) {
      *p = q;
      memcpy(errors, f->held_out + FT_SYMBOLIC_FRONT * f->data.rows, f->data.rows * sizeof *errors);
    }
  }
  ft_sweep_through_origin(f->sweep, false);
}

/* Fits the constants of T in LATE_STEPS steps. T is left unchanged if a divisor may be 0. */
static void fit_late(const struct ft_symbolic_search *f, struct ft_symbolic_tree *t)
{
  struct ft_expression e = t->code;
  double error = ft_symbolic_fit_expression(f, &e, LATE_STEPS);

  if (!isfinite(error))
    return;
  t->code = e;
  t->mape = error;
}

/* Refits and simplifies the best tree of each length. A shortened tree is compared with the best of
 * its new length. */
static void refit_front(struct ft_symbolic_search *f)
{
  for (int length = FT_EXPRESSION_NODES; length > 0; length--) {
    struct ft_symbolic_tree *t = &f->best[length];

    if (!t->known)
      continue;
    fit_late(f, t);
    if (!ft_expression_tree_prune(&t->code, &f->data))
      continue;
    do
      fit_late(f, t);
    while (ft_expression_tree_prune(&t->code, &f->data));
    t->known = false;
    if (!f->best[t->code.length].known || t->mape < f->best[t->code.length].mape)
      f->best[t->code.length] = *t;
    f->best[t->code.length].known = true;
  }
}

/* Returns whether the held-out error of point A exceeds that of point B by more than one standard
 * error of the paired differences. */
static bool is_worse(const struct ft_symbolic_search *f, size_t a, size_t b)
{
  const double *p = f->held_out + a * f->data.rows, *q = f->held_out + b * f->data.rows;
  double rows = (double)f->data.rows, mean = 0, squares = 0;

  for (size_t r = 0; r < f->data.rows; r++)
    mean += (p[r] - q[r]) / rows;
  for (size_t r = 0; r < f->data.rows; r++)
    squares += pow(p[r] - q[r] - mean, 2);
  return !(mean <= sqrt(squares / (rows * (rows - 1))));
}

/* Returns whether P has few enough parameters for the rows, or is exact. Of many structures with as
 * many parameters as rows, some fit even held-out rows by chance, but none exactly. */
static bool is_supported(const struct ft_symbolic_search *f, const struct ft_symbolic_point *p)
{
  return p->validated < EXACT || p->parameters * MIN_ROWS_PER_PARAMETER <= f->data.rows;
}

/*
 * Chooses the simplest point within one standard error of the point with the shortest description
 * (Breiman et al., Classification and Regression Trees, 1984).
 */
static unsigned choose_point(const struct ft_symbolic_search *f,
                             const struct ft_symbolic_result *out)
{
  unsigned chosen = 0, simplest = 0;

  for (unsigned i = 1; i < out->count; i++)
    if (out->front[i].description < out->front[chosen].description &&
        is_supported(f, &out->front[i]))
      chosen = i;
  while (simplest < chosen && is_worse(f, simplest, chosen))
    simplest++;
  return simplest;
}

void ft_symbolic_build_front(struct ft_symbolic_search *f, struct ft_symbolic_result *out)
{
  double smallest = INFINITY;

  refit_front(f);
  out->count = 0;
  for (int length = 1; length <= FT_EXPRESSION_NODES; length++) {
    struct ft_symbolic_point *p = &out->front[out->count];
    double *errors = f->held_out + out->count * f->data.rows;
    const struct ft_symbolic_tree *t = &f->best[length];

    if (!t->known || !(t->mape < smallest * (1 - 1e-6)))
      continue;
    smallest = t->mape;
    p->expression = t->code;
    p->mape = smallest;
    validate_point(f, p, errors);
    p->description = description_length(f, p);
    if (f->set.constants)
      try_without_intercept(f, out->count ? p[-1].mape : INFINITY, p, errors);
    out->count++;
  }
  out->chosen = choose_point(f, out);
}
