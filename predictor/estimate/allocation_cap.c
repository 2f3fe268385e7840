/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation_cap.h"
#include "predictor/estimate/point_prediction.h"

/* Cap as a multiple of the largest peak among the CLOSEST_RUNS. Chosen by
 * tests/bench/replay_constants. */
#define CAP_FACTOR 1.05
/* Number of runs whose covariates are closest to the submission's, unless some are the same. Chosen
 * by tests/bench/replay_constants. */
enum { CLOSEST_RUNS = 12 };
/* The cap grows with this power of 1 + (cost of a failure / largest peak): about 1/7, as for a tail
 * probability that falls with the seventh power. Chosen by tests/bench/replay_constants. */
#define CAP_COST_EXPONENT 0.15
/* Target rate of runs above the cap (adaptive conformal inference, Gibbs and Candes 2021). */
#define CAP_EXCEEDED_RATE 0.05
/* Step size of the adaptation of log_cap_correction, per run. Half and twice were compared. */
#define CAP_STEP 0.1
/* Maximum of log_cap_correction: a factor of e^2. */
#define MAX_CAP_CORRECTION 2.0

/* Returns the distance from COVARIATE to the farthest of the closest runs: those with the same
 * covariate, or if there are none CLOSEST_RUNS. INFINITY if fewer runs have a covariate. Sets
 * *COUNT to their number. */
static double closest_radius(const ft_evaluator *e, double covariate, size_t *count)
{
  double distance[CLOSEST_RUNS];
  size_t found = 0, same = 0;

  for (size_t i = 0; i < e->covariates_count; i++) {
    double other = (double)e->covariates[i], here = fabs(other - covariate);
    size_t at = found < CLOSEST_RUNS ? found : CLOSEST_RUNS - 1;

    same += here == 0;
    if (other < 0 || (found == CLOSEST_RUNS && here >= distance[at]))
      continue;
    found = at + 1;
    for (; at > 0 && distance[at - 1] > here; at--)
      distance[at] = distance[at - 1];
    distance[at] = here;
  }
  *count = same ? same : found;
  if (same)
    return 0;
  return found == CLOSEST_RUNS ? distance[found - 1] : INFINITY;
}

/* Returns the peak NEED of a run with the covariate FROM, extrapolated in proportion to the larger
 * covariate TO; NEED if TO is not larger. */
static double extrapolate_need(double need, double from, double to)
{
  return to > from ? need * expm1(to) / fmax(expm1(from), 1e-9) : need;
}

/* Returns the largest peak of the closest runs, extrapolated to COVARIATE; INFINITY if there are
 * too few. Sets *COUNT to their number. */
static double closest_need(const ft_evaluator *e, double covariate, size_t *count)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  double radius = closest_radius(e, covariate, count), largest = 0;

  if (!e->baselines_count || isinf(radius))
    return INFINITY;
  for (size_t i = 0; i < peak->needs_count; i++) {
    double other = (double)e->covariates[peak->runs.bytes[i]];

    if (other >= 0 && fabs(other - covariate) <= radius)
      largest = fmax(largest, extrapolate_need((double)peak->needs[i], other, covariate));
  }
  return largest > 0 ? largest : INFINITY;
}

/* Returns whether the point prediction depends on no column but the primary one. Otherwise runs
 * with close covariates may need different amounts, because of other features. */
static bool depends_on_primary_only(const ft_evaluator *e)
{
  bool only = true;

  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    only &= !ft_term_has_effect(t) || (e->has_primary_column && t->column == e->primary_column);
  }
  for (size_t i = 0; e->has_products && i < e->products.columns.size; i++)
    only &= e->has_primary_column && e->products.columns.bytes[i] == e->primary_column;
  for (size_t i = 0; e->by_equation && i < e->equation.columns_count; i++)
    only &= e->has_primary_column && e->equation.columns[i] == e->primary_column;
  return only;
}

double ft_allocation_cap(const ft_evaluator *e, const struct ft_allocation_query *q, double fixed)
{
  bool has_covariate = e->has_primary_column && q->covariate >= 0;
  double cap = e->max_value > 0 ? e->max_value : INFINITY, largest = 0, closest;
  size_t count;

  if (!depends_on_primary_only(e))
    return INFINITY;
  for (size_t i = 0; has_covariate && i < e->covariates_count; i++)
    largest = fmax(largest, (double)e->covariates[i]);
  if (largest > 0)
    cap = extrapolate_need(cap, largest, q->covariate);
  /* a new run exceeds the COUNT closest ones with probability 1 / (COUNT + 1); the cap from these
   * applies only while the expected cost of that is less than the cap itself */
  if (has_covariate) {
    closest = closest_need(e, (double)(float)q->covariate, &count); /* the runs' are floats */
    if (fixed < (double)(count + 1) * cap)
      cap = fmin(cap, closest);
  }
  cap *= exp(fmin(fmax(e->log_cap_correction, 0), MAX_CAP_CORRECTION));
  return CAP_FACTOR * cap * pow(1 + fixed / fmax(e->max_value, 1), CAP_COST_EXPONENT);
}

void ft_allocation_cap_update(ft_evaluator *e, bool exceeded)
{
  e->log_cap_correction += CAP_STEP * (exceeded - CAP_EXCEEDED_RATE);
  e->log_cap_correction = fmin(fmax(e->log_cap_correction, 0), MAX_CAP_CORRECTION);
}
