/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What would fit instead: the workarounds of Pares et al. 2021 (section 1.1), each tried on the
 * model itself.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/cli/predict_model.h"

struct search {
  struct ft_graph *graph;
  const struct ft_gpu *gpu;
  double bytes, probability;
  struct ft_instead *list;
  size_t count;
};

/* The middle of what RUN needs where it fits; 0 where it does not or cannot be told. */
static double fits(const struct search *s, const struct ft_gpu_run *run)
{
  struct ft_gpu_memory memory;
  struct ft_error err;

  if (ft_gpu_memory(s->graph, s->gpu, run, &memory, &err) < 0 ||
      ft_estimate_quantile(&memory.need, s->probability) > s->bytes)
    return 0;
  return memory.bytes;
}

static void found(struct search *s, const char *change, double bytes, double time,
                  const char *setting)
{
  struct ft_instead *one = &s->list[s->count];

  if (s->count == FT_INSTEADS)
    return;
  *one = (struct ft_instead){ .change = change, .gpu_bytes = bytes, .time = time };
  (void)snprintf(one->setting, sizeof one->setting, "%s", setting);
  s->count++;
}

/* The largest batch below RUN's, and as many passes for a step of the optimiser as make it up. */
static void try_batch(struct search *s, const struct ft_gpu_run *run)
{
  struct ft_gpu_run other = *run;
  int64_t low = 0, high = run->sizes.batch;
  double bytes = 0;
  char setting[64];

  other.accumulate = 2;
  while (high - low > 1) {
    double needed;

    other.sizes.batch = low + (high - low) / 2;
    needed = fits(s, &other);
    if (needed > 0) {
      low = other.sizes.batch;
      bytes = needed;
    } else {
      high = other.sizes.batch;
    }
  }
  if (!low)
    return;
  (void)snprintf(setting, sizeof setting, "batch=%lld,accumulate=%lld", (long long)low,
                 (long long)((run->sizes.batch + low - 1) / low));
  found(s, "batch", bytes, 1, setting);
}

/* Segments of activation checkpointing: one forward pass more, a third of a step (Chen et al.
 * 2016). */
static void try_checkpoints(struct search *s, const struct ft_gpu_run *run)
{
  struct ft_gpu_run other = *run;
  char setting[64];

  for (other.checkpoints = 2; other.checkpoints <= 64; other.checkpoints *= 2) {
    double bytes = fits(s, &other);

    if (bytes <= 0)
      continue;
    (void)snprintf(setting, sizeof setting, "checkpoint=%u", other.checkpoints);
    found(s, "checkpoint", bytes, 4.0 / 3, setting);
    return;
  }
}

static void try_precision(struct search *s, const struct ft_gpu_run *run)
{
  static const enum ft_precision lower[] = { FT_PRECISION_AMP, FT_PRECISION_BF16 };
  struct ft_gpu_run other = *run;

  for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
    char setting[64];
    double bytes;

    other.precision = lower[i];
    bytes = run->precision < lower[i] ? fits(s, &other) : 0;
    if (bytes <= 0)
      continue;
    (void)snprintf(setting, sizeof setting, "precision=%s", ft_precision_name(lower[i]));
    found(s, "precision", bytes, 0, setting);
    return;
  }
}

/* The batch shared out among more GPUs. */
static void try_gpus(struct search *s, const struct ft_gpu_run *run)
{
  struct ft_gpu_run other = *run;
  char setting[64];

  for (unsigned gpus = 2; gpus <= 64 && gpus <= run->sizes.batch; gpus *= 2) {
    double bytes;

    other.gpus = gpus;
    other.sizes.batch = (run->sizes.batch + gpus - 1) / gpus;
    bytes = fits(s, &other);
    if (bytes <= 0)
      continue;
    (void)snprintf(setting, sizeof setting, "gpus=%u,batch=%lld", gpus,
                   (long long)other.sizes.batch);
    found(s, "gpus", bytes, 1.0 / gpus, setting);
    return;
  }
}

/* Activations that wait in the host's memory; parameters and what one pass needs at once stay. */
static void try_offload(struct search *s, const struct ft_gpu_run *run)
{
  struct ft_gpu_memory memory;
  struct ft_error err;
  double scale, bytes;
  char setting[64];

  if (!run->training || ft_gpu_memory(s->graph, s->gpu, run, &memory, &err) < 0)
    return;
  bytes = memory.bytes - 0.9 * (double)memory.activation_bytes; /* one layer in ten is there */
  scale = ft_estimate_quantile(&memory.estimate, s->probability) / memory.bytes;
  if (bytes * scale > s->bytes)
    return;
  (void)snprintf(setting, sizeof setting, "host memory for activations");
  found(s, "offload", bytes, 0, setting);
}

size_t ft_instead_find(struct ft_graph *graph, const struct ft_gpu *gpu,
                       const struct ft_gpu_run *run, double bytes, double probability,
                       struct ft_instead list[FT_INSTEADS])
{
  struct search s = {
    .graph = graph, .gpu = gpu, .bytes = bytes, .probability = probability, .list = list
  };

  try_precision(&s, run);
  try_batch(&s, run);
  if (run->training)
    try_checkpoints(&s, run);
  try_gpus(&s, run);
  try_offload(&s, run);
  found(&s, "cpu", 0, 0, "device=cpu");
  return s.count;
}
