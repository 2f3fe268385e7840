/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixture weights of the learners from their held-out predictions. */
#ifndef FT_LEARN_SPEEDUP_WEIGHTS_H
#define FT_LEARN_SPEEDUP_WEIGHTS_H

#include "predictor/learn/relative/speedup_model.h"

/* Held-out predictions of the learners in MASK: predicted[learner][row * outputs + output]. Not
 * owned. */
struct ft_speedup_held_out {
  const struct ft_speedup_table *table;
  const size_t *fold; /* fold[row], below folds */
  size_t folds;
  double *const *predicted;
  unsigned mask;
};

/*
 * Fills WEIGHT with FT_LEARNERS numbers of sum 1. The set of learners is chosen by its error on
 * each fold with weights from the other folds. ERROR gets each learner's root mean square error;
 * NAN: not in MASK. Returns 0; -1 if out of memory and fills ERR.
 */
int ft_speedup_choose_weights(const struct ft_speedup_held_out *held_out, double *weight,
                              double *error, struct ft_error *err);

#endif
