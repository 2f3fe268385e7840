/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/estimate/gpu_memory.h"
#include "predictor/estimate/mig.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/cuda_allocator.h"

#define MIB 1048576.0

/*
 * Learnt from 1,760 training runs of 384 networks on an A100-40GB (itu-rad/GPUMemNet, CUDA with
 * timm's script): tests/bench/training_memory prints the fit that these figures are taken from and
 * what they reach on families that took no part.
 */
enum { CONTEXT_MIB = 1740, HOST_MIB = 290 };

/* Of what glibc's heap keeps for the backward pass, so much more stays between blocks in use; 0.3
 * to 0.35 with each network left out (tests/bench/cpu_training). */
static const double host_kept = 0.35;

/* Peaks of processes lie so much further from what was played, of a logarithm: of 35, one took
 * 0.17 more (tests/bench/cpu_training). */
static const double host_more = 0.1;

/* On a CPU: oneDNN's reordered copies (tests/bench/cpu_training). */
static const struct ft_workspace host_workspace[3] = { { 1, 1, 1, 1, 0 },
                                                       { 1, 1, 1, 1, 0 },
                                                       { 1, 1, 1, 1, 0 } };

const struct ft_gpu_constants ft_gpu_constants = {
  .context_mib = CONTEXT_MIB,
  .resident_batches = 3, /* this one, the next, and its bytes */
  .workspace = { { 0.0625, 0.0625, 0.0625, 0.5, 0.375 },
                 { 1.125, 0.5, 1, 1.25, 0.375 },
                 { 1, 0.5, 1, 1.25, 0 } },
  /* copies cost memory traffic, which its trials see and a rule for tiles of 128 channels does not
   * (tests/bench/gpumemnet; with trials timm's runs show none) */
  .copied_channels = 128,
};

/*
 * Of what it can be played in so much more is needed in truth: with it under 2 % of the runs that
 * went well are said not to fit, and of those that ran out under 2 % to fit (the same and
 * tests/bench/gpumemnet).
 */
static const double slack = 1.08;

/*
 * Quantiles of ln(measured / played) at ft_estimate_levels, families held out, without the 28 of
 * 1,760 runs that showed 1.4 to 13 times as much: cuDNN's trials, caught by the sampler, of which a
 * device with less room tries fewer (the same, and tests/bench/trials).
 */
static const double spread[FT_ESTIMATE_LEVELS] = { -0.136, -0.062, -0.042, -0.031, -0.014,
                                                   0.0,    0.012,  0.033,  0.051,  0.098,
                                                   0.130,  0.191,  0.275 };

enum { MIDDLE = 5 }; /* the median among the levels */

/* On a GPU without runs of its own the context may be another. */
const double ft_gpu_memory_unmeasured = 0.05;

/* Memory: what nvidia-smi shows in all less what the driver keeps. */
static const struct ft_gpu gpus[] = {
  { .name = "a100-40gb", .memory_mib = 40448, .context_mib = CONTEXT_MIB, .measured = true },
  { .name = "a100-80gb", .memory_mib = 81050, .context_mib = CONTEXT_MIB },
  { .name = "a30", .memory_mib = 24060, .context_mib = CONTEXT_MIB },
  { .name = "h100-80gb", .memory_mib = 81090, .context_mib = CONTEXT_MIB },
  { .name = "h100-94gb", .memory_mib = 95320, .context_mib = CONTEXT_MIB },
  { .name = "h100-96gb", .memory_mib = 96800, .context_mib = CONTEXT_MIB },
  { .name = "gh200", .memory_mib = 96800, .context_mib = CONTEXT_MIB },
  { .name = "h200", .memory_mib = 143160, .context_mib = CONTEXT_MIB },
  { .name = "b200", .memory_mib = 182780, .context_mib = CONTEXT_MIB },
  { .name = "gb200", .memory_mib = 188890, .context_mib = CONTEXT_MIB },
  { .name = "rtx-pro-6000", .memory_mib = 97250, .context_mib = CONTEXT_MIB },
  { .name = "cpu", .context_mib = HOST_MIB, .measured = true, .host = true },
};

const struct ft_gpu *ft_gpu_at(size_t i)
{
  return i < sizeof gpus / sizeof *gpus ? &gpus[i] : NULL;
}

const struct ft_gpu *ft_gpu_find(const char *name)
{
  for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
    if (ft_mig_same_gpu(name, gpus[i].name))
      return &gpus[i];
  return NULL;
}

