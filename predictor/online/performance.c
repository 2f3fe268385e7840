/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/run_features.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/online/pool.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Limits of the model (foretell.options). */
enum {
  MAX_RUNS = COUNT(((ft_performance *)NULL)->history), /* below the limit of a memory model */
  MAX_PLATFORMS = COUNT(((ft_performance *)NULL)->platforms)
};

/* Microseconds per second. */
#define MICROSECONDS 1e6
/* Maximum valid run time in seconds, one year. Chosen by judgement. */
#define MAX_SECONDS 3.2e7
/* Maximum of a normalised run time in microseconds: the maximum peak of a memory model in bytes. */
#define MAX_MICROSECONDS 0x1p50
/* Prior standard deviation of log run times of equal runs on one platform, worth one run. Chosen by
 * judgement. */
#define PRIOR_DEVIATION 0.1
/* Ratio of the standard deviation of a normal distribution to its median absolute deviation. */
#define MAD_TO_DEVIATION 1.4826
/* A platform becomes the first one with this multiple of the first platform's runs. Chosen by
 * judgement. */
#define SWITCH_FACTOR 1.5

void ft_performance_init(ft_performance *p, const char *app, uint32_t uid)
{
  *p = (ft_performance){ .schema = FT_SCHEMA, .uid = uid };
  (void)ft_string_copy(app, p->app, sizeof p->app);
  (void)ft_string_copy(PACKAGE_VERSION, p->version, sizeof p->version);
}

/* ---- platforms ---- */

/* Counts the runs of each platform and updates its last use. */
static void count_platform_runs(ft_performance *p)
{
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].runs = 0;
  for (size_t i = 0; i < p->history_count; i++) {
    ft_platform_runs *platform = &p->platforms[p->history[i].platform];

    platform->runs++;
    platform->last = fmax(platform->last, p->history[i].time);
  }
}

/* Removes platform AT with its runs. */
static void remove_platform(ft_performance *p, uint32_t at)
{
  size_t kept = 0;

  for (size_t i = 0; i < p->history_count; i++) {
    ft_timed_run run = p->history[i];

    if (run.platform == at)
      continue;
    run.platform -= run.platform > at;
    p->history[kept++] = run;
  }
  p->history_count = (pb_size_t)kept;
  p->platforms_count--;
  memmove(&p->platforms[at], &p->platforms[at + 1],
          (p->platforms_count - at) * sizeof *p->platforms);
}

/* Returns the index of PLATFORM; the number of platforms if it is unknown. */
static uint32_t find_platform(const ft_performance *p, const char *platform)
{
  uint32_t i = 0;

  while (i < p->platforms_count && strcmp(p->platforms[i].platform, platform) != 0)
    i++;
  return i;
}

/* Returns the index of PLATFORM, added if it is new; a full list loses the one used longest ago. */
static uint32_t find_or_add_platform(ft_performance *p, const char *platform)
{
  uint32_t at = find_platform(p, platform), oldest = 1;

  if (at < p->platforms_count)
    return at;
  if (at == MAX_PLATFORMS) {
    for (uint32_t i = 2; i < MAX_PLATFORMS; i++)
      if (p->platforms[i].last < p->platforms[oldest].last)
        oldest = i;
    remove_platform(p, oldest);
    at--;
  }
  p->platforms_count++;
  p->platforms[at] = (ft_platform_runs){ 0 };
  (void)ft_string_copy(platform, p->platforms[at].platform, sizeof p->platforms[at].platform);
  return at;
}

/* Moves a platform with SWITCH_FACTOR times the first platform's runs to the first index. Then
 * refers all ratios to it and clears the regression. */
