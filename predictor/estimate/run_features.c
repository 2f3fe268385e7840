/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/run_features.h"

enum {
  INSTRUCTIONS,
  FLOAT_RATIO,
  INTEGER_RATIO,
  MEMORY_RATIO,
  BRANCH_RATIO,
  BRANCH_MISS_RATIO,
  L1_MISS_RATIO,
  L3_MISS_RATIO,
  PER_CYCLE,
  MINOR_FAULTS_PER_SECOND,
  MAJOR_FAULTS_PER_SECOND,
  SWITCHES_PER_SECOND,
  MIGRATIONS_PER_SECOND,
  CORES,
  THREADS,
  PROCESSES,
  CPUS,
  READ_PER_SECOND,
  WRITTEN_PER_SECOND,
  OPEN_FILES,
  MEMORY,
  SHARED_MEMORY,
  GPU_MEMORY,
  GPU_UTILISATION,
  /* stored runs use these indices: append new features at the end */
  SYSTEM_PART,
  GPU_TRANSFERRED_PER_SECOND
};

const char *const ft_run_features_names[FT_RUN_FEATURES] = {
  [INSTRUCTIONS] = "instructions",
  [FLOAT_RATIO] = "float_ratio",
  [INTEGER_RATIO] = "integer_ratio",
  [MEMORY_RATIO] = "memory_ratio",
  [BRANCH_RATIO] = "branch_ratio",
  [BRANCH_MISS_RATIO] = "branch_miss_ratio",
  [L1_MISS_RATIO] = "l1_miss_ratio",
  [L3_MISS_RATIO] = "l3_miss_ratio",
  [PER_CYCLE] = "instructions_per_cycle",
  [MINOR_FAULTS_PER_SECOND] = "minor_faults_per_second",
  [MAJOR_FAULTS_PER_SECOND] = "major_faults_per_second",
  [SWITCHES_PER_SECOND] = "context_switches_per_second",
  [MIGRATIONS_PER_SECOND] = "migrations_per_second",
  [CORES] = "cores_used",
  [THREADS] = "threads",
  [PROCESSES] = "processes",
  [CPUS] = "cpus",
  [READ_PER_SECOND] = "read_bytes_per_second",
  [WRITTEN_PER_SECOND] = "write_bytes_per_second",
  [OPEN_FILES] = "open_files",
  [MEMORY] = "peak_memory_bytes",
  [SHARED_MEMORY] = "shmem_bytes",
  [GPU_MEMORY] = "gpu_memory_bytes",
  [GPU_UTILISATION] = "gpu_utilisation",
  [SYSTEM_PART] = "system_part",
  [GPU_TRANSFERRED_PER_SECOND] = "gpu_transfer_bytes_per_second"
};

/* Returns the value of O's counter PAPI, otherwise PERF; NAN if O has neither. */
static double find_counter(const ft_observation *o, const char *papi, const char *perf)
{
  double found = NAN;

  for (size_t i = 0; i < o->counters_count; i++) {
    if (strcmp(o->counters[i].name, papi) == 0)
      return o->counters[i].value;
    if (strcmp(o->counters[i].name, perf) == 0)
      found = o->counters[i].value;
  }
  return found;
}

/* Returns PART / WHOLE; NAN unless WHOLE is above 0 and PART is known and not negative. */
static double ratio_or_nan(double part, double whole)
{
  return whole > 0 && part >= 0 ? part / whole : NAN;
}

