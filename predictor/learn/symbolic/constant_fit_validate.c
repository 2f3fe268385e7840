/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cross-validates an equation. Constants fitted to all rows depend on the held-out rows. With as
 * many constants as rows a fit that starts from them would not change them, and their held-out
 * error is 0. Each fold is therefore fitted from starts that do not depend on the rows.
 */
#include "config.h"

#include <math.h>

#include "predictor/core/random.h"
#include "predictor/learn/symbolic/constant_fit.h"

enum {
  FOLDS = 5,
  STARTS = 12,      /* largest number per fold; nearly all equations need one or two */
  FIRST_STEPS = 12, /* Levenberg-Marquardt steps from each start */
  LAST_STEPS = 60   /* further steps from the best result */
};

/* A start suffices if its training error is at most this multiple of the error with the constants
 * fitted to all rows; bounds time. */
#define START_RATIO 1.01
/* Relative errors below it are rounding errors. */
#define ROUNDING 1e-9

/* Sets the constants for START: 0 is 1, the mean of the scaled columns; later ones are random as in
 * the search. */
static void reset_constants(struct ft_expression *e, int start, struct ft_random *random)
{
  for (int i = 0; i < e->length; i++)
    if (e->symbol[i] == FT_SYMBOL_CONSTANT)
      e->constant[i] = start ? exp(ft_random_normal(random)) : 1;
  e->intercept = 0;
  e->slope = 1;
}

/* Fits E to PART from starts that do not depend on the rows. */
static void refit_fold(const struct ft_row_blocks *part, struct ft_expression *e,
                       struct ft_sweep *sweep, struct ft_random *random)
{
  double limit = START_RATIO * ft_constant_fit_error(part, e, sweep) + ROUNDING,
         best_error = INFINITY;
  struct ft_expression best = *e, tried = *e;

  reset_constants(&best, 0, random);
  for (int start = 0; start < STARTS && !(best_error <= limit); start++) {
    double error;

    reset_constants(&tried, start, random);
    error = ft_constant_fit(part, &tried, sweep, FIRST_STEPS);
    if (error < best_error) {
      best_error = error;
      best = tried;
    }
    if (!ft_constant_fit_fitted(sweep))
      break; /* linear least squares: every start has the same solution */
  }
  *e = best;
  (void)ft_constant_fit(part, e, sweep, LAST_STEPS);
}

double ft_constant_fit_validate(const struct ft_row_blocks *rows, const struct ft_expression *e,
                                struct ft_sweep *sweep, bool fit, uint64_t seed, double *scratch,
                                double *errors)
{
  size_t folds = rows->rows < FOLDS ? rows->rows : FOLDS;
  struct ft_random random;
  double total = 0;

  ft_random_seed(&random, seed);
  for (size_t k = 0; k < folds; k++) {
    struct ft_expression without = *e;
    struct ft_row_blocks part;

    ft_row_blocks_leave_out(rows, k, folds, scratch, &part);
    if (fit)
      refit_fold(&part, &without, sweep, &random);
    for (size_t r = k; r < rows->rows; r += folds) {
      double x[FT_EXPRESSION_VARIABLES];

      for (size_t c = 0; c < rows->columns; c++)
        x[c] = rows->x[c * rows->padded + r];
      errors[r] = rows->weight[r] * fabs(ft_expression_evaluate(&without, x) - rows->y[r]);
      total += errors[r];
    }
  }
  total /= (double)rows->rows;
  return isfinite(total) ? total : INFINITY;
}
