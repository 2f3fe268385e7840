/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/step/kernel_bounds.h"
#include "predictor/estimate/step/step_time.h"

/* What is learnt of all GPUs, or of CPUs. */
struct step_weights {
  /* fraction of the data sheet's rate that a class reaches; above 1: it needs fewer operations
   * (Winograd) or its data are in the cache */
  double compute[FT_KERNEL_CLASSES][FT_PIPES], memory[FT_KERNEL_CLASSES];
  double gradient[FT_PASSES];         /* factor of `compute` in each pass */
  double gradient_memory;             /* factor of `memory` in backward passes */
  double start;                       /* seconds of a kernel's start and end */
  double power;                       /* exponent with which compute and memory time are joined */
  double forward_host, backward_host; /* seconds of the host per operator, per backward kernel */
};

/* What is learnt of one GPU: its rates as multiples of those that the weights give. */
struct step_device {
  const char *name; /* which ft_gpu_may_be accepts */
  double compute, memory;
  bool full, half; /* measured in 32 bits; in 16 bits or with autocast */
};

/* Quantiles of log(measured / predicted) at ft_interval_levels. */
struct step_residuals {
  double quantile[FT_ESTIMATE_LEVELS];
};

#include "predictor/estimate/step/step_weights.h"

/* Exponent with which the times of host and GPU are joined: the longer one counts, and a little of
 * the other where both are alike. Chosen by judgement. */
enum { HOST_POWER = 8 };

static const struct step_device unmeasured_device = { NULL, 1, 1, false, false };

/* Returns what is learnt of GPU; unmeasured_device: nothing. */
static const struct step_device *find_step_device(const struct ft_gpu *gpu)
{
  for (size_t i = 0; i < sizeof step_devices / sizeof *step_devices; i++)
    if (ft_gpu_may_be(step_devices[i].name, gpu))
      return &step_devices[i];
  return &unmeasured_device;
}

static const struct step_weights *weights_of(const struct ft_gpu *gpu)
{
  return gpu->host ? &step_weights_cpu : &step_weights_gpu;
}

double ft_kernel_seconds(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                         enum ft_precision precision)
{
  const struct step_weights *w = weights_of(part->gpu);
  const struct step_device *device = find_step_device(part->gpu);
  double backward =
      kernel->pass == FT_PASS_INPUT_GRADIENT || kernel->pass == FT_PASS_WEIGHT_GRADIENT
          ? w->gradient_memory
          : 1;
  struct ft_kernel_bounds b;
  double compute, memory, longer;

  ft_kernel_bound(kernel, part, precision, &b);
  compute =
      b.compute / (w->compute[kernel->class][b.pipe] * w->gradient[kernel->pass] * device->compute);
  memory = b.memory / (w->memory[kernel->class] * backward * device->memory);
  longer = fmax(compute, memory);
  if (longer > 0)
    longer *= pow(pow(compute / longer, w->power) + pow(memory / longer, w->power), 1 / w->power);
  return kernel->starts * (longer + w->start);
}

/* Joins the seconds of GPU and HOST, which work at the same time. */
static double join_times(double gpu, double host)
{
  double longer = fmax(gpu, host);

  return longer > 0 ? longer * pow(pow(gpu / longer, HOST_POWER) + pow(host / longer, HOST_POWER),
                                   1.0 / HOST_POWER)
                    : 0;
}

/* Returns how often a step with the settings RUN does PASS. */
static double pass_repeats(const struct ft_gpu_run *run, enum ft_kernel_pass pass)
{
  double repeats = run->training && run->accumulate > 1 ? run->accumulate : 1;

  if (pass == FT_PASS_OPTIMIZER)
    return 1;
  if (pass == FT_PASS_FORWARD && run->training && run->checkpoints > 1)
    repeats *= 2 - 1.0 / run->checkpoints; /* all segments but the last are recomputed */
  return repeats;
}

int ft_step_time(struct ft_graph *graph, const struct ft_gpu_part *part,
                 const struct ft_gpu_run *run, struct ft_step_time *time, struct ft_error *err)
{
  const struct step_weights *w = weights_of(part->gpu);
  const struct step_device *device = find_step_device(part->gpu);
  const struct step_residuals *residuals;
  double passes = pass_repeats(run, FT_PASS_INPUT_GRADIENT);
  double gpu[FT_PASSES] = { 0 }, backward_kernels = 0, host, both, joules = 0;
  struct ft_kernels kernels;

  *time = (struct ft_step_time){ .step = 0 };
  if (ft_kernels_list(graph, run, &kernels, err) < 0)
    return -1;
  for (size_t i = 0; i < kernels.count; i++) {
    const struct ft_kernel *k = &kernels.list[i];

    gpu[k->pass] += ft_kernel_seconds(k, part, kernels.precision);
    joules += pass_repeats(run, k->pass) * ft_kernel_joules(k, part, kernels.precision);
    backward_kernels += k->pass != FT_PASS_FORWARD;
  }
  time->measured = !(part->compute > 0 && part->compute < 1) &&
                   (kernels.precision >= FT_PRECISION_AMP ? device->half : device->full);
  host = w->forward_host * kernels.operators;
  both = gpu[FT_PASS_INPUT_GRADIENT] + gpu[FT_PASS_WEIGHT_GRADIENT];
  time->incomplete = kernels.incomplete;
  time->optimizer = gpu[FT_PASS_OPTIMIZER];
  time->forward = passes * join_times(gpu[FT_PASS_FORWARD], host);
  time->backward =
      run->training ? passes * join_times(both, w->backward_host * backward_kernels) : 0;
  if (run->training && run->checkpoints > 1) /* all segments but the last are recomputed */
    time->backward += time->forward * (run->checkpoints - 1) / run->checkpoints;
  if (run->training && run->gpus > 1)
    time->backward =
        fmax(time->backward, ft_gpu_exchange_seconds(part->gpu, run, kernels.parameter_bytes));
  time->step = time->forward + time->backward + time->optimizer;
  time->host_bound = host > gpu[FT_PASS_FORWARD];
  residuals = &step_residuals[!time->measured   ? STEP_UNMEASURED
                              : part->gpu->host ? STEP_CPU
                                                : STEP_MEASURED];
  time->estimate = (struct ft_estimate){ .runs = 0, .method = "kernels" };
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    time->estimate.quantile[i] = fmax(time->step, 1e-9) * exp(residuals->quantile[i]);
  ft_step_energy(part, fmax(1, run->gpus), joules, time->step, &time->energy);
  return 0;
}
