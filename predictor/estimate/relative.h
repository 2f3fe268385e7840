/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cross-platform model: predicts the speed of a run on other platforms from its run features and
 * its known run times. It is fitted to a table of runs that were measured on several platforms.
 */
#ifndef FT_ESTIMATE_RELATIVE_H
#define FT_ESTIMATE_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "predictor/learn/relative/speedup_model.h"

enum {
  FT_RELATIVE_ROWS = 20000, /* rows of a table; bounds time and memory */
  FT_RELATIVE_PLATFORMS = FT_MULTIVARIATE_NORMAL_OUTPUTS + 1,
  FT_RELATIVE_NAME = 64 /* bytes of a name with its NUL */
};

/* Standard deviation of log(run time) between repeats of one run. Source: aiwc, 3.9 %. */
#define FT_RELATIVE_NOISE 0.04

typedef char ft_relative_name[FT_RELATIVE_NAME];

/* Rows of features and run times; NAN: missing. Owns its arrays. */
struct ft_relative_table {
  size_t rows, features, platforms;
  ft_relative_name *feature, *platform, *label; /* label: text of a row's group */
  double *x;                                    /* x[row * features + feature] */
  double *seconds;                              /* seconds[row * platforms + platform]; any unit */
  size_t *group;                                /* by row: index of its group */
  size_t zeros;                                 /* times of 0, which count as missing */
};

/* Frees the arrays of TABLE. */
void ft_relative_table_free(struct ft_relative_table *table);

/* Returns the index of platform NAME; NULL: the platform with the most times. Returns SIZE_MAX if
 * there is none, and fills ERR. */
size_t ft_relative_source(const struct ft_relative_table *table, const char *name,
                          struct ft_error *err);

/* A fitted model with the names of its features and platforms. platform[0] is the source. */
struct ft_relative_model {
  size_t features, platforms;
  ft_relative_name *feature, *platform;
  struct ft_speedup_model ratios; /* features + 1 columns; column 0 is the time on platform[0] */
};

/* Settings of a fit. */
struct ft_relative_settings {
  size_t from; /* index of the source platform */
  struct ft_speedup_settings ratios;
};

/*
 * Fits MODEL to the rows of TABLE that KEEP marks (NULL: all). Rows without times on the source and
 * on another platform are skipped. The caller frees MODEL in either case. Returns 0; -1 on error
 * and fills ERR.
 */
int ft_relative_learn(const struct ft_relative_table *table, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *model,
                      struct ft_error *err);

/* Prediction for one run, by platform of the model: speed is the time on the source divided by the
 * time there; low and high are the ends of the 90 % interval. */
struct ft_relative_prediction {
  double speed[FT_RELATIVE_PLATFORMS], low[FT_RELATIVE_PLATFORMS], high[FT_RELATIVE_PLATFORMS];
};

/*
 * Predicts a run with features X, in the model's order, and times SECONDS, by platform; NAN:
 * unknown. Times on other platforms than the source correct the prediction. Returns 0; -1 on error
 * and fills ERR.
 */
int ft_relative_predict(const struct ft_relative_model *model, const double *x,
                        const double *seconds, struct ft_relative_prediction *answer,
                        struct ft_error *err);

/* Writes MODEL to PATH with permissions MODE, atomically. The file holds features of single apps
 * without their names. Returns 0; -1 on error and fills ERR. */
int ft_relative_save(const struct ft_relative_model *model, const char *path, mode_t mode,
                     struct ft_error *err);

/* Reads MODEL from PATH. The caller frees MODEL in either case. Returns 0; -1 on error and fills
 * ERR. */
int ft_relative_load(const char *path, struct ft_relative_model *model, struct ft_error *err);

/* Frees what MODEL owns. */
void ft_relative_model_free(struct ft_relative_model *model);

#endif