const char *ft_precision_name(enum ft_precision precision)
{
  static const char *const names[FT_PRECISIONS] = { "fp32", "tf32", "amp", "bf16", "fp16" };

  return names[precision];
}

void ft_gpu_run_init(struct ft_gpu_run *run)
{
  *run = (struct ft_gpu_run){ .sizes = { .batch = 1 },
                              .training = true,
                              .optimizer = FT_OPTIMIZER_MOMENTUM };
}

/* ---- the optimiser's state ---- */

/* Of a parameter tensor of BYTES; what is added to a first moment in 8 bits: a scale of 4 bytes for
 * 256 elements (Dettmers et al. 2022), and tensors under 4096 elements stay in 32 bits. */
static int64_t optimizer_state_bytes(const struct ft_gpu_run *run, int64_t bytes)
{
  int64_t width = run->precision > FT_PRECISION_AMP ? 2 : 4, elements = bytes / width;

  switch (run->optimizer) {
  case FT_OPTIMIZER_SGD:
    return 0;
  case FT_OPTIMIZER_MOMENTUM:
    return bytes;
  case FT_OPTIMIZER_ADAM8:
    return elements < 4096 ? ft_times(8, elements) : ft_plus(ft_times(2, elements), elements / 32);
  default:
    return ft_times(2, bytes);
  }
}

static int64_t shard_bytes(const struct ft_gpu_run *run, unsigned stage, int64_t bytes)
{
  return run->shard >= stage ? ft_share(bytes, run->gpus) : bytes;
}

/* Of what the optimiser has for each element of a parameter of BYTES this GPU's part: whole tensors
 * go to the GPU that has least (ZeroRedundancyOptimizer), or each GPU has a share of each. */
static int64_t optimizer_shard_bytes(const struct ft_gpu_run *run, const struct ft_schedule *s,
                                     int64_t bytes)
{
  double most = s->learnt_bytes > 0 ? (double)s->learnt_most / (double)s->learnt_bytes : 0;

  if (run->shard == 1 && run->gpus > 1 && most * run->gpus > 1)
    return (int64_t)(most * (double)bytes);
  return shard_bytes(run, 1, bytes);
}

/* ---- playing ---- */

struct player {
  const struct ft_schedule *schedule;
  const struct ft_gpu_run *run;
  struct ft_cuda_allocator allocator;
  struct ft_arena arena;
  int64_t *blocks; /* of each buffer */
  int64_t *sizes;  /* of each buffer that a tensor has now */
  int64_t *states; /* of each parameter tensor: its state, and what a step makes for a while */
  int64_t live, live_peak; /* bytes of tensors now, and at most */
  int64_t heap_kept;       /* of glibc's heap, bytes that the last forward pass left in use */
};

enum { PASSES = 3 /* after the first with its trials the next is like the one after it */ };

static void add_live_bytes(struct player *p, int64_t bytes)
{
  p->live += bytes;
  if (p->live > p->live_peak)
    p->live_peak = p->live;
}

/*
 * One step of the optimiser: its state comes with the first. torch.optim works on lists of all
 * parameters and makes one as large for a while (gradients with their decay, square roots); its
 * fused kernels and those of 8 bits make none. On a CPU it goes from one parameter to the next
 * (torch/optim/optimizer.py, _default_to_fused_or_foreach).
 */
static int64_t simulate_optimizer(struct player *p, bool first)
{
  const struct ft_schedule *s = p->schedule;
  bool lists = !p->run->fused && p->run->optimizer != FT_OPTIMIZER_ADAM8;
  int64_t failed = 0, made = 0;

  for (uint32_t k = 0; k < s->learnt_count && failed >= 0; k++) {
    int64_t *scratch = &p->states[s->learnt_count + k];
    int64_t state = optimizer_shard_bytes(p->run, s, optimizer_state_bytes(p->run, s->learnt[k]));

    if (first) {
      failed = p->states[k] = ft_cuda_allocator_allocate(&p->allocator, state);
      add_live_bytes(p, state);
    }
    if (failed >= 0 && lists) {
      int64_t bytes = optimizer_shard_bytes(p->run, s, s->learnt[k]);

      failed = *scratch = ft_cuda_allocator_allocate(&p->allocator, bytes);
      add_live_bytes(p, bytes);
      made = ft_plus(made, bytes);
      if (p->allocator.glibc) {
        ft_cuda_allocator_free(&p->allocator, *scratch);
        add_live_bytes(p, -bytes);
        made = *scratch = 0;
      }
    }
  }
  add_live_bytes(p, -made);
  for (uint32_t k = 0; k < s->learnt_count && failed >= 0; k++)
    ft_cuda_allocator_free(&p->allocator, p->states[s->learnt_count + k]);
  return failed;
}

