/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point prediction of a number from the values of columns: an additive model, or a law. */
#ifndef FT_LEARN_SERIES_POINT_PREDICTION_H
#define FT_LEARN_SERIES_POINT_PREDICTION_H

#include "predictor/learn/regression/posynomial.h"
#include "predictor/learn/regression/term_form.h"
#include "predictor/learn/series/law.h"

enum {
  FT_POINT_COLUMNS = 24, /* largest number of columns: ft_model.columns */
  FT_POINT_LEVELS = 16   /* largest number of categories: ft_column.categories */
};

/* Value of a categorical column for a category that no run has had. */
#define FT_X_UNSEEN -1.0f

/* The contribution of a column, and its values in the fitted runs. */
struct ft_point_term {
  uint32_t column;
  enum ft_term_form form;
  bool aliased; /* this column varied only together with column `aliased_with`: the term
                   is not part of the prediction, but may have the other's effect */
  uint32_t aliased_with;
  double mean, scale; /* scale: of a category the standard deviation of an unseen one */
  double coefficient;
  double low, high;               /* range of x in the fitted runs: beyond it is extrapolation */
  size_t levels_count;            /* categories; 0: numeric */
  double levels[FT_POINT_LEVELS]; /* offset per category, 0 if unseen */
};

struct ft_point_model {
  bool log_target; /* the prediction is of the logarithm */
  bool by_law;     /* the law predicts; intercept and terms apply where it has no value */
  bool per_unit;   /* intercept and terms are of one unit: the prediction is that times the units */
  size_t unit_column; /* whose value the units are; FT_POINT_COLUMNS: none, all runs had 1 */
  double intercept;
  double law_shift; /* added to the law's logarithm: tracks the level of the last runs */
  struct ft_law law;
  struct ft_posynomial products; /* with columns, and without `by_law`, they predict; intercept and
                                    terms apply where they have no value */
  size_t terms_count;
  struct ft_point_term terms[FT_POINT_COLUMNS];
};

/* Point prediction. The quantiles of the residuals are relative to it. */
struct ft_point_prediction {
  double log;            /* natural logarithm of the number */
  double added_variance; /* of `log`, due to missing and unseen values and extrapolation */
  bool extrapolated;     /* a value lies outside the range of the runs */
};

/* Fills OUT with the point prediction of MODEL at the values X of the first COUNT columns (NaN:
 * missing), of UNITS; the values of other columns are missing. */
void ft_point_predict(const struct ft_point_model *model, const float *x, size_t count,
                      double units, struct ft_point_prediction *out);

/* Returns the contribution of TERM to the point prediction at the value X of its column, in the
 * target's units; 0 if X is missing (NaN) or a category without runs. */
double ft_point_contribution(const struct ft_point_term *term, double x);

/* Returns whether TERM is part of the point prediction: a coefficient is not 0, and it is not
 * aliased. */
bool ft_point_has_effect(const struct ft_point_term *term);

#endif
