/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/run_features.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_ratios.h"
#include "predictor/online/pool.h"
#include "predictor/online/runtime_series.h"
#include "predictor/record/state_files.h"

_Static_assert((int)FT_RUN_FEATURES <= (int)FT_RUNTIME_FEATURES &&
                   (int)FT_QUANTITY_RUNTIME == (int)FT_SECTION_RUNTIME,
               "run_columns.h, model_file.h");

void ft_performance_init(ft_performance *p, struct ft_runtimes *runtimes, const char *app,
                         uint32_t uid)
{
  runtimes->count = 0;
  *p = (ft_performance){ .schema = FT_SCHEMA, .uid = uid };
  (void)ft_string_copy(app, p->app, sizeof p->app);
  (void)ft_string_copy(PACKAGE_VERSION, p->version, sizeof p->version);
}

/* Sets RUN's values to what O had of each quantity: of a run time 0 if it stopped early, the
 * negative number if its time limit stopped it. */
static void fill_values(const ft_observation *o, ft_timed_run *run)
{
  double value;
  bool bound;

  run->values_count = FT_QUANTITIES;
  for (size_t i = 0; i < FT_QUANTITIES; i++)
    run->values[i] =
        ft_quantity_measured(&ft_quantities[i], o, o->rule, &value, &bound) ? (float)value : 0;
  if (o->outcome != FT_OUTCOME_COMPLETED)
    run->values[FT_QUANTITY_RUNTIME] =
        o->outcome == FT_OUTCOME_TIMEOUT ? -(float)o->runtime_seconds : 0;
}

/* Sets the features of RUN that were not measured to their means over the RUNTIMES on its platform,
 * so that a run without counters changes no mean: only some runs of an app have them. */
static void carry_features(const struct ft_runtimes *runtimes, ft_timed_run *run)
{
  for (size_t c = 0; c < run->run_features_count; c++) {
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < runtimes->count && isnan(run->run_features[c]); i++) {
      const ft_timed_run *other = &runtimes->run[i];

      if (other->platform != run->platform || c >= other->run_features_count ||
          isnan(other->run_features[c]))
        continue;
      sum += (double)other->run_features[c];
      n++;
    }
    if (n)
      run->run_features[c] = (float)(sum / (double)n);
  }
}

/* Applies O to W->next. */
static void apply_observation(struct ft_runtime_series *w, const ft_observation *o)
{
  const char *name = o->platform[0] ? o->platform : FT_PLATFORM_UNKNOWN;
  ft_performance *p = &w->next;
  ft_timed_run run = { .key = ft_online_key(p->uid, o),
                       .time = o->end_time,
                       .seconds = o->runtime_seconds,
                       .run_features_count = FT_RUN_FEATURES };
  ft_platform_runs *platform;
  uint32_t at = ft_platforms_find_or_add(p, &w->history, name);

  ft_platforms_init_ratio(p, o, at);
  ft_platforms_choose_first(p, &w->history);
  at = ft_platforms_find(p, name);
  run.platform = at;
  ft_run_features_fill(o, run.run_features);
  carry_features(&w->history, &run);
  fill_values(o, &run);
  ft_runtime_series_add(w, o, &run);
  p->updated = fmax(p->updated, run.time);
  ft_platforms_count_runs(p, &w->history);
  platform = &p->platforms[at];
  platform->bytes = (uint64_t)fmax((double)platform->bytes, ft_observation_peak(o, o->rule));
  ft_platforms_measure(p, &w->history);
}

int ft_performance_update(ft_performance *p, struct ft_runtimes *runtimes, const ft_observation *o,
                          struct ft_error *err)
{
  struct ft_runtime_series *w;
  double seconds;
  bool censored;

  if (!isfinite(o->end_time) ||
      !ft_quantity_measured(&ft_quantities[FT_QUANTITY_RUNTIME], o, FT_RULE_NONE, &seconds,
                            &censored) ||
      (p->uid == FT_STATE_POOLED && !ft_pool_accepts(o)))
    return 0;
  w = malloc(sizeof *w + ft_series_work_size());
  if (!w)
    return ft_error_errno(err, "%s: update", p->app);
  w->next = *p;
  w->history = *runtimes;
  apply_observation(w, o);
  *p = w->next;
  *runtimes = w->history;
  free(w);
  return 1;
}

void ft_performance_clamp_times(ft_performance *p, struct ft_runtimes *runtimes, double latest)
{
  for (size_t i = 0; i < runtimes->count; i++)
    runtimes->run[i].time = fmin(runtimes->run[i].time, latest);
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].last = fmin(p->platforms[i].last, latest);
  p->updated = fmin(p->updated, latest);
}
