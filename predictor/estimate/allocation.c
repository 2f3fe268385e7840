/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "predictor/estimate/allocation.h"
#include "predictor/estimate/evaluate.h"
#include "predictor/estimate/memory.h"

/*
 * Points of a distribution: evenly spaced ones and those of the tail; of runs,
 * so many groups of them and what lies beyond.
 */
enum { EVEN = 50, TAIL = 5, GROUPS = 128, OUTSIDE = 3, POINTS = GROUPS + 1 + OUTSIDE };

enum { ENOUGH_RUNS = 8 };

/* Where the distribution ends and a job has needed more nonetheless. */
#define BEYOND 1.5
/* Past what has failed and all that was ever seen a tail is a guess: no attempt is larger than so
 * many times what failed. */
#define MOST_GROWTH 2
/* Runs count e times less with each tenth that their input differs, but never nothing. */
#define NEAR 0.1
#define FAR_WEIGHT 0.02
/* A run that needs as much as another needs a little more. */
#define MARGIN 1.002
/* The next of n runs is above all of them once in n + 1 times; so far, equally often. */
#define OUTSIDE_RUNS 0.9

static const double outside[OUTSIDE] = { 1.02, 1.1, 1.5 };

static const double tail[TAIL] = { 0.99, 0.995, 0.998, 0.999, 0.9999 };

struct points {
  size_t count;
  double bytes[POINTS];
  double below[POINTS + 1];  /* probability of all points before each */
  double needed[POINTS + 1]; /* and the bytes they need, weighted by it */
};

/* A point for needs of MASS together, NEEDED bytes weighted by it. */
static void add_point(struct points *p, double bytes, double mass, double needed)
{
  p->bytes[p->count] = bytes;
  p->below[p->count + 1] = p->below[p->count] + mass;
  p->needed[p->count + 1] = p->needed[p->count] + needed;
  p->count++;
}

/* Each point stands for what lies between the one before it and itself. */
static void take_quantiles(const struct ft_estimate *e, double above, struct points *p)
{
  double before = 0;

  *p = (struct points){ 0 };
  for (size_t i = 0; i < EVEN + TAIL; i++) {
    double level = i < EVEN ? ((double)i + 0.5) / EVEN * 0.985 : tail[i - EVEN];
    double bytes = ft_estimate_quantile(e, level);

    if (bytes > above)
      add_point(p, bytes, level - before, (level - before) * bytes);
    before = level;
  }
}

/* The weight of each run for a submission at PLACE; their sum. */
static double weigh(const ft_evaluator *e, double place, double *weight)
{
  double total = 0;

  for (size_t i = 0; i < e->needs_count; i++) {
    weight[i] = 1;
    if (place >= 0)
      weight[i] = FAR_WEIGHT;
    if (place >= 0 && e->places[i] >= 0)
      weight[i] += exp(-fabs((double)e->places[i] - place) / NEAR);
    total += weight[i];
  }
  return total;
}

/* Runs by rising need, in groups of about equal weight, and what lies beyond. */
static void take_runs(const ft_evaluator *e, double centre, double place, double above,
                      struct points *p)
{
  double weight[sizeof e->needs / sizeof *e->needs], mass = 0, needed = 0;
  double total = weigh(e, place, weight), bytes = 0;

  *p = (struct points){ 0 };
  for (size_t i = 0; i < e->needs_count; i++) {
    bytes = MARGIN * exp(centre + (double)e->needs[i]);
    if (bytes > above) {
      mass += weight[i];
      needed += weight[i] * bytes;
    }
    if (mass >= total / GROUPS || (mass > 0 && i + 1 == e->needs_count)) {
      add_point(p, bytes, mass, needed);
      mass = needed = 0;
    }
  }
  mass = OUTSIDE_RUNS / OUTSIDE * total / (double)e->needs_count;
  for (size_t i = 0; i < OUTSIDE; i++)
    if (bytes * outside[i] > above)
      add_point(p, bytes * outside[i], mass, mass * bytes * outside[i]);
}

/* The first of the chain of allocations above FAILED_BYTES that wastes least. */
static double least_waste(const struct points *p, double failed_bytes, double failure_price)
{
  double least[POINTS + 1], all = p->below[p->count];
  size_t first = 0;

  /* least[i]: expected waste of the needs from point i on, when all before have failed */
  least[p->count] = 0;
  for (size_t i = p->count; i-- > 0;) {
    least[i] = INFINITY;
    for (size_t j = i; j < p->count; j++) {
      double spare =
          p->bytes[j] * (p->below[j + 1] - p->below[i]) - (p->needed[j + 1] - p->needed[i]);
      double failed = (all - p->below[j + 1]) * failure_price * p->bytes[j];
      double waste = spare + failed + least[j + 1];

      if (waste < least[i]) {
        least[i] = waste;
        if (i == 0)
          first = j;
      }
    }
  }
  return p->count ? p->bytes[first] : BEYOND * failed_bytes;
}

double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price)
{
  struct points p;
  double bytes;

  take_quantiles(estimate, failed_bytes, &p);
  bytes = least_waste(&p, failed_bytes, failure_price);
  return failed_bytes > 0 ? fmin(bytes, fmax(MOST_GROWTH * failed_bytes, estimate->max_bytes))
                          : bytes;
}

int ft_allocate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       double failed_bytes, double failure_price, struct ft_estimate *out,
                       double *bytes, struct ft_error *err)
{
  const ft_evaluator *e = &model->evaluator;
  float x[sizeof model->columns / sizeof *model->columns];
  struct ft_centre centre;
  struct points p;
  double place = -1;

  if (ft_estimate_memory(model, features, count, out, err) < 0)
    return -1;
  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_evaluate_centre(e, x, model->columns_count, &centre);
  if (e->needs_count < ENOUGH_RUNS || e->has_bound_log) {
    *bytes = ft_allocation(out, failed_bytes, failure_price);
    return 0;
  }
  if (e->has_place_column && e->place_column < model->columns_count && !isnan(x[e->place_column]))
    place = log1p(fabs((double)x[e->place_column]));
  take_runs(e, centre.log, place, failed_bytes, &p);
  *bytes = least_waste(&p, failed_bytes, failure_price);
  return 0;
}
