/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Point prediction of a model's evaluator from the values of its columns, the distribution around
 * it, and the values of the columns from the features of a submission. */
#ifndef FT_ESTIMATE_POINT_PREDICTION_H
#define FT_ESTIMATE_POINT_PREDICTION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/estimate/quantity.h"
#include "predictor/learn/series/interval.h"
#include "predictor/learn/series/point_prediction.h"
#include "predictor/record/record.h"

/* Writes to OUT the category of FEATURE as columns store it: a number as text; a category longer
 * than 39 bytes is cut and ends in its hash. */
void ft_column_category(const ft_feature *feature, char out[40]);

/* Returns the index of CATEGORY in column->categories; -1: not found. */
int ft_column_level(const ft_column *column, const char *category);

/*
 * Fills X with one value for each of the COLUMN_COUNT COLUMNS from COUNT FEATURES. Numeric column:
 * the number, clamped to +-1e30. Categorical column: the index of the category, or FT_X_UNSEEN.
 * NaN if the feature is missing. The column of tasks has those of one node, 1 if none is requested.
 */
void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x);

/* Returns the number of tasks on one node, 1 or more, that the COUNT FEATURES request. */
double ft_tasks_per_node(const ft_feature *features, size_t count);

/* Returns the index of the column of tasks among COUNT COLUMNS; FT_POINT_COLUMNS if there is none.
 */
size_t ft_tasks_column(const ft_column *columns, size_t count);

/* Fills MODEL with the point prediction of EVALUATOR. */
void ft_point_model_read(const ft_evaluator *evaluator, struct ft_point_model *model);

/* Fills OUT with the point prediction of EVALUATOR at the values X of the first COUNT columns; the
 * values of other columns are missing. */
void ft_predict_point(const ft_evaluator *evaluator, const float *x, size_t count,
                      struct ft_point_prediction *out);

/* Returns the calibration of EVALUATOR's interval. */
struct ft_calibration ft_evaluator_calibration(const ft_evaluator *evaluator);

/* Fills LOG_QUANTILE with log(QUANTITY / CENTRE) of the next run at ft_interval_levels, by
 * EVALUATOR after COMPLETED runs. UNWIDENED and the returned value are those of ft_interval_find.
 */
double ft_evaluator_interval(const ft_evaluator *evaluator, const struct ft_quantity *quantity,
                             uint32_t completed, const struct ft_point_prediction *centre,
                             bool unwidened, double log_quantile[FT_INTERVAL_LEVELS]);

/*
 * Fills X with the values of MODEL's columns from the COUNT FEATURES, and OUT with the point
 * prediction there. Returns the number of tasks by which it was multiplied, because the evaluator
 * is per task; otherwise 1.
 */
double ft_predict_submission(const ft_model *model, const ft_feature *features, size_t count,
                             float x[FT_POINT_COLUMNS], struct ft_point_prediction *out);

/* Returns whether TERM is part of the point prediction: a coefficient is not 0, and it is not
 * aliased. */
bool ft_term_has_effect(const ft_term *term);

/* Returns whether the point prediction of EVALUATOR depends on COLUMN, an index. */
bool ft_point_prediction_uses(const ft_evaluator *evaluator, size_t column);

#endif
