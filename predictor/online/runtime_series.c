/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/runtime.h"
#include "predictor/estimate/variant.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/columns.h"
#include "predictor/online/facts.h"
#include "predictor/online/interval_calibration.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_ratios.h"
#include "predictor/online/pool.h"
#include "predictor/online/runtime_series.h"
#include "predictor/online/series_record.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Returns the number of SECONDS on PLATFORM in the series. */
static double series_value(const ft_performance *p, double seconds, uint32_t platform)
{
  const ft_platform_runs *at = &p->platforms[platform];
  double ratio = platform && at->has_log_ratio ? at->log_ratio : 0;

  return fmin(fmax(seconds * FT_RUNTIME_MICROSECONDS * exp(-ratio), 1), FT_LAW_MAX);
}

static void read_timed_runs(struct ft_runtime_series *w)
{
  const ft_performance *p = &w->next;

  ft_series_read_columns(p->columns, p->columns_count, &w->series);
  w->series.by_many = w->series.shifts = true;
  ft_series_read_evaluator(&p->runtime_model, &w->series);
  w->series.completed = p->runs;
  w->series.runs = w->runs;
  for (size_t i = 0; i < w->runs; i++) {
    const ft_timed_run *run = &w->run[i];
    struct ft_series_run *to = &w->series.run[i];

    *to = (struct ft_series_run){ .time = run->time,
                                  .seconds = 1,
                                  .value = series_value(p, run->seconds, run->platform),
                                  .censored = ft_runtime_stopped(run),
                                  .exceeded = ft_runtime_stopped(run) &&
                                              run->values[FT_QUANTITY_RUNTIME] < 0 };
    ft_series_run_read_x(run->x, run->x_count, to);
  }
}

static void remove_run(struct ft_runtime_series *w, size_t at)
{
  w->runs--;
  memmove(&w->run[at], &w->run[at + 1], (w->runs - at) * sizeof *w->run);
}

static bool has_timed_value(const void *work, size_t column, float value)
{
  const struct ft_runtime_series *w = work;
  size_t i = 0;

  while (i < w->runs && !ft_column_has_value(w->run[i].x, w->run[i].x_count, column, value))
    i++;
  return i < w->runs;
}

/* Fills FEATURES with those of O's submission. Returns their number. */
static size_t copy_features(const ft_submission *s, ft_feature features[COUNT(s->features) + 1])
{
  size_t count = s->features_count;

  memcpy(features, s->features, count * sizeof *features);
  if (s->script_hash || s->directory_hash) /* all variants count as one */
    features[count++] = (ft_feature){ .name = FT_VARIANT_FEATURE, .category = "1" };
  return count;
}

/* Calibrates the interval of W->next by O, a completed run on PLATFORM that it has not learnt. */
static void calibrate(struct ft_runtime_series *w, const ft_observation *o, uint32_t platform)
{
  struct ft_platform_runtime times[FT_RUNTIME_PLATFORMS];
  ft_feature features[COUNT(o->submission.features) + 1];
  size_t count = copy_features(&o->submission, features);
  ft_evaluator *e = &w->next.runtime_model;

  count = ft_runtime_estimate(&w->next, features, count, times);
  if (platform < count && times[platform].known)
    ft_interval_calibration_update(e, &ft_quantities[FT_QUANTITY_RUNTIME], o,
                                   &times[platform].seconds, o->runtime_seconds);
  ft_interval_calibration_count_cohort(e, w->next.runs, o);
}

/* Fills RUN's column values from O, after new columns are added to W->next. Returns whether the
 * meaning of a column changed. */
static bool fill_columns(struct ft_runtime_series *w, const ft_observation *o, ft_timed_run *run)
{
  ft_performance *p = &w->next;
  ft_feature features[COUNT(o->submission.features) + 1];
  struct ft_column_table table = { p->columns, &p->columns_count, NULL, NULL, w, has_timed_value };
  size_t count = copy_features(&o->submission, features);
  bool changed;

  changed = ft_columns_add(&table, features, count);
  run->x_count = p->columns_count;
  ft_columns_fill(p->columns, p->columns_count, features, count, run->x);
  return changed;
}

