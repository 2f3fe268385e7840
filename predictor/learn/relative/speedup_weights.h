/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much each learner counts, from what all of them said of rows held out. */
#ifndef FT_LEARN_SPEEDUP_WEIGHTS_H
#define FT_LEARN_SPEEDUP_WEIGHTS_H

#include "predictor/learn/relative/speedup_model.h"

/* What the learners of MASK said of rows held out: said[learner][row * outputs + output]. Not
 * owned. */
struct ft_speedup_held {
  const struct ft_speedup_table *table;
  const size_t *fold; /* by row */
  size_t folds;
  double *const *said;
  unsigned mask;
};

/*
 * Into WEIGHT, of FT_LEARNERS numbers that sum to 1, the mixture by the rule that does best on each
 * fold with weights taken from the others. ERROR gets each learner's root mean square (NAN: not of
 * MASK). 0; -1 with ERR when memory is out.
 */
int ft_speedup_choose_weights(const struct ft_speedup_held *held, double *weight, double *error,
                              struct ft_error *err);

#endif
