/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/cuda_allocator.h"
#include "predictor/graph/training/restore_norms.h"

#define MIB 1048576.0

/* Fragmentation of glibc's heap, as a fraction of the bytes allocated at the end of the forward
 * pass. Fitted by tests/bench/cpu_training; 0.3 to 0.35 with any one of its networks left out. */
static const double host_fragmentation = 0.35;

/* Added log width of a CPU estimate's interval. Of 35 measured peaks the largest was 0.17 log units
 * above the estimate (tests/bench/cpu_training). */
static const double host_added_log = 0.1;

/* Workspaces on a CPU: oneDNN's reordered copies of convolutions (tests/bench/cpu_training). */
static const struct ft_workspace host_workspace[3] = { { 1, 1, 1, 1, 0 },
                                                       { 1, 1, 1, 1, 0 },
                                                       { 1, 1, 1, 1, 0 } };

const struct ft_gpu_constants ft_gpu_constants = {
  .context_mib = FT_GPU_CONTEXT_MIB,
  /* the current batch, the prefetched batch, and the latter before its conversion to float */
  .resident_batches = 3,
  /* fitted by tests/bench/training_memory, as FT_GPU_CONTEXT_MIB */
  .workspace = { { 0.0625, 0.0625, 0.0625, 0.5, 0.375 },
                 { 1.125, 0.5, 1, 1.25, 0.375 },
                 { 1, 0.5, 1, 1.25, 0 } },
  /* Channels: cuDNN works on tiles of 128. Without autotuning, cuDNN's heuristics ignore the cost
   * of copies (tests/bench/gpumemnet). timm's runs, with autotuning, show no copies. */
  .copied_channels = 128,
};

/*
 * Smallest device in which a run is expected to succeed, as a multiple of the smallest one in which
 * the simulation succeeds. With it, under 2 % of successful runs are predicted not to fit, and
 * under 2 % of failed runs to fit (tests/bench/training_memory, tests/bench/gpumemnet).
 */
static const double feasible_factor = 1.08;

/*
 * Quantiles of log(measured / simulated) at ft_interval_levels, each network family predicted
 * without its own runs (tests/bench/training_memory). Excluded are 28 of 1,760 runs, at 1.4 to 13
 * times the simulation, in which the sampler measured cuDNN autotuning; its peaks are lower on a
 * smaller device (tests/bench/trials).
 */
static const double residual_quantiles[FT_ESTIMATE_LEVELS] = {
  -0.136, -0.062, -0.042, -0.031, -0.014, 0.0, 0.012, 0.033, 0.051, 0.098, 0.130, 0.191, 0.275
};

enum { MIDDLE = 5 }; /* index of the median in ft_interval_levels */

/* Chosen by judgement: the context may differ on a GPU without measured runs. */
const double ft_gpu_memory_unmeasured = 0.05;

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

/* Returns the size in bytes of the optimiser state of parameter T of BYTES. 8-bit states
 * have a scale of 4 bytes per block of 256 elements; a tensor of fewer than 4096 elements has
 * states of 32 bits (Dettmers et al. 2022). */
static int64_t optimizer_state_bytes(const struct ft_gpu_run *run, const struct ft_tensor *t,
                                     int64_t bytes)
{
  int64_t width = run->precision > FT_PRECISION_AMP ? 2 : 4, elements = bytes / width;

  if (run->optimizer != FT_OPTIMIZER_ADAM8)
    return ft_optimizer_state_bytes(run->optimizer, t, bytes);
  return elements < 4096 ? ft_known_times(8, elements)
                         : ft_known_plus(ft_known_times(2, elements), elements / 32);
}

/* Returns one GPU's share of BYTES if RUN uses STAGE of ZeRO or a higher one, else BYTES. */
static int64_t shard_bytes(const struct ft_gpu_run *run, unsigned stage, int64_t bytes)
{
  return run->shard >= stage ? ft_share(bytes, run->gpus) : bytes;
}

/* Returns one GPU's share of BYTES of optimiser state. ZeroRedundancyOptimizer (stage 1) assigns
 * each whole tensor to the GPU with the smallest sum so far, so the largest tensor may exceed an
 * equal share; higher stages split each tensor. */
