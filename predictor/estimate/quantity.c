/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"

/* Maximum valid peak on one node, 1 PiB, in bytes. */
#define MAX_BYTES 0x1p50
/* Maximum valid run time in seconds, one year. */
#define MAX_SECONDS 3.2e7

/* A limit below this fraction of the job's limit was set for a step (srun --mem). Below 1, since
 * Slurm rounds limits to MiB. */
#define STEP_LIMIT_FRACTION 0.95
/* A killed run whose recorded peak is below this fraction of its limit was not killed by that
 * limit: a peak between two samples is not that much larger. Half and twice were compared. */
#define NODE_OOM_FRACTION 0.5

/* Prior pseudo-observation of the residuals of memory, in log units: due to allocators, page sizes
 * and sampling, equal runs differ by 4 %. Chosen by tests/bench/replay_constants. */
#define MEMORY_PRIOR 0.04
/* The minimum standard deviation of memory is this fraction of the prediction plus
 * MIN_DEVIATION_BYTES. Half and twice were compared. */
#define MIN_DEVIATION_FRACTION 0.005
/* Bytes. */
#define MIN_DEVIATION_BYTES (0.5 * FT_MIB)
/* The prior of run times. They vary more than memory: other jobs share the node. Half and twice
 * were compared. */
#define RUNTIME_PRIOR 0.1
/* Minimum standard deviation of the residuals of run times, in log units. */
#define MIN_RUNTIME_DEVIATION 0.01

/* ---- kills ---- */

/* Returns whether the run of O was killed for its memory. */
static bool was_killed_for_memory(const ft_observation *o, double bytes)
{
  if (o->outcome == FT_OUTCOME_OUT_OF_MEMORY)
    return true;
  /* on the node a kill by Slurm's OverMemoryKill looks like scancel: a plain SIGKILL */
  return o->censored && o->has_limit_bytes && o->limit_bytes > 0 &&
         bytes >= FT_QUANTITY_NEAR_LIMIT * (double)o->limit_bytes &&
         (o->outcome == FT_OUTCOME_UNKNOWN || o->outcome == FT_OUTCOME_FAILED ||
          o->outcome == FT_OUTCOME_CANCELLED);
}

/*
 * Returns whether the run was killed because its node was out of memory, which is no evidence of
 * how much the run requires. The agent detects this if the kernel counts failures at a limit.
 * Otherwise it is assumed if both the sampled peak and the kernel's peak of the largest process are
 * far below the limit (page cache may have filled it).
 */
static bool was_killed_by_node_oom(const ft_observation *o, ft_rule rule)
{
  uint64_t limit = o->has_killed_at_bytes ? o->killed_at_bytes : o->limit_bytes;
  double peak = fmax(ft_observation_peak(o, rule), (double)o->largest_process_bytes);

  if (o->has_killed_at_bytes && !o->killed_at_bytes)
    return o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_largest_process_bytes && limit &&
         (o->has_killed_at_bytes || o->submission.request.nodes <= 1) &&
         peak < NODE_OOM_FRACTION * (double)limit;
}

/*
 * Returns the minimum of the memory that the run required, in bytes: its peak, or the limit that
 * killed it, which the run exceeded even if no sample shows this. For a job on several nodes Slurm
 * does not report on which node the limit was exceeded.
 */
static double min_required_bytes(const ft_observation *o, ft_rule rule)
{
  double peak = ft_observation_peak(o, rule), limit = 0;

  if (o->outcome != FT_OUTCOME_OUT_OF_MEMORY || rule == FT_RULE_NONE ||
      (o->rule != rule && o->rule != FT_RULE_UNKNOWN))
    return peak;
  if (o->has_killed_at_bytes)
    limit = (double)o->killed_at_bytes;
  else if (o->has_limit_bytes &&
           (o->submission.request.nodes == 1 || o->submission.request.tasks <= 1))
    limit = (double)o->limit_bytes;
  return limit <= MAX_BYTES ? fmax(peak, limit) : peak;
}

