/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/run_features.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_ratios.h"
#include "predictor/online/platform_transfer.h"

/* Distance of the 5 % and 95 % quantiles of a normal distribution, in standard deviations. */
#define INTERVAL90_DEVIATIONS 3.289707253902

/* Returns the median run time on the first platform, scaled to PLATFORM by its ratio, in seconds;
 * NAN without runs on both. */
static double typical_seconds(const ft_performance *p, const struct ft_runtimes *h, size_t platform)
{
  double seconds[FT_RUNTIME_RUNS];
  size_t count = 0;

  if (platform >= p->platforms_count || !p->platforms[platform].runs)
    return NAN;
  for (size_t i = 0; i < h->count; i++)
    if (h->run[i].platform == 0 && !ft_runtime_stopped(&h->run[i]))
      seconds[count++] = h->run[i].seconds;
  if (!count)
    return NAN;
  /* a median of PLATFORM's runs would compare different inputs; the ratio accounts for them */
  return ft_sort_median(seconds, count) * (platform ? exp(p->platforms[platform].log_ratio) : 1);
}

/* Sets MEAN to the means of the COUNT run features over the runs on the first platform; NAN without
 * values. */
static void mean_features(const struct ft_runtimes *h, double *mean, size_t count)
{
  for (size_t c = 0; c < count; c++) {
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < h->count; i++) {
      const ft_timed_run *run = &h->run[i];

      if (run->platform == 0 && c < run->run_features_count && !isnan(run->run_features[c])) {
        sum += (double)run->run_features[c];
        n++;
      }
    }
    mean[c] = n ? sum / (double)n : NAN;
  }
}

/* Returns the index of NAME; COUNT if it is absent. */
static size_t find_name_index(const ft_relative_name *names, size_t count, const char *name)
{
  return ft_table_find(names, count, sizeof *names, true, name);
}

/* ---- training table ---- */

/* Allocates T for all rows and platforms. Returns 0; -1 out of memory and fills ERR. */
static int allocate_table(struct ft_relative_table *t, struct ft_error *err)
{
  size_t cells = (size_t)FT_PLATFORM_TRANSFER_APPS * FT_RELATIVE_PLATFORMS;

  t->features = FT_RUN_FEATURES;
  t->feature = calloc(FT_RUN_FEATURES, sizeof *t->feature);
  t->platform = calloc(FT_RELATIVE_PLATFORMS, sizeof *t->platform);
  t->label = calloc(FT_PLATFORM_TRANSFER_APPS, sizeof *t->label);
  t->x = calloc((size_t)FT_PLATFORM_TRANSFER_APPS * FT_RUN_FEATURES, sizeof *t->x);
  t->seconds = malloc(cells * sizeof *t->seconds);
  t->group = calloc(FT_PLATFORM_TRANSFER_APPS, sizeof *t->group);
  if (!t->feature || !t->platform || !t->label || !t->x || !t->seconds || !t->group)
    return ft_error_set(err, "out of memory");
  for (size_t f = 0; f < FT_RUN_FEATURES; f++)
    (void)ft_string_copy(ft_run_features_names[f], t->feature[f], sizeof *t->feature);
  return 0;
}

/* Returns the column of the platform NAME; a new one is inserted into all rows. Returns
 * FT_RELATIVE_PLATFORMS if there is no room. */
static size_t find_or_add_column_of_platform(struct ft_relative_table *t, const char *name)
{
  size_t at = find_name_index(t->platform, t->platforms, name), stride = t->platforms;

  if (at < t->platforms || at == FT_RELATIVE_PLATFORMS)
    return at;
  (void)ft_string_copy(name, t->platform[at], sizeof *t->platform);
  for (size_t r = t->rows + 1; r-- > 0;) {
    memmove(t->seconds + r * (stride + 1), t->seconds + r * stride, stride * sizeof *t->seconds);
    t->seconds[r * (stride + 1) + stride] = NAN;
  }
  t->platforms++;
  return at;
}

