/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell fit does with one split of a table's rows. */
#ifndef FT_CLI_FIT_H
#define FT_CLI_FIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/fit/fit_table.h"
#include "predictor/core/buf.h"
#include "predictor/learn/symbolic/symbolic.h"

enum ft_fit_method { FT_FIT_SYMBOLIC, FT_FIT_LINEAR, FT_FIT_LOGLINEAR, FT_FIT_METHODS };

/* One split: which rows train and which test; x is row by row. */
struct ft_split {
  double *train_x, *train_y, *test_x, *test_y;
  size_t train, test;
};

/* Room for a split of TABLE. Returns 0, or -1 with errno; to be freed in either case. */
int ft_split_open(const struct ft_table *table, struct ft_split *split);
void ft_split_free(struct ft_split *split);

/*
 * Draw PART of the rows to test by SEED, leaving two to train; or those that TABLE holds out.
 * ORDER is room for as many as rows.
 */
void ft_split_draw(const struct ft_table *table, double part, uint64_t seed, size_t *order,
                   struct ft_split *split);

/* Of more features than an equation chooses from those that it chooses from. */
struct ft_choice {
  size_t column[FT_EXPRESSION_VARIABLES]; /* of the table, rising */
  double seconds;                         /* that choosing them took */
};

/* Choose those that go most with the training part's target. Returns 0; -1 with ERR out of memory.
 */
int ft_split_choose(const struct ft_table *table, const struct ft_split *split,
                    struct ft_choice *choice, struct ft_error *err);

/* How a method is to work; what is being done is drawn on PROGRESS from BEFORE on. */
struct ft_fit_settings {
  const char *unit;                     /* of the target; NULL: bytes, in what suits them */
  int digits;                           /* of coefficients */
  struct ft_symbolic_settings symbolic; /* but for seed and progress */
  unsigned more;                        /* primitives that the rows may switch on */
  bool (*go_on)(void);                  /* false ends the search with the best so far */
  struct ft_progress *progress;
  double before;
};

/* What one method made of one split; errors in per cent. */
struct ft_outcome {
  double train_mape, test_mape, r2, seconds;
  struct ft_buf equation, latex;
  json_t *front;  /* symbolic: of error against length */
  bool cancelled; /* it is the best until then */
};

/*
 * Fit METHOD on a split drawn by SEED, to the features that CHOICE says, with which SPLIT is left;
 * NULL, of no more than an equation chooses from, to all. OUT is to be freed in either case.
 * Returns 0; -1 with ERR where the method cannot take such numbers.
 */
int ft_fit(enum ft_fit_method method, const struct ft_table *table, struct ft_split *split,
           const struct ft_choice *choice, const struct ft_fit_settings *settings, uint64_t seed,
           struct ft_outcome *out, struct ft_error *err);
void ft_outcome_free(struct ft_outcome *out);

#endif
