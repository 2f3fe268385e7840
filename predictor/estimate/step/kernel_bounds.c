/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/step/kernel_bounds.h"

/* Steps of the inner dimension that a tile's start and end take, in units of the pipe's step.
 * That of SIMD is fitted to NeuSight's products, that of tensor cores is a guess. */
static const double tile_overhead[FT_PIPES] = { 73, 32 };

/* Results of a tile; the smallest time of all counts, as cuBLAS chooses the best. */
static const struct {
  double m, n;
} tiles[] = { { 128, 256 }, { 128, 128 }, { 64, 128 }, { 64, 64 }, { 32, 64 }, { 32, 32 } };

/* Numbers of parts into which the inner dimension is split, where tiles are few. */
static const double splits[] = { 1, 4, 16 };

/* Returns the peak rate of KERNEL in operations per second. PyTorch's default is TF32 in
 * convolutions only. */
static double peak_operations(const struct ft_kernel *kernel, const struct ft_gpu *gpu,
                              enum ft_precision precision)
{
  bool convolution = kernel->class == FT_KERNEL_POINTWISE ||
                     kernel->class == FT_KERNEL_CONVOLUTION || kernel->class == FT_KERNEL_GROUPED;

  if (kernel->class == FT_KERNEL_DEPTHWISE || kernel->class > FT_KERNEL_ATTENTION)
    return 1e12 * gpu->fp32;
  if (precision >= FT_PRECISION_AMP)
    return 1e12 * gpu->half;
  return 1e12 * (precision == FT_PRECISION_TF32 || convolution ? gpu->tf32 : gpu->fp32);
}

/* Returns the seconds of KERNEL, a product, with tiles of TM x TN, at the rate PEAK on SMS
 * multiprocessors. */
static double tiled_seconds(const struct ft_kernel *kernel, double tm, double tn, double split,
                            double overhead, double peak, double sms)
{
  double count = split * kernel->batch * ceil(kernel->m / tm) * ceil(kernel->n / tn);
  double waves = fmax(1, ceil(count / sms));

  return waves * tm * tn * 2 * (kernel->k / split + overhead) / (peak / sms);
}

void ft_kernel_bound(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                     enum ft_precision precision, struct ft_kernel_bounds *bounds)
{
  const struct ft_gpu *gpu = part->gpu;
  double share = ft_gpu_part_compute(part);
  double rate = share * peak_operations(kernel, gpu, precision), best = INFINITY;
  double peak = rate * (gpu->sustained > 0 ? gpu->sustained : 1);
  double sms = fmax(1, floor(share * gpu->sms));

  bounds->pipe = rate > 1.01e12 * share * gpu->fp32 ? FT_PIPE_TENSOR : FT_PIPE_SIMD;
  bounds->memory = kernel->bytes / (1e9 * gpu->bandwidth * ft_gpu_part_memory(part));
  bounds->compute = 2 * kernel->macs / peak;
  if (!(kernel->n > 0) || !(kernel->m > 0) || !(kernel->k > 0) || gpu->host ||
      kernel->class == FT_KERNEL_DEPTHWISE)
    return;
  for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
    for (size_t j = 0; j < sizeof splits / sizeof *splits; j++)
      best = fmin(best, fmin(tiled_seconds(kernel, tiles[i].m, tiles[i].n, splits[j],
                                           tile_overhead[bounds->pipe], peak, sms),
                             tiled_seconds(kernel, tiles[i].n, tiles[i].m, splits[j],
                                           tile_overhead[bounds->pipe], peak, sms)));
  bounds->compute = best;
}
