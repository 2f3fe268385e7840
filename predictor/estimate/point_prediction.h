/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Point prediction of a model's evaluator: from the features of a submission, or from the values of
 * a stored run.
 */
#ifndef FT_ESTIMATE_POINT_PREDICTION_H
#define FT_ESTIMATE_POINT_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* Writes FEATURE's category as columns store it to OUT. A longer one is cut and ends in its hash.
 */
void ft_column_category(const ft_feature *feature, char out[40]);

/* Returns the index of CATEGORY in COLUMN, or -1. */
int ft_column_level(const ft_column *column, const char *category);

/* Value of a category that no run has had. */
#define FT_X_UNSEEN -1.0f

/*
 * Fills X, one value per column, from COUNT FEATURES: a number, clamped to +-1e30; the index of a
 * category, or FT_X_UNSEEN; NaN if there is no such feature.
 */
void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x);

/* Centre of the predictive distribution. */
struct ft_point_prediction {
  double log;            /* natural logarithm of bytes */
  double added_variance; /* of log, for missing and unseen values and for extrapolation */
  bool extrapolated;     /* a value lies outside the range of the runs */
};

/* Evaluates EVALUATOR at COUNT values X into OUT. Columns from COUNT on are missing. */
void ft_predict_point(const ft_evaluator *evaluator, const float *x, size_t count,
                      struct ft_point_prediction *out);

/* Returns whether the point prediction depends on COLUMN. */
bool ft_point_prediction_uses(const ft_evaluator *evaluator, size_t column);

#endif
