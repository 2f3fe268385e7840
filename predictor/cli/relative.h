/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Relative performance from a table of measured times: what foretell relative and train share. */
#ifndef FT_CLI_RELATIVE_H
#define FT_CLI_RELATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/cli/cli.h"
#include "predictor/learn/ratios.h"

enum { FT_RELATIVE_ROWS = 20000, FT_RELATIVE_PLATFORMS = FT_GAUSS_OUTPUTS + 1, FT_RELATIVE_NAME = 64 };

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

/* What of a CSV file is what. */
struct ft_relative_reading {
  const char *features;  /* names with commas; NULL: every column of numbers that is none of the rest */
  const char *groups;    /* columns that together make a group; NULL: each row is one */
  const char *platforms; /* those that count; NULL: all */
};

/*
 * Read PATH ("-": standard input), a table with a header in which the column "time:NAME", or
 * "time_UNIT:NAME", holds the times on platform NAME. TABLE is to be freed in either case.
 * Returns 0; -1 with ERR naming file, line and column.
 */
int ft_relative_read(const char *path, const struct ft_relative_reading *reading,
                     struct ft_relative_table *table, struct ft_error *err);
void ft_relative_table_free(struct ft_relative_table *table);

/* The index of platform NAME; of the one most measured when NAME is NULL. SIZE_MAX with ERR if there is none. */
size_t ft_relative_source(const struct ft_relative_table *table, const char *name,
                          struct ft_error *err);

/* A model and the names of what it was learnt from. platform[0] is the one it predicts from. */
struct ft_relative_model {
  size_t features, platforms;
  ft_relative_name *feature, *platform;
  struct ft_ratios ratios; /* of features + 1 columns, the time on platform[0] being the first */
};

/* How it is to be learnt. */
struct ft_relative_settings {
  size_t from;
  struct ft_ratios_settings ratios;
};

/*
 * Learn from the rows of TABLE that KEEP marks (NULL: all); those without a time on the source or on
 * another platform teach nothing. MODEL is to be freed in either case. 0; -1 with ERR.
 */
int ft_relative_learn(const struct ft_relative_table *table, const bool *keep,
                      const struct ft_relative_settings *settings, struct ft_relative_model *model,
                      struct ft_error *err);

/* What is said of one run: by platform of the model; speed is the time on the source over the time there. */
struct ft_relative_answer {
  double speed[FT_RELATIVE_PLATFORMS], low[FT_RELATIVE_PLATFORMS], high[FT_RELATIVE_PLATFORMS];
};

/*
 * Answer for a run with the features X, as the model names them, and the times SECONDS by platform of the
 * model; NAN where unknown. Times on other platforms than the source correct it. 0; -1 with ERR.
 */
int ft_relative_ask(const struct ft_relative_model *model, const double *x, const double *seconds,
                    struct ft_relative_answer *answer, struct ft_error *err);

int ft_relative_save(const struct ft_relative_model *model, const char *path, struct ft_error *err);
int ft_relative_load(const char *path, struct ft_relative_model *model, struct ft_error *err);
void ft_relative_model_free(struct ft_relative_model *model);

/* Predictions of rows that were held out, beside what was measured; by platform of the table. */
struct ft_relative_trial {
  size_t rows, platforms, from;
  double *speed, *low, *high, *measured; /* [row * platforms + platform]; NAN where not known */
};

/* How good they are; NAN where nothing was measured. */
struct ft_relative_score {
  double r2;       /* of the log-ratios of all platforms together */
  double order;    /* pairs of platforms in the right order, as a part */
  double vectors;  /* rows with all platforms in the right order */
  double chosen;   /* the platform predicted fastest against the fastest: geometric mean of times */
  double error;    /* median of |predicted - measured| / measured time */
  double coverage; /* measured within the 90 % interval */
  double platform_r2[FT_RELATIVE_PLATFORMS], platform_error[FT_RELATIVE_PLATFORMS];
};

/*
 * Hold the table's groups out, FOLDS at a time (0: each alone where there are at most 60, else 10), and predict
 * each from the rest. TRIAL is to be freed in either case. 0; -1 with ERR.
 */
int ft_relative_try(const struct ft_relative_table *table,
                    const struct ft_relative_settings *settings, size_t folds,
                    struct ft_progress *progress, struct ft_relative_trial *trial,
                    struct ft_error *err);
void ft_relative_trial_free(struct ft_relative_trial *trial);
int ft_relative_score(const struct ft_relative_trial *trial, struct ft_relative_score *score,
                      struct ft_error *err);

/*
 * Draw the Figures 2 to 5 of Nichols, Yeom, Bhatele 2022 to PREFIX-distribution.svg, -vector.svg, -order.svg and -roc.svg.
 * 0; -1 with ERR.
 */
int ft_relative_plot(const struct ft_relative_table *table, const struct ft_relative_trial *trial,
                     const char *prefix, struct ft_error *err);

#endif
