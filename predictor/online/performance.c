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

enum {
  MOST_RUNS = COUNT(((ft_performance *)NULL)->history), /* fewer than a model has */
  MOST_PLACES = COUNT(((ft_performance *)NULL)->platforms)
};

#define MICROSECONDS 1e6
/* A year: no run takes longer. */
#define ABSURD_SECONDS 3.2e7
#define MOST_MICROSECONDS 0x1p50
/* By how much runs of one app on one platform differ, where too few tell: as a deviation of
 * logarithms. */
#define PRIOR_SPREAD 0.1
/* However many runs agree, what they share (a node, a week) may differ from the next by so much. */
#define LEAST_DEVIATION 0.02
/* The median absolute deviation of a normal distribution, times this, is its standard deviation. */
#define MAD 1.4826
/* Another place is the first only with this many times the runs. */
#define MORE_RUNS 1.5

void ft_performance_init(ft_performance *p, const char *app, uint32_t uid)
{
  *p = (ft_performance){ .schema = FT_SCHEMA, .uid = uid };
  (void)ft_string_copy(app, p->app, sizeof p->app);
  (void)ft_string_copy(PACKAGE_VERSION, p->version, sizeof p->version);
}

/* ---- places ---- */

static void count_runs(ft_performance *p)
{
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].runs = 0;
  for (size_t i = 0; i < p->history_count; i++) {
    ft_platform_runs *place = &p->platforms[p->history[i].platform];

    place->runs++;
    place->last = fmax(place->last, p->history[i].time);
  }
}

static void remove_place(ft_performance *p, uint32_t at)
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

static uint32_t find_place(const ft_performance *p, const char *platform)
{
  uint32_t i = 0;

  while (i < p->platforms_count && strcmp(p->platforms[i].platform, platform) != 0)
    i++;
  return i;
}

static uint32_t place_of(ft_performance *p, const char *platform)
{
  uint32_t at = find_place(p, platform), oldest = 1;

  if (at < p->platforms_count)
    return at;
  if (at == MOST_PLACES) {
    for (uint32_t i = 2; i < MOST_PLACES; i++)
      if (p->platforms[i].last < p->platforms[oldest].last)
        oldest = i;
    remove_place(p, oldest);
    at--;
  }
  p->platforms_count++;
  p->platforms[at] = (ft_platform_runs){ 0 };
  (void)ft_string_copy(platform, p->platforms[at].platform, sizeof p->platforms[at].platform);
  return at;
}

/* The place with the most runs becomes the first, and ratios are to it; the pace is to be made
 * anew. */
static void choose_first(ft_performance *p)
{
  uint32_t most = 0;
  ft_platform_runs first;
  double ratio;

  for (uint32_t i = 1; i < p->platforms_count; i++)
    if (p->platforms[i].runs > p->platforms[most].runs)
      most = i;
  if (!most || p->platforms[most].runs < MORE_RUNS * p->platforms[0].runs)
    return;
  ratio = p->platforms[most].log_ratio;
  first = p->platforms[0];
  p->platforms[0] = p->platforms[most];
  p->platforms[most] = first;
  for (uint32_t i = 0; i < p->platforms_count; i++) {
    p->platforms[i].log_ratio = i ? p->platforms[i].log_ratio - ratio : 0;
    p->platforms[i].transferred_log_ratio -= ratio;
  }
  p->platforms[most].has_log_ratio = true;
  p->platforms[0].has_transferred_log_ratio = false;
  for (size_t i = 0; i < p->history_count; i++)
    if (p->history[i].platform == 0 || p->history[i].platform == most)
      p->history[i].platform = most - p->history[i].platform;
  p->has_runtime_model = false;
  p->runtime_model = (ft_evaluator){ 0 };
}

/* ---- pace ---- */

static double ratio_of(const ft_performance *p, uint32_t place)
{
  return place && p->platforms[place].has_log_ratio ? p->platforms[place].log_ratio : 0;
}

/* Microseconds of a run of SECONDS at PLACE, had it run on the first; no more nor less than the
 * memory model takes for bytes. */
