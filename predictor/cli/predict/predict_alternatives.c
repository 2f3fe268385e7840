/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alternative settings that fit the GPU: the workarounds of Pares et al. 2021 (section 1.1), each
 * evaluated with the memory model.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/cli/predict/predict_model.h"
#include "predictor/core/text.h"

enum {
  GPUS = 64,    /* upper limit of suggested GPUs */
  SEGMENTS = 64 /* upper limit of suggested checkpoint segments */
};

struct search {
  const struct ft_instead_question *asked;
  struct ft_instead *list;
  size_t count;
  double seconds; /* time of a step with the requested settings; 0: unknown */
};

/* Estimates RUN's memory on GPU, refined by the site's data as in a submission.
 * Returns 0; -1 on error. */
static int predict_setting(const struct search *s, const struct ft_gpu *gpu,
                           const struct ft_gpu_run *run, struct ft_gpu_memory *memory)
{
  const struct ft_instead_question *q = s->asked;
  struct ft_error err;

  if (ft_gpu_memory(q->graph, gpu, run, memory, &err) < 0)
    return -1;
  if (q->refine)
    q->refine(q->context, gpu, memory);
  return 0;
}

static bool fits_probably(const struct search *s, const struct ft_gpu_run *run,
                          struct ft_gpu_memory *memory)
{
  return predict_setting(s, s->asked->part.gpu, run, memory) == 0 &&
         ft_estimate_quantile(&memory->estimate, s->asked->probability) <= s->asked->bytes;
}

/* Returns RUN's time for the same samples, in STEPS times as many passes, as a multiple of the
 * requested settings' time; 0: unknown. */
static double relative_time(const struct search *s, const struct ft_gpu_part *part,
                            const struct ft_gpu_run *run, const struct ft_gpu_memory *memory,
                            double steps)
{
  struct ft_error err;
  double seconds =
      ft_gpu_step_seconds(s->asked->graph, part, run, (double)memory->offloaded_bytes, &err);

  return s->seconds > 0 && seconds > 0 ? steps * seconds / s->seconds : 0;
}

/* Adds an alternative to the list, unless it is full. */
__attribute__((format(printf, 5, 6))) static void
add_alternative(struct search *s, const char *change, const struct ft_gpu_memory *memory,
                double time, const char *format, ...)
{
  struct ft_instead *one = &s->list[s->count];
  va_list ap;

  if (s->count == FT_INSTEADS)
    return;
  *one = (struct ft_instead){ .change = change, .bytes = memory->bytes, .time = time };
  va_start(ap, format);
  (void)vsnprintf(one->setting, sizeof one->setting, format, ap);
  va_end(ap);
  s->count++;
}

static unsigned at_least_one(unsigned n)
{
  return n ? n : 1;
}

/*
 * Finds by bisection the largest batch that fits below the requested one. Training splits the
 * samples of a step evenly over the fewest passes of at most that batch (gradient accumulation).
 */
static void try_batch(struct search *s)
{
  const struct ft_gpu_run *run = &s->asked->run;
  struct ft_gpu_memory memory, best;
  struct ft_gpu_run other = *run;
  int64_t low = 0, high = run->sizes.batch, passes;

  if (run->training)
    other.accumulate = 2; /* memory does not depend on the number of passes */
  while (high - low > 1) {
    other.sizes.batch = low + (high - low) / 2;
    if (fits_probably(s, &other, &memory)) {
      low = other.sizes.batch;
      best = memory;
    } else {
      high = other.sizes.batch;
    }
  }
  if (!low)
    return;
  passes = (run->sizes.batch + low - 1) / low;
  other.sizes.batch = run->training ? (run->sizes.batch + passes - 1) / passes : low;
  if (other.sizes.batch < low && !fits_probably(s, &other, &best)) {
    other.sizes.batch = low;
    (void)fits_probably(s, &other, &best);
  }
  if (run->training)
    add_alternative(s, "batch", &best,
                    relative_time(s, &s->asked->part, &other, &best, (double)passes),
                    "batch=%lld,accumulate=%lld", (long long)other.sizes.batch,
                    (long long)passes * at_least_one(run->accumulate));
  else
    add_alternative(
        s, "batch", &best,
        relative_time(s, &s->asked->part, &other, &best, (double)run->sizes.batch / (double)low),
        "batch=%lld", (long long)low);
  if (s->count && strcmp(s->list[s->count - 1].change, "batch") == 0)
    s->list[s->count - 1].largest_batch = low;
}

