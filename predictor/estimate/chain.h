/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chain of attempts that is expected to waste least. */
#ifndef FT_ESTIMATE_CHAIN_H
#define FT_ESTIMATE_CHAIN_H

#include <stddef.h>

enum { FT_CHAIN_POINTS = 212 };

/* What may be needed, and how likely: points by rising bytes. */
struct ft_chain {
  size_t count;
  double same; /* up to here a need joins the last point */
  double bytes[FT_CHAIN_POINTS];
  double below[FT_CHAIN_POINTS + 1];  /* probability of all points before each */
  double needed[FT_CHAIN_POINTS + 1]; /* and the bytes they need, weighted by it */
};

/* Needs within this of the least of them are one, as large as the largest. */
#define FT_CHAIN_SAME 0.002

static inline void ft_chain_start(struct ft_chain *chain)
{
  chain->count = 0;
  chain->below[0] = chain->needed[0] = 0;
}

/* Add a need of BYTES, not below those added before, of probability MASS; past FT_CHAIN_POINTS it
 * is left out. Masses need not add up to 1. */
static inline void ft_chain_add(struct ft_chain *chain, double bytes, double mass)
{
  size_t i = chain->count;

  if (i && bytes <= chain->same) {
    chain->bytes[i - 1] = bytes;
    chain->below[i] += mass;
    chain->needed[i] += mass * bytes;
    return;
  }
  if (i == FT_CHAIN_POINTS)
    return;
  chain->same = bytes * (1 + FT_CHAIN_SAME);
  chain->bytes[i] = bytes;
  chain->below[i + 1] = chain->below[i] + mass;
  chain->needed[i + 1] = chain->needed[i] + mass * bytes;
  chain->count++;
}

/*
 * The first of the attempts, in bytes, that are expected to waste least: one
 * that succeeds wastes what it had and did not need, one that fails costs PRICE times all that it
 * had and FIXED bytes more, and the next follows. 0 without points. Exact, in time linear in the
 * points: what remains to be wasted after a failure is a minimum over lines, so
 * their lower hull is kept (the convex hull trick).
 */
double ft_chain_first(const struct ft_chain *chain, double price, double fixed);

#endif
