/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records as the plugin and the agent make them, from attempts and results of a world. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/request/array.h"
#include "tests/bench/weeks/records.h"

/* First day of a stream, a Monday, in seconds since 1970. */
#define FIRST_DAY 1700438400.0

enum { FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) };

/* Adds the array's features: the index, or the sizes of the tasks' files. */
static void add_task_values(const struct weeks_world *w, const struct weeks_submission *s,
                            ft_submission *out, ft_job_array *array)
{
  ft_task_values *e = &array->values[0];

  if (!s->input_feature) {
    ft_feature *feature = &out->features[out->features_count++];

    *feature = (ft_feature){ .per_task = true };
    (void)ft_string_copy(FT_ARRAY_FEATURE, feature->name, sizeof feature->name);
    (void)ft_string_copy("%a", feature->category, sizeof feature->category);
    return;
  }
  array->values_count = 1;
  (void)ft_string_copy(s->input_feature, e->feature, sizeof e->feature);
  for (uint32_t i = 0; i < s->tasks; i++) {
    e->index[e->index_count++] = i;
    e->value[e->value_count++] = (float)w->stream->task[s->first_task + i].input;
  }
}

static void make_request(const struct weeks_submission *s, const struct weeks_attempt *a,
                         ft_request *out)
{
  uint32_t ranks = s->ranks ? s->ranks : 1;

  *out = (ft_request){ .command = FT_COMMAND_SBATCH,
                       .mem_unit = a->mem_unit,
                       .mem_bytes = a->mem_unit == FT_MEM_NONE ? 0 : a->mem_bytes,
                       .nodes = 1,
                       .tasks = ranks,
                       .cpus_per_task = s->cpus / ranks,
                       .array_tasks = s->array ? a->runs : 0 };
}

void weeks_make_submission(const struct weeks_world *w, const struct weeks_attempt *a,
                           ft_submission *out, ft_job_array *array)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_app *app = &w->stream->app[s->app];

  memset(out, 0, sizeof *out);
  memset(array, 0, sizeof *array);
  out->schema = FT_SCHEMA;
  out->default_app = true;
  out->script_hash = s->script_hash;
  out->directory_hash = s->directory_hash;
  (void)ft_string_copy(app->name, out->app, sizeof out->app);
  (void)ft_string_copy(app->job_name, out->job_name, sizeof out->job_name);
  (void)ft_string_copy(app->program, out->program, sizeof out->program);
  make_request(s, a, &out->request);
  for (uint32_t i = 0; i < s->values; i++)
    if (s->value[i].category)
      (void)ft_feature_category(out->features, &out->features_count, FEATURES, s->value[i].name,
                                s->value[i].category);
    else
      (void)ft_feature_number(out->features, &out->features_count, FEATURES, s->value[i].name,
                              s->value[i].number);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "nodes", 1);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "tasks",
                          out->request.tasks);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "cpus",
                          s->cpus / out->request.tasks);
  if (s->array)
    add_task_values(w, s, out, array);
}

/* Returns the cgroup's memory usage in bytes, including page cache, by app: some programs fill
 * their limit with it. A killed run has its limit. */
static double cgroup_usage(const struct weeks_attempt *a, const struct weeks_result *r,
                           uint32_t app)
{
  static const double cached[] = { 0.01, 0.05, 0.3, 1, 100 };
  double limit = (double)a->given_bytes;

  if (r->killed)
    return limit;
  return fmin(limit, r->peak_bytes * (1 + cached[app % (sizeof cached / sizeof *cached)]));
}

/* Share of a run's memory in its largest process; chosen by judgement. */
#define LARGEST_PROCESS 0.6

void weeks_make_observation(const struct weeks_world *w, const struct weeks_result *r,
                            ft_observation *out)
{
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  ft_submission *submission = &out->submission;
  static ft_job_array array;
  /* memory.events counts kills by any OOM killer: the agent attributes a kill to the limit even if
   * the node was out of memory. */
  bool by_kernel = r->outcome == FT_OUTCOME_OUT_OF_MEMORY;

  *out = (ft_observation){ .schema = FT_SCHEMA,
                           .job_id = r->attempt + 1,
                           .submit_time = FIRST_DAY + a->time,
                           .restart_count = r->restart,
                           .uid = 1000 + w->stream->app[s->app].user,
                           .source = FT_SOURCE_AGENT,
                           .rule = FT_RULE_CGROUP,
                           .has_partition_default_bytes = true,
                           .partition_default_bytes = weeks_default(w->stream, s),
                           .has_limit_bytes = true,
                           .limit_bytes = a->given_bytes,
                           .start_time = FIRST_DAY + r->start,
                           .end_time = FIRST_DAY + r->end,
                           .runtime_seconds = r->end - r->start,
                           .outcome = r->outcome,
                           .censored = r->outcome != FT_OUTCOME_COMPLETED,
                           .exit_code = r->outcome == FT_OUTCOME_FAILED,
                           .has_killed_at_bytes = by_kernel,
                           .killed_at_bytes = by_kernel ? a->given_bytes : 0,
                           .has_charge_bytes = true,
                           .charge_bytes = (uint64_t)cgroup_usage(a, r, s->app),
                           .has_charge_less_cache_bytes = true,
                           .charge_less_cache_bytes = (uint64_t)r->peak_bytes,
                           .has_rss_bytes = true,
                           .rss_bytes = (uint64_t)r->peak_bytes,
                           .has_largest_process_bytes = true,
                           .largest_process_bytes = (uint64_t)(LARGEST_PROCESS * r->peak_bytes),
                           .cpus = s->cpus };
  (void)ft_string_copy("n1", out->node, sizeof out->node);
  weeks_make_submission(w, a, submission, &array);
  if (!s->array)
    return;
  out->array_job_id = r->attempt + 1;
  out->array_task_id = r->element;
  ft_features_of_task(submission->features, &submission->features_count, FEATURES, &array,
                      &r->element);
}

void weeks_make_site(const struct weeks_site *site, ft_site *out, ft_partition *partition)
{
  memset(out, 0, sizeof *out);
  out->schema = FT_SCHEMA;
  out->rule = FT_RULE_CGROUP;
  out->memory_is_consumable = true;
  out->policy = ft_policy_defaults;
  out->policy.mode = site->mode;
  out->policy.reject_probability = site->reject_probability;
  *partition = (ft_partition){ .schema = FT_SCHEMA,
                               .is_default = true,
                               .def_mem_bytes = site->default_bytes,
                               .def_per_cpu = site->default_per_cpu,
                               .nodes_count = 1 };
  (void)ft_string_copy("main", partition->name, sizeof partition->name);
  partition->nodes[0] =
      (ft_node_type){ .count = 10, .cpus = site->node_cpus, .mem_bytes = site->node_bytes };
}