/*
 * Returns whether a step was killed at a limit of its own (srun --mem in the script). With --mem a
 * step otherwise has the limit of the job. With --mem-per-cpu it has that of its CPUs, which may be
 * lower; then the function returns false.
 */
static bool was_step_limited(const ft_observation *o)
{
  const ft_request *request = &o->submission.request;
  const ft_decision *decided = &o->submission.decision;
  ft_mem_unit unit = decided->mem_bytes ? decided->mem_unit : request->mem_unit;

  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_killed_at_bytes && o->killed_at_bytes &&
         o->has_limit_bytes && unit == FT_MEM_NODE &&
         (double)o->killed_at_bytes < STEP_LIMIT_FRACTION * (double)o->limit_bytes;
}

ft_killer ft_memory_killer(const ft_observation *o, double bytes)
{
  if (was_step_limited(o))
    return FT_KILLED_BY_STEP_LIMIT;
  return was_killed_for_memory(o, bytes) ? FT_KILLED_BY_LIMIT : FT_KILLED_BY_NONE;
}

/* ---- rows ---- */

static bool accept_memory(const ft_observation *o, ft_rule rule)
{
  return !was_killed_by_node_oom(o, rule);
}

static double peak_of(const ft_observation *o, ft_rule rule, bool *bound)
{
  double bytes = min_required_bytes(o, rule);

  *bound = o->censored || ft_memory_killer(o, bytes);
  return bytes;
}

static bool accept_all(const ft_observation *o, ft_rule rule)
{
  (void)o;
  (void)rule;
  return true;
}

static double gpu_memory_of(const ft_observation *o, ft_rule rule, bool *bound)
{
  (void)rule;
  *bound = o->censored;
  return ft_observation_gpu_bytes(o);
}

/* A run that failed stopped soon; one that is requeued runs again, and its last attempt counts. */
static bool accept_time(const ft_observation *o, ft_rule rule)
{
  (void)rule;
  return o->outcome == FT_OUTCOME_COMPLETED || o->outcome == FT_OUTCOME_TIMEOUT ||
         o->outcome == FT_OUTCOME_CANCELLED || o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
}

static bool accept_completed(const ft_observation *o, ft_rule rule)
{
  (void)rule;
  return o->outcome == FT_OUTCOME_COMPLETED;
}

static double runtime_of(const ft_observation *o, ft_rule rule, bool *bound)
{
  (void)rule;
  *bound = o->outcome != FT_OUTCOME_COMPLETED; /* also if only its largest task was measured */
  return o->runtime_seconds;
}

/*
 * Energy of shared hardware is divided by use: a run has the part of the energy of the node's
 * processors that it had of their busy time, and of a card in MIG mode the part of its slices
 * (agent/measure/gpu.c). Slurm's record of the nodes is divided like the processors, and counts
 * only if the agent measured nothing.
 */
static double joules_of(const ft_observation *o)
{
  bool part_known = o->has_package_energy_share || o->submission.request.exclusive;
  double part = o->has_package_energy_share ? fmin(fmax(o->package_energy_share, 0), 1) : 1;
  double joules = o->has_gpu_energy_joules ? o->gpu_energy_joules : 0;

  if (o->has_package_energy_joules && o->has_package_energy_share)
    joules += o->package_energy_joules * part;
  return !(joules > 0) && o->has_node_energy_joules && part_known ? o->node_energy_joules * part
                                                                  : joules;
}

static double energy_of(const ft_observation *o, ft_rule rule, bool *bound)
{
  (void)rule;
  *bound = o->censored;
  return joules_of(o);
}

/* ---- uses, limits and predictions ---- */

static double peak_used(const ft_observation *o)
{
  return ft_observation_peak(o, o->rule);
}

static double seconds_used(const ft_observation *o)
{
  return o->runtime_seconds;
}

static double memory_limit_of(const ft_observation *o)
{
  return o->has_limit_bytes ? (double)o->limit_bytes : 0;
}

static double time_limit_of(const ft_observation *o)
{
  double set = o->submission.has_decision ? o->submission.decision.time_seconds : 0;

  return set > 0 ? set : o->submission.request.time_limit_seconds;
}

