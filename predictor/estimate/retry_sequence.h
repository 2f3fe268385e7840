/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Retry sequence: allocations of a job's successive attempts, each larger than the one before; the
 * next is used if an attempt runs out of memory. The sequence with the least expected waste is
 * computed for a discrete distribution of the required memory.
 */
#ifndef FT_ESTIMATE_RETRY_SEQUENCE_H
#define FT_ESTIMATE_RETRY_SEQUENCE_H

#include <stddef.h>

/* Maximum number of points: the runs of a model, and points beyond the largest peak. */
enum { FT_RETRY_SEQUENCE_POINTS = 212 };

/* Discrete distribution of the required memory: points in ascending order of bytes. */
struct ft_retry_sequence {
  size_t count;
  double merge_end; /* required memory up to which a value is merged into the last point */
  double bytes[FT_RETRY_SEQUENCE_POINTS];
  /* sums over all points before an index, of their probabilities and of probability x bytes */
  double below[FT_RETRY_SEQUENCE_POINTS + 1], needed[FT_RETRY_SEQUENCE_POINTS + 1];
};

/* Relative difference up to which values are merged into one point, at the largest of the values.
 * Half and twice were compared. */
#define FT_RETRY_SEQUENCE_SAME 0.002

/* Growth factor after a failure above all points. Chosen by tests/bench/replay_constants. */
#define FT_RETRY_SEQUENCE_GROWTH 1.5
/* Minimum growth factor after a failure. Chosen by tests/bench/replay_constants. */
#define FT_RETRY_SEQUENCE_MIN_GROWTH 1.15

/* Removes all points of SEQ. */
static inline void ft_retry_sequence_start(struct ft_retry_sequence *seq)
{
  seq->count = 0;
  seq->merge_end = -1;
  seq->below[0] = seq->needed[0] = 0;
}

/* Adds COUNT values BYTES of the required memory with probabilities MASS to SEQ. BYTES is ascending
 * and not below earlier values. Values that need more than FT_RETRY_SEQUENCE_POINTS points are
 * dropped. MASS need not sum to 1. */
static inline void ft_retry_sequence_add_all(struct ft_retry_sequence *seq, const double *bytes,
                                             const double *mass, size_t count)
{
  size_t end = seq->count;
  double merged = seq->merge_end, below = seq->below[end], needed = seq->needed[end];

  for (size_t i = 0; i < count; i++) {
    if (!(bytes[i] <= merged)) {
      if (end == FT_RETRY_SEQUENCE_POINTS)
        break;
      end++;
      merged = bytes[i] * (1 + FT_RETRY_SEQUENCE_SAME);
    }
    below += mass[i];
    needed += mass[i] * bytes[i];
    seq->bytes[end - 1] = bytes[i];
    seq->below[end] = below;
    seq->needed[end] = needed;
  }
  seq->count = end;
  seq->merge_end = merged;
}

/* Adds one value, as ft_retry_sequence_add_all. */
static inline void ft_retry_sequence_add(struct ft_retry_sequence *seq, double bytes, double mass)
{
  ft_retry_sequence_add_all(seq, &bytes, &mass, 1);
}

/*
 * Returns the first allocation, in bytes, of the retry sequence over the points of SEQ with the
 * least expected waste; 0 without points. A successful attempt wastes the memory that it did not
 * use. A failed attempt costs PRICE times its allocation plus FIXED bytes, and the next attempt
 * follows. Exact, in linear time, by dynamic programming: the remaining waste after a failure is a
 * minimum over lines, found on their lower hull (convex hull trick).
 */
double ft_retry_first_allocation(const struct ft_retry_sequence *seq, double price, double fixed);

#endif
