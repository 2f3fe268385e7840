/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/mig_gres.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/gpu_model.h"

/* Fraction of GPU memory in use from which a completed run is assumed to allocate all memory:
 * TensorFlow does by default, and vLLM allocates 0.9 (gpu_memory_utilization). */
#define FILLED_FRACTION 0.9
/* Multiple of the listed memory above which the GPU's name is assumed to be wrong. Chosen by
 * judgement. */
#define MAX_FRACTION 1.05
#define MIB 1048576.0

/* ---- the GPU of a run ---- */

/* Returns the MIG profile in GRES, the list of --gres; NULL: none. */
static const struct ft_mig_profile *find_mig_profile(const struct ft_mig_table *table,
                                                     const char *gpu, const char *gres)
{
  struct ft_text list = ft_text_from(gres), piece;
  const struct ft_mig_profile *slice = NULL;
  char text[96];

  while (!slice && ft_text_until(&list, ',', &piece))
    if (ft_text_copy(piece, text, sizeof text))
      slice = ft_mig_of_gres(table, NULL, gpu, text);
  return slice;
}

/* Returns the listed memory of the GPU or slice of O in bytes; 0: unknown. */
static double listed_gpu_bytes(const ft_observation *o)
{
  struct ft_mig_table table;
  const struct ft_mig_profile *slice = NULL;

  ft_mig_add_nvidia(&table);
  if (o->mig_profile[0])
    slice = ft_mig_of_gres(&table, NULL, o->gpu_name, o->mig_profile);
  else if (o->submission.request.gres[0])
    slice = find_mig_profile(&table, o->gpu_name, o->submission.request.gres);
  if (slice)
    return slice->memory_mib * MIB;
  return o->mig_profile[0] ? 0 : ft_mig_whole_bytes(&table, o->gpu_name);
}

double ft_gpu_model_limit(const ft_observation *o)
{
  double bytes = ft_observation_gpu_bytes(o), limit;

  if (!(bytes > 0) || (o->outcome != FT_OUTCOME_COMPLETED && o->outcome != FT_OUTCOME_FAILED))
    return 0;
  limit = listed_gpu_bytes(o);
  return bytes > MAX_FRACTION * limit ? 0 : limit;
}

/* ---- the model ---- */

static bool has_filled_gpu(const ft_run *run)
{
  return run->gpu_limit_bytes > 0 && (double)run->values[FT_QUANTITY_GPU_MEMORY] >=
                                         FILLED_FRACTION * (double)run->gpu_limit_bytes;
}

double ft_gpu_model_filled(const struct ft_history *history)
{
  double held = 0;

  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    if (run->censored)
      continue;
    if (!has_filled_gpu(run))
      return 0;
    held = fmax(held, (double)run->gpu_limit_bytes);
  }
  return held;
}

/* Sets GPU's runs with a model file to the newest ones of HISTORY that completed. */
static void fill_gpu_runs(const struct ft_history *history, ft_model *gpu)
{
  enum { MAX = sizeof gpu->gpu_runs / sizeof *gpu->gpu_runs };
  size_t count = 0, skipped = 0;

  for (size_t i = 0; i < history->count; i++)
    count += !history->run[i].censored && history->run[i].network_bytes > 0;
  gpu->gpu_runs_count = 0;
  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    if (run->censored || !(run->network_bytes > 0) || skipped++ + MAX < count)
      continue;
    gpu->gpu_runs[gpu->gpu_runs_count++] =
        (ft_gpu_run){ run->network_bytes, run->values[FT_QUANTITY_GPU_MEMORY], run->gpu };
  }
}

void ft_gpu_model_complete(ft_model *gpu, const struct ft_history *history)
{
  gpu->held_bytes = ft_gpu_model_filled(history);
  fill_gpu_runs(history, gpu);
}
