/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Working memory shared by the choice of terms (additive_choose.c) and their fit (additive.c). */
#ifndef FT_LEARN_ADDITIVE_WORK_H
#define FT_LEARN_ADDITIVE_WORK_H

#include <math.h>

#include "predictor/learn/regression/additive.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  /* two forms of each column, and the further forms of terms */
  CANDIDATES = 2 * FT_ADDITIVE_COLUMNS + FT_ADDITIVE_CHOSEN * (FT_FORMS - FT_FORM_X_LOG_X),
  CATEGORICAL_TERMS = 2, /* largest number of categorical terms; bounds PARAMETERS */
  PARAMETERS = 1 + CATEGORICAL_TERMS * FT_ADDITIVE_LEVELS + FT_ADDITIVE_TERMS,
  SHORTLIST = 3 /* candidates of most explained squares, whose leave-one-out error is computed */
};

/* Clamp of an absolute error, log units: a factor of e. Half and twice were compared. */
#define MAX_ERROR 1.0
/* Mean absolute error, log units, below which no term is added. Half and twice were compared. */
#define NEGLIGIBLE_ERROR 0.002

/* A form of a column that may become a term. */
struct candidate {
  size_t column, levels;
  enum ft_term_form form;
  bool used;
  double mean, scale;
  double squares; /* sum of squares of the component orthogonal to the chosen terms */
};

/* One fit: either the target or its logarithm is additive. */
struct attempt {
  bool log_target;
  size_t terms, chosen[FT_ADDITIVE_TERMS];
  size_t tried; /* terms, and further candidates that alone reduced the error too little */
  double error, start_error;
  double intercept, coefficient[PARAMETERS];
  double residual[RUNS];
};

struct ft_additive_work {
  const struct ft_additive_data *data;
  double scale_y;              /* geometric mean of y */
  double y[RUNS], log_y[RUNS]; /* targets divided by scale_y */
  size_t candidates, columns_used;
  struct candidate candidate[CANDIDATES];
  double z[CANDIDATES][RUNS]; /* standardised, 0 where missing */
  double v[CANDIDATES][RUNS]; /* z times row weight: component orthogonal to the chosen terms */
  double target[RUNS], row[RUNS], residual[RUNS], hat[RUNS];
  double trial[SHORTLIST][RUNS], sorted[RUNS];
  double design[RUNS * PARAMETERS]; /* row by row, one number per parameter */
  double gram[PARAMETERS][PARAMETERS], solution[PARAMETERS];
  double weight[RUNS];
  struct attempt attempt[4]; /* without terms; log target; plain target; all numbers */
  struct attempt trial_form, trial_terms;
};

/* Returns log(target / prediction) for a target that is not a logarithm. */
static inline double log_residual(double target, double centre, double intercept)
{
  return log(target / fmax(centre, intercept * FT_ADDITIVE_FLOOR));
}

/* Returns the index of the row's category; -1: missing or unknown. */
static inline int level_of(const struct ft_additive_work *w, const struct candidate *c, size_t row)
{
  float x = w->data->x[c->column][row];

  return x >= 0 && x < (float)c->levels ? (int)x : -1;
}

/* Returns the largest ratio of the error with a term to the error without it. More columns and
 * fewer runs give a smaller ratio. */
double ft_additive_error_ratio(const struct ft_additive_work *w);

/* Fills the candidates: columns that vary, and their logarithms. */
void ft_additive_gather(struct ft_additive_work *w);

/* Returns the candidate that is FORM of the numeric COLUMN, which is added if it is missing;
 * CANDIDATES if the column has no such form. */
size_t ft_additive_form(struct ft_additive_work *w, size_t column, enum ft_term_form form);

/*
 * Chooses the terms of A by their leave-one-out error, which it stores. Each term must reduce it by
 * ft_additive_error_ratio, or two consecutive terms by its square.
 */
void ft_additive_choose(struct ft_additive_work *w, struct attempt *a);

#endif