/* What E takes, of BYTES; a workspace without room is left out. Below 0: it runs out. */
static int64_t allocate_buffer(struct player *p, const struct ft_event *e, int64_t bytes)
{
  int64_t *block = &p->blocks[e->buffer];

  *block = ft_cuda_allocator_allocate(&p->allocator, bytes);
  if (*block == -1 && e->kind == FT_EVENT_WORK)
    *block = 0;
  p->sizes[e->buffer] = e->kind == FT_EVENT_ALLOCATE ? bytes : 0;
  add_live_bytes(p, p->sizes[e->buffer]);
  return *block;
}

static void free_buffer(struct player *p, uint32_t buffer)
{
  ft_cuda_allocator_free(&p->allocator, p->blocks[buffer]);
  add_live_bytes(p, -p->sizes[buffer]);
  p->blocks[buffer] = p->sizes[buffer] = 0;
}

/*
 * Parameters, and where a summary of the network is printed first its forward pass: what that
 * leaves in the cache is too small for the batches to come.
 */
static int64_t simulate_setup(struct player *p)
{
  const struct ft_schedule *s = p->schedule;
  double part = (double)p->run->summary / (double)p->run->sizes.batch;
  size_t end = p->run->summary ? s->forward : s->parameters;
  uint32_t fixed = 0;
  int64_t failed = 0;

  for (size_t i = 0; i < end && failed >= 0; i++) {
    const struct ft_event *e = &s->events[i];

    if (i < s->parameters) {
      failed = allocate_buffer(p, e, e->bytes);
      fixed = e->buffer + 1;
    } else if (e->kind == FT_EVENT_FREE) {
      free_buffer(p, e->buffer);
    } else if (e->kind != FT_EVENT_TUNED) {
      failed = allocate_buffer(p, e, (int64_t)(part * (double)e->bytes));
    }
  }
  for (uint32_t k = fixed; k < s->buffers && failed >= 0; k++)
    free_buffer(p, k);
  return failed;
}

static int64_t simulate_step(struct player *p, bool first)
{
  const struct ft_schedule *s = p->schedule;
  int64_t before = ft_cuda_allocator_heap(&p->allocator);

  for (size_t i = s->parameters; i <= s->count; i++) { /* gradients that stay end with the pass */
    const struct ft_event *e;

    if (i == s->forward)
      p->heap_kept = ft_cuda_allocator_heap(&p->allocator) - before;
    if (i == s->backward && p->run->training) {
      int64_t failed = simulate_optimizer(p, first);

      if (failed < 0)
        return failed;
    }
    if (i == s->count)
      break;
    e = &s->events[i];
    if (e->kind == FT_EVENT_FREE)
      free_buffer(p, e->buffer);
    else if (e->kind == FT_EVENT_TUNED && first && !p->run->no_autotune)
      ft_cuda_allocator_empty(&p->allocator);
    else if (e->kind <= FT_EVENT_WORK && allocate_buffer(p, e, e->bytes) < 0)
      return p->blocks[e->buffer];
  }
  return 0;
}

/*
 * Play SCHEDULE on a device of CAPACITY bytes, 0 without an end, or on a HOST. P tells what came of
 * it; its blocks are gone. Returns 0; -1: it runs out; -2: memory is out here.
 */
static int simulate_schedule(const struct ft_schedule *schedule, const struct ft_gpu_run *run,
                             bool host, int64_t capacity, struct player *p)
{
  int64_t failed = 0;

  *p = (struct player){ .schedule = schedule, .run = run, .arena.limit = FT_LIMIT_GRAPH };
  p->blocks = calloc((size_t)schedule->buffers + 1, sizeof *p->blocks);
  p->sizes = calloc((size_t)schedule->buffers + 1, sizeof *p->sizes);
  p->states = calloc(2 * (size_t)schedule->learnt_count + 1, sizeof *p->states);
  if (!p->blocks || !p->sizes || !p->states)
    failed = -2;
  if (host)
    ft_cuda_allocator_init_glibc(&p->allocator, &p->arena);
  else
    ft_cuda_allocator_init(&p->allocator, &p->arena, capacity);
  if (failed >= 0)
    failed = simulate_setup(p);
  for (int i = 0; i < PASSES && failed >= 0; i++)
    failed = simulate_step(p, i == 0);
  free(p->blocks);
  free(p->sizes);
  free(p->states);
  ft_arena_free(&p->arena);
  return failed < 0 ? (int)failed : 0;
}

