/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cross-platform model: predicts the speed of a run on other platforms from the run's features and
 * known run times. The model is fitted to a table of runs that were measured on several platforms.
 */
#ifndef FT_ESTIMATE_RELATIVE_H
#define FT_ESTIMATE_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "predictor/learn/relative/speedup_model.h"

enum {
  FT_RELATIVE_ROWS = 20000, /* maximum of rows of a table; bounds time and memory */
  FT_RELATIVE_PLATFORMS = FT_MULTIVARIATE_NORMAL_OUTPUTS + 1,
  FT_RELATIVE_NAME = 64 /* bytes of a name with its NUL */
};

/* Standard deviation of log(run time) between repeats of one run. Source: aiwc, 3.9 %. */
#define FT_RELATIVE_NOISE 0.04

typedef char ft_relative_name[FT_RELATIVE_NAME];

/* Rows of features and run times; NAN: missing. Owns its arrays. Rows of one group (one program)
 * are not independent. */
struct ft_relative_table {
  size_t rows, features, platforms;             /* numbers of these */
  ft_relative_name *feature, *platform, *label; /* names of these; label: of the groups */
  double *x;                                    /* x[row * features + feature] */
  double *seconds; /* seconds[row * platforms + platform]; any unit of time */
  size_t *group;   /* of each row: index of its group */
  size_t zeros;    /* number of times of 0, which count as missing */
};

/* Frees the arrays of TABLE and zeroes it. */
void ft_relative_table_free(struct ft_relative_table *table);

/* Returns the index in TABLE of the platform NAME; NULL: of the platform with most run times.
 * Returns SIZE_MAX and fills ERR if there is no such platform. */
size_t ft_relative_source(const struct ft_relative_table *table, const char *name,
                          struct ft_error *err);

/* A fitted model. Speeds are relative to platform[0], the source. Owns its arrays. */
struct ft_relative_model {
  size_t features, platforms;           /* numbers of these */
  ft_relative_name *feature, *platform; /* their names */
  struct ft_speedup_model ratios; /* features + 1 columns; column 0 is the time on platform[0] */
};

/* Settings of a fit. */
struct ft_relative_settings {
  size_t from; /* index in the table of the source platform */
  struct ft_speedup_settings ratios;
};

/*
 * Fits MODEL to the rows R of TABLE with KEEP[R] (KEEP NULL: all rows). A row needs times on the
 * source and on another platform, else it is skipped. The caller frees MODEL, also after an error.
 * Returns 0; -1 on error and fills ERR.
 */
int ft_relative_learn(const struct ft_relative_table *table, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *model,
                      struct ft_error *err);

/* Prediction for one run. An element is a platform of the model: SPEED is the time on the source
 * divided by the time on the platform; LOW and HIGH are the ends of the 90 % interval. */
struct ft_relative_prediction {
  double speed[FT_RELATIVE_PLATFORMS], low[FT_RELATIVE_PLATFORMS], high[FT_RELATIVE_PLATFORMS];
};

/*
 * Fills ANSWER with the prediction of MODEL for a run with the features X and the run times
 * SECONDS, one per platform, both in the model's order; NAN: unknown. Times on other platforms than
 * the source correct the prediction. Returns 0; -1 on error and fills ERR.
 */
int ft_relative_predict(const struct ft_relative_model *model, const double *x,
                        const double *seconds, struct ft_relative_prediction *answer,
                        struct ft_error *err);

/* Replaces the file PATH by MODEL atomically, with permissions MODE. The file contains features of
 * single apps, without the apps' names. Returns 0; -1 on error and fills ERR. */
int ft_relative_save(const struct ft_relative_model *model, const char *path, mode_t mode,
                     struct ft_error *err);

/* Reads MODEL from PATH. The caller frees MODEL, also after an error. Returns 0; -1 on error and
 * fills ERR. */
int ft_relative_load(const char *path, struct ft_relative_model *model, struct ft_error *err);

/* Frees the arrays of MODEL and zeroes it. */
void ft_relative_model_free(struct ft_relative_model *model);

#endif
