/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the batches of an epoch, and of a job's epochs, have of padding, memory and time. */
#ifndef FT_ESTIMATE_OUTLOOK_H
#define FT_ESTIMATE_OUTLOOK_H

#include "predictor/estimate/shapes/batches.h"

struct ft_spread {
  double min, mean, max;
};

struct ft_outlook_settings {
  enum ft_batching batching;
  size_t batch;    /* items */
  unsigned epochs; /* of the job, 1 or more */
  double limit;    /* of the cost; 0: none */
  uint64_t seed;
  /* NULL: not told; their cost grows with width and height */
  const struct ft_size_grid *cost, *seconds;
};

struct ft_outlook {
  size_t batches;                               /* whole ones of an epoch */
  unsigned drawn;                               /* epochs that were drawn */
  struct ft_spread informative, padding, total; /* pixels or tokens of a batch */
  struct ft_spread cost;                        /* of a batch */
  struct ft_spread epoch_max; /* the largest cost of an epoch, over the drawn ones */
  double job_max;             /* median of the largest cost of the job's epochs */
  double seconds;             /* of an epoch */
  /* probabilities that the cost passes the limit */
  double batch_exceeds, epoch_exceeds, job_exceeds;
};

/*
 * Fills OUTLOOK by drawing epochs of SIZES. The probabilities of random batching are exact for a
 * batch; those of an epoch are counted where at least ten of the drawn ones pass the limit, and
 * otherwise follow from the batch's. PROGRESS, if not NULL, is called after each epoch with the
 * part done. Returns 0; -1 without memory.
 */
int ft_outlook(const struct ft_item_sizes *sizes, const struct ft_outlook_settings *settings,
               void (*progress)(void *data, double part), void *data, struct ft_outlook *outlook);

#endif
