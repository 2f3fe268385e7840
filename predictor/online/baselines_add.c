/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds one run to an evaluator's needs and baselines without a new fit. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit.h"

/* Remove element AT of COUNT, or make room for one there. */
#define REMOVE(array, at, count) \
  memmove(&(array)[at], &(array)[(at) + 1], ((count) - (at) - 1) * sizeof *(array))
#define MAKE_ROOM(array, at, count) \
  memmove(&(array)[(at) + 1], &(array)[at], ((count) - (at)) * sizeof *(array))

/* Removes the oldest run. Returns its index. */
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

/* Adds BY to all run indices from FIRST on. The loop covers the whole array, so that its length is
 * constant. */
static void move_runs(ft_baseline *view, pb_byte_t first, int by)
{
  pb_byte_t *run = view->runs.bytes;

  for (size_t i = 0; i < sizeof view->runs.bytes; i++)
    run[i] = (pb_byte_t)(run[i] + (run[i] >= first ? by : 0));
}

static void drop_from_view(ft_baseline *view, size_t run)
{
  size_t count = view->needs_count;
  const pb_byte_t *found = memchr(view->runs.bytes, (int)run, count);

  if (found) {
    size_t at = (size_t)(found - view->runs.bytes);

    REMOVE(view->needs, at, count);
    REMOVE(view->runs.bytes, at, count);
    view->needs_count = view->runs.size = (pb_size_t)(count - 1);
  }
  move_runs(view, (pb_byte_t)(run + 1), -1);
}

/* Returns how many of the COUNT ascending NEEDS are not above NEED. */
static size_t place_in(const float *needs, size_t count, float need)
{
  size_t first = 0;

  for (size_t half; count > 0; count = half) {
    half = count / 2;
    if (needs[first + half] <= need) {
      first += half + 1;
      half = count - half - 1;
    }
  }
  return first;
}

static size_t insert_sorted_run(ft_evaluator *e, float need, float place, float seconds)
{
  size_t count = e->needs_count, at = place_in(e->needs, count, need);

  for (size_t i = 0; i < sizeof e->ages.bytes; i++)
    e->ages.bytes[i]++;
  MAKE_ROOM(e->needs, at, count);
  MAKE_ROOM(e->covariates, at, count);
  MAKE_ROOM(e->seconds, at, count);
  MAKE_ROOM(e->ages.bytes, at, count);
  e->needs[at] = need;
  e->covariates[at] = place;
  e->seconds[at] = seconds;
  e->ages.bytes[at] = 0;
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size = (pb_size_t)(count + 1);
  return at;
}

static void insert_in_view(ft_baseline *view, float need, size_t run)
{
  size_t count = view->needs_count, at = place_in(view->needs, count, need);

  MAKE_ROOM(view->needs, at, count);
  MAKE_ROOM(view->runs.bytes, at, count);
  view->needs[at] = need;
  view->runs.bytes[at] = (pb_byte_t)run;
  view->needs_count = view->runs.size = (pb_size_t)(count + 1);
}

/* Returns BYTES relative to the view's prediction at PLACE. */
static float need_in(const ft_baseline *view, float place, double bytes)
{
  double x = (double)place;

  if (view->slope == 0)
    return (float)bytes;
  if (!view->factor)
    return (float)(bytes - view->intercept - view->slope * expm1(x));
  return (float)exp(fmin(fmax(log(bytes) - view->intercept - view->slope * x, -30), 30));
}

static void add_to_view(ft_baseline *view, size_t run, float place, double bytes)
{
  move_runs(view, (pb_byte_t)run, 1);
  if (view->slope != 0 && place < 0)
    return;
  if (view->slope != 0)
    view->least = fmin(view->least, FT_ENSEMBLE_LEAST_PART * bytes);
  insert_in_view(view, need_in(view, place, bytes), run);
}

bool ft_baselines_add(ft_model *model, double above, double shift)
{
  ft_evaluator *e = &model->evaluator;
  const ft_run *run = &model->history[model->history_count - 1];
  double bytes = fmax(run->bytes, 1);
  size_t completed = 0, kept, at;
  float place = ft_refit_primary_covariate(e, run);

  for (size_t i = 0; i < model->history_count; i++)
    completed += !model->history[i].censored;
  kept = completed - !run->censored;
  if (!kept || e->needs_count < kept || e->needs_count > kept + 1 ||
      e->seconds_count != e->needs_count || e->ages.size != e->needs_count)
    return false;
  if (e->needs_count > kept) {
    at = drop_oldest(e);
    for (size_t v = 0; v < e->baselines_count; v++)
      drop_from_view(&e->baselines[v], at);
  }
  for (size_t i = 0; i < e->needs_count && shift != 0; i++)
    e->needs[i] = (float)((double)e->needs[i] + shift);
  if (run->censored)
    return true;
  at = insert_sorted_run(e, (float)above, place, (float)fmin(fmax(run->runtime_seconds, 0), 1e9));
  for (size_t v = 0; v < e->baselines_count; v++)
    if (v == FT_BASELINE_CONSTANT || e->baselines[v].slope != 0)
      add_to_view(&e->baselines[v], at, place, bytes);
  return true;
}
