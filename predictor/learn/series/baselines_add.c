/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds one run to a fit's needs (log residuals) and baselines without a new fit. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/learn/series/baselines.h"

/* Remove element AT from an array of COUNT elements, or make room for a new element AT. */
#define REMOVE(array, at, count)                                                                   \
  memmove(&(array)[at], &(array)[(at) + 1], ((count) - (at)-1) * sizeof *(array))
#define MAKE_ROOM(array, at, count)                                                                \
  memmove(&(array)[(at) + 1], &(array)[at], ((count) - (at)) * sizeof *(array))

/* Removes the run from FIT's needs after which AGE of them ended. Returns its former index. */
static size_t drop_need(struct ft_series_fit *fit, size_t age)
{
  size_t count = fit->needs_count, at = 0;

  while (at + 1 < count && fit->ages[at] != age)
    at++;
  REMOVE(fit->needs, at, count);
  REMOVE(fit->covariates, at, count);
  REMOVE(fit->seconds, at, count);
  REMOVE(fit->ages, at, count);
  fit->needs_count = count - 1;
  for (size_t i = 0; i < sizeof fit->ages; i++)
    fit->ages[i] = (uint8_t)(fit->ages[i] - (fit->ages[i] > age));
  return at;
}

/* Adds DELTA to all run indices from FIRST on. The loop covers the whole array, so that its length
 * is constant. */
static void shift_run_indices(struct ft_series_baseline *baseline, uint8_t first, int delta)
{
  uint8_t *run = baseline->runs;

  for (size_t i = 0; i < sizeof baseline->runs; i++)
    run[i] = (uint8_t)(run[i] + (run[i] >= first ? delta : 0));
}

static void drop_from_baseline(struct ft_series_baseline *baseline, size_t run)
{
  size_t count = baseline->needs_count;
  const uint8_t *found = memchr(baseline->runs, (int)run, count);

  if (found) {
    size_t at = (size_t)(found - baseline->runs);

    REMOVE(baseline->needs, at, count);
    REMOVE(baseline->runs, at, count);
    baseline->needs_count = count - 1;
  }
  shift_run_indices(baseline, (uint8_t)(run + 1), -1);
}

/* Returns how many of the COUNT ascending VALUES are at most VALUE, by binary search. */
static size_t upper_bound(const float *values, size_t count, float value)
{
  size_t first = 0;

  for (size_t half; count > 0; count = half) {
    half = count / 2;
    if (values[first + half] <= value) {
      first += half + 1;
      half = count - half - 1;
    }
  }
  return first;
}

static size_t insert_sorted_run(struct ft_series_fit *fit, float need, float covariate,
                                float seconds)
{
  size_t count = fit->needs_count, at = upper_bound(fit->needs, count, need);

  for (size_t i = 0; i < sizeof fit->ages; i++)
    fit->ages[i]++;
  MAKE_ROOM(fit->needs, at, count);
  MAKE_ROOM(fit->covariates, at, count);
  MAKE_ROOM(fit->seconds, at, count);
  MAKE_ROOM(fit->ages, at, count);
  fit->needs[at] = need;
  fit->covariates[at] = covariate;
  fit->seconds[at] = seconds;
  fit->ages[at] = 0;
  fit->needs_count = count + 1;
  return at;
}

static void insert_in_baseline(struct ft_series_baseline *baseline, float value, size_t run)
{
  size_t count = baseline->needs_count, at = upper_bound(baseline->needs, count, value);

  MAKE_ROOM(baseline->needs, at, count);
  MAKE_ROOM(baseline->runs, at, count);
  baseline->needs[at] = value;
  baseline->runs[at] = (uint8_t)run;
  baseline->needs_count = count + 1;
}

/* Returns the residual of VALUE: the difference to BASELINE's prediction at COVARIATE, of a power
 * law the ratio; without a slope VALUE. */
static float residual_of(const struct ft_series_baseline *baseline, float covariate, double value)
{
  double x = (double)covariate;

  if (baseline->slope == 0)
    return (float)value;
  if (!baseline->factor)
    return (float)(value - baseline->intercept - baseline->slope * expm1(x));
  return (float)exp(fmin(fmax(log(value) - baseline->intercept - baseline->slope * x, -30), 30));
}

static void add_to_baseline(struct ft_series_baseline *baseline, size_t run, float covariate,
                            double value)
{
  shift_run_indices(baseline, (uint8_t)run, 1);
  if (baseline->slope != 0 && covariate < 0)
    return;
  if (baseline->slope != 0)
    baseline->min_prediction = fmin(baseline->min_prediction, FT_BASELINE_MIN_FRACTION * value);
  insert_in_baseline(baseline, residual_of(baseline, covariate, value), run);
}

bool ft_baselines_add(struct ft_series *s, size_t left, double log_residual, double shift)
{
  struct ft_series_fit *fit = &s->fit;
  const struct ft_series_run *run = &s->run[s->runs - 1];
  double value = ft_series_unit_value(fit, run);
  size_t completed = 0, after = 0, kept, at;
  float covariate = ft_series_primary_covariate(fit, run);

  for (size_t i = 0; i < s->runs; i++) {
    completed += !s->run[i].censored;
    after += !s->run[i].censored && i >= left && i + 1 < s->runs;
  }
  kept = completed - !run->censored;
  if (!kept || fit->needs_count < kept || fit->needs_count > kept + 1)
    return false;
  if (fit->needs_count > kept) {
    at = drop_need(fit, after);
    for (size_t v = 0; v < fit->baselines_count; v++)
      drop_from_baseline(&fit->baselines[v], at);
  }
  for (size_t i = 0; i < fit->needs_count && shift != 0; i++)
    fit->needs[i] = (float)((double)fit->needs[i] + shift);
  if (run->censored)
    return true;
  at = insert_sorted_run(fit, (float)log_residual, covariate,
                         (float)fmin(fmax(run->seconds, 0), 1e9));
  for (size_t v = 0; v < fit->baselines_count; v++)
    if (v == FT_BASELINE_CONSTANT || fit->baselines[v].slope != 0)
      add_to_baseline(&fit->baselines[v], at, covariate, value);
  return true;
}
