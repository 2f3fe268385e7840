/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What choosing terms (additive_choose.c) and fitting them (additive.c) share. */
#ifndef FT_LEARN_ADDITIVE_WORK_H
#define FT_LEARN_ADDITIVE_WORK_H

#include <math.h>

#include "predictor/learn/regression/additive.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  CANDIDATES = 2 * FT_ADDITIVE_COLUMNS,
  CATEGORICAL_TERMS = 2,
  PARAMETERS = 1 + CATEGORICAL_TERMS * FT_ADDITIVE_LEVELS + FT_ADDITIVE_TERMS,
  SHORTLIST = 3 /* candidates by explained squares whose leave-one-out error is worked out */
};

/* An error of more than a factor e counts no more than that. */
#define MOST_ERROR 1.0
/* Below 0.2 % mean error no feature could matter. */
#define NO_ERROR 0.002
struct candidate {
  size_t column, levels;
  bool log, used;
  double mean, scale;
  double squares; /* of its part that is orthogonal to the terms chosen */
};

/* One attempt: either the logarithm or the value is additive. */
struct attempt {
  bool log_target;
  size_t terms, chosen[FT_ADDITIVE_TERMS];
  size_t tried; /* terms, and those behind them that were not enough of a gain by themselves */
  double error, start_error;
  double intercept, coefficient[PARAMETERS];
  double residual[RUNS];
};

struct ft_additive_work {
  const struct ft_additive_data *data;
  double scale_y;              /* geometric mean of y */
  double y[RUNS], log_y[RUNS]; /* as parts of it */
  size_t candidates, columns_used;
  struct candidate candidate[CANDIDATES];
  double z[CANDIDATES][RUNS]; /* standardised, 0 where missing */
  double v[CANDIDATES][RUNS]; /* the same by row weight, orthogonal to what was chosen */
  double target[RUNS], row[RUNS], residual[RUNS], hat[RUNS];
  double trial[SHORTLIST][RUNS], sorted[RUNS];
  double design[RUNS * PARAMETERS]; /* row by row, each as wide as there are parameters */
  double gram[PARAMETERS][PARAMETERS], solution[PARAMETERS];
  double weight[RUNS];
  struct attempt attempt[3]; /* without a term, and for each target */
  struct attempt trial_form, trial_terms;
};

/* log(target / centre) where the target itself is additive. */
static inline double log_residual(double target, double centre, double intercept)
{
  return log(target / fmax(centre, intercept * FT_ADDITIVE_FLOOR));
}

/* The row's level, or -1. */
static inline int level_of(const struct ft_additive_work *w, const struct candidate *c, size_t row)
{
  float x = w->data->x[c->column][row];

  return x >= 0 && x < (float)c->levels ? (int)x : -1;
}

/* By which factor a term has to reduce the error: the more columns and the fewer runs, the more. */
double ft_additive_demanded(const struct ft_additive_work *w);

/* Find the candidates that vary in the data. */
void ft_additive_gather(struct ft_additive_work *w);

/*
 * Choose the terms of A by their leave-one-out error, which is left in it. Each has to reduce it as
 * demanded, or two in a row by as much as both have to.
 */
void ft_additive_choose(struct ft_additive_work *w, struct attempt *a);

#endif