static void choose_first_platform(ft_performance *p)
{
  uint32_t largest = 0;
  ft_platform_runs first;
  double ratio;

  for (uint32_t i = 1; i < p->platforms_count; i++)
    if (p->platforms[i].runs > p->platforms[largest].runs)
      largest = i;
  if (!largest || p->platforms[largest].runs < SWITCH_FACTOR * p->platforms[0].runs)
    return;
  ratio = p->platforms[largest].log_ratio;
  first = p->platforms[0];
  p->platforms[0] = p->platforms[largest];
  p->platforms[largest] = first;
  for (uint32_t i = 0; i < p->platforms_count; i++) {
    p->platforms[i].log_ratio = i ? p->platforms[i].log_ratio - ratio : 0;
    p->platforms[i].transferred_log_ratio -= ratio;
  }
  p->platforms[largest].has_log_ratio = true;
  p->platforms[0].has_transferred_log_ratio = false;
  for (size_t i = 0; i < p->history_count; i++)
    if (p->history[i].platform == 0 || p->history[i].platform == largest)
      p->history[i].platform = largest - p->history[i].platform;
  p->has_runtime_model = false;
  p->runtime_model = (ft_evaluator){ 0 };
}

/* ---- regression ---- */

/* Returns the log ratio of PLATFORM to the first platform; 0 if unknown. */
static double log_ratio_of(const ft_performance *p, uint32_t platform)
{
  return platform && p->platforms[platform].has_log_ratio ? p->platforms[platform].log_ratio : 0;
}

/* Converts SECONDS on PLATFORM to microseconds on the first platform, limited to the range of a
 * memory model. */
static double normalised_microseconds(const ft_performance *p, double seconds, uint32_t platform)
{
  return fmin(fmax(seconds * MICROSECONDS * exp(-log_ratio_of(p, platform)), 1), MAX_MICROSECONDS);
}

/* Sets MODEL to a memory model with normalised microseconds in place of bytes, whose regression
 * then serves for run times. */
static void fill_regression_model(const ft_performance *p, ft_model *model)
{
  ft_online_init(model, p->app, p->uid, FT_RULE_RSS);
  model->columns_count = p->columns_count;
  memcpy(model->columns, p->columns, sizeof p->columns);
  model->has_evaluator = p->has_runtime_model;
  model->evaluator = p->runtime_model;
  model->runs = model->completed = p->runs;
  model->history_count = p->history_count;
  for (size_t i = 0; i < p->history_count; i++) {
    const ft_timed_run *run = &p->history[i];
    ft_run *to = &model->history[i];

    *to = (ft_run){ .key = run->key,
                    .time = run->time,
                    .bytes = normalised_microseconds(p, run->seconds, run->platform),
                    .runtime_seconds = 1,
                    .x_count = run->x_count };
    memcpy(to->x, run->x, sizeof run->x);
  }
}

/* Updates MODEL by O, with its run time on PLATFORM as the peak. Returns as ft_online_update. */
static int update_regression_model(const ft_performance *p, const ft_observation *o,
                                   uint32_t platform, ft_model *model, struct ft_error *err)
{
  ft_observation *converted = malloc(sizeof *converted);
  int status;

  if (!converted)
    return ft_error_errno(err, "%s: update", p->app);
  *converted = *o;
  converted->rule = FT_RULE_RSS;
  converted->peak_is_bound = converted->has_killed_at_bytes = converted->has_gpu_memory_bytes =
      false;
  converted->has_largest_process_bytes = false; /* a peak in bytes would count as microseconds */
  converted->runtime_seconds = 1;
  converted->has_rss_bytes = true;
  converted->rss_bytes = (uint64_t)ceil(normalised_microseconds(p, o->runtime_seconds, platform));
  status = ft_online_update(model, converted, err);
  free(converted);
  return status;
}

/* Sets P's runs, columns and regression from MODEL. Run times and platforms are copied from BEFORE
 * and RUN. */
static void read_regression_model(const ft_model *model, const ft_performance *before,
                                  const ft_timed_run *run, ft_performance *p)
{
  size_t skip = model->history_count > MAX_RUNS ? model->history_count - MAX_RUNS : 0;
  const ft_timed_run *known = before->history;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *from = &model->history[i];
    const ft_timed_run *one = run;

    if (from->key != run->key) {
      /* both are in order of time, and MODEL has only runs of BEFORE and RUN */
      while (known->key != from->key)
        known++;
      one = known++;
    }
    if (i < skip)
      continue;
    p->history[i - skip] = *one;
    p->history[i - skip].x_count = from->x_count;
    memcpy(p->history[i - skip].x, from->x, sizeof from->x);
  }
  p->history_count = (pb_size_t)(model->history_count - skip);
  p->columns_count = model->columns_count;
  memcpy(p->columns, model->columns, sizeof p->columns);
  p->has_runtime_model = model->has_evaluator;
  p->runtime_model = model->evaluator;
}

