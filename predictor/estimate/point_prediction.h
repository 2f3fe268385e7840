/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point prediction of a model's evaluator from the values of its columns, and the values of the
 * columns from the features of a submission. */
#ifndef FT_ESTIMATE_POINT_PREDICTION_H
#define FT_ESTIMATE_POINT_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* Writes to OUT the category of FEATURE as columns store it: a number as text; a category longer
 * than 39 bytes is cut and ends in its hash. */
void ft_column_category(const ft_feature *feature, char out[40]);

/* Returns the index of CATEGORY in column->categories; -1: not found. */
int ft_column_level(const ft_column *column, const char *category);

/* Value of a categorical column for a category that no run has had. */
#define FT_X_UNSEEN -1.0f

/*
 * Fills X with one value for each of the COLUMN_COUNT COLUMNS from COUNT FEATURES. Numeric column:
 * the number, clamped to +-1e30. Categorical column: the index of the category, or FT_X_UNSEEN.
 * NaN if the feature is missing.
 */
void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x);

/* Point prediction. The quantiles of the residuals are relative to it. */
struct ft_point_prediction {
  double log;            /* natural logarithm of bytes */
  double added_variance; /* of `log`, due to missing and unseen values and extrapolation */
  bool extrapolated;     /* a value lies outside the range of the runs */
};

/* Fills OUT with the point prediction of EVALUATOR at the values X of the first COUNT columns; the
 * values of other columns are missing. */
void ft_predict_point(const ft_evaluator *evaluator, const float *x, size_t count,
                      struct ft_point_prediction *out);

/* Returns the contribution of TERM to the point prediction at the value X of its column, in the
 * target's units; 0 if X is missing (NaN) or a category without runs. */
double ft_term_contribution(const ft_term *term, double x);

/* Returns whether TERM is part of the point prediction: a coefficient is not 0, and it is not
 * aliased. */
bool ft_term_has_effect(const ft_term *term);

/* Returns whether the point prediction of EVALUATOR depends on COLUMN, an index. */
bool ft_point_prediction_uses(const ft_evaluator *evaluator, size_t column);

#endif
