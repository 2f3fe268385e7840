/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of foretell fit, applied to one split of a table's rows. */
#ifndef FT_CLI_FIT_H
#define FT_CLI_FIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/fit/fit_table.h"
#include "predictor/foretell.h"

/* One split: training rows and test rows; x is row-major. */
struct ft_split {
  double *train_x, *train_y, *test_x, *test_y;
  size_t train, test;
};

/* Allocates buffers for a split of TABLE. Returns 0; -1 with errno. The caller frees SPLIT in
 * either case. */
int ft_split_open(const struct ft_table *table, struct ft_split *split);
void ft_split_free(struct ft_split *split);

/*
 * Draws PART of the rows as test rows by SEED, leaving at least two for training; or uses the rows
 * that TABLE holds out. ORDER has room for one entry per row.
 */
void ft_split_draw(const struct ft_table *table, double part, uint64_t seed, size_t *order,
                   struct ft_split *split);

/* Features selected from more than an equation can have. */
struct ft_choice {
  size_t column[FT_FIT_FEATURES]; /* indices into the table, ascending */
  double seconds;                 /* s; time of the selection */
};

/* Selects the features that are most associated with the target in the training part. Returns 0;
 * -1 and fills ERR if out of memory. */
int ft_split_choose(const struct ft_table *table, const struct ft_split *split,
                    struct ft_choice *choice, struct ft_error *err);

/* Settings of a method. Progress is drawn on PROGRESS from BEFORE on. */
struct ft_method_settings {
  const char *target;            /* its name */
  const char *unit;              /* of the target; NULL: by its name */
  int digits;                    /* significant digits of coefficients */
  struct ft_fit_settings search; /* all but seed and progress */
  bool (*go_on)(void); /* returns false to stop the search with the best equation so far */
  struct ft_progress *progress;
  double before;
};

/* Result of one method on one split; errors in per cent. */
struct ft_outcome {
  double train_mape, test_mape, r2, seconds;
  char *equation, *latex; /* owned */
  json_t *front;          /* symbolic: Pareto front of error against length */
  bool cancelled;         /* interrupted; holds the best equation so far */
};

/*
 * Fits METHOD on a split drawn by SEED, to the features of CHOICE, which SPLIT then contains;
 * CHOICE NULL uses all features. The caller frees OUT in either case. Returns 0; -1 and fills ERR
 * if the method cannot fit these numbers.
 */
int ft_fit_split(enum ft_fit_method method, const struct ft_table *table, struct ft_split *split,
                 const struct ft_choice *choice, const struct ft_method_settings *settings,
                 uint64_t seed, struct ft_outcome *out, struct ft_error *err);
void ft_outcome_free(struct ft_outcome *out);

#endif
