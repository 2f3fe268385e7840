/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of one job, and the most that those at the same time had together. Pure. */
#ifndef FT_HISTORY_STEP_OVERLAP_H
#define FT_HISTORY_STEP_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>

enum { FT_STEP_OVERLAP_MAX = 100000 }; /* of one job */

/* Zeroed to begin with. */
struct ft_step_overlap {
  struct ft_step {
    double start, end, bytes;
  } * step;
  size_t count, room;
  bool untimed; /* one of them did not say when it began or ended */
};

/* Add a step; times are 0 where they are not known. Returns -1 past the limit or out of memory. */
int ft_step_overlap_add(struct ft_step_overlap *steps, double start, double end, double bytes);

/*
 * The largest sum of bytes over the steps that ran at one time; one that began
 * when another ended did not run with it. Where times are not known, the largest step.
 */
double ft_step_overlap_peak(const struct ft_step_overlap *steps);

/* Forget them, keeping the room; release it. */
void ft_step_overlap_clear(struct ft_step_overlap *steps);
void ft_step_overlap_free(struct ft_step_overlap *steps);

#endif
