/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation_cap.h"
#include "predictor/learn/distribution.h"

/* Cap as a multiple of the largest peak among the CLOSEST_RUNS. Chosen by
 * tests/bench/replay_constants. */
#define CAP_FACTOR 1.05
/* Runs nearest in the covariate. Chosen by tests/bench/replay_constants. */
enum { CLOSEST_RUNS = 12 };
/* Confidence of the lower bound of a power-law exponent above 1. Chosen by judgement. */
#define EXPONENT_CONFIDENCE 0.975
/* Exponent of the cap over the relative cost of a failure: about 1/7, as for a tail that falls with
 * the seventh power. Chosen by tests/bench/replay_constants. */
#define CAP_COST_EXPONENT 0.15
/* Target rate of runs above the cap (adaptive conformal inference, Gibbs and Candes 2021). */
#define CAP_EXCEEDED_RATE 0.05
/* Step of log_cap_correction per run. Chosen by judgement. */
#define CAP_STEP 0.1
/* Largest log_cap_correction: a factor of e^2. Chosen by judgement. */
#define MAX_CAP_CORRECTION 2.0

/* Distance of the CLOSEST_RUNS from PLACE in the covariate; infinite if fewer runs have one. */
static double closest_radius(const ft_evaluator *e, double place)
{
  double away[CLOSEST_RUNS];
  size_t count = 0;

  for (size_t i = 0; i < e->covariates_count; i++) {
    double other = (double)e->covariates[i], here = fabs(other - place);
    size_t at = count < CLOSEST_RUNS ? count : CLOSEST_RUNS - 1;

    if (other < 0 || (count == CLOSEST_RUNS && here >= away[at]))
      continue;
    count = at + 1;
    for (; at > 0 && away[at - 1] > here; at--)
      away[at] = away[at - 1];
    away[at] = here;
  }
  return count == CLOSEST_RUNS ? away[count - 1] : INFINITY;
}

/* Exponent by which peaks grow beyond the largest input: 1, or the lower confidence bound of the
 * power-law fit if larger. */
static double growth_exponent(const ft_evaluator *e)
{
  const ft_baseline *line = &e->baselines[FT_BASELINE_POWER];
  double count = line->needs_count, middle = 0, spread = 0, rest = 0, error;

  if (e->baselines_count <= FT_BASELINE_POWER || !(line->slope > 1) || count < FT_ENSEMBLE_MIN_RUNS)
    return 1;
  for (size_t i = 0; i < line->needs_count; i++)
    middle += (double)e->covariates[line->runs.bytes[i]] / count;
  for (size_t i = 0; i < line->needs_count; i++) {
    double away = (double)e->covariates[line->runs.bytes[i]] - middle;
    double left = log((double)line->needs[i]);

    spread += away * away;
    rest += left * left;
  }
  error = sqrt(rest / (count - 2) / fmax(spread, 1e-9));
  return fmax(line->slope - ft_student_quantile(EXPONENT_CONFIDENCE, (unsigned)count - 2) * error,
              1);
}

/* Extrapolates NEED of a run at OTHER to a larger input at PLACE with exponent POWER. */
static double extrapolate_need(double need, double other, double place, double power)
{
  double times;

  if (!(place > other))
    return need;
  times = expm1(place) / fmax(expm1(other), 1e-9);
  return need * (power > 1 ? pow(times, power) : times);
}

/* Largest peak of the CLOSEST_RUNS, extrapolated to PLACE with exponent POWER; infinite if fewer
 * runs have a covariate. */
static double closest_need(const ft_evaluator *e, double place, double power)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  double within = closest_radius(e, place), most = 0;

  if (!e->baselines_count || isinf(within))
    return INFINITY;
  for (size_t i = 0; i < peak->needs_count; i++) {
    double other = (double)e->covariates[peak->runs.bytes[i]];

    if (other >= 0 && fabs(other - place) <= within)
      most = fmax(most, extrapolate_need((double)peak->needs[i], other, place, power));
  }
  return most > 0 ? most : INFINITY;
}

/* Whether the point prediction depends on the primary column only. Otherwise runs that are near in
 * it may differ in other features. */
static bool moved_by_place_alone(const ft_evaluator *e)
{
  bool alone = true;

  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];
    bool moves = t->coefficient != 0;

    for (size_t l = 0; l < t->levels_count; l++)
      moves |= t->levels[l] != 0;
    alone &= !moves || (e->has_primary_column && t->column == e->primary_column);
  }
  for (size_t i = 0; e->by_equation && i < e->equation.columns_count; i++)
    alone &= e->has_primary_column && e->equation.columns[i] == e->primary_column;
  return alone;
}

double ft_allocation_cap(const ft_evaluator *e, const struct ft_allocation_query *q, double fixed)
{
  bool placed = e->has_primary_column && q->covariate >= 0;
  double most = e->max_bytes > 0 ? e->max_bytes : INFINITY, largest = 0, power;

  if (!moved_by_place_alone(e))
    return INFINITY;
  for (size_t i = 0; placed && i < e->covariates_count; i++)
    largest = fmax(largest, (double)e->covariates[i]);
  power = q->covariate > largest ? growth_exponent(e) : 1;
  if (largest > 0)
    most = extrapolate_need(most, largest, q->covariate, power);
  /* a new run exceeds its CLOSEST_RUNS with probability 1 / (CLOSEST_RUNS + 1) */
  if (placed && fixed < (CLOSEST_RUNS + 1) * most)
    most = fmin(most, closest_need(e, q->covariate, power));
  most *= exp(fmin(fmax(e->log_cap_correction, 0), MAX_CAP_CORRECTION));
  return CAP_FACTOR * most * pow(1 + fixed / fmax(e->max_bytes, 1), CAP_COST_EXPONENT);
}

void ft_allocation_cap_update(ft_evaluator *e, bool exceeded)
{
  e->log_cap_correction += CAP_STEP * (exceeded - CAP_EXCEEDED_RATE);
  e->log_cap_correction = fmin(fmax(e->log_cap_correction, 0), MAX_CAP_CORRECTION);
}
