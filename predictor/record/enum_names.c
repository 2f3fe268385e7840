/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of enum values, and helpers for observations and features. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

const struct ft_enum_names ft_outcome_names =
    FT_ENUM_NAMES("unknown", "completed", "failed", "out_of_memory", "cancelled", "timeout",
                  "preempted", "requeued", "node_fail");
const struct ft_enum_names ft_mode_names =
    FT_ENUM_NAMES("unset", "off", "check", "set", "raise", "trim", "force");
const struct ft_enum_names ft_action_names =
    FT_ENUM_NAMES("leave", "set", "raise", "trim", "warn", "reject");
const struct ft_enum_names ft_rule_names = FT_ENUM_NAMES("unknown", "none", "rss", "pss", "cgroup");
const struct ft_enum_names ft_decision_rule_names =
    FT_ENUM_NAMES("none", "request", "default", "maximum", "leak", "floor", "ceiling", "estimate");
const struct ft_enum_names ft_source_names =
    FT_ENUM_NAMES("agent", "sacct", "trace", "sacct_total");

const char *ft_enum_name(const struct ft_enum_names *names, unsigned value)
{
  return value < names->count ? names->name[value] : "unknown";
}

int ft_enum_value(const struct ft_enum_names *names, const char *name)
{
  size_t i = ft_table_find(names->name, names->count, sizeof *names->name, false, name);

  return i < names->count ? (int)i : -1;
}

const char *ft_outcome_name(ft_outcome outcome)
{
  return ft_enum_name(&ft_outcome_names, outcome);
}

const char *ft_mode_name(ft_mode mode)
{
  return ft_enum_name(&ft_mode_names, mode);
}

const char *ft_action_name(ft_action action)
{
  return ft_enum_name(&ft_action_names, action);
}

const char *ft_rule_name(ft_rule rule)
{
  return ft_enum_name(&ft_rule_names, rule);
}

const char *ft_decision_rule_name(ft_decision_rule rule)
{
  return ft_enum_name(&ft_decision_rule_names, rule);
}

const char *ft_source_name(ft_source source)
{
  return ft_enum_name(&ft_source_names, source);
}

int ft_outcome_from_name(const char *name)
{
  return ft_enum_value(&ft_outcome_names, name);
}

int ft_mode_from_name(const char *name)
{
  return ft_enum_value(&ft_mode_names, name);
}

int ft_rule_from_name(const char *name)
{
  return ft_enum_value(&ft_rule_names, name);
}

/* Returns the larger of BYTES and the peak of the largest process, which samples can miss. */
static double max_with_process(bool has, uint64_t bytes, const ft_observation *o)
{
  double value = has ? (double)bytes : 0;

  if (o->has_largest_process_bytes && (double)o->largest_process_bytes > value)
    value = (double)o->largest_process_bytes;
  return value;
}

double ft_observation_peak(const ft_observation *o, ft_rule rule)
{
  if (rule == FT_RULE_CGROUP && o->has_charge_less_cache_bytes)
    return (double)o->charge_less_cache_bytes;
  if (rule == FT_RULE_PSS && o->has_pss_bytes)
    return max_with_process(true, o->pss_bytes, o);
  return max_with_process(o->has_rss_bytes, o->rss_bytes, o);
}

double ft_observation_submitted(const ft_observation *o)
{
  if (o->submit_time > 0)
    return o->submit_time;
  return o->start_time > 0 ? o->start_time : o->end_time - o->runtime_seconds;
}

double ft_observation_gpu_bytes(const ft_observation *o)
{
  uint32_t gpus = o->submission.request.gpus_per_node;

  return o->has_gpu_memory_bytes ? (double)o->gpu_memory_bytes / (gpus ? gpus : 1) : 0;
}

static uint64_t hash_run(const ft_observation *o, const char *node)
{
  uint32_t number[5] = { o->job_id, o->restart_count, o->het_offset, o->array_job_id,
                         o->array_task_id };
  uint64_t submit = (uint64_t)(o->submit_time > 0 ? o->submit_time : 0);
  uint64_t hash = ft_hash64(FT_HASH_SEED, o->cluster, strlen(o->cluster) + 1);

  hash = ft_hash64(hash, node, strlen(node) + 1);
  hash = ft_hash64(hash, number, sizeof number);
  return ft_hash64(hash, &submit, sizeof submit);
}

uint64_t ft_observation_key(const ft_observation *o)
{
  return hash_run(o, o->node);
}

uint64_t ft_observation_run_key(const ft_observation *o)
{
  return hash_run(o, o->job_id ? "" : o->node);
}

static ft_feature *find_or_add_feature(ft_feature *features, pb_size_t *count, size_t limit,
                                       const char *name)
{
  size_t i = FT_ROWS_FIND_INLINED(features, *count, name);
  ft_feature *feature = &features[i];

  if (i >= limit)
    return NULL;
  *count += i == *count;
  *feature = (ft_feature){ 0 };
  (void)ft_string_copy(name, feature->name, sizeof feature->name);
  return feature;
}

bool ft_feature_number(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                       double number)
{
  ft_feature *feature = isfinite(number) ? find_or_add_feature(features, count, limit, name) : NULL;

  if (!feature)
    return false;
  feature->has_number = true;
  feature->number = number;
  return true;
}

bool ft_feature_category(ft_feature *features, pb_size_t *count, size_t limit, const char *name,
                         const char *category)
{
  ft_feature *feature = find_or_add_feature(features, count, limit, name);

  if (!feature)
    return false;
  (void)ft_string_copy(category, feature->category, sizeof feature->category);
  return true;
}

uint64_t ft_category_hash(const char *name)
{
  return ft_hash64(FT_HASH_SEED, name, strlen(name));
}

const ft_feature *ft_feature_find(const ft_feature *features, size_t count, const char *name)
{
  return FT_ROWS_ROW_INLINED(features, count, name);
}
