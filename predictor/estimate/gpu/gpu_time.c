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

/*
 * Dense peak rates from NVIDIA's data sheets (A30, A100, H100, H200, GH200, DGX B200, GB200,
 * RTX PRO 6000 Server; whitepapers of GA102 and Ada; a GeForce accumulates in fp32). The host link
 * is one direction of PCIe 4 or 5 x16, or NVLink-C2C. "cpu" is a node of 32 cores with AVX2 at 2.5
 * GHz and eight channels of DDR4-3200.
 */
static const struct speed {
  const char *gpu;
  double fp32, tf32, half; /* 1e12 operations per second */
  double memory, link;     /* 1e9 bytes per second */
} speeds[] = {
  { "a100-40gb", 19.5, 156, 312, 1555, 31.5 },
  { "a100-80gb", 19.5, 156, 312, 2039, 31.5 },
  { "a30", 10.3, 82, 165, 933, 31.5 },
  { "h100-80gb", 67, 494, 989, 3350, 63 },
  { "h100-94gb", 60, 417, 835, 3900, 63 },
  { "h100-96gb", 67, 494, 989, 3350, 63 },
  { "gh200", 67, 494, 989, 4000, 450 },
  { "h200", 67, 494, 989, 4800, 63 },
  { "b200", 75, 1100, 2250, 8000, 63 },
  { "gb200", 80, 1250, 2500, 8000, 450 },
  { "rtx-pro-6000", 120, 252, 504, 1597, 63 },
  { "rtx-3060", 12.7, 12.7, 25.5, 360, 31.5 },
  { "rtx-3090", 35.6, 35.6, 71, 936, 31.5 },
  { "rtx-4060", 15.1, 15.1, 30.2, 272, 15.75 },
  { "rtx-4090", 82.6, 82.6, 165, 1008, 31.5 },
  { "cpu", 2.56 * HOST_EFFICIENCY, 2.56 * HOST_EFFICIENCY, 2.56 * HOST_EFFICIENCY,
    205 * HOST_EFFICIENCY, HUGE_VAL },
};

/* Returns the rates of GPU; of the first row if unknown. */
static const struct speed *speed_of(const struct ft_gpu *gpu)
{
  size_t i = gpu ? FT_TABLE_FIND(speeds, gpu->name) : 0;

  return &speeds[i < sizeof speeds / sizeof *speeds ? i : 0];
}

/* Returns the peak rate of OP in 1e12 operations per second. By default, PyTorch allows TF32 in
 * cuDNN's convolutions, but not in matrix products. */
static double peak_rate(const struct speed *s, enum ft_precision precision,
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

double ft_gpu_step_seconds(struct ft_graph *graph, const struct ft_gpu_part *part,
                           const struct ft_gpu_run *run, double offloaded, struct ft_error *err)
{
  const struct speed *s = speed_of(part->gpu);
  const double compute = 1e12 * (part->compute > 0 ? part->compute : 1);
  const double memory = 1e9 * s->memory * (part->memory > 0 ? part->memory : 1);
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
    exchange = 2.0 * (run->gpus - 1) / run->gpus * (double)analysis.cost.parameter_bytes /
               (1e9 * s->link) * (run->shard >= 3 ? 1.5 : 1); /* Rajbhandari et al. 2020 */
  if (run->training && run->checkpoints > 1) /* all segments but the last are recomputed */
    backward += forward * (run->checkpoints - 1) / run->checkpoints;
  return forward + fmax(backward, exchange) + 2 * offloaded / (1e9 * s->link);
}