static int64_t optimizer_shard_bytes(const struct ft_gpu_run *run, const struct ft_schedule *s,
                                     int64_t bytes)
{
  double largest =
      s->trainable_bytes > 0 ? (double)s->trainable_max / (double)s->trainable_bytes : 0;

  if (run->shard == 1 && run->gpus > 1 && largest * run->gpus > 1)
    return (int64_t)(largest * (double)bytes);
  return shard_bytes(run, 1, bytes);
}

/* ---- simulation ---- */

struct simulation {
  const struct ft_schedule *schedule;
  const struct ft_gpu_run *run;
  struct ft_cuda_allocator allocator;
  struct ft_arena arena;
  int64_t *blocks; /* of each buffer: the allocator's block; 0: none */
  int64_t *sizes;  /* of each buffer: bytes of the tensor in it */
  int64_t *states; /* of each parameter tensor: block of its optimiser state; then the same number
                      of blocks of temporary tensors */
  int64_t live, live_peak; /* bytes of all live tensors: current sum, and its peak */
  int64_t forward_heap;    /* bytes of glibc's heap that the last forward pass left allocated */
};

/* Number of simulated steps. Only the first has autotuning and allocates optimiser state; the third
 * is equal to the second. */
enum { PASSES = 3 };

/* Adds BYTES, negative if freed, to the live bytes. */
static void add_live_bytes(struct simulation *p, int64_t bytes)
{
  p->live += bytes;
  if (p->live > p->live_peak)
    p->live_peak = p->live;
}

/*
 * Simulates one optimiser step; the FIRST one allocates the optimiser state. On a GPU, torch.optim
 * processes the list of all parameters with temporary tensors of equal size (decayed gradients,
 * square roots); fused and 8-bit kernels need none. On a CPU or with foreach=False it processes one
 * parameter at a time (torch/optim/optimizer.py, _default_to_fused_or_foreach). Returns a negative
 * value if memory is exhausted.
 */
static int64_t simulate_optimizer(struct simulation *p, bool first)
{
  const struct ft_schedule *s = p->schedule;
  const struct ft_optimizer_traits *traits = ft_optimizer_traits(p->run->optimizer);
  bool temporary = !p->run->fused && traits->temporaries;
  bool sequential = p->allocator.glibc || p->run->sequential || traits->sequential;
  int64_t failed = 0, temporary_bytes = 0;

  for (uint32_t k = 0; k < s->trainable_count && failed >= 0; k++) {
    int64_t *scratch = &p->states[s->trainable_count + k];
    int64_t state = optimizer_shard_bytes(
        p->run, s, optimizer_state_bytes(p->run, s->trainable_tensors[k], s->trainable_sizes[k]));

    if (first) {
      failed = p->states[k] = ft_cuda_allocator_allocate(&p->allocator, state);
      add_live_bytes(p, state);
    }
    if (failed >= 0 && temporary) {
      int64_t bytes = ft_known_times(traits->temporaries,
                                     optimizer_shard_bytes(p->run, s, s->trainable_sizes[k]));

      failed = *scratch = ft_cuda_allocator_allocate(&p->allocator, bytes);
      add_live_bytes(p, bytes);
      temporary_bytes = ft_known_plus(temporary_bytes, bytes);
      if (sequential) {
        ft_cuda_allocator_free(&p->allocator, *scratch);
        add_live_bytes(p, -bytes);
        temporary_bytes = *scratch = 0;
      }
    }
  }
  add_live_bytes(p, -temporary_bytes);
  for (uint32_t k = 0; k < s->trainable_count && failed >= 0; k++)
    ft_cuda_allocator_free(&p->allocator, p->states[s->trainable_count + k]);
  return failed;
}

/* Allocates BYTES for the buffer of event E; a workspace that does not fit is skipped. Returns the
 * block; a negative value if memory is exhausted. */
static int64_t allocate_buffer(struct simulation *p, const struct ft_event *e, int64_t bytes)
{
  int64_t *block = &p->blocks[e->buffer];

  *block = ft_cuda_allocator_allocate(&p->allocator, bytes);
  if (*block == -1 && e->kind == FT_EVENT_WORK)
    *block = 0;
  p->sizes[e->buffer] = e->kind == FT_EVENT_ALLOCATE ? bytes : 0;
  add_live_bytes(p, p->sizes[e->buffer]);
  return *block;
}

