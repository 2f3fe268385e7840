/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Retry sequence: the sequence of allocations with the least expected waste. */
#ifndef FT_ESTIMATE_RETRY_SEQUENCE_H
#define FT_ESTIMATE_RETRY_SEQUENCE_H

#include <stddef.h>

/* Points at most: the runs of a model and those beyond them. */
enum { FT_RETRY_SEQUENCE_POINTS = 212 };

/* Discrete distribution of the required memory: points in ascending order of bytes.
 * ft_retry_sequence_start removes all points. */
struct ft_retry_sequence {
  size_t count;
  double same; /* bytes up to which a need is merged into the last point */
  double bytes[FT_RETRY_SEQUENCE_POINTS];
  double below[FT_RETRY_SEQUENCE_POINTS + 1];  /* cumulative probability before each point */
  double needed[FT_RETRY_SEQUENCE_POINTS + 1]; /* cumulative probability times bytes */
};

/* Relative difference up to which needs are merged into one point, of the largest of them. Chosen
 * by judgement. */
#define FT_RETRY_SEQUENCE_SAME 0.002

/* Growth factor after a failure above all points, and the smallest one after any failure. Chosen by
 * tests/bench/replay_constants. */
#define FT_RETRY_SEQUENCE_GROWTH 1.5
#define FT_RETRY_SEQUENCE_LEAST_GROWTH 1.15

static inline void ft_retry_sequence_start(struct ft_retry_sequence *chain)
{
  chain->count = 0;
  chain->same = -1;
  chain->below[0] = chain->needed[0] = 0;
}

/* Adds COUNT needs of BYTES with probabilities MASS, ascending and not below earlier ones. Needs
 * beyond FT_RETRY_SEQUENCE_POINTS are dropped. The masses need not sum to 1. */
static inline void ft_retry_sequence_add_all(struct ft_retry_sequence *chain, const double *bytes,
                                             const double *mass, size_t count)
{
  size_t end = chain->count;
  double same = chain->same, below = chain->below[end], needed = chain->needed[end];

  for (size_t i = 0; i < count; i++) {
    if (!(bytes[i] <= same)) {
      if (end == FT_RETRY_SEQUENCE_POINTS)
        break;
      end++;
      same = bytes[i] * (1 + FT_RETRY_SEQUENCE_SAME);
    }
    below += mass[i];
    needed += mass[i] * bytes[i];
    chain->bytes[end - 1] = bytes[i];
    chain->below[end] = below;
    chain->needed[end] = needed;
  }
  chain->count = end;
  chain->same = same;
}

/* Adds one need, as ft_retry_sequence_add_all. */
static inline void ft_retry_sequence_add(struct ft_retry_sequence *chain, double bytes, double mass)
{
  ft_retry_sequence_add_all(chain, &bytes, &mass, 1);
}

/*
 * Returns the first allocation, in bytes, of the retry sequence with the least expected waste; 0
 * without points. A successful attempt wastes the memory it did not use; a failed one costs PRICE
 * times its allocation plus FIXED bytes, and the next attempt follows. Exact, in linear time: the
 * remaining waste after a failure is a minimum over lines, whose lower hull is kept (convex hull
 * trick).
 */
double ft_retry_first_allocation(const struct ft_retry_sequence *chain, double price, double fixed);

#endif
