/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The constants of an equation, by Levenberg-Marquardt on the relative residuals: rows
 * are evaluated in blocks, symbol by symbol, and the gradient by one sweep back over
 * the same code. Nothing here allocates but ft_sweep_new.
 */
#ifndef FT_LEARN_CONSTANT_FIT_H
#define FT_LEARN_CONSTANT_FIT_H

#include "predictor/learn/symbolic/expression.h"
#include "predictor/learn/symbolic/row_blocks.h"

/* Working memory for one equation at a time. */
struct ft_sweep;

/* NULL with errno out of memory; to be given to free(). */
struct ft_sweep *ft_sweep_new(void);

/* With THROUGH the intercept is 0 and stays so; at first it is fitted. */
void ft_sweep_through(struct ft_sweep *sweep, bool through);

/* Mean absolute percentage error, a fraction, over the rows; infinite where undefined. */
double ft_constant_fit_error(const struct ft_row_blocks *rows,
                             const struct ft_expression *expression, struct ft_sweep *sweep);

/*
 * Fit the constants that count (ten at most; more would only fit noise), intercept and slope of
 * EXPRESSION, a valid one whose scales are 1, in at most STEPS steps from where they
 * are. Returns the error as above; it never gets larger.
 */
double ft_constant_fit(const struct ft_row_blocks *rows, struct ft_expression *expression,
                       struct ft_sweep *sweep, int steps);

/*
 * Error of EXPRESSION on rows held out, as a fraction: 5 folds (of fewer rows, as many), each
 * judged by constants fitted to the others from starts that SEED draws; with FIT false by the
 * constants as they are. ROOM is for as many numbers as ROWS has. MISSED gets each row's relative
 * error. Infinite where undefined.
 */
double ft_constant_fit_validate(const struct ft_row_blocks *rows,
                                const struct ft_expression *expression, struct ft_sweep *sweep,
                                bool fit, uint64_t seed, double *room, double *missed);

/* How many constants the last ft_constant_fit has fitted besides intercept and slope. */
int ft_constant_fit_fitted(const struct ft_sweep *sweep);

#endif
