/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_ratios.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Limits of the model (foretell.options). */
enum { MAX_PLATFORMS = COUNT(((ft_performance *)NULL)->platforms) };

/* Prior standard deviation of log run times of equal runs on one platform, worth one run. Half and
 * twice were compared. */
#define PRIOR_DEVIATION 0.1
/* Ratio of the standard deviation of a normal distribution to its median absolute deviation. */
#define MAD_TO_DEVIATION 1.4826
/* A platform becomes the first one with this multiple of the first platform's runs. Half and twice
 * were compared. */
#define SWITCH_FACTOR 1.5

bool ft_runtime_stopped(const ft_timed_run *run)
{
  return run->values_count > FT_QUANTITY_RUNTIME && !(run->values[FT_QUANTITY_RUNTIME] > 0);
}

/* ---- platforms ---- */

/* Counts the runs of each platform and updates its last use. */
void ft_platforms_count_runs(ft_performance *p, const struct ft_runtimes *h)
{
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].runs = 0;
  for (size_t i = 0; i < h->count; i++) {
    ft_platform_runs *platform = &p->platforms[h->run[i].platform];

    if (ft_runtime_stopped(&h->run[i]))
      continue;
    platform->runs++;
    platform->last = fmax(platform->last, h->run[i].time);
  }
}

/* Removes platform AT with its runs. */
static void remove_platform(ft_performance *p, struct ft_runtimes *h, uint32_t at)
{
  size_t kept = 0;

  for (size_t i = 0; i < h->count; i++) {
    ft_timed_run run = h->run[i];

    if (run.platform == at)
      continue;
    run.platform -= run.platform > at;
    h->run[kept++] = run;
  }
  h->count = kept;
  p->platforms_count--;
  memmove(&p->platforms[at], &p->platforms[at + 1],
          (p->platforms_count - at) * sizeof *p->platforms);
}

/* Returns the index of PLATFORM; the number of platforms if it is unknown. */
uint32_t ft_platforms_find(const ft_performance *p, const char *platform)
{
  return (uint32_t)FT_ROWS_FIND_INLINED(p->platforms, p->platforms_count, platform);
}

/* Returns the index of PLATFORM, added if it is new; a full list loses the one used longest ago. */
uint32_t ft_platforms_find_or_add(ft_performance *p, struct ft_runtimes *h, const char *platform)
{
  uint32_t at = ft_platforms_find(p, platform), oldest = 1;

  if (at < p->platforms_count)
    return at;
  if (at == MAX_PLATFORMS) {
    for (uint32_t i = 2; i < MAX_PLATFORMS; i++)
      if (p->platforms[i].last < p->platforms[oldest].last)
        oldest = i;
    remove_platform(p, h, oldest);
    at--;
  }
  p->platforms_count++;
  p->platforms[at] = (ft_platform_runs){ 0 };
  (void)ft_string_copy(platform, p->platforms[at].platform, sizeof p->platforms[at].platform);
  return at;
}

/* Moves a platform with SWITCH_FACTOR times the first platform's runs to the first index. Then
 * refers all ratios to it and clears the regression. */
void ft_platforms_choose_first(ft_performance *p, struct ft_runtimes *h)
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
  for (size_t i = 0; i < h->count; i++)
    if (h->run[i].platform == 0 || h->run[i].platform == largest)
      h->run[i].platform = largest - h->run[i].platform;
  p->has_runtime_model = false;
  p->runtime_model = (ft_evaluator){ 0 };
}

/* ---- ratios ---- */

/* Log residuals of the runs on one platform. */
struct platform_residuals {
  double value[FT_RUNTIME_RUNS];
  size_t count;
};

