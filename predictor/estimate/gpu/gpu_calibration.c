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
/* The same between runs of one network. Chosen by judgement. */
static const double run_deviation = 0.03;
/* Smallest standard deviation of a run in bytes. Chosen by judgement. */
static const double least_deviation = 20 * MIB;

/* Relative difference up to which two simulated sizes are of one network. Chosen by judgement. */
static const double same = 0.002;

enum {
  ROUNDS = 12, /* reweighting rounds; the weights change little after them */
  FREEDOM = 3  /* degrees of freedom of Student's t: heavy tails, finite variance */
};

/* Weight of a residual of R standard deviations under Student's t (Lange, Little and Taylor 1989).
 */
static double student_weight(double r)
{
  return (FREEDOM + 1) / (FREEDOM + r * r);
}

static unsigned count_same_network(const ft_network_run *runs, size_t count, size_t at)
{
  unsigned found = 0;

  for (size_t i = 0; i < count; i++)
    if (fabs((double)runs[i].network_bytes - (double)runs[at].network_bytes) <=
        same * (double)runs[at].network_bytes)
      found++;
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
      double deviation = hypot(network_deviation * x, least_deviation);
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

/* log(measured / simulated) of RUN without the context; NaN if the run is no evidence. */
static double calibration_residual(const ft_run *run, const struct ft_gpu_device *device)
{
  double network = device->slope * (double)run->network_bytes;
  double measured = (double)run->gpu_bytes - device->context_bytes;

  if (run->censored || !(run->network_bytes > 0) || !(measured > 0.1 * network))
    return NAN;
  return log(measured / network);
}

/* Robust mean and standard deviation of the app's calibration residuals. Returns the runs used. */
static unsigned fit_app_factor(const ft_model *model, const struct ft_gpu_device *device,
                               const struct ft_gpu_device *elsewhere, const uint32_t *hashes,
                               size_t count, double *middle, double *deviation)
{
  double sum, weights, prior = 1 / (network_deviation * network_deviation);
  unsigned used = 0;

  *middle = 0;
  *deviation = network_deviation;
  for (int round = 0; model && round < ROUNDS; round++) {
    sum = 0;
    weights = prior;
    used = 0;
    for (size_t i = 0; i < model->history_count; i++) {
      const ft_run *run = &model->history[i];
      const struct ft_gpu_device *d = is_gpu_listed(run->gpu, hashes, count) ? device : elsewhere;
      double r = calibration_residual(run, d), each, w;

      if (isnan(r))
        continue;
      each = hypot(run_deviation, least_deviation / (double)run->network_bytes);
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
                      const struct ft_gpu_device *device, const ft_model *model,
                      const uint32_t *hashes, size_t count)
{
  struct ft_gpu_device elsewhere = { .context_bytes = (double)memory->context_bytes, .slope = 1 };
  double least = memory->min_device_bytes - (double)memory->context_bytes;
  double squeezed = memory->min_feasible_bytes - (double)memory->context_bytes;
  double middle, deviation, factor, more = 0;
  unsigned used = fit_app_factor(model, device, &elsewhere, hashes, count, &middle, &deviation);

  factor = device->slope * exp(middle);
  memory->context_bytes = llround(device->context_bytes);
  memory->bytes = device->context_bytes + factor * memory->network_bytes;
  memory->min_device_bytes = device->context_bytes + factor * least;
  memory->min_feasible_bytes = device->context_bytes + factor * squeezed;
  ft_gpu_memory_cap(memory, gpu);
  if (!gpu || !gpu->measured)
    more = fmin(ft_gpu_memory_unmeasured, device->deviation / memory->bytes);
  memory->estimate.runs = used;
  if (used) { /* the measured runs include what was unknown or guessed */
    memory->unknown_bytes = ft_dim_of(0);
    memory->guess_log_factor = 0;
  }
  ft_gpu_memory_fill_quantiles(
      memory, hypot(deviation, run_deviation) / hypot(network_deviation, run_deviation), more);
}