int ft_platform_transfer_add(struct ft_relative_table *t, const ft_performance *p,
                             const struct ft_runtimes *h, struct ft_error *err)
{
  size_t row = t->rows;

  if (row == FT_PLATFORM_TRANSFER_APPS || p->platforms_count < 2 ||
      strcmp(p->platforms[0].platform, FT_PLATFORM_UNKNOWN) == 0 || isnan(typical_seconds(p, h, 0)))
    return 0;
  if (!t->seconds && allocate_table(t, err) < 0)
    return -1;
  for (size_t c = 0; c < t->platforms; c++)
    t->seconds[row * t->platforms + c] = NAN;
  for (size_t i = 0; i < p->platforms_count; i++) {
    size_t at = p->platforms[i].runs ? find_or_add_column_of_platform(t, p->platforms[i].platform)
                                     : FT_RELATIVE_PLATFORMS;

    if (at < FT_RELATIVE_PLATFORMS)
      t->seconds[row * t->platforms + at] = typical_seconds(p, h, i);
  }
  mean_features(h, t->x + row * FT_RUN_FEATURES, FT_RUN_FEATURES);
  (void)ft_string_copy(p->app, t->label[row], sizeof *t->label);
  t->group[row] = find_name_index(t->label, row, t->label[row]);
  t->rows++;
  return 0;
}

/* ---- transferred estimates ---- */

/* An app's input of the cross-platform model. */
struct transfer_query {
  double x[FT_FEATURE_ENCODER_COLUMNS], seconds[FT_RELATIVE_PLATFORMS];
};

/* Fills Q with the features and run times of P's runs H in the order of M's; NAN where there are
 * none. */
static void fill_transfer_query(const struct ft_relative_model *m, const ft_performance *p,
                                const struct ft_runtimes *h, struct transfer_query *q)
{
  double mean[FT_RUN_FEATURES];

  mean_features(h, mean, FT_RUN_FEATURES);
  for (size_t f = 0; f < m->features; f++) {
    size_t c = FT_TABLE_FIND(ft_run_features_names, m->feature[f]);

    q->x[f] = c < FT_RUN_FEATURES ? mean[c] : NAN;
  }
  for (size_t i = 0; i < m->platforms; i++) {
    size_t j = FT_ROWS_FIND_INLINED(p->platforms, p->platforms_count, m->platform[i]);

    q->seconds[i] = j < p->platforms_count ? typical_seconds(p, h, j) : NAN;
  }
}

/* Returns the standard deviation of the log speed on PLATFORM. */
static double predicted_speed_deviation(const struct ft_relative_prediction *a, size_t platform)
{
  return log(a->high[platform] / a->low[platform]) / INTERVAL90_DEVIATIONS;
}

int ft_platform_transfer_estimate(const struct ft_relative_model *m, ft_performance *p,
                                  struct ft_runtimes *h, struct ft_error *err)
{
  struct transfer_query q;
  size_t first;
  int count = 0;

  ft_performance_clear_transfers(p, h);
  first = p->platforms_count ? find_name_index(m->platform, m->platforms, p->platforms[0].platform)
                             : m->platforms;
  if (first == m->platforms)
    return 0;
  fill_transfer_query(m, p, h, &q);
  for (size_t i = 0; i < m->platforms; i++) {
    struct ft_relative_prediction a;
    double own = q.seconds[i];
    int status;

    if (i == first)
      continue;
    q.seconds[i] = NAN;
    status = ft_relative_predict(m, q.x, q.seconds, &a, err);
    q.seconds[i] = own;
    if (status < 0)
      return -1;
    ft_performance_set_transfer(
        p, h, m->platform[i], log(a.speed[first] / a.speed[i]),
        fmax(hypot(predicted_speed_deviation(&a, i), predicted_speed_deviation(&a, first)),
             FT_PERFORMANCE_MIN_DEVIATION));
    count++;
  }
  return count;
}
