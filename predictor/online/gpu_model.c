/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/estimate/mig_gres.h"
#include "predictor/online/facts.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/online.h"
#include "predictor/online/refit.h"

/* A failed run with this part of the memory in use ran out of it: the allocation that did not fit
 * is never seen in use. JAX takes 0.75 at once, whatever it needs. */
#define NEAR 0.8
/* A completed run with this part of the memory in use took all that it could: TensorFlow, by
 * default, and vLLM (gpu_memory_utilization, 0.9) do. */
#define FILLED 0.9
/* More than the memory is in use only where the GPU is another one than its name says. */
#define BEYOND 1.05
#define MIB 1048576.0

/* ---- what a run ran on ---- */

/* The slice that the list GRES of --gres names; NULL: none. */
static const struct ft_mig_profile *slice_in(const struct ft_mig_table *table, const char *gpu,
                                             const char *gres)
{
  struct ft_text list = ft_text_from(gres), piece;
  const struct ft_mig_profile *slice = NULL;
  char text[96];

  while (!slice && ft_text_until(&list, ',', &piece))
    if (ft_text_copy(piece, text, sizeof text))
      slice = ft_mig_of_gres(table, NULL, gpu, text);
  return slice;
}

static double listed_for(const ft_observation *o)
{
  struct ft_mig_table table;
  const struct ft_mig_profile *slice = NULL;

  ft_mig_add_nvidia(&table);
  if (o->mig_profile[0])
    slice = ft_mig_of_gres(&table, NULL, o->gpu_name, o->mig_profile);
  else if (o->submission.request.gres[0])
    slice = slice_in(&table, o->gpu_name, o->submission.request.gres);
  if (slice)
    return slice->memory_mib * MIB;
  return o->mig_profile[0] ? 0 : ft_mig_whole_bytes(&table, o->gpu_name);
}

double ft_gpu_model_limit(const ft_observation *o)
{
  double bytes = ft_observation_gpu_bytes(o), limit;

  if (!(bytes > 0) || (o->outcome != FT_OUTCOME_COMPLETED && o->outcome != FT_OUTCOME_FAILED))
    return 0;
  limit = listed_for(o);
  return bytes > BEYOND * limit ? 0 : limit;
}

bool ft_gpu_model_ran_out(const ft_run *run)
{
  return run->censored && run->killed_by != FT_KILLED_BY_LIMIT && run->gpu_limit_bytes > 0 &&
         (double)run->gpu_bytes >= NEAR * (double)run->gpu_limit_bytes;
}

/* ---- the model ---- */

static bool has_filled(const ft_run *run)
{
  return run->gpu_limit_bytes > 0 &&
         (double)run->gpu_bytes >= FILLED * (double)run->gpu_limit_bytes;
}

/* The largest memory that a completed run filled, if each did; else 0. */
static double held_by(const ft_model *model)
{
  double held = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (run->censored)
      continue;
    if (!has_filled(run))
      return 0;
    held = fmax(held, (double)run->gpu_limit_bytes);
  }
  return held;
}

/* RUN as one whose memory is a GPU's. */
static ft_run turned(const ft_run *run)
{
  ft_run out = *run;

  out.killed_by = ft_gpu_model_ran_out(run) ? FT_KILLED_BY_LIMIT : FT_KILLED_BY_NONE;
  out.bytes = (double)run->gpu_bytes;
  if (out.killed_by)
    out.bytes = fmax(out.bytes, (double)run->gpu_limit_bytes);
  out.sampled = false;
  out.predicted_log = out.equation_log = out.residual = 0;
  return out;
}

int ft_gpu_model_convert(ft_model *model, double *held_bytes, struct ft_error *err)
{
  struct ft_refit *work = ft_refit_new();
  size_t count = 0;

  if (!work)
    return ft_error_errno(err, "%s: GPU memory", model->app);
  for (size_t i = 0; i < model->history_count; i++)
    if (model->history[i].gpu_bytes > 0)
      model->history[count++] = turned(&model->history[i]);
  model->history_count = (pb_size_t)count;
  ft_online_drop_oldest(model, 0);
  ft_online_refit(model, work);
  ft_facts_fill(model);
  *held_bytes = held_by(model);
  free(work);
  return (int)model->history_count;
}
