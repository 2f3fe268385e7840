/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/estimate/runtime.h"
#include "predictor/estimate/variant.h"
#include "predictor/record/state_files.h"

/* Probability of the quantile that selects the longest task: the upper end of the 90 % interval. */
#define LONG 0.95

/* ---- reading ---- */

static void clear_performance(ft_performance *p)
{
  p->runs = 0;
  p->platforms_count = 0;
  p->runtime_model.fact_values_count = 0;
}

/* Returns whether P has run times, also of runs that only stopped. */
static bool has_times(const ft_performance *p)
{
  return p->runs > 0 || p->runtime_model.fact_values_count > 0;
}

void ft_time_lookup_clear(struct ft_time_lookup *out)
{
  clear_performance(&out->performance);
  out->imported = false;
  out->sources = 0;
}

/* Job names that Slurm or a shell assigns by default; they do not identify an app. */
static const char *const generic_names[] = { "wrap", "interactive", "bash", "sh", "sbatch", NULL };

bool ft_is_imported_by_name(const ft_submission *s)
{
  return s->default_app && s->job_name[0] && !ft_string_listed(generic_names, s->job_name);
}

int ft_time_lookup_source(int state_fd, uint32_t uid, enum ft_time_source source, const char *app,
                          ft_model *model, struct ft_time_lookup *time, struct ft_error *err)
{
  bool timed = time && !has_times(&time->performance) && !(time->sources >> source & 1);
  struct ft_model_parts parts = { .model = model,
                                  .performance = timed ? &time->performance : NULL };
  int status = ft_state_read_parts(state_fd, uid, app, &parts, err);

  if (timed && !(status == 0 && parts.has_performance))
    clear_performance(&time->performance);
  if (timed && (status == 0 || errno == ENOENT)) {
    time->sources |= 1U << source;
    time->imported = source == FT_TIME_IMPORTED && has_times(&time->performance);
  }
  if (status < 0 || !model || parts.has_model)
    return status;
  errno = ENOENT;
  return ft_error_set(err, "%s: no run with a measured peak", app);
}

int ft_time_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *), void *data,
                        const ft_submission *s, struct ft_time_lookup *time, struct ft_error *err)
{
  enum ft_time_source last = FT_TIME_FORMER + s->former_apps_count;
  char imported[sizeof s->app];

  for (enum ft_time_source k = FT_TIME_APP; k <= FT_TIME_IMPORTED; k++) {
    const char *app = k == FT_TIME_APP ? s->app : imported;

    if (has_times(&time->performance) || time->sources >> k & 1 ||
        (k >= last && k < FT_TIME_IMPORTED) ||
        (k == FT_TIME_IMPORTED && !ft_is_imported_by_name(s)))
      continue;
    if (k == FT_TIME_IMPORTED)
      ft_state_imported_app(user(data), uid, s->job_name, imported);
    else if (k >= FT_TIME_FORMER)
      app = s->former_apps[k - FT_TIME_FORMER];
    if (ft_time_lookup_source(state_fd, uid, k, app, NULL, time, err) < 0 && errno != ENOENT)
      return -1;
  }
  if (has_times(&time->performance))
    return 0;
  errno = ENOENT;
  return ft_error_set(err, "%s: no recorded run time", s->app);
}

/* ---- the platform ---- */

/* Returns the index in TIMES, of which there are COUNT, of PLATFORM; COUNT: its run time is
 * unknown. */
static size_t find_platform(const struct ft_platform_runtime *times, size_t count,
                            const char *platform)
{
  size_t i = 0;

  while (i < count && !(times[i].known && strcmp(times[i].platform, platform) == 0))
    i++;
  return i;
}

/* Returns the index in TIMES of the slowest platform of PARTITION; COUNT: one is unknown, or has no
 * known run time. */
static size_t find_slowest(const struct ft_platform_runtime *times, size_t count,
                           const ft_partition *partition)
{
  size_t slowest = count;

  for (size_t i = 0; partition && i < partition->nodes_count; i++) {
    size_t at = find_platform(times, count, partition->nodes[i].platform);

    if (at == count)
      return count;
    if (slowest == count || times[at].speed < times[slowest].speed)
      slowest = at;
  }
  return slowest;
}

/* Returns whether the platforms of PARTITION are known, which TIMES[0] is none of. */
static bool is_elsewhere(const struct ft_platform_runtime *times, const ft_partition *partition)
{
  bool known = false, same = false;

  for (size_t i = 0; partition && i < partition->nodes_count; i++) {
    known |= partition->nodes[i].platform[0] != '\0';
    same |= strcmp(partition->nodes[i].platform, times[0].platform) == 0;
  }
  return known && !same && strcmp(times[0].platform, FT_PLATFORM_UNKNOWN) != 0;
}

/* ---- the estimate ---- */

