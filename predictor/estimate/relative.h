/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast a run would be on other platforms, from what was counted of it and its times where they
 * are known: learnt from a table of runs that were measured on several.
 */
#ifndef FT_ESTIMATE_RELATIVE_H
#define FT_ESTIMATE_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/learn/relative/speedup_model.h"

enum {
  FT_RELATIVE_ROWS = 20000,
  FT_RELATIVE_PLATFORMS = FT_MULTIVARIATE_NORMAL_OUTPUTS + 1,
  FT_RELATIVE_NAME = 64
};

/* By how much repeats of one run differ, as a deviation of logarithms (aiwc: 3.9 %). */
#define FT_RELATIVE_NOISE 0.04

typedef char ft_relative_name[FT_RELATIVE_NAME];

/* Rows of features and times; NAN where there is none. */
struct ft_relative_table {
  size_t rows, features, platforms;
  ft_relative_name *feature, *platform, *label; /* a label is the row's group, by its text */
  double *x;                                    /* x[row * features + feature] */
  double *seconds;                              /* seconds[row * platforms + platform]; any unit */
  size_t *group;
  size_t zeros; /* times of 0: nothing was measured, so they count as missing */
};

void ft_relative_table_free(struct ft_relative_table *table);

/* The index of platform NAME; of the one most measured when NAME is NULL. SIZE_MAX with ERR if
 * there is none. */
size_t ft_relative_source(const struct ft_relative_table *table, const char *name,
                          struct ft_error *err);

/* A model and the names of what it was learnt from. platform[0] is the one it predicts from. */
struct ft_relative_model {
  size_t features, platforms;
  ft_relative_name *feature, *platform;
  struct ft_speedup_model
      ratios; /* of features + 1 columns, the time on platform[0] being the first */
};

/* How it is to be learnt. */
struct ft_relative_settings {
  size_t from;
  struct ft_speedup_settings ratios;
};

/*
 * Learn from the rows of TABLE that KEEP marks (NULL: all); those without a time on the source or
 * on another platform teach nothing. MODEL is to be freed in either case. 0; -1 with ERR.
 */
int ft_relative_learn(const struct ft_relative_table *table, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *model,
                      struct ft_error *err);

/* What is said of one run: by platform of the model; speed is the time on the source over the time
 * there. */
struct ft_relative_prediction {
  double speed[FT_RELATIVE_PLATFORMS], low[FT_RELATIVE_PLATFORMS], high[FT_RELATIVE_PLATFORMS];
};

/*
 * Answer for a run with the features X, as the model names them, and the times SECONDS by platform
 * of the model; NAN where unknown. Times on other platforms than the source correct it. 0; -1 with
 * ERR.
 */
int ft_relative_predict(const struct ft_relative_model *model, const double *x,
                        const double *seconds, struct ft_relative_prediction *answer,
                        struct ft_error *err);

/* Replace PATH, of MODE, by rename: it holds what was counted of single apps, unnamed. 0; -1 with
 * ERR. */
int ft_relative_save(const struct ft_relative_model *model, const char *path, mode_t mode,
                     struct ft_error *err);
int ft_relative_load(const char *path, struct ft_relative_model *model, struct ft_error *err);
void ft_relative_model_free(struct ft_relative_model *model);

#endif
