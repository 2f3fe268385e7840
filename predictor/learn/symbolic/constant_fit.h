/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits the constants of an equation by Levenberg-Marquardt on relative residuals. Rows are
 * evaluated in blocks, symbol by symbol; reverse-mode differentiation over the same code gives the
 * gradient. Only ft_sweep_new allocates.
 */
#ifndef FT_LEARN_CONSTANT_FIT_H
#define FT_LEARN_CONSTANT_FIT_H

#include "predictor/learn/symbolic/expression.h"
#include "predictor/learn/symbolic/row_blocks.h"

/* Working memory for one equation at a time. */
struct ft_sweep;

/* Returns working memory, to be freed with free(); NULL with errno set if out of memory. */
struct ft_sweep *ft_sweep_new(void);

/* Fixes the intercept at 0 if THROUGH_ORIGIN. By default the intercept is fitted. */
void ft_sweep_through_origin(struct ft_sweep *sweep, bool through_origin);

/* Returns the mean absolute percentage error over ROWS, as a fraction; infinite if undefined. */
double ft_constant_fit_error(const struct ft_row_blocks *rows,
                             const struct ft_expression *expression, struct ft_sweep *sweep);

/*
 * Fits intercept, slope and at most ten independent constants of EXPRESSION, in at most STEPS steps
 * from their current values. EXPRESSION must be valid and its scales 1. Returns the error as
 * ft_constant_fit_error; the sum of squared residuals never increases.
 */
double ft_constant_fit(const struct ft_row_blocks *rows, struct ft_expression *expression,
                       struct ft_sweep *sweep, int steps);

/*
 * Returns the cross-validated error of EXPRESSION, as a fraction; infinite if undefined. There are
 * 5 folds, or one per row if fewer. With FIT, constants are fitted to the other folds from random
 * starts that SEED determines; otherwise they are left as they are. SCRATCH has space for (columns
 * + 2) * padded numbers of ROWS. ERRORS gets the relative error of each row.
 */
double ft_constant_fit_validate(const struct ft_row_blocks *rows,
                                const struct ft_expression *expression, struct ft_sweep *sweep,
                                bool fit, uint64_t seed, double *scratch, double *errors);

/* Returns the number of constants that the last fit varied, without intercept and slope. */
int ft_constant_fit_fitted(const struct ft_sweep *sweep);

#endif