/* The least that it can be played in, to a hundredth: between what is requested at once, without
 * workspaces, and PEAK. */
static int find_min_feasible(const struct ft_schedule *schedule, const struct ft_gpu_run *run,
                             int64_t peak, int64_t *bytes)
{
  int64_t low = schedule->peak_no_workspace_bytes < peak ? schedule->peak_no_workspace_bytes : peak,
          high = peak;
  struct player p;

  while (high - low > peak / 100 + 1) {
    int64_t middle = low + (high - low) / 2;
    int failed = simulate_schedule(schedule, run, false, middle, &p);

    if (failed < -1)
      return -1;
    if (failed)
      low = middle;
    else
      high = middle;
  }
  *bytes = high;
  return 0;
}

/* ---- the estimate ---- */

void ft_gpu_memory_fill_quantiles(struct ft_gpu_memory *memory, double narrow, double more)
{
  unsigned runs = memory->estimate.runs;
  double open = memory->unknown_bytes > 0 ? (double)memory->unknown_bytes : 0;

  more += memory->guess_log_factor;

  memory->estimate = (struct ft_estimate){ .method = "graph", .runs = runs };
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double outward = i < MIDDLE ? -more : i > MIDDLE ? more : 0;

    outward *= abs(i - MIDDLE) == 1 ? 0.5 : 1;
    memory->estimate.quantile[i] = memory->bytes * exp(narrow * spread[i] + outward);
    /* as likely none of it as some, and then anything up to all */
    if (i > MIDDLE)
      memory->estimate.quantile[i] += (2 * ft_estimate_levels[i] - 1) * open;
  }
}

void ft_gpu_memory_cap(struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  double most = gpu ? gpu->memory_mib * MIB : HUGE_VAL;

  if (memory->bytes > most && memory->min_feasible_bytes <= most)
    memory->bytes = most;
}

static void fill_default_quantiles(struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  ft_gpu_memory_fill_quantiles(memory, 1, gpu && gpu->measured ? 0 : ft_gpu_memory_unmeasured);
}

static void fill_components(struct ft_gpu_memory *memory, const struct ft_gpu_run *run,
                            const struct ft_schedule *schedule)
{
  memory->parameter_bytes =
      ft_plus(shard_bytes(run, 3, schedule->learnt_bytes), schedule->packed_bytes);
  memory->activation_bytes = schedule->peak_bytes - memory->parameter_bytes;
  if (!run->training)
    return;
  memory->activation_bytes = schedule->saved_bytes;
  memory->offloaded_bytes = schedule->offloaded_bytes;
  memory->gradient_bytes = shard_bytes(run, 2, schedule->learnt_bytes);
  for (uint32_t k = 0; k < schedule->learnt_count; k++)
    memory->optimizer_bytes = ft_plus(
        memory->optimizer_bytes,
        optimizer_shard_bytes(run, schedule, optimizer_state_bytes(run, schedule->learnt[k])));
}

/* Peak RSS: what glibc's malloc is played to keep, and some more. */
static int estimate_host(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                         const struct ft_gpu_run *run, const struct ft_schedule *schedule)
{
  struct player p;
  double once = (double)schedule->peak_bytes + (double)memory->optimizer_bytes;

  if (simulate_schedule(schedule, run, true, 0, &p) < 0)
    return -1;
  memory->live_bytes = p.live_peak;
  memory->context_bytes = (int64_t)(gpu->context_mib * MIB);
  memory->cached_bytes = (int64_t)(host_kept * (double)p.heap_kept);
  if ((double)p.allocator.peak > once)
    memory->cached_bytes += (int64_t)((double)p.allocator.peak - once);
  memory->bytes = (double)memory->context_bytes + (double)schedule->fed_bytes + once +
                  (double)memory->cached_bytes;
  memory->min_device_bytes = memory->min_feasible_bytes = memory->bytes;
  ft_gpu_memory_fill_quantiles(memory, 1, host_more);
  return 0;
}

enum ft_precision ft_gpu_precision(const struct ft_graph *graph, const struct ft_gpu_run *run)
{
  if (run->training || run->precision_given)
    return run->precision;
  return graph->stored == FT_ELEMENT_BFLOAT16  ? FT_PRECISION_BF16
         : graph->stored == FT_ELEMENT_FLOAT16 ? FT_PRECISION_FP16
                                               : run->precision;
}