/* Inserts RUN in order of time. Sets *LEFT to the index of the run that left a pooled model for it.
 * Returns its index; SIZE_MAX if it stays out of a pooled model. */
static size_t insert_timed_run(struct ft_runtime_series *w, const ft_timed_run *run, size_t *left)
{
  struct ft_pool_run runs[FT_RUNTIME_RUNS];
  size_t at;

  if (w->next.uid == FT_STATE_POOLED) {
    for (size_t i = 0; i < w->runs; i++)
      runs[i] = (struct ft_pool_run){ w->run[i].key, w->run[i].time };
    at = ft_pool_leaving(runs, w->runs, (struct ft_pool_run){ run->key, run->time });
    if (at == SIZE_MAX)
      return at;
    if (at < w->runs) {
      remove_run(w, at);
      *left = at;
    }
  }
  for (at = w->runs++; at > 0 && w->run[at - 1].time > run->time; at--)
    w->run[at] = w->run[at - 1];
  w->run[at] = *run;
  return at;
}

/* Removes the run with KEY. Returns whether there was one; sets *COMPLETED if that completed. */
static bool remove_known(struct ft_runtime_series *w, uint64_t key, bool *completed)
{
  size_t i = 0;

  while (i < w->runs && w->run[i].key != key)
    i++;
  if (i == w->runs)
    return false;
  *completed = !ft_runtime_stopped(&w->run[i]);
  remove_run(w, i);
  return true;
}

/* Sets the history to the newest runs of W without the BEFORE oldest. */
static void store_history(struct ft_runtime_series *w, size_t before)
{
  size_t first = w->runs - before > FT_RUNTIME_RUNS ? w->runs - FT_RUNTIME_RUNS : before;

  w->history.count = w->runs - first;
  memcpy(w->history.run, w->run + first, w->history.count * sizeof *w->run);
}

/* Sets the facts of the run-time model, which are in microseconds on the first platform. */
static void fill_facts(struct ft_runtime_series *w)
{
  const struct ft_series *s = &w->series;

  ft_job_time_model(&w->next, &w->model);
  w->facts.count = s->runs;
  for (size_t i = 0; i < s->runs; i++) {
    const struct ft_series_run *run = &s->run[i];

    w->facts.run[i] = (struct ft_fact_run){
      .need = { .value = run->value,
                .censored = run->censored,
                .killed_by = run->exceeded ? FT_KILLED_BY_LIMIT : FT_KILLED_BY_NONE },
      .time = run->time,
      .residual = run->residual,
      .x = run->x,
      .x_count = s->columns
    };
  }
  ft_facts_fill_runs(&w->model, &w->facts);
  w->next.runtime_model = w->model.evaluator;
}

void ft_runtime_series_add(struct ft_runtime_series *w, const ft_observation *o, ft_timed_run *run)
{
  struct ft_series_work *work = (struct ft_series_work *)w->work;
  struct ft_series *s = &w->series;
  ft_performance *p = &w->next;
  bool known, changed, completed = false;
  size_t at, left = 0, before = 0;

  w->runs = w->history.count;
  memcpy(w->run, w->history.run, w->runs * sizeof *w->run);
  known = remove_known(w, run->key, &completed);
  if (!known && !ft_runtime_stopped(run))
    calibrate(w, o, run->platform);
  changed = fill_columns(w, o, run);
  at = insert_timed_run(w, run, &left);
  read_timed_runs(w);
  s->completed -= completed && s->completed;
  if (at != SIZE_MAX) {
    s->run[at].value = ceil(s->run[at].value);
    s->completed += !s->run[at].censored && s->completed < UINT32_MAX;
  }
  if (known || changed || at + 1 != w->runs || !ft_series_add_newest(s, left, work))
    before = ft_series_fit_since_change(s, work);
  p->runs = s->completed;
  p->has_runtime_model = true;
  ft_series_write_evaluator(s, &p->runtime_model);
  store_history(w, before);
  fill_facts(w);
}
