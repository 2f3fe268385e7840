/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/history/fields.h"
#include "predictor/history/merge.h"

/* Ranks sources by the quality of their measurements. */
static int source_rank(ft_source source)
{
  switch (source) {
  case FT_SOURCE_AGENT:
    return 3;
  case FT_SOURCE_TRACE:
    return 2;
  case FT_SOURCE_SACCT_TOTAL:
    return 1;
  case FT_SOURCE_SACCT:
    break;
  }
  return 0;
}

static bool has_peak(const ft_observation *o)
{
  return o->has_rss_bytes || o->has_pss_bytes || o->has_charge_bytes ||
         o->has_charge_less_cache_bytes || o->has_largest_process_bytes;
}

void ft_observation_copy_unstored(ft_submission *to, const ft_submission *from)
{
  to->schema = from->schema;
  to->het_offset = from->het_offset;
  memcpy(to->version, from->version, sizeof to->version);
  to->default_app = from->default_app;
  memcpy(to->program, from->program, sizeof to->program);
  to->former_apps_count = from->former_apps_count;
  memcpy(to->former_apps, from->former_apps, sizeof to->former_apps);
  to->interactive = from->interactive;
}

/* Returns whether O completed, but only the largest of its tasks was measured. */
static bool is_partial(const ft_observation *o)
{
  return o->censored && o->outcome == FT_OUTCOME_COMPLETED;
}

static void merge_outcome(ft_observation *old, const ft_observation *newer)
{
  bool killed_for_memory =
      old->outcome == FT_OUTCOME_OUT_OF_MEMORY &&
      (newer->outcome == FT_OUTCOME_FAILED || newer->outcome == FT_OUTCOME_CANCELLED);

  if (newer->outcome != FT_OUTCOME_UNKNOWN) {
    if (!killed_for_memory)
      old->outcome = newer->outcome;
    old->exit_code = newer->exit_code;
    old->signal = newer->signal;
  } else if (old->outcome == FT_OUTCOME_UNKNOWN) {
    old->exit_code = newer->exit_code ? newer->exit_code : old->exit_code;
    old->signal = newer->signal ? newer->signal : old->signal;
  }
  if (old->outcome != FT_OUTCOME_UNKNOWN)
    old->censored = old->outcome != FT_OUTCOME_COMPLETED;
  else
    old->censored = old->censored || newer->censored;
}

void ft_observation_merge(ft_observation *old, const ft_observation *newer)
{
  bool preferred = source_rank(newer->source) >= source_rank(old->source);
  bool measures = has_peak(newer) && (preferred || !has_peak(old));
  bool partial = is_partial(measures ? newer : old);

  for (size_t i = 0; i < ft_field_count; i++) {
    const struct ft_field *field = &ft_fields[i];
    bool replace = preferred;

    if (field->group != FT_GROUP_SUBMIT && field->group != FT_GROUP_TIME &&
        field->group != FT_GROUP_MEASURED)
      continue;
    if (field->group == FT_GROUP_TIME)
      replace = true;
    if (ft_field_present(newer, field) && (replace || !ft_field_present(old, field)))
      ft_field_copy(old, newer, field);
  }
  if (measures) {
    old->source = newer->source;
    old->peak_is_bound = newer->peak_is_bound;
  }
  if (newer->submission.has_request && (preferred || !old->submission.has_request)) {
    old->submission.has_request = true;
    old->submission.request = newer->submission.request;
  }
  if (newer->submission.has_decision && (preferred || !old->submission.has_decision)) {
    old->submission.has_decision = true;
    old->submission.decision = newer->submission.decision;
  }
  if (newer->submission.schema && preferred)
    ft_observation_copy_unstored(&old->submission, &newer->submission);
  merge_outcome(old, newer);
  old->censored = old->censored || partial;
}

/* ---- nodes of a run ---- */

static void max_u64_of_nodes(bool *has, uint64_t *value, bool other_has, uint64_t other)
{
  if (other_has && (!*has || other > *value))
    *value = other;
  *has = *has || other_has;
}

static void max_u32_of_nodes(bool *has, uint32_t *value, bool other_has, uint32_t other)
{
  if (other_has && (!*has || other > *value))
    *value = other;
  *has = *has || other_has;
}

static void add_u64_of_nodes(bool *has, uint64_t *value, bool other_has, uint64_t other)
{
  if (other_has)
    *value = other > UINT64_MAX - *value ? UINT64_MAX : *value + other;
  *has = *has || other_has;
}

static void add_double_of_nodes(bool *has, double *value, bool other_has, double other)
{
  if (other_has)
    *value += other;
  *has = *has || other_has;
}

/* Adds the energy of NODE's packages to that of RUN's. The share becomes the mean weighted by
 * energy, so that the product is the sum; unset if one of them is unknown. */
static void add_package_energy(ft_observation *run, const ft_observation *node)
{
  double joules = run->package_energy_joules + node->package_energy_joules;
  double part = run->package_energy_joules * run->package_energy_share +
                node->package_energy_joules * node->package_energy_share;

  if (!node->has_package_energy_joules)
    return;
  run->has_package_energy_share =
      node->has_package_energy_share &&
      (run->has_package_energy_share || !run->has_package_energy_joules);
  run->package_energy_share = !run->has_package_energy_share ? 0 : joules > 0 ? part / joules : 0;
  run->has_package_energy_joules = true;
  run->package_energy_joules = joules;
}