/* ---- ratios ---- */

/* Log residuals of the runs on one platform. */
struct platform_residuals {
  double value[MAX_RUNS];
  size_t count;
};

/* Sets OUT to the log residuals of the runs on PLATFORM under the regression. */
static void collect_residuals(const ft_performance *p, uint32_t platform,
                              struct platform_residuals *out)
{
  struct ft_point_prediction point;

  out->count = 0;
  for (size_t i = 0; i < p->history_count; i++) {
    const ft_timed_run *run = &p->history[i];

    if (run->platform != platform)
      continue;
    ft_predict_point(&p->runtime_model, run->x, run->x_count, &point);
    out->value[out->count++] = log(run->seconds * MICROSECONDS) - point.log;
  }
}

/* Combines PLATFORM's ratio, if MEASURED, with its transferred estimate, if any, weighted by their
 * precisions. */
static void combine_ratios(ft_platform_runs *platform, bool measured)
{
  double transferred, runs, error;

  platform->has_log_ratio = measured || platform->has_transferred_log_ratio;
  if (!measured) {
    platform->log_ratio = platform->has_transferred_log_ratio ? platform->transferred_log_ratio : 0;
    platform->deviation = platform->has_transferred_log_ratio ? platform->transferred_deviation : 0;
  } else if (platform->has_transferred_log_ratio) {
    /* a transferred estimate that is off by more than its deviation gets a larger deviation */
    error = fabs(platform->transferred_log_ratio - platform->log_ratio) / 2;
    transferred = fmax(fmax(platform->transferred_deviation, FT_PERFORMANCE_MIN_DEVIATION), error);
    transferred = pow(transferred, -2);
    runs = 1 / (platform->deviation * platform->deviation);
    platform->log_ratio =
        (transferred * platform->transferred_log_ratio + runs * platform->log_ratio) /
        (transferred + runs);
    platform->deviation = 1 / sqrt(transferred + runs);
  }
}

/* Returns the median of R and sets *DEVIATION to the median's standard error. Changes R. */
static double median_with_error(struct platform_residuals *r, double *deviation)
{
  double median = ft_sort_median(r->value, r->count), spread, n = (double)r->count;

  for (size_t i = 0; i < r->count; i++)
    r->value[i] = fabs(r->value[i] - median);
  spread = MAD_TO_DEVIATION * ft_sort_median(r->value, r->count);
  /* with the prior as one more run */
  spread = sqrt((n * spread * spread + PRIOR_DEVIATION * PRIOR_DEVIATION) / (n + 1));
  *deviation = spread / sqrt(n) + FT_PERFORMANCE_MIN_DEVIATION;
  return median;
}

static void measure_ratios(ft_performance *p)
{
  struct platform_residuals r;
  double first, first_deviation;

  collect_residuals(p, 0, &r);
  if (!r.count)
    return;
  first = median_with_error(&r, &first_deviation);
  for (uint32_t i = 1; i < p->platforms_count; i++) {
    ft_platform_runs *platform = &p->platforms[i];
    double deviation;

    collect_residuals(p, i, &r);
    if (r.count) {
      platform->log_ratio = median_with_error(&r, &deviation) - first;
      platform->deviation = hypot(deviation, first_deviation);
    }
    combine_ratios(platform, r.count > 0);
  }
  p->platforms[0].has_log_ratio = false;
  p->platforms[0].log_ratio = p->platforms[0].deviation = 0;
}

/* ---- update ---- */

/* Returns whether O has a valid run time on a known platform. */
static bool has_valid_runtime(const ft_observation *o)
{
  return o->outcome == FT_OUTCOME_COMPLETED && o->platform[0] && o->runtime_seconds > 0 &&
         o->runtime_seconds < MAX_SECONDS && isfinite(o->end_time);
}

