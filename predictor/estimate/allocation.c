/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "predictor/estimate/allocation.h"

/* Points of the distribution: evenly spaced ones and, beyond, those of the tail. */
enum { EVEN = 50, TAIL = 5, POINTS = EVEN + TAIL };

/* Where the distribution ends and a job has needed more nonetheless. */
#define BEYOND 1.5

static const double tail[TAIL] = { 0.99, 0.995, 0.998, 0.999, 0.9999 };

struct points {
  size_t count;
  double bytes[POINTS];
  double below[POINTS + 1];  /* probability before each point, those together of those before it */
  double needed[POINTS + 1]; /* and the bytes they need, weighted by it */
};

static void add_point(struct points *p, double bytes, double mass)
{
  p->bytes[p->count] = bytes;
  p->below[p->count + 1] = p->below[p->count] + mass;
  p->needed[p->count + 1] = p->needed[p->count] + mass * bytes;
  p->count++;
}

/* Each point stands for what lies between the one before it and itself. */
static void take_points(const struct ft_estimate *e, double above, struct points *p)
{
  double before = 0;

  *p = (struct points){ 0 };
  for (size_t i = 0; i < POINTS; i++) {
    double level = i < EVEN ? ((double)i + 0.5) / EVEN * 0.985 : tail[i - EVEN];
    double bytes = ft_estimate_quantile(e, level);

    if (bytes > above)
      add_point(p, bytes, level - before);
    before = level;
  }
}

double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price)
{
  struct points p;
  double least[POINTS + 1], all;
  size_t first = 0;

  take_points(estimate, failed_bytes, &p);
  if (!p.count)
    return BEYOND * failed_bytes;
  all = p.below[p.count];
  /* least[i]: expected waste of the needs from point i on, when all before have failed */
  least[p.count] = 0;
  for (size_t i = p.count; i-- > 0;) {
    least[i] = INFINITY;
    for (size_t j = i; j < p.count; j++) {
      double spare = p.bytes[j] * (p.below[j + 1] - p.below[i]) - (p.needed[j + 1] - p.needed[i]);
      double failed = (all - p.below[j + 1]) * failure_price * p.bytes[j];
      double waste = spare + failed + least[j + 1];

      if (waste < least[i]) {
        least[i] = waste;
        if (i == 0)
          first = j;
      }
    }
  }
  return p.bytes[first];
}