static void add_peaks(ft_observation *run, const ft_observation *node)
{
#define MAX64(field)                                                                               \
  max_u64_of_nodes(&run->has_##field, &run->field, node->has_##field, node->field)
#define MAX32(field)                                                                               \
  max_u32_of_nodes(&run->has_##field, &run->field, node->has_##field, node->field)
  MAX64(rss_bytes);
  MAX64(pss_bytes);
  MAX64(charge_bytes);
  MAX64(charge_less_cache_bytes);
  MAX64(swap_bytes);
  MAX64(hugetlb_bytes);
  MAX64(shmem_bytes);
  MAX64(largest_process_bytes);
  MAX64(gpu_memory_bytes);
  MAX32(threads);
  MAX32(processes);
  MAX32(open_files);
#undef MAX64
#undef MAX32
  run->peak_is_bound = run->peak_is_bound || node->peak_is_bound;
}

/* Adds the counters of NODE to those of RUN by name; a full list ignores further names. Without
 * those of all nodes there is no sum. */
static void add_counters(ft_observation *run, const ft_observation *node)
{
  if (!run->counters_count || !node->counters_count) {
    run->counters_count = 0;
    return;
  }
  for (size_t i = 0; i < node->counters_count; i++) {
    const ft_counter *counter = &node->counters[i];
    size_t at = FT_ROWS_FIND_INLINED(run->counters, run->counters_count, counter->name);

    if (at < run->counters_count)
      run->counters[at].value += counter->value;
    else if (at < sizeof run->counters / sizeof *run->counters)
      run->counters[run->counters_count++] = *counter;
  }
}

static void add_totals(ft_observation *run, const ft_observation *node)
{
#define ADD64(field)                                                                               \
  add_u64_of_nodes(&run->has_##field, &run->field, node->has_##field, node->field)
#define ADD(field)                                                                                 \
  add_double_of_nodes(&run->has_##field, &run->field, node->has_##field, node->field)
  ADD(cpu_seconds);
  ADD(system_seconds);
  ADD(gpu_energy_joules);
  ADD(node_energy_joules);
  ADD64(read_bytes);
  ADD64(write_bytes);
  ADD64(minor_faults);
  ADD64(major_faults);
  ADD64(gpu_transfer_bytes);
#undef ADD64
#undef ADD
  add_package_energy(run, node);
  add_counters(run, node);
  run->samples += node->samples;
}

/* Returns the time between start and end of O that was no run time, for example suspension. */
static double idle_seconds(const ft_observation *o)
{
  return fmax(o->end_time - o->start_time - o->runtime_seconds, 0);
}

/* Extends the times of RUN by those of NODE: from the first start to the last end. */
static void add_times(ft_observation *run, const ft_observation *node)
{
  double runtime = fmax(run->runtime_seconds, node->runtime_seconds);
  double idle = fmin(idle_seconds(run), idle_seconds(node));

  if (run->start_time > 0 && run->end_time > 0 && node->start_time > 0 && node->end_time > 0) {
    run->start_time = fmin(run->start_time, node->start_time);
    run->end_time = fmax(run->end_time, node->end_time);
    runtime = fmax(runtime, run->end_time - run->start_time - idle);
  } else {
    run->start_time = run->start_time > 0 ? run->start_time : node->start_time;
    run->end_time = fmax(run->end_time, node->end_time);
  }
  run->runtime_seconds = runtime;
}

/* Ranks outcomes: that of the node with the highest rank is the run's. */
static int outcome_rank(ft_outcome outcome)
{
  static const int ranks[] = {
    [FT_OUTCOME_UNKNOWN] = 0,   [FT_OUTCOME_COMPLETED] = 1, [FT_OUTCOME_FAILED] = 2,
    [FT_OUTCOME_CANCELLED] = 3, [FT_OUTCOME_REQUEUED] = 4,  [FT_OUTCOME_PREEMPTED] = 5,
    [FT_OUTCOME_TIMEOUT] = 6,   [FT_OUTCOME_NODE_FAIL] = 7, [FT_OUTCOME_OUT_OF_MEMORY] = 8
  };

  return (size_t)outcome < sizeof ranks / sizeof *ranks ? ranks[outcome] : 0;
}

static void add_outcome(ft_observation *run, const ft_observation *node)
{
  int before = outcome_rank(run->outcome), rank = outcome_rank(node->outcome);
  bool partial = is_partial(run);

  if (rank > before) {
    run->outcome = node->outcome;
    run->exit_code = node->exit_code;
    run->signal = node->signal;
    run->has_killed_at_bytes = node->has_killed_at_bytes;
    run->killed_at_bytes = node->killed_at_bytes;
  } else if (rank == before) {
    /* a kill at a limit shows more than one because a node was out of memory, whose limit is 0 */
    max_u64_of_nodes(&run->has_killed_at_bytes, &run->killed_at_bytes, node->has_killed_at_bytes,
                     node->killed_at_bytes);
  }
  run->censored = run->outcome != FT_OUTCOME_UNKNOWN ? run->outcome != FT_OUTCOME_COMPLETED
                                                     : run->censored || node->censored;
  run->censored = run->censored || partial;
}

void ft_observation_add_node(ft_observation *run, const ft_observation *node)
{
  int before = source_rank(run->source), rank = source_rank(node->source);

  add_peaks(run, node);
  /* a record of sacct is one of the whole job, whose totals already include other nodes */
  if (rank == before)
    add_totals(run, node);
  add_times(run, node);
  add_outcome(run, node);
  if (node->allocated_nodes > run->allocated_nodes)
    run->allocated_nodes = node->allocated_nodes;
  if (node->has_command_ran) {
    const char *app = run->submission.app;

    /* after a rename two records may name two apps; the command is that of one */
    run->command_ran = (run->command_ran || node->command_ran) &&
                       (!app[0] || strcmp(app, node->submission.app) == 0);
    run->has_command_ran = true;
  }
  run->recorded_nodes = (run->recorded_nodes ? run->recorded_nodes : 1) + 1;
}
