/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/step/kernel_bounds.h"
#include "predictor/estimate/step/step_energy.h"

/* What is learnt of all GPUs. */
struct energy_weights {
  double idle;   /* watts of waiting at full clock, in square roots of the power limit's watts */
  double simd;   /* picojoules of an operation without tensor cores */
  double tensor; /* power of the tensor cores at the data sheet's rate, in power limits */
  double memory; /* power of memory at the data sheet's bandwidth, in power limits; what matrix
                  * products read comes from the caches and counts with their operations */
};

/* What is learnt of one chip: the joules of its kernels as a multiple of those that the weights
 * give for the variant with the power limit WATTS. */
struct energy_device {
  const char *name; /* which ft_gpu_may_be accepts */
  double factor, watts;
};

#include "predictor/estimate/step/energy_weights.h"

/* Exponent with which the power that is needed and the limit are joined; compared with 4 and 16
 * (docs/constants.md). */
enum { CAP_POWER = 8 };

/* Returns what is learnt of GPU; NULL: nothing. */
static const struct energy_device *find_energy_device(const struct ft_gpu *gpu)
{
  for (size_t i = 0; i < sizeof energy_devices / sizeof *energy_devices; i++)
    if (ft_gpu_may_be(energy_devices[i].name, gpu))
      return &energy_devices[i];
  return NULL;
}

double ft_kernel_joules(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                        enum ft_precision precision)
{
  const struct energy_weights *w = &energy_weights;
  const struct ft_gpu *gpu = part->gpu;
  const struct energy_device *device = find_energy_device(gpu);
  const double limit = device ? device->watts : gpu->watts;
  struct ft_kernel_bounds b;
  double joules;

  ft_kernel_bound(kernel, part, precision, &b);
  b.compute *= ft_gpu_part_compute(part); /* seconds of the whole GPU */
  b.memory *= ft_gpu_part_memory(part);
  if (kernel->class > FT_KERNEL_ATTENTION)
    joules = w->memory * limit * b.memory;
  else if (b.pipe == FT_PIPE_TENSOR)
    joules = w->tensor * limit * b.compute;
  else
    joules = w->simd * gpu->fp32 * b.compute; /* 1e-12 J times 1e12 operations a second */
  return kernel->starts * joules * (device ? device->factor : 1);
}

void ft_step_energy(const struct ft_gpu_part *part, double gpus, double joules, double seconds,
                    struct ft_step_energy *energy)
{
  const double limit = part->gpu->watts, share = ft_gpu_part_compute(part);
  const struct energy_device *device = find_energy_device(part->gpu);
  double needed;

  *energy = (struct ft_step_energy){ .joules = { .method = "kernels" } };
  if (!(limit > 0) || !(seconds > 0))
    return;
  energy->measured = device && !(share < 1);
  needed = energy_weights.idle / sqrt(limit) + joules / (seconds * share * limit);
  energy->watts = gpus * share * limit * pow(pow(needed, -CAP_POWER) + 1, -1.0 / CAP_POWER);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    energy->joules.quantile[i] =
        energy->watts * seconds * exp(energy_residuals[!energy->measured][i]);
}
