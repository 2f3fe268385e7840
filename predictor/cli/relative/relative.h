/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Relative performance from a table of measured times: what foretell relative and train share. */
#ifndef FT_CLI_RELATIVE_H
#define FT_CLI_RELATIVE_H

#include "predictor/cli/cli.h"
#include "predictor/estimate/relative.h"

/* What of a CSV file is what. */
struct ft_relative_reading {
  const char
      *features; /* names with commas; NULL: every column of numbers that is none of the rest */
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

/*
 * The same from the store in the state folder STATE (NULL: the configured one), opened as RECORDS,
 * to be closed in either case: a row for each app that has run on several platforms, its group.
 */
struct ft_store_access;
int ft_relative_read_store(const char *state, struct ft_store_access *records,
                           struct ft_relative_table *table, struct ft_error *err);

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
 * Hold the table's groups out, FOLDS at a time (0: each alone where there are at most 60, else 10),
 * and predict each from the rest. TRIAL is to be freed in either case. 0; -1 with ERR.
 */
int ft_relative_try(const struct ft_relative_table *table,
                    const struct ft_relative_settings *settings, size_t folds,
                    struct ft_progress *progress, struct ft_relative_trial *trial,
                    struct ft_error *err);
void ft_relative_trial_free(struct ft_relative_trial *trial);
int ft_relative_score(const struct ft_relative_trial *trial, struct ft_relative_score *score,
                      struct ft_error *err);

/*
 * Draw the Figures 2 to 5 of Nichols, Yeom, Bhatele 2022 to PREFIX-distribution.svg, -vector.svg,
 * -order.svg and -roc.svg, and beside the order the error to -error.svg. 0; -1 with ERR.
 */
int ft_relative_plot(const struct ft_relative_table *table, const struct ft_relative_trial *trial,
                     const char *prefix, struct ft_error *err);

/*
 * COUNT rows of TABLE with a time on platform FROM, in WHICH, rising, that stand best for all: what
 * to measure on a platform that joins; in SHARE for how many of them each stands. Of more than 2000
 * rows as many are looked at, evenly taken. 0; -1 with ERR.
 */
int ft_relative_which(const struct ft_relative_table *table, size_t from, size_t count,
                      uint64_t seed, size_t *which, size_t *share, struct ft_error *err);

#endif
