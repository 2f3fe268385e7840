/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts between the records of a model file and a series of plain numbers. */
#ifndef FT_ONLINE_SERIES_RECORD_H
#define FT_ONLINE_SERIES_RECORD_H

#include "predictor/learn/series/series.h"
#include "predictor/record/record.h"

/* Sets the columns of SERIES to COUNT COLUMNS. */
void ft_series_read_columns(const ft_column *columns, size_t count, struct ft_series *series);

/* Sets the fit and the calibration of SERIES to EVALUATOR's. */
void ft_series_read_evaluator(const ft_evaluator *evaluator, struct ft_series *series);

/* Sets EVALUATOR's fit and calibration to those of SERIES. What EVALUATOR has beyond these, its
 * equation included, stays. */
void ft_series_write_evaluator(const struct ft_series *series, ft_evaluator *evaluator);

/* Copies the COUNT column values X to RUN; further ones are missing. */
void ft_series_run_read_x(const float *x, size_t count, struct ft_series_run *run);

#endif
