/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/retry_sequence.h"

/* Expected waste if an attempt of a given allocation is the next one, as a linear function of the
 * probability that the required memory is at most the allocation that failed before. */
struct line {
  double slope, height;
};

static double line_height(const struct line *l, double x)
{
  return l->slope * x + l->height;
}

/* Returns whether B, whose slope is between those of A and C, is nowhere below both. */
static int is_covered_line(const struct line *a, const struct line *b, const struct line *c)
{
  return (c->height - a->height) * (a->slope - b->slope) >=
         (b->height - a->height) * (a->slope - c->slope);
}

double ft_retry_first_allocation(const struct ft_retry_sequence *c, double price, double fixed)
{
  struct line hull[FT_RETRY_SEQUENCE_POINTS];
  size_t first = 0, end = 0, n = c->count, best = 0;
  double rest = 0; /* expected waste of the attempts after a failure at the current point */
  double min_waste = INFINITY;

  for (size_t i = n; i-- > 0;) {
    double beyond = c->below[n] - c->below[i + 1];
    struct line l = { -c->bytes[i],
                      c->bytes[i] * c->below[i + 1] - c->needed[i + 1] + rest +
                          (price * c->bytes[i] + fixed) * beyond };

    if (l.height <= min_waste) {
      min_waste = l.height;
      best = i;
    }
    while (end - first >= 2 && is_covered_line(&hull[end - 2], &hull[end - 1], &l))
      end--;
    hull[end++] = l;
    while (end - first >= 2 &&
           line_height(&hull[first + 1], c->below[i]) <= line_height(&hull[first], c->below[i]))
      first++;
    rest = line_height(&hull[first], c->below[i]) + c->needed[i];
    /* smaller first attempts fail more often, with at least the same waste of later attempts */
    if (rest + (price * c->bytes[0] + fixed) * (c->below[n] - c->below[i]) > min_waste)
      break;
  }
  return n ? c->bytes[best] : 0;
}
