/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds one run to an evaluator's needs (log residuals) and baselines without a new fit. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit.h"

/* Remove element AT from an array of COUNT elements, or make room for a new element AT. */
#define REMOVE(array, at, count) \
  memmove(&(array)[at], &(array)[(at) + 1], ((count) - (at) - 1) * sizeof *(array))
#define MAKE_ROOM(array, at, count) \
  memmove(&(array)[(at) + 1], &(array)[at], ((count) - (at)) * sizeof *(array))

/* Removes the oldest run from E's needs. Returns its former index. */
static size_t drop_oldest(ft_evaluator *e)
{
  size_t count = e->needs_count, oldest = 0;

  while (oldest + 1 < count && e->ages.bytes[oldest] + 1U < count)
    oldest++;
  REMOVE(e->needs, oldest, count);
  REMOVE(e->covariates, oldest, count);
  REMOVE(e->seconds, oldest, count);
  REMOVE(e->ages.bytes, oldest, count);
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size = (pb_size_t)(count - 1);
  return oldest;
}

/* Adds DELTA to all run indices from FIRST on. The loop covers the whole array, so that its length
 * is constant. */
static void shift_run_indices(ft_baseline *baseline, pb_byte_t first, int delta)
{
  pb_byte_t *run = baseline->runs.bytes;

  for (size_t i = 0; i < sizeof baseline->runs.bytes; i++)
    run[i] = (pb_byte_t)(run[i] + (run[i] >= first ? delta : 0));
}

static void drop_from_baseline(ft_baseline *baseline, size_t run)
{
  size_t count = baseline->needs_count;
  const pb_byte_t *found = memchr(baseline->runs.bytes, (int)run, count);

  if (found) {
    size_t at = (size_t)(found - baseline->runs.bytes);

    REMOVE(baseline->needs, at, count);
    REMOVE(baseline->runs.bytes, at, count);
    baseline->needs_count = baseline->runs.size = (pb_size_t)(count - 1);
  }
  shift_run_indices(baseline, (pb_byte_t)(run + 1), -1);
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

static size_t insert_sorted_run(ft_evaluator *e, float need, float covariate, float seconds)
{
  size_t count = e->needs_count, at = upper_bound(e->needs, count, need);

  for (size_t i = 0; i < sizeof e->ages.bytes; i++)
    e->ages.bytes[i]++;
  MAKE_ROOM(e->needs, at, count);
  MAKE_ROOM(e->covariates, at, count);
  MAKE_ROOM(e->seconds, at, count);
  MAKE_ROOM(e->ages.bytes, at, count);
  e->needs[at] = need;
  e->covariates[at] = covariate;
  e->seconds[at] = seconds;
  e->ages.bytes[at] = 0;
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size = (pb_size_t)(count + 1);
  return at;
}

static void insert_in_baseline(ft_baseline *baseline, float value, size_t run)
{
  size_t count = baseline->needs_count, at = upper_bound(baseline->needs, count, value);

  MAKE_ROOM(baseline->needs, at, count);
  MAKE_ROOM(baseline->runs.bytes, at, count);
  baseline->needs[at] = value;
  baseline->runs.bytes[at] = (pb_byte_t)run;
  baseline->needs_count = baseline->runs.size = (pb_size_t)(count + 1);
}

/* Returns the residual of BYTES: the difference to BASELINE's prediction at COVARIATE, of a power
 * law the ratio; without a slope BYTES. */
static float residual_of(const ft_baseline *baseline, float covariate, double bytes)
{
  double x = (double)covariate;

  if (baseline->slope == 0)
    return (float)bytes;
  if (!baseline->factor)
    return (float)(bytes - baseline->intercept - baseline->slope * expm1(x));
  return (float)exp(fmin(fmax(log(bytes) - baseline->intercept - baseline->slope * x, -30), 30));
}

static void add_to_baseline(ft_baseline *baseline, size_t run, float covariate, double bytes)
{
  shift_run_indices(baseline, (pb_byte_t)run, 1);
  if (baseline->slope != 0 && covariate < 0)
    return;
  if (baseline->slope != 0)
    baseline->min_prediction = fmin(baseline->min_prediction, FT_ENSEMBLE_MIN_FRACTION * bytes);
  insert_in_baseline(baseline, residual_of(baseline, covariate, bytes), run);
}

bool ft_baselines_add(ft_model *model, double log_residual, double shift)
{
  ft_evaluator *e = &model->evaluator;
  const ft_run *run = &model->history[model->history_count - 1];
  double bytes = fmax(run->bytes, 1);
  size_t completed = 0, kept, at;
  float covariate = ft_refit_primary_covariate(e, run);

  for (size_t i = 0; i < model->history_count; i++)
    completed += !model->history[i].censored;
  kept = completed - !run->censored;
  if (!kept || e->needs_count < kept || e->needs_count > kept + 1 ||
      e->seconds_count != e->needs_count || e->ages.size != e->needs_count)
    return false;
  if (e->needs_count > kept) {
    at = drop_oldest(e);
    for (size_t v = 0; v < e->baselines_count; v++)
      drop_from_baseline(&e->baselines[v], at);
  }
  for (size_t i = 0; i < e->needs_count && shift != 0; i++)
    e->needs[i] = (float)((double)e->needs[i] + shift);
  if (run->censored)
    return true;
  at = insert_sorted_run(e, (float)log_residual, covariate,
                         (float)fmin(fmax(run->runtime_seconds, 0), 1e9));
  for (size_t v = 0; v < e->baselines_count; v++)
    if (v == FT_BASELINE_CONSTANT || e->baselines[v].slope != 0)
      add_to_baseline(&e->baselines[v], at, covariate, bytes);
  return true;
}
