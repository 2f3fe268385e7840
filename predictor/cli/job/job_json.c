/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell job --json. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/job/job.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"
#include "predictor/history/json.h"

/* Returns the fields of O whose keys begin with PREFIX, without the prefix. */
static json_t *json_with_prefix(const ft_observation *o, const char *prefix)
{
  json_t *all = ft_json_observation(o), *out = json_object(), *value;
  size_t length = strlen(prefix);
  const char *key;

  json_object_foreach (all, key, value) {
    if (strncmp(key, prefix, length) == 0)
      (void)json_object_set(out, key + length, value);
  }
  json_decref(all);
  return out;
}

static json_t *json_requested(const ft_observation *o)
{
  json_t *out;

  if (!o->submission.has_request)
    return json_null();
  out = json_with_prefix(o, "request_");
  (void)json_object_set_new(
      out, "default_bytes",
      ft_json_number(o->has_partition_default_bytes, (double)o->partition_default_bytes));
  (void)json_object_set_new(out, "cpus", json_integer(o->cpus));
  return out;
}

/* Sets p05, p50 and p95 of OUT to QUANTILE, where known. */
static void set_quantiles(json_t *out, bool known, const double quantile[FT_QUANTITY_LEVELS])
{
  static const char *const names[FT_QUANTITY_LEVELS] = { "p05", "p50", "p95" };

  for (int i = 0; i < FT_QUANTITY_LEVELS; i++)
    json_object_set_new(out, names[i],
                        ft_json_number(known && !isnan(quantile[i]), known ? quantile[i] : 0));
}

/* Returns the quantiles of memory, and an object of each other quantity. */
static json_t *json_predicted(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;
  double quantile[FT_QUANTITY_LEVELS];
  bool any = ft_quantity_predicted(&ft_quantities[FT_QUANTITY_MEMORY], o, quantile);
  json_t *out = json_object();

  set_quantiles(out, any, quantile);
  json_object_set_new(out, "runs", json_integer(d->runs));
  json_object_set_new(out, "method", ft_json_text(d->method));
  for (size_t i = FT_QUANTITY_MEMORY + 1; i < FT_QUANTITIES; i++) {
    bool known = ft_quantity_predicted(&ft_quantities[i], o, quantile);
    json_t *object = known ? json_object() : json_null();

    if (!ft_quantities[i].predicted_by)
      continue;
    if (known)
      set_quantiles(object, true, quantile);
    json_object_set_new(out, ft_quantities[i].name, object);
    any |= known;
  }
  if (any)
    return out;
  json_decref(out);
  return json_null();
}

static json_t *json_used(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  double peak = ft_observation_peak(o, o->rule),
         joules = ft_quantities[FT_QUANTITY_ENERGY].used_of(o);
  double grams = job->records.config.co2_grams_per_kwh;
  double time_limit = ft_quantities[FT_QUANTITY_RUNTIME].limit_of(o);

  return json_pack(
      "{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:s, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
      "now_bytes", ft_json_number(job->running && job->now_bytes >= 0, job->now_bytes),
      "peak_bytes", ft_json_number(peak > 0, peak), "peak_is_bound", o->peak_is_bound,
      "limit_bytes", ft_json_number(o->has_limit_bytes && o->limit_bytes, (double)o->limit_bytes),
      "time_to_peak_seconds", ft_json_number(o->has_time_to_peak_seconds, o->time_to_peak_seconds),
      "runtime_seconds", ft_json_number(o->runtime_seconds > 0, o->runtime_seconds), "cpu_seconds",
      ft_json_number(o->has_cpu_seconds, o->cpu_seconds), "outcome", ft_outcome_name(o->outcome),
      "killed_at_bytes", ft_json_number(o->has_killed_at_bytes, (double)o->killed_at_bytes),
      "exit_code", o->exit_code, "signal", o->signal, "end_time",
      ft_json_number(o->end_time > 0, o->end_time), "allocated_nodes",
      ft_json_number(o->allocated_nodes > 0, o->allocated_nodes), "nodes",
      ft_job_nodes_json(&job->nodes), "time_limit_seconds",
      ft_json_number(time_limit > 0, time_limit), "energy_joules",
      ft_json_number(joules > 0, joules), "co2_grams",
      ft_json_number(joules > 0 && grams > 0, joules / FT_JOULES_PER_KWH * grams));
}

int ft_job_print_json(const struct ft_job *job)
{
  const ft_observation *o = &job->shown;
  char name[24];

  return ft_json_print(json_pack(
      "{s:s, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "job",
      ft_store_access_job_name(o, name), "app", ft_json_text(o->submission.app), "user",
      o->user[0] ? ft_json_text(o->user) : json_null(), "node", ft_json_text(o->node), "runs",
      (json_int_t)job->runs, "completed", (json_int_t)job->completed, "out_of_memory",
      (json_int_t)job->out_of_memory, "running", (json_int_t)job->running, "asked",
      json_requested(o), "predicted", json_predicted(o), "decided",
      o->submission.has_decision ? json_with_prefix(o, "decision_") : json_null(), "used",
      json_used(job), "next", job->has_next ? ft_next_json(&job->next) : json_null()));
}
