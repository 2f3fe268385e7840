/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/gpu/gpu_calibration.h"

#define MIB 1048576.0

/* Prior standard deviation of the context in bytes: drivers, CUDA and library releases differ.
 * Chosen by judgement. */
static const double context_deviation = 300 * MIB;
/* Prior standard deviation of the slope, around 1. Chosen by judgement. */
static const double slope_deviation = 0.03;
/* Standard deviation of log(measured / simulated) between networks. Source: held-out families
 * (tests/bench/training_memory). */
static const double network_deviation = 0.05;
/* Standard deviation of log(measured / simulated) between runs of one network. Chosen by
 * judgement. */
static const double run_deviation = 0.03;
/* Minimum standard deviation of a run's measured memory, in bytes. Chosen by judgement. */
static const double min_deviation = 20 * MIB;

/* Maximum relative difference of the simulated sizes of one network. Chosen by judgement. */
static const double same_size = 0.002;

enum {
  ROUNDS = 12, /* rounds of reweighting; later rounds change the weights little */
  FREEDOM = 3  /* degrees of freedom of Student's t: heavy tails, finite variance */
};

/* Returns the weight of a residual of R standard deviations in a fit with Student's t (Lange,
 * Little and Taylor 1989). */
static double student_weight(double r)
{
  return (FREEDOM + 1) / (FREEDOM + r * r);
}

bool ft_gpu_same_network(const ft_network_run *a, const ft_network_run *b)
{
  return fabs((double)a->network_bytes - (double)b->network_bytes) <=
         same_size * (double)a->network_bytes;
}

/* Returns the number of RUNS of the same network as run AT, which is counted too. */
static unsigned count_same_network(const ft_network_run *runs, size_t count, size_t at)
{
  unsigned found = 0;

  for (size_t i = 0; i < count; i++)
    found += ft_gpu_same_network(&runs[at], &runs[i]);
  return found;
}

void ft_gpu_device_fit(const ft_network_run *runs, size_t count, double context_bytes,
                       double network_bytes, struct ft_gpu_device *device)
{
  double context = context_bytes, slope = 1, a = 0, b = 0, d = 0, determinant = 1;

  for (int round = 0; round < ROUNDS; round++) {
    double u, v;

    /* normal equations of context and slope, with their priors */
    a = 1 / (context_deviation * context_deviation);
    d = 1 / (slope_deviation * slope_deviation);
    b = 0;
    u = a * context_bytes;
    v = d;
    for (size_t i = 0; i < count; i++) {
      double x = (double)runs[i].network_bytes, y = (double)runs[i].gpu_bytes;
      double deviation = hypot(network_deviation * x, min_deviation);
      double w = student_weight((y - context - slope * x) / deviation) / (deviation * deviation) /
                 count_same_network(runs, count, i);

      a += w;
      b += w * x;
      d += w * x * x;
      u += w * y;
      v += w * x * y;
    }
    determinant = a * d - b * b;
    context = (d * u - b * v) / determinant;
    slope = (a * v - b * u) / determinant;
  }
  if (!isfinite(context) || !isfinite(slope) || context < 0 || slope <= 0) {
    context = context_bytes;
    slope = 1;
  }
  *device = (struct ft_gpu_device){ .context_bytes = context, .slope = slope };
  device->deviation =
      sqrt(fmax(0, d - 2 * b * network_bytes + a * network_bytes * network_bytes) / determinant);
}

/* ---- one app ---- */

static bool is_gpu_listed(uint32_t gpu, const uint32_t *hashes, size_t count)
{
  for (size_t i = 0; gpu && i < count; i++)
    if (hashes[i] == gpu)
      return true;
  return false;
}

/* Returns log(measured / simulated) of RUN, both without the context; NaN if it has no simulated
 * size, or was measured implausibly low. */
static double calibration_residual(const ft_gpu_run *run, const struct ft_gpu_device *device)
{
  double network = device->slope * (double)run->network_bytes;
  double measured = (double)run->gpu_bytes - device->context_bytes;

  if (!(run->network_bytes > 0) || !(measured > 0.1 * network))
    return NAN;
  return log(measured / network);
}

/* Fills MIDDLE and DEVIATION with a robust mean of the calibration residuals of APP (NULL: none)
 * and the mean's standard error. DEVICE is for runs on the GPUs with one of COUNT HASHES,
 * OTHER_GPUS for other runs. Returns the number of runs used. */
static unsigned fit_app_factor(const ft_model *app, const struct ft_gpu_device *device,
                               const struct ft_gpu_device *other_gpus, const uint32_t *hashes,
                               size_t count, double *middle, double *deviation)
{
  double sum, weights, prior = 1 / (network_deviation * network_deviation);
  unsigned used = 0;

  *middle = 0;
  *deviation = network_deviation;
  for (int round = 0; app && round < ROUNDS; round++) {
    sum = 0;
    weights = prior;
    used = 0;
    for (size_t i = 0; i < app->gpu_runs_count; i++) {
      const ft_gpu_run *run = &app->gpu_runs[i];
      const struct ft_gpu_device *d = is_gpu_listed(run->gpu, hashes, count) ? device : other_gpus;
      double r = calibration_residual(run, d), each, w;

      if (isnan(r))
        continue;
      each = hypot(run_deviation, min_deviation / (double)run->network_bytes);
      w = student_weight((r - *middle) / each) / (each * each);
      sum += w * r;
      weights += w;
      used++;
    }
    *middle = sum / weights;
    *deviation = sqrt(1 / weights);
  }
  return used;
}

void ft_gpu_calibrate(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                      const struct ft_gpu_device *device, const ft_model *app,
                      const uint32_t *hashes, size_t count)
{
  struct ft_gpu_device other_gpus = { .context_bytes = (double)memory->context_bytes, .slope = 1 };
  double min_device = memory->min_device_bytes - (double)memory->context_bytes;
  double min_feasible = memory->min_feasible_bytes - (double)memory->context_bytes;
  double middle, deviation, factor, more = 0;
  unsigned used = fit_app_factor(app, device, &other_gpus, hashes, count, &middle, &deviation);

  factor = device->slope * exp(middle);
  memory->context_bytes = llround(device->context_bytes);
  memory->bytes = device->context_bytes + factor * memory->network_bytes;
  memory->min_device_bytes = device->context_bytes + factor * min_device;
  memory->min_feasible_bytes = device->context_bytes + factor * min_feasible;
  ft_gpu_memory_cap(memory, gpu);
  if (!gpu || !gpu->measured)
    more = fmin(ft_gpu_memory_unmeasured, device->deviation / memory->bytes);
  memory->estimate.runs = used;
  if (used) { /* measured runs include the tensors of unknown or guessed size */
    memory->unknown_bytes = ft_dim_of(0);
    memory->guess_log_factor = 0;
  }
  ft_gpu_memory_fill_quantiles(
      memory, hypot(deviation, run_deviation) / hypot(network_deviation, run_deviation), more);
}
