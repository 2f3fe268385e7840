/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The evaluator of a model, seen from both its ends: the submission, which has
 * features, and the online update, which has runs.
 */
#ifndef FT_ESTIMATE_POINT_PREDICTION_H
#define FT_ESTIMATE_POINT_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* A category as columns store it: one longer than they hold is cut and ends in its hash. */
void ft_column_category(const ft_feature *feature, char out[40]);

/* The level called CATEGORY in COLUMN, or -1. */
int ft_column_level(const ft_column *column, const char *category);

/* Which value a missing or misfitting feature has: no such feature; a level that no run has had. */
#define FT_X_UNSEEN -1.0f

/*
 * X[j] of the columns: a number (held within 1e30), a level's index, NaN where
 * there is no such feature, FT_X_UNSEEN for a level that the column lacks.
 */
void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x);

struct ft_point_prediction {
  double log; /* of the centre, in bytes */
  double added_variance; /* variance of it, in log units, for what is missing, unseen or beyond the
                            evidence */
  bool extrapolated;
};

/* Evaluate the centre for COUNT values of X; the columns that X lacks are missing. */
void ft_predict_point(const ft_evaluator *evaluator, const float *x, size_t count,
                      struct ft_point_prediction *out);

/* Whether the centre depends on COLUMN. */
bool ft_point_prediction_uses(const ft_evaluator *evaluator, size_t column);

#endif