int ft_gpu_memory_pass(struct ft_graph *graph, const struct ft_gpu *gpu,
                       const struct ft_gpu_run *run, struct ft_gpu_memory *memory,
                       struct ft_error *err)
{
  struct ft_schedule_options options = { .training = run->training,
                                         .saves = run->keeps_graph,
                                         .out_of_place = run->out_of_place,
                                         .fused_attention = !run->plain_attention,
                                         .keep_gradients = run->accumulate > 1,
                                         .offload = run->offload,
                                         .precision = ft_gpu_precision(graph, run),
                                         .gpus = run->gpus,
                                         .shard = run->shard,
                                         .views = run->views,
                                         .segments = run->checkpoints };
  const struct ft_gpu_constants *constants = run->constants ? run->constants : &ft_gpu_constants;
  struct ft_schedule schedule;
  struct ft_analysis analysis;
  struct player p;
  int64_t smallest;
  double other;

  *memory = (struct ft_gpu_memory){ .complete = false };
  memcpy(options.workspace, gpu && gpu->host ? host_workspace : constants->workspace,
         sizeof options.workspace);
  options.copied_channels = run->no_autotune ? constants->copied_channels : 0;
  if (ft_graph_analyse(graph, &run->sizes, &analysis, err) < 0)
    return -1;
  options.batch = analysis.scaled ? run->sizes.batch : 1;
  if (ft_schedule_make(graph, &analysis.cost, &options, &schedule, err) < 0)
    return -1;
  if (schedule.peak_bytes > FT_GRAPH_ELEMENTS)
    return ft_error_set(err, "%s: needs more memory than any machine has", graph->file);
  memory->complete = analysis.memory.complete;
  memory->guess_log_factor = graph->guessed ? log(FT_GRAPH_GUESS) : 0;
  /* what is guessed of a family bounds all of it; kept for the backward pass, and as much of
   * gradients */
  memory->unknown_bytes =
      graph->guessed ? 0 : ft_times(run->training ? 8 : 4, analysis.cost.open_at_most);
  memory->loop_bytes = run->training ? ft_times(options.batch, analysis.memory.loop_bytes) : 0;
  fill_components(memory, run, &schedule);
  if (gpu && gpu->host)
    return estimate_host(memory, gpu, run, &schedule) < 0
               ? ft_error_set(err, "%s: memory is out", graph->file)
               : 0;
  if (simulate_schedule(&schedule, run, false, 0, &p) < 0 ||
      find_min_feasible(&schedule, run, p.allocator.peak, &smallest) < 0)
    return ft_error_set(err, "%s: memory is out", graph->file);
  memory->live_bytes = p.live_peak;
  memory->context_bytes =
      (int64_t)((gpu && !run->constants ? gpu->context_mib : constants->context_mib) * MIB);
  memory->cached_bytes = p.allocator.peak - p.allocator.allocated_peak;
  other = (double)memory->context_bytes +
          (run->training ? constants->resident_batches : 1) * (double)schedule.fed_bytes;
  memory->bytes = (double)p.allocator.peak + other;
  memory->min_feasible_bytes = (double)smallest + other;
  memory->min_device_bytes = fmin((double)p.allocator.peak, slack * (double)smallest) + other;
  memory->network_bytes = (double)p.allocator.peak + other - (double)memory->context_bytes;
  ft_gpu_memory_cap(memory, gpu);
  fill_default_quantiles(memory, gpu);
  return 0;
}

int ft_gpu_memory(struct ft_graph *graph, const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                  struct ft_gpu_memory *memory, struct ft_error *err)
{
  struct ft_gpu_memory prompt;
  struct ft_gpu_run last = *run;

  if (run->sizes.generate && (run->training || !graph->generates))
    return ft_error_set(err, "%s: new_tokens: expected %s", graph->file,
                        graph->generates ? "mode=inference"
                                         : "a Hugging Face network that makes words");
  if (ft_gpu_memory_pass(graph, gpu, run, memory, err) < 0)
    return -1;
  if (run->sizes.generate < 2)
    return 0;
  prompt = *memory;
  last.sizes.last = true;
  if (ft_gpu_memory_pass(graph, gpu, &last, memory, err) < 0)
    return -1;
  if (prompt.bytes > memory->bytes)
    *memory = prompt;
  return 0;
}

double ft_gpu_memory_p_oom(const struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  struct ft_estimate least = memory->estimate;

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    least.quantile[i] *= memory->min_device_bytes / memory->bytes;
  return ft_estimate_exceeds(&least, gpu->memory_mib * MIB);
}