/* Sets the ratio of a new platform AT from its first run O, before the regression includes O. */
static void init_ratio(ft_performance *p, const ft_observation *o, uint32_t at)
{
  float x[COUNT(p->columns)];
  struct ft_point_prediction point;

  if (!at || p->platforms[at].has_log_ratio || !p->has_runtime_model)
    return;
  ft_columns_fill(p->columns, p->columns_count, o->submission.features,
                  o->submission.features_count, x);
  ft_predict_point(&p->runtime_model, x, p->columns_count, &point);
  p->platforms[at].has_log_ratio = true;
  p->platforms[at].log_ratio = log(o->runtime_seconds * MICROSECONDS) - point.log;
}

/* Working memory of an update. */
struct update_work {
  ft_performance next, before;
  ft_model model;
};

/* Applies O to W->next. Returns 1; -1 on error and fills ERR. */
static int apply_observation(struct update_work *w, const ft_observation *o, struct ft_error *err)
{
  ft_performance *p = &w->next;
  ft_timed_run run = { .key = ft_online_key(p->uid, o),
                       .time = o->end_time,
                       .seconds = o->runtime_seconds,
                       .run_features_count = FT_RUN_FEATURES };
  ft_platform_runs *platform;
  uint32_t at = find_or_add_platform(p, o->platform);

  init_ratio(p, o, at);
  choose_first_platform(p);
  at = find_platform(p, o->platform);
  run.platform = at;
  ft_run_features_fill(o, run.run_features);
  w->before = *p;
  fill_regression_model(p, &w->model);
  if (update_regression_model(p, o, at, &w->model, err) <= 0)
    return -1;
  read_regression_model(&w->model, &w->before, &run, p);
  p->runs = w->model.completed;
  p->updated = fmax(p->updated, run.time);
  count_platform_runs(p);
  platform = &p->platforms[at];
  platform->bytes = (uint64_t)fmax((double)platform->bytes, ft_observation_peak(o, o->rule));
  measure_ratios(p);
  return 1;
}

int ft_performance_update(ft_performance *p, const ft_observation *o, struct ft_error *err)
{
  struct update_work *w;
  int status;

  if (!has_valid_runtime(o) || (p->uid == FT_STATE_POOLED && !ft_pool_accepts(o)))
    return 0;
  w = malloc(sizeof *w);
  if (!w)
    return ft_error_errno(err, "%s: update", p->app);
  w->next = *p;
  status = apply_observation(w, o, err);
  if (status > 0)
    *p = w->next;
  free(w);
  return status;
}

void ft_performance_clamp_times(ft_performance *p, double latest)
{
  for (size_t i = 0; i < p->history_count; i++)
    p->history[i].time = fmin(p->history[i].time, latest);
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].last = fmin(p->platforms[i].last, latest);
  p->updated = fmin(p->updated, latest);
}

void ft_performance_clear_transfers(ft_performance *p)
{
  for (uint32_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].has_transferred_log_ratio = false;
  for (uint32_t i = p->platforms_count; i-- > 1;)
    if (!p->platforms[i].runs)
      remove_platform(p, i);
  measure_ratios(p);
}

void ft_performance_set_transfer(ft_performance *p, const char *platform, double log_ratio,
                                 double deviation)
{
  uint32_t at = find_platform(p, platform);
  ft_platform_runs *entry;

  if (!at || at == MAX_PLATFORMS || !p->platforms_count || !p->has_runtime_model ||
      !isfinite(log_ratio) || !(deviation >= FT_PERFORMANCE_MIN_DEVIATION && isfinite(deviation)))
    return;
  entry = &p->platforms[find_or_add_platform(p, platform)];
  entry->has_transferred_log_ratio = true;
  entry->transferred_log_ratio = log_ratio;
  entry->transferred_deviation = deviation;
  measure_ratios(p);
}

void ft_performance_mean_features(const ft_performance *p, double *mean, size_t count)
{
  for (size_t c = 0; c < count; c++) {
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < p->history_count; i++) {
      const ft_timed_run *run = &p->history[i];

      if (run->platform == 0 && c < run->run_features_count && !isnan(run->run_features[c])) {
        sum += (double)run->run_features[c];
        n++;
      }
    }
    mean[c] = n ? sum / (double)n : NAN;
  }
}