/* Sets OUT to the log residuals of the runs on PLATFORM under the regression. */
static void collect_residuals(const struct ft_runtimes *h, const struct ft_point_model *model,
                              uint32_t platform, struct platform_residuals *out)
{
  struct ft_point_prediction point;

  out->count = 0;
  for (size_t i = 0; i < h->count; i++) {
    const ft_timed_run *run = &h->run[i];

    if (run->platform != platform || ft_runtime_stopped(run))
      continue;
    ft_point_predict(model, run->x, run->x_count, 1, &point);
    out->value[out->count++] = log(run->seconds * FT_RUNTIME_MICROSECONDS) - point.log;
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

/* Sets the power of PLATFORM, the index AT: the median of its runs with a measured energy. */
static void measure_power(const struct ft_runtimes *h, uint32_t at, ft_platform_runs *platform)
{
  struct platform_residuals r = { .count = 0 };
  double deviation;

  for (size_t i = 0; i < h->count; i++) {
    const ft_timed_run *run = &h->run[i];

    if (run->platform == at && !ft_runtime_stopped(run) && run->values_count > FT_QUANTITY_ENERGY &&
        run->values[FT_QUANTITY_ENERGY] > 0)
      r.value[r.count++] = log((double)run->values[FT_QUANTITY_ENERGY] / run->seconds);
  }
  platform->energy_runs = (uint32_t)r.count;
  platform->watts = platform->watts_deviation = 0;
  if (!r.count)
    return;
  platform->watts = exp(median_with_error(&r, &deviation));
  /* of one run, not of the median */
  platform->watts_deviation = deviation * sqrt((double)r.count);
}

void ft_platforms_measure(ft_performance *p, const struct ft_runtimes *h)
{
  struct ft_point_model model;
  struct platform_residuals r;
  double first, first_deviation;

  for (uint32_t i = 0; i < p->platforms_count; i++)
    measure_power(h, i, &p->platforms[i]);
  ft_point_model_read(&p->runtime_model, &model);
  collect_residuals(h, &model, 0, &r);
  if (!r.count)
    return;
  first = median_with_error(&r, &first_deviation);
  for (uint32_t i = 1; i < p->platforms_count; i++) {
    ft_platform_runs *platform = &p->platforms[i];
    double deviation;

    collect_residuals(h, &model, i, &r);
    if (r.count) {
      platform->log_ratio = median_with_error(&r, &deviation) - first;
      platform->deviation = hypot(deviation, first_deviation);
    }
    combine_ratios(platform, r.count > 0);
  }
  p->platforms[0].has_log_ratio = false;
  p->platforms[0].log_ratio = p->platforms[0].deviation = 0;
}

/* Sets the ratio of a new platform AT from its first run O, before the regression includes O. */
void ft_platforms_init_ratio(ft_performance *p, const ft_observation *o, uint32_t at)
{
  float x[COUNT(p->columns)];
  struct ft_point_prediction point;

  if (!at || p->platforms[at].has_log_ratio || !p->has_runtime_model ||
      o->outcome != FT_OUTCOME_COMPLETED)
    return;
  ft_columns_fill(p->columns, p->columns_count, o->submission.features,
                  o->submission.features_count, x);
  ft_predict_point(&p->runtime_model, x, p->columns_count, &point);
  p->platforms[at].has_log_ratio = true;
  p->platforms[at].log_ratio = log(o->runtime_seconds * FT_RUNTIME_MICROSECONDS) - point.log;
}

/* ---- transferred estimates ---- */

void ft_performance_clear_transfers(ft_performance *p, struct ft_runtimes *h)
{
  for (uint32_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].has_transferred_log_ratio = false;
  for (uint32_t i = p->platforms_count; i-- > 1;)
    if (!p->platforms[i].runs)
      remove_platform(p, h, i);
  ft_platforms_measure(p, h);
}

void ft_performance_set_transfer(ft_performance *p, struct ft_runtimes *h, const char *platform,
                                 double log_ratio, double deviation)
{
  uint32_t at = ft_platforms_find(p, platform);
  ft_platform_runs *entry;

  if (!at || at == MAX_PLATFORMS || !p->platforms_count || !p->has_runtime_model ||
      !isfinite(log_ratio) || !(deviation >= FT_PERFORMANCE_MIN_DEVIATION && isfinite(deviation)))
    return;
  entry = &p->platforms[ft_platforms_find_or_add(p, h, platform)];
  entry->has_transferred_log_ratio = true;
  entry->transferred_log_ratio = log_ratio;
  entry->transferred_deviation = deviation;
  ft_platforms_measure(p, h);
}
