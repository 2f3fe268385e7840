/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell profile --json: the measurements of a command; null for what was not measured. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "predictor/cli/profile.h"
#include "predictor/estimate/run_features.h"
#include "predictor/history/json.h"

static json_t *json_command(char **command)
{
  json_t *words = json_array();

  for (; *command; command++)
    json_array_append_new(words, ft_json_text(*command));
  return words;
}

static json_t *json_counters(const ft_observation *seen)
{
  json_t *counters = json_object();

  for (pb_size_t i = 0; i < seen->counters_count; i++)
    json_object_set_new(counters, seen->counters[i].name,
                        ft_json_number(true, seen->counters[i].value));
  return counters;
}

/* Returns the run features from which run times on other platforms are predicted. */
static json_t *json_counted_features(const struct ft_profile *profile, const ft_observation *seen)
{
  ft_observation *o = malloc(sizeof *o);
  json_t *counted = json_object();
  float value[FT_RUN_FEATURES];

  if (!o)
    return counted;
  *o = *seen;
  o->runtime_seconds = profile->runtime;
  ft_run_features_fill(o, value);
  free(o);
  for (int i = 0; i < FT_RUN_FEATURES; i++)
    json_object_set_new(counted, ft_run_features_names[i],
                        ft_json_number(!isnan(value[i]), (double)value[i]));
  return counted;
}

static json_t *json_samplers(const struct ft_measure *measure)
{
  json_t *samplers = json_array();
  size_t count;
  const struct ft_measure_report *reports = ft_measure_reports(measure, &count);

  for (size_t i = 0; i < count; i++)
    json_array_append_new(samplers,
                          json_pack("{s:s, s:b, s:o}", "name", reports[i].name, "works",
                                    (int)reports[i].works, "why", ft_json_text(reports[i].why)));
  return samplers;
}

#define NUMBER(object, key, seen, field)                                                           \
  json_object_set_new(object, key, ft_json_number((seen)->has_##field, (double)(seen)->field))

static json_t *json_peaks(const ft_observation *seen)
{
  json_t *peaks = json_object();

  NUMBER(peaks, "rss_bytes", seen, rss_bytes);
  NUMBER(peaks, "pss_bytes", seen, pss_bytes);
  NUMBER(peaks, "charge_bytes", seen, charge_bytes);
  NUMBER(peaks, "charge_less_cache_bytes", seen, charge_less_cache_bytes);
  NUMBER(peaks, "largest_process_bytes", seen, largest_process_bytes);
  return peaks;
}

json_t *ft_profile_json(const struct ft_profile *profile, const ft_observation *seen)
{
  char platform[256];
  json_t *object = json_object();
  bool exited = WIFEXITED(profile->status);

  json_object_set_new(object, "command", json_command(profile->command));
  json_object_set_new(object, "exit_status", ft_json_number(exited, WEXITSTATUS(profile->status)));
  json_object_set_new(object, "signal", ft_json_number(!exited, WTERMSIG(profile->status)));
  json_object_set_new(object, "runtime_seconds", ft_json_number(true, profile->runtime));
  json_object_set_new(object, "peak_memory_bytes", json_peaks(seen));
  json_object_set_new(object, "peak_is_bound", json_boolean(seen->peak_is_bound));
  NUMBER(object, "time_to_peak_seconds", seen, time_to_peak_seconds);
  NUMBER(object, "swap_bytes", seen, swap_bytes);
  NUMBER(object, "hugetlb_bytes", seen, hugetlb_bytes);
  NUMBER(object, "shmem_bytes", seen, shmem_bytes);
  NUMBER(object, "limit_bytes", seen, limit_bytes);
  NUMBER(object, "cpu_seconds", seen, cpu_seconds);
  NUMBER(object, "system_seconds", seen, system_seconds);
  NUMBER(object, "processes", seen, processes);
  NUMBER(object, "threads", seen, threads);
  NUMBER(object, "open_files", seen, open_files);
  NUMBER(object, "read_bytes", seen, read_bytes);
  NUMBER(object, "write_bytes", seen, write_bytes);
  NUMBER(object, "minor_faults", seen, minor_faults);
  NUMBER(object, "major_faults", seen, major_faults);
  NUMBER(object, "gpu_memory_bytes", seen, gpu_memory_bytes);
  NUMBER(object, "gpu_utilisation", seen, gpu_utilisation);
  NUMBER(object, "gpu_energy_joules", seen, gpu_energy_joules);
  NUMBER(object, "gpu_transfer_bytes", seen, gpu_transfer_bytes);
  NUMBER(object, "package_energy_joules", seen, package_energy_joules);
  NUMBER(object, "package_energy_share", seen, package_energy_share);
  json_object_set_new(object, "counters", json_counters(seen));
  json_object_set_new(object, "counted", json_counted_features(profile, seen));
  json_object_set_new(object, "platform",
                      ft_platform_fingerprint(platform, sizeof platform, NULL) == 0
                          ? ft_json_text(platform)
                          : json_null());
  json_object_set_new(object, "samples", json_integer(seen->samples));
  json_object_set_new(object, "sample_seconds", ft_json_number(true, profile->seconds));
  json_object_set_new(object, "output",
                      profile->output ? ft_json_text(profile->output) : json_null());
  json_object_set_new(object, "samplers", json_samplers(profile->measure));
  return object;
}