static double on_first(const ft_performance *p, double seconds, uint32_t place)
{
  return fmin(fmax(seconds * MICROSECONDS * exp(-ratio_of(p, place)), 1), MOST_MICROSECONDS);
}

/*
 * The regression is the memory model's: its bytes are here microseconds, each as it would have
 * been on the first place.
 */
static void to_model(const ft_performance *p, ft_model *model)
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
                    .bytes = on_first(p, run->seconds, run->platform),
                    .runtime_seconds = 1,
                    .x_count = run->x_count };
    memcpy(to->x, run->x, sizeof run->x);
  }
}

/* What the memory model's update is shown of O. */
static int update_model(const ft_performance *p, const ft_observation *o, uint32_t place,
                        ft_model *model, struct ft_error *err)
{
  ft_observation *shown = malloc(sizeof *shown);
  int status;

  if (!shown)
    return ft_error_errno(err, "%s: update", p->app);
  *shown = *o;
  shown->rule = FT_RULE_RSS;
  shown->peak_is_bound = shown->has_killed_at_bytes = shown->has_gpu_memory_bytes = false;
  shown->has_largest_process_bytes = false; /* it is a peak, too: 100 MB would be 100 s */
  shown->runtime_seconds = 1;
  shown->has_rss_bytes = true;
  shown->rss_bytes = (uint64_t)ceil(on_first(p, o->runtime_seconds, place));
  status = ft_online_update(model, shown, err);
  free(shown);
  return status;
}

