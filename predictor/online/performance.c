/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/estimate/run_features.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_ratios.h"
#include "predictor/online/pool.h"
#include "predictor/online/runtime_series.h"
#include "predictor/record/state_files.h"

/* Maximum valid run time in seconds, one year. Chosen by judgement. */
#define MAX_SECONDS 3.2e7

void ft_performance_init(ft_performance *p, const char *app, uint32_t uid)
{
  *p = (ft_performance){ .schema = FT_SCHEMA, .uid = uid };
  (void)ft_string_copy(app, p->app, sizeof p->app);
  (void)ft_string_copy(PACKAGE_VERSION, p->version, sizeof p->version);
}

/* Returns whether O has a valid run time on a known platform. */
static bool has_valid_runtime(const ft_observation *o)
{
  return o->outcome == FT_OUTCOME_COMPLETED && o->platform[0] && o->runtime_seconds > 0 &&
         o->runtime_seconds < MAX_SECONDS && isfinite(o->end_time);
}

/* Applies O to W->next. */
static void apply_observation(struct ft_runtime_series *w, const ft_observation *o)
{
  ft_performance *p = &w->next;
  ft_timed_run run = { .key = ft_online_key(p->uid, o),
                       .time = o->end_time,
                       .seconds = o->runtime_seconds,
                       .run_features_count = FT_RUN_FEATURES };
  ft_platform_runs *platform;
  uint32_t at = ft_platforms_find_or_add(p, o->platform);

  ft_platforms_init_ratio(p, o, at);
  ft_platforms_choose_first(p);
  at = ft_platforms_find(p, o->platform);
  run.platform = at;
  ft_run_features_fill(o, run.run_features);
  ft_runtime_series_add(w, o, &run);
  p->updated = fmax(p->updated, run.time);
  ft_platforms_count_runs(p);
  platform = &p->platforms[at];
  platform->bytes = (uint64_t)fmax((double)platform->bytes, ft_observation_peak(o, o->rule));
  ft_platforms_measure(p);
}

int ft_performance_update(ft_performance *p, const ft_observation *o, struct ft_error *err)
{
  struct ft_runtime_series *w;

  if (!has_valid_runtime(o) || (p->uid == FT_STATE_POOLED && !ft_pool_accepts(o)))
    return 0;
  w = malloc(sizeof *w + ft_series_work_size());
  if (!w)
    return ft_error_errno(err, "%s: update", p->app);
  w->next = *p;
  apply_observation(w, o);
  *p = w->next;
  free(w);
  return 1;
}

void ft_performance_clamp_times(ft_performance *p, double latest)
{
  for (size_t i = 0; i < p->history_count; i++)
    p->history[i].time = fmin(p->history[i].time, latest);
  for (size_t i = 0; i < p->platforms_count; i++)
    p->platforms[i].last = fmin(p->platforms[i].last, latest);
  p->updated = fmin(p->updated, latest);
}