/* Frees the block of BUFFER, if there is one. */
static void free_buffer(struct simulation *p, uint32_t buffer)
{
  ft_cuda_allocator_free(&p->allocator, p->blocks[buffer]);
  add_live_bytes(p, -p->sizes[buffer]);
  p->blocks[buffer] = p->sizes[buffer] = 0;
}

/*
 * Simulates the allocation of the parameters and, with run->summary, a preceding forward pass. That
 * pass leaves cached segments that are too small for later batches. Returns a negative value if
 * memory is exhausted.
 */
static int64_t simulate_setup(struct simulation *p)
{
  const struct ft_schedule *s = p->schedule;
  double scale = (double)p->run->summary / (double)p->run->sizes.batch;
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
      failed = allocate_buffer(p, e, (int64_t)(scale * (double)e->bytes));
    }
  }
  for (uint32_t k = fixed; k < s->buffers && failed >= 0; k++)
    free_buffer(p, k);
  return failed;
}

/* Simulates forward and backward pass and the optimiser step, with autotuning if it is the FIRST.
 * Returns a negative value if memory is exhausted. */
static int64_t simulate_step(struct simulation *p, bool first)
{
  const struct ft_schedule *s = p->schedule;
  int64_t before = ft_cuda_allocator_heap(&p->allocator);

  for (size_t i = s->parameters; i <= s->count;
       i++) { /* i == count: the backward pass may end here */
    const struct ft_event *e;

    if (i == s->forward)
      p->forward_heap = ft_cuda_allocator_heap(&p->allocator) - before;
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
 * Simulates SCHEDULE with the settings RUN on a device of CAPACITY bytes (0: unlimited), or with
 * HOST on a CPU. Fills P, whose peaks and heap are valid afterwards; its memory is freed. Returns
 * 0; -1 if the device is full; -2 if this process is out of memory.
 */
static int simulate_schedule(const struct ft_schedule *schedule, const struct ft_gpu_run *run,
                             bool host, int64_t capacity, struct simulation *p)
{
  int64_t failed = 0;

  *p = (struct simulation){ .schedule = schedule, .run = run, .arena.limit = FT_LIMIT_GRAPH };
  p->blocks = calloc((size_t)schedule->buffers + 1, sizeof *p->blocks);
  p->sizes = calloc((size_t)schedule->buffers + 1, sizeof *p->sizes);
  p->states = calloc(2 * (size_t)schedule->trainable_count + 1, sizeof *p->states);
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

/* Finds the smallest device in which the simulation succeeds, by bisection between the peak without
 * workspaces and PEAK, to 1 % of PEAK, and stores its size in *BYTES. Returns 0; -1 if this process
 * is out of memory. */
static int find_min_feasible(const struct ft_schedule *schedule, const struct ft_gpu_run *run,
                             int64_t peak, int64_t *bytes)
{
  int64_t low = schedule->peak_no_workspace_bytes < peak ? schedule->peak_no_workspace_bytes : peak,
          high = peak;
  struct simulation p;

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

void ft_gpu_memory_fill_quantiles(struct ft_gpu_memory *memory, double scale, double added_log)
{
  unsigned runs = memory->estimate.runs;
  double unknown = (double)ft_dim_or(memory->unknown_bytes, 0);

  added_log += memory->guess_log_factor;

  memory->estimate = (struct ft_estimate){ .method = "graph", .runs = runs };
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    double added = i < MIDDLE ? -added_log : i > MIDDLE ? added_log : 0;

    added *= abs(i - MIDDLE) == 1 ? 0.5 : 1;
    memory->estimate.quantile[i] = memory->bytes * exp(scale * residual_quantiles[i] + added);
    /* the unknown part is 0 with probability 1/2, otherwise uniform up to its bound */
    if (i > MIDDLE)
      memory->estimate.quantile[i] += (2 * ft_interval_levels[i] - 1) * unknown;
  }
}

void ft_gpu_memory_cap(struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  double capacity = gpu ? gpu->memory_mib * MIB : HUGE_VAL;

  if (memory->bytes > capacity && memory->min_feasible_bytes <= capacity)
    memory->bytes = capacity;
}

static void fill_default_quantiles(struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  ft_gpu_memory_fill_quantiles(memory, 1, gpu && gpu->measured ? 0 : ft_gpu_memory_unmeasured);
}

/* Fills the parts of MEMORY: parameters, activations, gradients and optimiser state. */
static void fill_components(struct ft_gpu_memory *memory, const struct ft_gpu_run *run,
                            const struct ft_schedule *schedule)
{
  memory->untrained_bytes = ft_known_plus(schedule->frozen_bytes, schedule->packed_bytes);
  memory->parameter_bytes =
      ft_known_plus(shard_bytes(run, 3, schedule->trainable_bytes), memory->untrained_bytes);
  memory->activation_bytes = schedule->peak_bytes - memory->parameter_bytes;
  if (!run->training)
    return;
  memory->activation_bytes = schedule->saved_bytes;
  memory->offloaded_bytes = schedule->offloaded_bytes;
  memory->gradient_bytes = shard_bytes(run, 2, schedule->trainable_bytes);
  for (uint32_t k = 0; k < schedule->trainable_count; k++)
    memory->optimizer_bytes = ft_known_plus(
        memory->optimizer_bytes,
        optimizer_shard_bytes(run, schedule,
                              optimizer_state_bytes(run, schedule->trainable_tensors[k],
                                                    schedule->trainable_sizes[k])));
}

/* Fills MEMORY with the estimate of the peak RSS on a CPU: the simulated heap of glibc's malloc,
 * with its fragmentation. Returns 0; -1 if this process is out of memory. */
static int estimate_host(struct ft_gpu_memory *memory, const struct ft_gpu *gpu,
                         const struct ft_gpu_run *run, const struct ft_schedule *schedule)
{
  struct simulation p;
  double tensors = (double)schedule->peak_bytes + (double)memory->optimizer_bytes;

  if (simulate_schedule(schedule, run, true, 0, &p) < 0)
    return -1;
  memory->live_bytes = p.live_peak;
  memory->context_bytes = (int64_t)(gpu->context_mib * MIB);
  memory->cached_bytes = (int64_t)(host_fragmentation * (double)p.forward_heap);
  if ((double)p.allocator.peak > tensors)
    memory->cached_bytes += (int64_t)((double)p.allocator.peak - tensors);
  memory->bytes = (double)memory->context_bytes + (double)schedule->input_bytes + tensors +
                  (double)memory->cached_bytes;
  memory->min_device_bytes = memory->min_feasible_bytes = memory->bytes;
  ft_gpu_memory_fill_quantiles(memory, 1, host_added_log);
  return 0;
}

enum ft_precision ft_gpu_precision(const struct ft_graph *graph, const struct ft_gpu_run *run)
{
  uint8_t element = run->training || !graph->stored ? graph->computed : graph->stored;

  if (run->precision_given)
    return run->precision;
  return element == FT_ELEMENT_BFLOAT16  ? FT_PRECISION_BF16
         : element == FT_ELEMENT_FLOAT16 ? FT_PRECISION_FP16
                                         : run->precision;
}

/*
 * Sets the workspaces of convolutions of RUN on GPU, NULL: unknown. cuDNN copies tensors to
 * channels-last for the tensor cores. Without autotuning its heuristics use none for fp32 where
 * TF32 is no faster (tests/bench/xmem). With it, no such GPU was measured.
 */
static void set_workspaces(struct ft_schedule_options *options, const struct ft_gpu *gpu,
                           const struct ft_gpu_run *run)
{
  const struct ft_gpu_constants *constants = run->constants ? run->constants : &ft_gpu_constants;

  if (gpu && !gpu->host && gpu->tf32 <= gpu->fp32 && run->no_autotune &&
      run->precision < FT_PRECISION_AMP)
    return;
  memcpy(options->workspace, gpu && gpu->host ? host_workspace : constants->workspace,
         sizeof options->workspace);
  options->copied_channels = run->no_autotune ? constants->copied_channels : 0;
}

/* Returns the memory of context and libraries in MiB for RUN on GPU, NULL: unknown. */
static double find_context(const struct ft_gpu *gpu, const struct ft_gpu_run *run,
                           const struct ft_schedule *schedule)
{
  bool tuned = false;

  if (run->constants || !gpu)
    return (run->constants ? run->constants : &ft_gpu_constants)->context_mib;
  for (size_t i = 0; i < schedule->count && !run->no_autotune; i++)
    tuned = tuned || schedule->events[i].kind == FT_EVENT_TUNED;
  return tuned || !(gpu->untuned_context_mib > 0) ? gpu->context_mib : gpu->untuned_context_mib;
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
                                         .gpus = run->gpus,
                                         .shard = run->shard,
                                         .views = run->views,
                                         .segments = run->checkpoints };
  const struct ft_gpu_constants *constants = run->constants ? run->constants : &ft_gpu_constants;
  struct ft_gpu_run resolved = *run; /* with the precision that it has */
  struct ft_schedule schedule;
  struct ft_analysis analysis;
  struct simulation p;
  int64_t smallest;
  double other;

  *memory = (struct ft_gpu_memory){ .complete = false };
  if (ft_graph_restore_norms(graph, run->training, err) < 0 ||
      ft_graph_analyse(graph, &run->sizes, &analysis, err) < 0)
    return -1;
  memory->restored_norms = graph->restored_norms;
  options.precision = resolved.precision = ft_gpu_precision(graph, run);
  run = &resolved;
  set_workspaces(&options, gpu, run);
  options.batch = analysis.scaled ? run->sizes.batch : 1;
  if (ft_schedule_make(graph, &analysis.cost, &options, &schedule, err) < 0)
    return -1;
  if (schedule.peak_bytes > FT_GRAPH_ELEMENTS)
    return ft_error_set(err, "%s: memory needed exceeds the largest supported size", graph->file);
  memory->complete = analysis.memory.complete;
  memory->thawed = analysis.cost.thawed;
  memory->approximate = graph->approximate > 0;
  memory->guess_log_factor = log(graph->guessed           ? FT_GRAPH_GUESS
                                 : graph->approximate > 0 ? graph->approximate
                                                          : 1);
  /* A guessed architecture has no tensors of unknown size. Otherwise an unknown element has 4
   * bytes, and in training 4 more for its gradient. */
  memory->unknown_bytes = ft_dim_times(ft_dim_of(memory->guess_log_factor > 0 ? 0
                                                 : run->training              ? 8
                                                                              : 4),
                                       analysis.cost.open_at_most);
  memory->loop_bytes =
      run->training ? ft_known_times(options.batch, analysis.memory.loop_bytes) : 0;
  fill_components(memory, run, &schedule);
  if (gpu && gpu->host)
    return estimate_host(memory, gpu, run, &schedule) < 0
               ? ft_error_set(err, "%s: simulation out of memory", graph->file)
               : 0;
  if (simulate_schedule(&schedule, run, false, 0, &p) < 0 ||
      find_min_feasible(&schedule, run, p.allocator.peak, &smallest) < 0)
    return ft_error_set(err, "%s: simulation out of memory", graph->file);
  memory->live_bytes = p.live_peak;
  memory->context_bytes = (int64_t)(find_context(gpu, run, &schedule) * MIB);
  memory->cached_bytes = p.allocator.peak - p.allocator.allocated_peak;
  other = (double)memory->context_bytes +
          (run->training ? constants->resident_batches : 1) * (double)schedule.input_bytes;
  memory->bytes = (double)p.allocator.peak + other;
  memory->min_feasible_bytes = (double)smallest + other;
  memory->min_device_bytes =
      fmin((double)p.allocator.peak, feasible_factor * (double)smallest) + other;
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
                                         : "an autoregressive Hugging Face network");
  if (!graph->adapts && (run->sizes.lora || run->sizes.quantized_bits))
    return ft_error_set(err, "%s: %s: expected a Hugging Face network", graph->file,
                        run->sizes.lora ? "lora" : "quantized");
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

double ft_gpu_memory_other(const struct ft_gpu_memory *memory)
{
  return memory->bytes - (double)memory->context_bytes - (double)memory->parameter_bytes -
         (double)memory->gradient_bytes - (double)memory->optimizer_bytes -
         (double)memory->activation_bytes - (double)memory->cached_bytes;
}

double ft_gpu_memory_p_oom(const struct ft_gpu_memory *memory, const struct ft_gpu *gpu)
{
  struct ft_estimate required = memory->estimate;

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    required.quantile[i] *= memory->min_device_bytes / memory->bytes;
  return ft_estimate_exceeds(&required, gpu->memory_mib * MIB);
}