/* Runs and columns as the model has them now; times and places are BEFORE's, and RUN's. */
static void from_model(const ft_model *model, const ft_performance *before, const ft_timed_run *run,
                       ft_performance *p)
{
  size_t skip = model->history_count > MOST_RUNS ? model->history_count - MOST_RUNS : 0;
  const ft_timed_run *known = before->history;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *from = &model->history[i];
    const ft_timed_run *one = run;

    if (from->key != run->key) {
      /* both are in order of time, and the model has none but these */
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

struct residuals {
  double value[MOST_RUNS];
  size_t count;
};

/* What the runs at PLACE took beside the pace of the first place: logarithms. */
static void residuals_at(const ft_performance *p, uint32_t place, struct residuals *out)
{
  struct ft_point_prediction centre;

  out->count = 0;
  for (size_t i = 0; i < p->history_count; i++) {
    const ft_timed_run *run = &p->history[i];

    if (run->platform != place)
      continue;
    ft_predict_point(&p->runtime_model, run->x, run->x_count, &centre);
    out->value[out->count++] = log(run->seconds * MICROSECONDS) - centre.log;
  }
}

/* What is measured at PLACE, if anything, and what is told of it, by their precision. */
static void weigh(ft_platform_runs *place, bool measured)
{
  double told, runs, off;

  place->has_log_ratio = measured || place->has_transferred_log_ratio;
  if (!measured) {
    place->log_ratio = place->has_transferred_log_ratio ? place->transferred_log_ratio : 0;
    place->deviation = place->has_transferred_log_ratio ? place->transferred_deviation : 0;
  } else if (place->has_transferred_log_ratio) {
    /* off by more than it says, it is believed less */
    off = fabs(place->transferred_log_ratio - place->log_ratio) / 2;
    told = pow(fmax(fmax(place->transferred_deviation, LEAST_DEVIATION), off), -2);
    runs = 1 / (place->deviation * place->deviation);
    place->log_ratio =
        (told * place->transferred_log_ratio + runs * place->log_ratio) / (told + runs);
    place->deviation = 1 / sqrt(told + runs);
  }
}

/* The median, and how far it may be off. */
static double middle(struct residuals *r, double *deviation)
{
  double median = ft_sort_median(r->value, r->count), spread, n = (double)r->count;

  for (size_t i = 0; i < r->count; i++)
    r->value[i] = fabs(r->value[i] - median);
  spread = MAD * ft_sort_median(r->value, r->count);
  /* together with one imagined run */
  spread = sqrt((n * spread * spread + PRIOR_SPREAD * PRIOR_SPREAD) / (n + 1));
  *deviation = spread / sqrt(n) + LEAST_DEVIATION;
  return median;
}

static void measure_ratios(ft_performance *p)
{
  struct residuals r;
  double first, off;

  residuals_at(p, 0, &r);
  if (!r.count)
    return;
  first = middle(&r, &off);
  for (uint32_t i = 1; i < p->platforms_count; i++) {
    ft_platform_runs *place = &p->platforms[i];
    double deviation;

    residuals_at(p, i, &r);
    if (r.count) {
      place->log_ratio = middle(&r, &deviation) - first;
      place->deviation = hypot(deviation, off);
    }
    weigh(place, r.count > 0);
  }
  p->platforms[0].has_log_ratio = false;
  p->platforms[0].log_ratio = p->platforms[0].deviation = 0;
}

/* ---- all of it ---- */

static bool counts(const ft_observation *o)
{
  return o->outcome == FT_OUTCOME_COMPLETED && !o->censored && o->platform[0] &&
         o->runtime_seconds > 0 && o->runtime_seconds < ABSURD_SECONDS && isfinite(o->end_time);
}

/* A place's first run says its ratio before the pace is made with it. */
static void guess_ratio(ft_performance *p, const ft_observation *o, uint32_t at)
{
  float x[COUNT(p->columns)];
  struct ft_point_prediction centre;

  if (!at || p->platforms[at].has_log_ratio || !p->has_runtime_model)
    return;
  ft_columns_fill(p->columns, p->columns_count, o->submission.features,
                  o->submission.features_count, x);
  ft_predict_point(&p->runtime_model, x, p->columns_count, &centre);
  p->platforms[at].has_log_ratio = true;
  p->platforms[at].log_ratio = log(o->runtime_seconds * MICROSECONDS) - centre.log;
}

/* All that an update needs beside what it changes. */
struct work {
  ft_performance next, before;
  ft_model model;
};

static int learn(struct work *w, const ft_observation *o, struct ft_error *err)
{
  ft_performance *p = &w->next;
  ft_timed_run run = { .key = ft_online_key(p->uid, o),
                       .time = o->end_time,
                       .seconds = o->runtime_seconds,
                       .run_features_count = FT_RUN_FEATURES };
  ft_platform_runs *place;
  uint32_t at = place_of(p, o->platform);

  guess_ratio(p, o, at);
  choose_first(p);
  at = find_place(p, o->platform);
  run.platform = at;
  ft_run_features_fill(o, run.run_features);
  w->before = *p;
  to_model(p, &w->model);
  if (update_model(p, o, at, &w->model, err) <= 0)
    return -1;
  from_model(&w->model, &w->before, &run, p);
  p->runs = w->model.completed;
  p->updated = fmax(p->updated, run.time);
  count_runs(p);
  place = &p->platforms[at];
  place->bytes = (uint64_t)fmax((double)place->bytes, ft_observation_peak(o, o->rule));
  measure_ratios(p);
  return 1;
}

int ft_performance_update(ft_performance *p, const ft_observation *o, struct ft_error *err)
{
  struct work *w;
  int status;

  if (!counts(o) || (p->uid == FT_STATE_POOLED && !ft_pool_accepts(o)))
    return 0;
  w = malloc(sizeof *w);
  if (!w)
    return ft_error_errno(err, "%s: update", p->app);
  w->next = *p;
  status = learn(w, o, err);
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
      remove_place(p, i);
  measure_ratios(p);
}

void ft_performance_set_transfer(ft_performance *p, const char *platform, double log_ratio,
                                 double deviation)
{
  uint32_t at = find_place(p, platform);
  ft_platform_runs *place;

  if (!at || at == MOST_PLACES || !p->platforms_count || !p->has_runtime_model ||
      !isfinite(log_ratio) || !(deviation >= LEAST_DEVIATION && isfinite(deviation)))
    return;
  place = &p->platforms[place_of(p, platform)];
  place->has_transferred_log_ratio = true;
  place->transferred_log_ratio = log_ratio;
  place->transferred_deviation = deviation;
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
