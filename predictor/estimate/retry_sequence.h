/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chain of attempts that is expected to waste least. */
#ifndef FT_ESTIMATE_RETRY_SEQUENCE_H
#define FT_ESTIMATE_RETRY_SEQUENCE_H

#include <stddef.h>

enum { FT_RETRY_SEQUENCE_POINTS = 212 };

/* What may be needed, and how likely: points by rising bytes. */
struct ft_retry_sequence {
  size_t count;
  double same; /* up to here a need joins the last point */
  double bytes[FT_RETRY_SEQUENCE_POINTS];
  double below[FT_RETRY_SEQUENCE_POINTS + 1];  /* probability of all points before each */
  double needed[FT_RETRY_SEQUENCE_POINTS + 1]; /* and the bytes they need, weighted by it */
};

/* Needs within this of the least of them are one, as large as the largest. */
#define FT_RETRY_SEQUENCE_SAME 0.002

static inline void ft_retry_sequence_start(struct ft_retry_sequence *chain)
{
  chain->count = 0;
  chain->same = -1;
  chain->below[0] = chain->needed[0] = 0;
}

/* Add COUNT needs of BYTES, which rise and are not below those added before, each of its
 * probability in MASS; past FT_RETRY_SEQUENCE_POINTS they are left out. Masses need not add up
 * to 1. */
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

static inline void ft_retry_sequence_add(struct ft_retry_sequence *chain, double bytes, double mass)
{
  ft_retry_sequence_add_all(chain, &bytes, &mass, 1);
}

/*
 * The first of the attempts, in bytes, that are expected to waste least: one
 * that succeeds wastes what it had and did not need, one that fails costs PRICE times all that it
 * had and FIXED bytes more, and the next follows. 0 without points. Exact, in time linear in the
 * points: what remains to be wasted after a failure is a minimum over lines, so
 * their lower hull is kept (the convex hull trick).
 */
double ft_retry_first_allocation(const struct ft_retry_sequence *chain, double price, double fixed);

#endif
