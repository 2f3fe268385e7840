/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An additive function of a few columns, fitted robustly: the value or its
 * logarithm is an intercept plus, for each term, a coefficient times a
 * standardised number (or its logarithm) or an offset for each level.
 *
 * Terms are chosen one by one by their leave-one-out error (forward selection
 * by orthogonal least squares and PRESS: Hong, Sharkey, Warwick 2003), each
 * having to reduce it by more than chance would at this number of runs and of
 * columns. The chosen ones are then fitted together by ridge regression,
 * reweighted after Huber (1964); all residuals are leave-one-out ones.
 */
#ifndef FT_LEARN_ADDITIVE_H
#define FT_LEARN_ADDITIVE_H

#include <stdbool.h>
#include <stddef.h>

enum {
  FT_ADDITIVE_RUNS = 200,
  FT_ADDITIVE_COLUMNS = 24,
  FT_ADDITIVE_LEVELS = 16,
  FT_ADDITIVE_TERMS = 4
};

struct ft_additive_data {
  size_t runs, columns;
  double y[FT_ADDITIVE_RUNS]; /* above 0 */
  float x[FT_ADDITIVE_COLUMNS]
         [FT_ADDITIVE_RUNS];            /* NaN: missing; of a categorical column: the level */
  unsigned levels[FT_ADDITIVE_COLUMNS]; /* 0: a number */
};

struct ft_additive_term {
  size_t column;
  bool log; /* of 1 + |x| */
  double mean, scale, coefficient;
  size_t levels;
  double level[FT_ADDITIVE_LEVELS];
  double level_scale; /* root mean square of the seen levels' offsets */
};

struct ft_additive {
  bool log_target;
  double intercept;
  size_t terms;
  struct ft_additive_term term[FT_ADDITIVE_TERMS];
  double residual[FT_ADDITIVE_RUNS]; /* log(y / its leave-one-out prediction), by run */
};

/* A linear centre is never taken below this part of its intercept. */
#define FT_ADDITIVE_FLOOR (1.0 / 64)

struct ft_additive_work;

/* Bytes of the working memory that a fit needs; the caller allocates it. */
size_t ft_additive_work_size(void);

/* Fit DATA (1 run or more). WORK is overwritten. Deterministic; allocates nothing. */
void ft_additive_fit(const struct ft_additive_data *data, struct ft_additive_work *work,
                     struct ft_additive *out);

#endif
