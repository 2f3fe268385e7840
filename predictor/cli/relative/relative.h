/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Relative performance from a table of measured times: shared by foretell relative and train. */
#ifndef FT_CLI_RELATIVE_H
#define FT_CLI_RELATIVE_H

#include "predictor/cli/cli.h"
#include "predictor/foretell.h"

/* Roles of the columns of a CSV file. */
struct ft_relative_reading {
  const char *features; /* comma-separated names; NULL: every numeric column without another role */
  const char *groups;   /* columns that together define a group; NULL: each row is a group */
  const char *platforms; /* platforms to use; NULL: all */
};

/*
 * Reads PATH ("-": standard input), a table with a header in which the column "time:NAME", or
 * "time_UNIT:NAME", has the times on platform NAME. The caller frees TABLE in either case. Returns
 * 0; -1 and fills ERR with file, line and column.
 */
int ft_relative_read(const char *path, const struct ft_relative_reading *reading,
                     struct ft_relative_table *table, struct ft_error *err);

/* Predictions of held-out rows and the measured values, by platform of the table. */
struct ft_relative_trial {
  size_t rows, platforms, from;
  double *speed, *low, *high, *measured; /* [row * platforms + platform]; NAN if unknown */
};

/* Scores of a trial; NAN without measurements. */
struct ft_relative_score {
  double r2;       /* of the log-ratios of all platforms together */
  double order;    /* fraction of platform pairs in the right order */
  double vectors;  /* fraction of rows with all platforms in the right order */
  double chosen;   /* the platform predicted fastest against the fastest: geometric mean of times */
  double error;    /* median of |predicted - measured| / measured time */
  double coverage; /* fraction of measurements within the 90 % interval */
  double platform_r2[FT_RELATIVE_PLATFORMS], platform_error[FT_RELATIVE_PLATFORMS];
};

/*
 * Holds out the table's groups, FOLDS at a time (0: one at a time for at most 60 groups, else in
 * 10 folds), and predicts each from the rest. The caller frees TRIAL in either case. Returns 0; -1
 * and fills ERR.
 */
int ft_relative_try(const struct ft_relative_table *table,
                    const struct ft_relative_settings *settings, size_t folds,
                    struct ft_progress *progress, struct ft_relative_trial *trial,
                    struct ft_error *err);
void ft_relative_trial_free(struct ft_relative_trial *trial);
int ft_relative_score(const struct ft_relative_trial *trial, struct ft_relative_score *score,
                      struct ft_error *err);

/*
 * Draws Figures 2 to 5 of Nichols, Yeom, Bhatele 2022 to PREFIX-distribution.svg, -vector.svg,
 * -order.svg and -roc.svg, and the error to -error.svg. Returns 0; -1 and fills ERR.
 */
int ft_relative_plot(const struct ft_relative_table *table, const struct ft_relative_trial *trial,
                     const char *prefix, struct ft_error *err);

#endif