/* Finds the fewest segments of activation checkpointing (Chen et al. 2016) that fit. */
static void try_checkpoints(struct search *s)
{
  struct ft_gpu_run other = s->asked->run;
  struct ft_gpu_memory memory;

  other.checkpoints = at_least_one(other.checkpoints);
  while (other.training && (other.checkpoints *= 2) <= SEGMENTS)
    if (fits_probably(s, &other, &memory)) {
      add_alternative(s, "checkpoint", &memory,
                      relative_time(s, &s->asked->part, &other, &memory, 1), "checkpoint=%u",
                      other.checkpoints);
      return;
    }
}

static void try_precision(struct search *s)
{
  static const enum ft_precision lower[] = { FT_PRECISION_AMP, FT_PRECISION_BF16 };
  struct ft_gpu_run other = s->asked->run;
  struct ft_gpu_memory memory;

  for (size_t i = 0; i < sizeof lower / sizeof *lower; i++) {
    other.precision = lower[i];
    other.precision_given = true;
    if (ft_gpu_precision(s->asked->graph, &s->asked->run) < lower[i] &&
        fits_probably(s, &other, &memory)) {
      add_alternative(s, "precision", &memory,
                      relative_time(s, &s->asked->part, &other, &memory, 1), "precision=%s",
                      ft_precision_name(lower[i]));
      return;
    }
  }
}

/* Offloads the tensors saved for the backward pass to host memory. */
static void try_offload(struct search *s)
{
  struct ft_gpu_run other = s->asked->run;
  struct ft_gpu_memory memory;

  if (!other.training || other.offload)
    return;
  other.offload = true;
  if (fits_probably(s, &other, &memory))
    add_alternative(s, "offload", &memory, relative_time(s, &s->asked->part, &other, &memory, 1),
                    "offload=on");
}

/* Splits the batch over more GPUs; if that does not fit, also shards the model (level 3). */
static void try_more_gpus(struct search *s)
{
  const struct ft_gpu_run *run = &s->asked->run;
  const unsigned now = at_least_one(run->gpus), shards[] = { run->shard, 3 };
  struct ft_gpu_run other = *run;
  struct ft_gpu_memory memory;

  for (size_t i = 0; i < (run->training && run->shard < 3 ? 2 : 1); i++)
    for (unsigned gpus = 2 * now; gpus <= GPUS; gpus *= 2) {
      other.gpus = gpus;
      other.shard = shards[i];
      other.sizes.batch = (run->sizes.batch * now + gpus - 1) / gpus;
      if (!fits_probably(s, &other, &memory))
        continue;
      if (other.shard != run->shard)
        add_alternative(s, "gpus", &memory, relative_time(s, &s->asked->part, &other, &memory, 1),
                        "gpus=%u,batch=%lld,shard=%u", gpus, (long long)other.sizes.batch,
                        other.shard);
      else
        add_alternative(s, "gpus", &memory, relative_time(s, &s->asked->part, &other, &memory, 1),
                        "gpus=%u,batch=%lld", gpus, (long long)other.sizes.batch);
      return;
    }
}

static void try_cpu(struct search *s)
{
  const struct ft_gpu_part host = { .gpu = ft_gpu_find("cpu") };
  struct ft_gpu_memory memory;

  if (predict_setting(s, host.gpu, &s->asked->run, &memory) < 0)
    return;
  add_alternative(s, "cpu", &memory, relative_time(s, &host, &s->asked->run, &memory, 1),
                  "device=cpu");
}

size_t ft_instead_find(const struct ft_instead_question *question,
                       struct ft_instead list[FT_INSTEADS])
{
  struct search s = { .asked = question, .list = list };
  struct ft_gpu_memory memory = { .offloaded_bytes = 0 };
  struct ft_error err;

  if (question->run.offload)
    (void)predict_setting(&s, question->part.gpu, &question->run, &memory);
  s.seconds = ft_gpu_step_seconds(question->graph, &question->part, &question->run,
                                  (double)memory.offloaded_bytes, &err);
  try_precision(&s);
  try_batch(&s);
  try_checkpoints(&s);
  try_more_gpus(&s);
  try_offload(&s);
  try_cpu(&s);
  return s.count;
}

const char *ft_instead_most(const struct ft_instead *one, char out[48])
{
  struct ft_text text = ft_text_from(one->setting);
  uint64_t batch = 0;

  out[0] = '\0';
  if (ft_text_skip(&text, "batch=") && ft_text_u64(&text, INT64_MAX, &batch) &&
      one->largest_batch > (long long)batch)
    (void)snprintf(out, 48, "; batch=%lld at most", one->largest_batch);
  return out;
}

const char *ft_instead_times(double time, char out[32])
{
  double unit = time >= 99.5 ? pow(10, floor(log10(time)) - 1) : 0;

  if (unit > 0)
    (void)snprintf(out, 32, "%.0f", unit * round(time / unit));
  else
    (void)snprintf(out, 32, "%.2g", time);
  return out;
}