/* Fills the features from hardware counters. */
static void fill_instructions(const ft_observation *o, double *out)
{
  double all = find_counter(o, "PAPI_TOT_INS", "instructions");
  double loads = find_counter(o, "PAPI_LD_INS", ""), stores = find_counter(o, "PAPI_SR_INS", "");
  double branches = find_counter(o, "PAPI_BR_INS", "branches");
  double floats = find_counter(o, "PAPI_FP_INS", ""),
         l1 = find_counter(o, "PAPI_L1_DCM", "L1-dcache-load-misses");

  if (isnan(floats))
    floats = find_counter(o, "PAPI_FP_OPS", "");
  out[INSTRUCTIONS] = all > 0 ? all : NAN;
  out[FLOAT_RATIO] = ratio_or_nan(floats, all);
  out[MEMORY_RATIO] = ratio_or_nan(loads + stores, all);
  out[BRANCH_RATIO] = ratio_or_nan(branches, all);
  /* PAPI has no preset for integer arithmetic: total minus all other classes of instructions */
  out[INTEGER_RATIO] = ratio_or_nan(all - loads - stores - branches - floats, all);
  out[BRANCH_MISS_RATIO] = ratio_or_nan(find_counter(o, "PAPI_BR_MSP", "branch-misses"), branches);
  out[L1_MISS_RATIO] = ratio_or_nan(l1, loads + stores);
  out[L3_MISS_RATIO] = ratio_or_nan(find_counter(o, "PAPI_L3_TCM", "LLC-load-misses"), l1);
  out[PER_CYCLE] = ratio_or_nan(all, find_counter(o, "PAPI_TOT_CYC", "cycles"));
}

static double value_or_nan(bool has, double value)
{
  return has ? value : NAN;
}

/* Fills the features from the operating system's measurements. */
static void fill_system(const ft_observation *o, double *out)
{
  double seconds = o->runtime_seconds;

  out[MINOR_FAULTS_PER_SECOND] =
      ratio_or_nan(value_or_nan(o->has_minor_faults, (double)o->minor_faults), seconds);
  out[MAJOR_FAULTS_PER_SECOND] =
      ratio_or_nan(value_or_nan(o->has_major_faults, (double)o->major_faults), seconds);
  out[SWITCHES_PER_SECOND] = ratio_or_nan(find_counter(o, "context-switches", ""), seconds);
  out[MIGRATIONS_PER_SECOND] = ratio_or_nan(find_counter(o, "cpu-migrations", ""), seconds);
  out[CORES] = ratio_or_nan(value_or_nan(o->has_cpu_seconds, o->cpu_seconds), seconds);
  out[THREADS] = value_or_nan(o->has_threads, o->threads);
  out[PROCESSES] = value_or_nan(o->has_processes, o->processes);
  out[CPUS] = o->cpus ? o->cpus : NAN;
  out[READ_PER_SECOND] =
      ratio_or_nan(value_or_nan(o->has_read_bytes, (double)o->read_bytes), seconds);
  out[WRITTEN_PER_SECOND] =
      ratio_or_nan(value_or_nan(o->has_write_bytes, (double)o->write_bytes), seconds);
  out[OPEN_FILES] = value_or_nan(o->has_open_files, o->open_files);
  out[MEMORY] = value_or_nan(o->has_rss_bytes, (double)o->rss_bytes);
  out[SHARED_MEMORY] = value_or_nan(o->has_shmem_bytes, (double)o->shmem_bytes);
  out[GPU_MEMORY] = value_or_nan(o->has_gpu_memory_bytes, (double)o->gpu_memory_bytes);
  out[GPU_UTILISATION] = value_or_nan(o->has_gpu_utilisation, o->gpu_utilisation);
  out[SYSTEM_PART] = ratio_or_nan(value_or_nan(o->has_system_seconds, o->system_seconds),
                                  value_or_nan(o->has_cpu_seconds, o->cpu_seconds));
  out[GPU_TRANSFERRED_PER_SECOND] =
      ratio_or_nan(value_or_nan(o->has_gpu_transfer_bytes, (double)o->gpu_transfer_bytes), seconds);
}

void ft_run_features_fill(const ft_observation *observation, float out[FT_RUN_FEATURES])
{
  double value[FT_RUN_FEATURES];

  fill_instructions(observation, value);
  fill_system(observation, value);
  for (int i = 0; i < FT_RUN_FEATURES; i++)
    out[i] = isfinite(value[i]) && fabs(value[i]) < 1e30 ? (float)value[i] : NAN;
}