/* Fills FEATURES with those of a task of S, as runs have them (online/runtime_series.c). Returns
 * their number. */
static size_t fill_features(const ft_submission *s, const struct ft_task_list *tasks, size_t task,
                            ft_feature features[FT_TASK_FEATURES])
{
  pb_size_t count = s->features_count;

  memcpy(features, s->features, count * sizeof *features);
  if (tasks->count)
    ft_features_of_task(features, &count, FT_TASK_FEATURES - FT_TEXT_FEATURES, tasks->array,
                        &tasks->index[task]);
  if (s->script_hash || s->directory_hash)
    features[count++] = (ft_feature){ .name = FT_VARIANT_FEATURE, .category = "1" };
  return count;
}

/* Returns whether a feature of S that PERFORMANCE has differs between its tasks. */
static bool do_times_differ(const ft_performance *performance, const ft_submission *s,
                            const struct ft_task_list *tasks)
{
  ft_model model = { .columns_count = performance->columns_count };

  memcpy(model.columns, performance->columns, model.columns_count * sizeof *model.columns);
  return ft_model_distinguishes_tasks(&model, s, tasks->array);
}

void ft_job_time_model(const ft_performance *performance, ft_model *model)
{
  pb_size_t facts = performance->runtime_model.fact_values_count;

  *model = (ft_model){ .runs = facts > performance->runs ? facts : performance->runs,
                       .completed = performance->runs,
                       .columns_count = performance->columns_count,
                       .has_evaluator = performance->has_runtime_model };
  memcpy(model->columns, performance->columns, model->columns_count * sizeof *model->columns);
  model->evaluator = performance->runtime_model;
}

/* Converts F from microseconds on the first platform by FACTOR. */
static void scale_facts(struct ft_facts *f, double factor)
{
  double *const values[] = { &f->peak_value,
                             &f->bound_value,
                             &f->comparable_peak_value,
                             &f->comparable_min_value,
                             &f->comparable_bound_value,
                             &f->comparable_killed_value,
                             &f->lately_killed_value,
                             &f->groups.value[0],
                             &f->groups.value[1] };

  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    *values[i] *= factor;
}

void ft_job_time_estimate(const ft_performance *performance, const ft_partition *partition,
                          const ft_submission *s, const struct ft_task_list *tasks,
                          struct ft_job_time *out)
{
  struct ft_platform_runtime times[FT_RUNTIME_PLATFORMS];
  ft_feature features[FT_TASK_FEATURES];
  size_t features_count = fill_features(s, tasks, 0, features), platform = 0;
  size_t count = ft_runtime_estimate(performance, features, features_count, times);
  struct ft_facts facts;
  ft_model model;

  out->tasks.count = out->longest = 0;
  out->runs = performance->runs;
  out->pooled = performance->uid == FT_STATE_POOLED;
  out->elsewhere = out->of_partition = false;
  out->platform[0] = '\0';
  out->facts = (struct ft_facts){ .runs = 0 };
  ft_job_time_model(performance, &model);
  if (!count || !times[0].known) {
    if (performance->runs || !performance->runtime_model.fact_values_count)
      return;
    ft_task_facts(&model, features, features_count, &out->facts); /* lower bounds only */
    scale_facts(&out->facts, 1 / FT_RUNTIME_MICROSECONDS);
    return;
  }
  platform = find_slowest(times, count, partition);
  out->of_partition = platform < count;
  if (!out->of_partition) {
    out->elsewhere = is_elsewhere(times, partition);
    platform = 0;
  }
  (void)ft_string_copy(times[platform].platform, out->platform, sizeof out->platform);
  out->tasks.count = tasks->count && do_times_differ(performance, s, tasks) ? tasks->count : 1;
  for (size_t i = 0; i < out->tasks.count; i++) {
    struct ft_estimate *e = &out->tasks.each[i];

    out->tasks.index[i] = tasks->count ? tasks->index[i] : 0;
    features_count = fill_features(s, tasks, i, features);
    (void)ft_runtime_estimate(performance, features, features_count, times);
    *e = times[platform].seconds;
    e->extrapolated |= out->elsewhere;
    e->max_value =
        performance->runtime_model.max_value / FT_RUNTIME_MICROSECONDS / times[platform].speed;
    e->allocation_bytes = ft_estimate_quantile(e, 0.5);
    if (ft_estimate_quantile(e, LONG) > ft_estimate_quantile(&out->tasks.each[out->longest], LONG))
      out->longest = i;
    ft_task_facts(&model, features, features_count, i ? &facts : &out->facts);
    if (i)
      ft_facts_combine(&out->facts, &facts);
  }
  scale_facts(&out->facts, 1 / FT_RUNTIME_MICROSECONDS / times[platform].speed);
}

const struct ft_estimate *ft_job_time_longest(const struct ft_job_time *time)
{
  return time->tasks.count ? &time->tasks.each[time->longest] : NULL;
}
