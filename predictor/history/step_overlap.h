/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The peak memory of a job on one node from the peaks of its steps: the maximum of the sums over
 * concurrent steps that may share a node. Pure. */
#ifndef FT_HISTORY_STEP_OVERLAP_H
#define FT_HISTORY_STEP_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum number of steps of a job; limits the memory to 3.2 MB. */
enum { FT_STEP_OVERLAP_MAX = 100000 };

/* The steps of a job; starts zeroed. */
struct ft_step_overlap {
  struct ft_step {
    double start, end; /* UTC seconds */
    double bytes;      /* peak */
    uint64_t node;     /* hash of the node's name; 0: several nodes, or unknown */
  } * step;
  size_t count, capacity;
  bool untimed; /* start or end of a step is unknown */
};

/* Adds a step on NODE (NULL: several nodes, or unknown) from START to END (UTC seconds; 0: unknown)
 * with a peak of BYTES. Returns 0; -1 above FT_STEP_OVERLAP_MAX steps or out of memory. */
int ft_step_overlap_add(struct ft_step_overlap *steps, const char *node, double start, double end,
                        double bytes);

/*
 * Returns the largest sum of bytes over concurrent steps on one node; a step without a single known
 * node counts on every node. A step that starts at the end of another is not concurrent with it.
 * With unknown times returns the largest step's bytes.
 */
double ft_step_overlap_peak(const struct ft_step_overlap *steps);

/* Removes all steps and keeps the memory. */
void ft_step_overlap_clear(struct ft_step_overlap *steps);

/* Frees the memory of STEPS. */
void ft_step_overlap_free(struct ft_step_overlap *steps);

#endif
