/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/training/restore_norms.h"

/*
 * Fraction of the peak rates that networks reach on a CPU, relative to the fraction on a GPU:
 * median over 60 of timm's networks on an i9-10940X and an RTX 3090 (quartiles 0.34 and 0.54;
 * median over 80 other networks: 0.45).
 */
#define HOST_EFFICIENCY 0.44

/* Returns the peak rate of OP in 1e12 operations per second. By default, PyTorch allows TF32 in
 * cuDNN's convolutions, but not in matrix products. */
static double peak_rate(const struct ft_gpu *s, enum ft_precision precision,
                        const struct ft_operator *op)
{
  if (precision >= FT_PRECISION_AMP)
    return s->half;
  if (precision == FT_PRECISION_TF32 ||
      (op->kind && (op->kind->work == FT_WORK_CONV || op->kind->work == FT_WORK_TRANSPOSED)))
    return s->tf32;
  return s->fp32;
}

/* Returns the number of elements that LAYER reads and writes for a batch of SAMPLES; tensors of
 * unknown size count as 0. */
static double elements_moved(const struct ft_graph *graph, const struct ft_layer *layer,
                             double samples)
{
  double elements = samples * (double)ft_dim_or(layer->activations, 0);

  for (uint32_t i = 0; elements > 0 && i < layer->op->input_count; i++) {
    const struct ft_tensor *x = &graph->tensors[layer->op->inputs[i]];

    elements += (x->data ? samples : 1) * (double)ft_dim_or(ft_tensor_elements(x), 0);
  }
  return elements;
}

struct ft_gpu_part ft_gpu_part_of_slice(const struct ft_gpu *gpu, const struct ft_mig_table *table,
                                        const struct ft_mig_profile *slice)
{
  struct ft_gpu_part part = { .gpu = gpu };
  unsigned all = 0;

  for (size_t i = 0; slice && i < table->count; i++)
    if (strcmp(table->profiles[i].gpu, slice->gpu) == 0 && table->profiles[i].slices > all)
      all = table->profiles[i].slices;
  if (all)
    part.compute = (double)slice->slices / all;
  if (slice && gpu)
    part.memory = slice->memory_mib / gpu->memory_mib;
  return part;
}

double ft_gpu_exchange_seconds(const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                               double parameter_bytes)
{
  double times = run->shard >= 3 ? 3 : 2; /* Rajbhandari et al. 2020 */

  return run->gpus > 1 ? times * (run->gpus - 1) / run->gpus * parameter_bytes / (1e9 * gpu->link)
                       : 0;
}

double ft_gpu_step_seconds(struct ft_graph *graph, const struct ft_gpu_part *part,
                           const struct ft_gpu_run *run, double offloaded, struct ft_error *err)
{
  const struct ft_gpu *s = part->gpu ? part->gpu : ft_gpu_at(0);
  const double reached = s->host ? HOST_EFFICIENCY : 1;
  const double compute = 1e12 * reached * ft_gpu_part_compute(part);
  const double memory = 1e9 * reached * s->bandwidth * ft_gpu_part_memory(part);
  enum ft_precision precision;
  double width, forward = 0, backward = 0, exchange = 0;
  struct ft_analysis analysis;
  double samples;

  if (ft_graph_restore_norms(graph, run->training, err) < 0 ||
      ft_graph_analyse(graph, &run->sizes, &analysis, err) < 0)
    return -1;
  precision = ft_gpu_precision(graph, run);
  width = precision >= FT_PRECISION_AMP ? 2 : 4;
  samples = analysis.scaled ? (double)run->sizes.batch : 1;
  for (size_t i = 0; i < analysis.cost.layer_count; i++) {
    const struct ft_layer *layer = &analysis.cost.layers[i];
    double macs = samples * (double)ft_dim_or(layer->macs, 0);

    forward += fmax(2 * macs / (compute * peak_rate(s, precision, layer->op)),
                    width * elements_moved(graph, layer, samples) / memory);
  }
  if (run->training)
    backward = 2 * forward; /* gradients of inputs and of weights cost one forward pass each */
  if (run->training && run->gpus > 1)
    exchange = ft_gpu_exchange_seconds(s, run, (double)analysis.cost.parameter_bytes);
  if (run->training && run->checkpoints > 1) /* all segments but the last are recomputed */
    backward += forward * (run->checkpoints - 1) / run->checkpoints;
  return forward + fmax(backward, exchange) + 2 * offloaded / (1e9 * s->link);
}
