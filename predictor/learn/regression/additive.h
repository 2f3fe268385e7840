/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Robust additive regression on a few columns. The target or its logarithm is an intercept plus a
 * sum of terms: a coefficient times a standardised form of a number (term_form.h), or an offset per
 * category.
 *
 * Terms are chosen one by one by their leave-one-out error (forward selection by orthogonal least
 * squares and PRESS: Hong, Sharkey and Warwick 2003). Each term must reduce it by more than chance
 * would at this number of runs and columns. The chosen terms are fitted together by ridge
 * regression with Huber weights (Huber 1964). All residuals are leave-one-out.
 *
 * Where many numbers may matter a little, choosing costs more than it saves: a power law of all
 * numbers is fitted, too, and used if its error is smaller.
 *
 * A curve whose target is plain has one term per number: its form is the logarithm, x log x, or a
 * power up to the third. An exponential (a logarithmic target over a plain number) explodes outside
 * the range of the runs; it is chosen only if its error is far below that of every other form.
 */
#ifndef FT_LEARN_ADDITIVE_H
#define FT_LEARN_ADDITIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/regression/term_form.h"

enum {
  FT_ADDITIVE_RUNS = 200,   /* largest number of runs: ft_model.history (foretell.options) */
  FT_ADDITIVE_COLUMNS = 24, /* largest number of columns: ft_model.columns */
  FT_ADDITIVE_LEVELS = 16,  /* largest number of categories: ft_column.categories */
  FT_ADDITIVE_CHOSEN = 4,   /* largest number of chosen terms; chosen by judgement */
  FT_ADDITIVE_TERMS = FT_ADDITIVE_COLUMNS
};

struct ft_additive_data {
  size_t runs, columns;
  double y[FT_ADDITIVE_RUNS];                     /* targets, above 0 */
  float x[FT_ADDITIVE_COLUMNS][FT_ADDITIVE_RUNS]; /* a number or the index of a category; NaN:
                                                     missing */
  unsigned levels[FT_ADDITIVE_COLUMNS];           /* categories of the column; 0: it is numeric */
  bool has_many;   /* many numbers may matter a little each, as for a run time */
  bool has_bounds; /* some targets are of runs that needed more than was observed */
  bool has_divisor;
  size_t divisor; /* column, above 0, by which the targets are divided: a term is of its inverse */
};

struct ft_additive_term {
  size_t column;
  enum ft_term_form form;
  double mean, scale, coefficient;
  size_t levels;
  double level[FT_ADDITIVE_LEVELS];
  double level_scale; /* root mean square of the offsets of observed categories */
};

struct ft_additive {
  bool log_target;
  double intercept;
  double error; /* mean absolute residual, each limited to 1 */
  size_t terms;
  struct ft_additive_term term[FT_ADDITIVE_TERMS];
  double residual[FT_ADDITIVE_RUNS]; /* per run: log(y / leave-one-out prediction) */
};

/* Smallest linear prediction as a fraction of its intercept. Half and twice were compared. */
#define FT_ADDITIVE_FLOOR (1.0 / 64)

/* Returns the largest ratio of the error with one term to that without, of RUNS and that number of
 * COLUMNS that vary, that is not chance. */
double ft_additive_chance(size_t runs, size_t columns);

struct ft_additive_work;

/* Returns the size in bytes of the working memory of a fit, which the caller allocates. */
size_t ft_additive_work_size(void);

/* Fits OUT to DATA, of 1 run or more. WORK is scratch memory. Deterministic; allocates nothing. */
void ft_additive_fit(const struct ft_additive_data *data, struct ft_additive_work *work,
                     struct ft_additive *out);

#endif
