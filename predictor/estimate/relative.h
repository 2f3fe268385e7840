/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cross-platform model: predicts the speed of a run on other platforms from the run's features and
 * known run times. The model is fitted to a table of runs that were measured on several platforms.
 * Table, settings, prediction and its functions are in foretell.h.
 */
#ifndef FT_ESTIMATE_RELATIVE_H
#define FT_ESTIMATE_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/learn/relative/speedup_model.h"

/* Standard deviation of log(run time) between repeats of one run. Source: aiwc, 3.9 %. */
#define FT_RELATIVE_NOISE 0.04

/* A fitted model. Speeds are relative to platform[0], the source. Owns its arrays. */
struct ft_relative_model {
  size_t features, platforms;           /* numbers of these */
  ft_relative_name *feature, *platform; /* their names */
  struct ft_speedup_model ratios; /* features + 1 columns; column 0 is the time on platform[0] */
};

/*
 * Fits MODEL to the rows R of TABLE with KEEP[R] (KEEP NULL: all rows). A row needs times on the
 * source and on another platform, else it is skipped. The caller frees MODEL, also after an error.
 * Returns 0; -1 on error and fills ERR.
 */
int ft_relative_learn(const struct ft_relative_table *table, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *model,
                      struct ft_error *err);

/* Reads MODEL from PATH. The caller frees MODEL, also after an error. Returns 0; -1 on error and
 * fills ERR. */
int ft_relative_load(const char *path, struct ft_relative_model *model, struct ft_error *err);

/* Frees the arrays of MODEL and zeroes it. */
void ft_relative_model_free(struct ft_relative_model *model);

#endif