static bool memory_predicted_by(const ft_decision *d, double quantile[FT_QUANTITY_LEVELS])
{
  quantile[0] = d->has_p05_bytes ? d->p05_bytes : NAN;
  quantile[1] = d->has_p50_bytes ? d->p50_bytes : NAN;
  quantile[2] = d->has_p95_bytes ? d->p95_bytes : NAN;
  return d->has_p50_bytes && d->p50_bytes > 0;
}

static bool time_predicted_by(const ft_decision *d, double quantile[FT_QUANTITY_LEVELS])
{
  quantile[0] = d->has_p05_seconds ? d->p05_seconds : NAN;
  quantile[1] = d->has_p50_seconds ? d->p50_seconds : NAN;
  quantile[2] = d->has_p95_seconds ? d->p95_seconds : NAN;
  return d->has_p50_seconds && d->p50_seconds > 0;
}

const struct ft_quantity ft_quantities[FT_QUANTITIES] = {
  [FT_QUANTITY_MEMORY] = { .name = "peak_memory_bytes",
                           .title = "memory",
                           .accepts = accept_memory,
                           .value_of = peak_of,
                           .used_of = peak_used,
                           .limit_of = memory_limit_of,
                           .predicted_by = memory_predicted_by,
                           .max_value = MAX_BYTES,
                           .prior = { MEMORY_PRIOR, MIN_DEVIATION_FRACTION, MIN_DEVIATION_BYTES } },
  [FT_QUANTITY_GPU_MEMORY] = { .name = "gpu_memory_bytes",
                               .title = "GPU memory",
                               .accepts = accept_all,
                               .value_of = gpu_memory_of,
                               .used_of = ft_observation_gpu_bytes,
                               .of_history = true,
                               .max_value = MAX_BYTES,
                               .prior = { MEMORY_PRIOR, MIN_DEVIATION_FRACTION,
                                          MIN_DEVIATION_BYTES } },
  [FT_QUANTITY_RUNTIME] = { .name = "runtime_seconds",
                            .title = "run time",
                            .accepts = accept_time,
                            .value_of = runtime_of,
                            .used_of = seconds_used,
                            .limit_of = time_limit_of,
                            .predicted_by = time_predicted_by,
                            .max_value = MAX_SECONDS,
                            .prior = { RUNTIME_PRIOR, MIN_RUNTIME_DEVIATION, 0 } },
  [FT_QUANTITY_ENERGY] = { .name = "energy_joules",
                           .title = "energy",
                           .accepts = accept_completed,
                           .value_of = energy_of,
                           .used_of = joules_of,
                           .max_value = FLT_MAX }
};

bool ft_quantity_measured(const struct ft_quantity *quantity, const ft_observation *o, ft_rule rule,
                          double *value, bool *bound)
{
  *value = quantity->value_of(o, rule, bound);
  return *value > 0 && *value <= quantity->max_value && quantity->accepts(o, rule);
}

const char *ft_quantity_unit(const struct ft_quantity *quantity)
{
  return strrchr(quantity->name, '_') + 1;
}

size_t ft_quantity_find(const char *text)
{
  size_t i = 0, length = strlen(text);

  while (i < FT_QUANTITIES &&
         !(strncmp(ft_quantities[i].name, text, length) == 0 &&
           ft_quantities[i].name + length + 1 == ft_quantity_unit(&ft_quantities[i])))
    i++;
  return i;
}

bool ft_quantity_predicted(const struct ft_quantity *quantity, const ft_observation *o,
                           double quantile[FT_QUANTITY_LEVELS])
{
  return quantity->predicted_by && o->submission.has_decision &&
         quantity->predicted_by(&o->submission.decision, quantile);
}

const char *ft_quantity_show(const struct ft_quantity *quantity, double value, char out[32])
{
  switch (*ft_quantity_unit(quantity)) {
  case 'b':
    return ft_units_show_bytes((uint64_t)fmin(fmax(value, 0), 0x1p63), out, 32);
  case 's':
    return ft_units_show_seconds(value, out, 32);
  default:
    return ft_units_show_joules(value, out, 32);
  }
}
