/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation_cap.h"
#include "predictor/learn/distribution.h"

/* No run is given at first more than so many times what those of its kind have needed, */
#define REACH 1.05
/* which are so many that lie closest to it. */
enum { CLOSEST_RUNS = 12 };
/* What grows faster than its input does so where a line says it this surely. */
#define SURE 0.975
/* Where a failure costs more than its own bytes, that is more by this power of the ratio: as for a
 * need whose tail falls with the seventh power. */
#define REACH_POWER 0.15
/* That is widened where runs lately needed more than it, as adaptive conformal inference does
 * (Gibbs and Candes 2021): so that one in twenty does, */
#define REACH_MISSED 0.05
#define REACH_STEP 0.1
/* up to e to this. */
#define MOST_REACH 2.0

/* How far from PLACE the CLOSEST_RUNS lie; infinite: no more have a place. */
static double radius(const ft_evaluator *e, double place)
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

/* The power of the input by which needs grow beyond all inputs: 1, or what the line through the
 * logarithms has for sure. */
static double growth(const ft_evaluator *e)
{
  const ft_baseline *line = &e->baselines[FT_BASELINE_POWER];
  double count = line->needs_count, middle = 0, spread = 0, rest = 0, error;

  if (e->baselines_count <= FT_BASELINE_POWER || !(line->slope > 1) ||
      count < FT_ENSEMBLE_LEAST_RUNS)
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
  return fmax(line->slope - ft_student_quantile(SURE, (unsigned)count - 2) * error, 1);
}

/* NEED of a run at OTHER, grown by POWER where the input at PLACE is larger. */
static double grown(double need, double other, double place, double power)
{
  double times;

  if (!(place > other))
    return need;
  times = expm1(place) / fmax(expm1(other), 1e-9);
  return need * (power > 1 ? pow(times, power) : times);
}

/* The most that the runs have needed which lie closest to PLACE, grown by POWER; infinite: too few
 * have a place. */
static double closest_need(const ft_evaluator *e, double place, double power)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  double within = radius(e, place), most = 0;

  if (!e->baselines_count || isinf(within))
    return INFINITY;
  for (size_t i = 0; i < peak->needs_count; i++) {
    double other = (double)e->covariates[peak->runs.bytes[i]];

    if (other >= 0 && fabs(other - place) <= within)
      most = fmax(most, grown((double)peak->needs[i], other, place, power));
  }
  return most > 0 ? most : INFINITY;
}

/* Whether nothing but the place moves the centre: where other features do, runs that are close in
 * one alone are not of the same kind. */
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
  power = q->covariate > largest ? growth(e) : 1;
  if (largest > 0)
    most = grown(most, largest, q->covariate, power);
  /* one in so many needs more than its closest */
  if (placed && fixed < (CLOSEST_RUNS + 1) * most)
    most = fmin(most, closest_need(e, q->covariate, power));
  most *= exp(fmin(fmax(e->log_cap_correction, 0), MOST_REACH));
  return REACH * most * pow(1 + fixed / fmax(e->max_bytes, 1), REACH_POWER);
}

void ft_allocation_cap_update(ft_evaluator *e, bool exceeded)
{
  e->log_cap_correction += REACH_STEP * (exceeded - REACH_MISSED);
  e->log_cap_correction = fmin(fmax(e->log_cap_correction, 0), MOST_REACH);
}
