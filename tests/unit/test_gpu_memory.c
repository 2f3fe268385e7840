/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files are made by tests/fixtures/graph/make-onnx. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/gpu/gpu_time.h"

static const char *const files[] = { "convolution", "attention", "torch-cnn",   "baked",
                                     "merged",      "broadcast", "hf/bert.json" };
static const char *const inputs[] = { "3x32x32", "sequence=10", NULL,         NULL,
                                      NULL,      NULL,          "sequence=10" };

/* NAME is an ONNX file, or a path in the corpus. */
static struct ft_graph *open_graph(const char *name)
{
  char file[256];

  if (strchr(name, '/'))
    return corpus_graph(name);
  (void)snprintf(file, sizeof file, "onnx/%s.onnx", name);
  return corpus_graph(file);
}

static void make(struct ft_graph *graph, const char *input, const struct ft_schedule_options *o,
                 struct ft_schedule *schedule)
{
  struct ft_graph_sizes sizes = { .batch = 4, .input = input };
  struct ft_schedule_options options = *o;
  struct ft_analysis analysis;
  struct ft_error err = { "" };

  if (ft_graph_analyse(graph, &sizes, &analysis, &err) < 0)
    fail_msg("%s", err.text);
  options.batch = analysis.scaled ? 4 : 1;
  if (ft_schedule_make(graph, &analysis.cost, &options, schedule, &err) < 0)
    fail_msg("%s", err.text);
}

/* Every buffer is allocated and freed once, parameters never; no buffer is freed before its
 * allocation. */
static void a_pass_frees_its_allocations(void **state)
{
  static const struct ft_schedule_options options[] = {
    { .training = true },
    { .training = true, .fused_attention = true },
    { .training = true, .segments = 3 },
    { .training = true, .segments = 1000 },
    { .training = true, .keep_gradients = true },
    { .training = true, .precision = FT_PRECISION_AMP },
    { .training = true, .precision = FT_PRECISION_BF16, .segments = 2 },
    { .training = true, .offload = true },
    { .training = true, .offload = true, .precision = FT_PRECISION_AMP, .segments = 3 },
    { .training = false },
    { .training = false, .saves = true },
    { .training = true, .gpus = 4 },
    { .training = true, .gpus = 2, .views = true },
    { .training = true, .gpus = 4, .shard = 2 },
    { .training = true, .gpus = 4, .shard = 3 },
    { .training = true, .gpus = 4, .shard = 3, .segments = 3 },
    { .training = true, .gpus = 4, .shard = 3, .keep_gradients = true },
    { .training = false, .gpus = 4, .shard = 3 },
  };

  (void)state;
  for (size_t f = 0; f < COUNT_OF(files); f++)
    for (size_t i = 0; i < COUNT_OF(options); i++) {
      struct ft_graph *graph = open_graph(files[f]);
      struct ft_schedule s;
      uint8_t *taken;

      make(graph, inputs[f], &options[i], &s);
      taken = calloc(s.buffers + 1, 1);
      for (size_t k = 0; k < s.count; k++) {
        const struct ft_event *e = &s.events[k];

        if (e->kind == FT_EVENT_TUNED)
          continue;
        assert_true(e->buffer < s.buffers);
        assert_int_equal(taken[e->buffer], e->kind == FT_EVENT_FREE);
        taken[e->buffer] = e->kind == FT_EVENT_FREE ? 2 : 1;
        if (k >= s.parameters && e->kind == FT_EVENT_ALLOCATE)
          taken[e->buffer] = 1;
      }
      for (size_t k = 0; k < s.parameters; k++)
        taken[s.events[k].buffer] = 2;
      for (uint32_t k = 0; k < s.buffers; k++)
        if (taken[k] != 2)
          fail_msg("%s, options %zu: buffer %u is not given back", files[f], i, k);
      free(taken);
      ft_graph_free(graph);
    }
}

/* Number of allocations of BYTES in a training step of FILE, from its first event or from the
 * backward pass on. */
static size_t taken_as(const char *file, bool backward, int64_t bytes)
{
  static const struct ft_schedule_options training = { .training = true };
  struct ft_graph *graph = open_graph(file);
  struct ft_schedule s;
  size_t count = 0;

  make(graph, NULL, &training, &s);
  for (size_t i = backward ? s.forward : 0; i < s.count; i++)
    count += s.events[i].kind == FT_EVENT_ALLOCATE && s.events[i].bytes == bytes;
  ft_graph_free(graph);
  return count;
}

/* 64 x 8 x 32 for 4 samples: the expanded matrices, which are saved, and their gradient before
 * its reduction. */
static void a_broadcast_operand_is_expanded(void **state)
{
  (void)state;
  assert_int_equal(taken_as("broadcast", false, 4 * 4 * 64 * 8 * 32), 2);
}

/* Each of 4 concatenated tensors gets a part of one gradient, which is added to another
 * gradient: 4 x 4 x 8 x 8 elements for 4 samples, never the whole 16 channels a second time. */
static void a_part_of_a_gradient_is_summed_as_a_part(void **state)
{
  (void)state;
  assert_int_equal(taken_as("concatenated", true, 4 * 4 * 16 * 8 * 8), 1);
}

/* 128 elements for each of 4 samples. Dropout of 0 is no operator. Autocast's products are
 * 16-bit; the input of a normalisation is copied to 32 bits and saved, and so is its output. */
static void mixed_precision_copies_widened_tensors(void **state)
{
  struct ft_schedule_options options = { .training = true };
  struct ft_graph *graph = open_graph("torchscript/net-training-traced.pt");
  size_t dropouts = 0, wide[2] = { 0 }, narrow[2] = { 0 };
  struct ft_schedule s;

  (void)state;
  for (int mixed = 0; mixed < 2; mixed++) {
    options.precision = mixed ? FT_PRECISION_AMP : FT_PRECISION_FP32;
    make(graph, "64", &options, &s);
    for (size_t i = s.parameters; i < s.forward; i++) {
      wide[mixed] += s.events[i].bytes == 4 * 4 * 128;
      narrow[mixed] += s.events[i].bytes == 2 * 4 * 128;
    }
  }
  for (uint32_t i = 0; i < graph->block.operator_count; i++)
    dropouts += strcmp(graph->block.operators[i].type, "Dropout") == 0;
  assert_int_equal(dropouts, 1);
  assert_int_equal(wide[0], 3);   /* the product, the normalisation, dropout */
  assert_int_equal(narrow[0], 0); /* only its mask of one byte each */
  assert_int_equal(wide[1], 3);   /* the copy, the normalisation, dropout */
  assert_int_equal(narrow[1], 2); /* the product, and the input of the last one */
  ft_graph_free(graph);
}

static struct ft_gpu_memory estimate_memory(const char *file, const char *input,
                                            struct ft_gpu_run *run)
{
  struct ft_graph *graph = open_graph(file);
  struct ft_gpu_memory memory;
  struct ft_error err = { "" };

  run->sizes.input = input;
  if (ft_gpu_memory(graph, ft_gpu_at(0), run, &memory, &err) < 0)
    fail_msg("%s: %s", file, err.text);
  ft_graph_free(graph);
  return memory;
}

static void larger_inputs_and_batches_need_more_memory(void **state)
{
  struct ft_gpu_memory one, many, inference, adam, amp;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.sizes.batch = 64;
  one = estimate_memory("torch-cnn", NULL, &run);
  run.sizes.batch = 65536;
  many = estimate_memory("torch-cnn", NULL, &run);
  assert_true(many.bytes > one.bytes && many.min_device_bytes > one.min_device_bytes);
  assert_true(many.min_device_bytes <= many.bytes);
  run.precision = FT_PRECISION_AMP;
  amp = estimate_memory("torch-cnn", NULL, &run);
  assert_true(amp.bytes < many.bytes);
  run.precision = FT_PRECISION_FP32;
  run.optimizer = FT_OPTIMIZER_ADAM;
  adam = estimate_memory("torch-cnn", NULL, &run);
  assert_int_equal(adam.optimizer_bytes, 2 * many.optimizer_bytes);
  run.training = false;
  inference = estimate_memory("torch-cnn", NULL, &run);
  assert_true(inference.bytes < many.bytes);
  assert_int_equal(inference.gradient_bytes + inference.optimizer_bytes, 0);
}

/* Parameters, gradients, optimizer state; a foreach step also allocates one copy of the
 * parameters. */
static void the_optimizer_step_is_independent_of_accumulation(void **state)
{
  static const struct {
    enum ft_optimizer optimizer;
    bool fused;
    int64_t times; /* multiples of the parameters */
  } table[] = { { FT_OPTIMIZER_SGD, false, 3 },     { FT_OPTIMIZER_MOMENTUM, false, 4 },
                { FT_OPTIMIZER_ADAM, false, 5 },    { FT_OPTIMIZER_ADAMW, false, 5 },
                { FT_OPTIMIZER_ADAMW, true, 4 },    { FT_OPTIMIZER_MOMENTUM, true, 3 },
                { FT_OPTIMIZER_ADAGRAD, false, 5 }, { FT_OPTIMIZER_ADAGRAD, true, 3 },
                { FT_OPTIMIZER_RMSPROP, false, 4 }, { FT_OPTIMIZER_ADADELTA, false, 6 },
                { FT_OPTIMIZER_NADAM, false, 5 },   { FT_OPTIMIZER_RADAM, false, 5 },
                { FT_OPTIMIZER_ADAMAX, false, 5 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(table); i++)
    for (unsigned accumulate = 0; accumulate < 3; accumulate++) {
      struct ft_gpu_memory memory;
      struct ft_gpu_run run;

      ft_gpu_run_init(&run);
      run.optimizer = table[i].optimizer;
      run.fused = table[i].fused;
      run.accumulate = accumulate;
      memory = estimate_memory("hf/bert.json", "sequence=2", &run);
      assert_true(memory.live_bytes >= table[i].times * memory.parameter_bytes);
      assert_true(memory.live_bytes < table[i].times * memory.parameter_bytes * 11 / 10);
    }
}

/* Two matrices of 96 x 32 and 32 x 32 with a bias each: a mean of each row and column, and of each
 * element of a bias. One parameter at a time, a step holds a copy of the largest one only. */
static void an_optimizer_may_factor_its_state_or_step_one_by_one(void **state)
{
  struct ft_gpu_memory list, one;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.optimizer = FT_OPTIMIZER_ADAFACTOR;
  list = estimate_memory("pt2/saved-written-out.pt2", NULL, &run);
  assert_int_equal(list.optimizer_bytes, 4 * (96 + 32 + 96 + 32 + 32 + 32));
  run.sizes.batch = 1;
  list = estimate_memory("hf/bert.json", "sequence=2", &run);
  run.sequential = true;
  one = estimate_memory("hf/bert.json", "sequence=2", &run);
  assert_true(one.live_bytes < list.live_bytes);
}

/* In multiples of the parameters: DistributedDataParallel has the gradients twice unless they
 * are views of buckets; ZeRO stage 1 halves AdamW's two moments. With sharded parameters a
 * quarter is resident and only whole blocks are gathered: more than the shards, less than all. */
static void gpus_shard_by_the_chosen_strategy(void **state)
{
  static const struct {
    unsigned gpus, shard;
    bool views;
    double least, most; /* multiples of the parameters */
  } table[] = { { 1, 0, false, 4, 4.4 },  { 2, 0, false, 5, 5.4 }, { 2, 0, true, 4, 4.5 },
                { 2, 1, false, 4, 4.4 },  { 4, 1, false, 3.5, 4 }, { 4, 2, false, 1.75, 4 },
                { 4, 3, false, 0.75, 3 }, { 1, 3, false, 4, 4.4 } };
  double before = 0;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(table); i++) {
    struct ft_gpu_memory memory;
    struct ft_gpu_run run;
    double times;

    ft_gpu_run_init(&run);
    run.optimizer = FT_OPTIMIZER_ADAMW;
    run.fused = true;
    run.gpus = table[i].gpus;
    run.shard = table[i].shard;
    run.views = table[i].views;
    memory = estimate_memory("hf/bert.json", "sequence=2", &run);
    times = (double)memory.live_bytes / (double)memory.parameter_bytes;
    if (run.shard == 3)
      times /= run.gpus;
    if (times < table[i].least || times > table[i].most)
      fail_msg("gpus=%u, shard=%u, views=%d: %.2f times the parameters", run.gpus, run.shard,
               run.views, times);
    assert_true(run.shard < 3 || run.gpus < 2 || times <= before);
    before = times;
  }
}

static void settings_of_a_run_are_checked(void **state)
{
  static const struct {
    const char *name, *value;
    int status;
  } cases[] = {
    { "shard", "3", 1 },    { "shard", "4", -1 },        { "shard", "-1", -1 },
    { "gpus", "65536", 1 }, { "gpus", "65537", -1 },     { "views", "on", 1 },
    { "views", "yes", -1 }, { "new_tokens", "1e3", -1 }, { "new_tokens", "1073741825", -1 },
    { "cache", "", -1 },    { "warp", "1", 0 },
  };
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_gpu_params_set(&run, ft_text_from(cases[i].name), ft_text_from(cases[i].value)) !=
        cases[i].status)
      fail_msg("%s=%s", cases[i].name, cases[i].value);
}

/* A result of 4 x 8 x 64 that two modules read and no backward pass needs lives until the pass
 * ends. */
static void tensors_in_python_variables_live_until_the_function_returns(void **state)
{
  static const struct ft_schedule_options options[] = { { .training = true },
                                                        { .training = false } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(options); i++) {
    struct ft_graph *graph = open_graph("named");
    struct ft_schedule s;
    uint32_t buffer = UINT32_MAX;
    size_t given = 0;

    make(graph, NULL, &options[i], &s);
    for (size_t k = s.parameters; k < s.count; k++) {
      const struct ft_event *e = &s.events[k];

      if (k < s.forward && e->kind == FT_EVENT_ALLOCATE && e->bytes == 4 * 4 * 8 * 64)
        buffer = e->buffer;
      if (e->kind == FT_EVENT_FREE && e->buffer == buffer)
        given = given ? given : k;
    }
    assert_true(buffer != UINT32_MAX && given >= s.forward);
    ft_graph_free(graph);
  }
}

/* Each block is gathered separately in both passes, whether or not it equals others. The
 * remainder is never resharded; at the end its gradients are one piece. */
static void blocks_are_gathered_one_by_one(void **state)
{
  static const struct {
    const char *file, *input;
    int64_t numbers;
    size_t times;
  } table[] = {
    /* BERT of the corpus: four products of 32 x 32, two with 48, and the biases and norms */
    { "hf/bert.json", "sequence=16", 4 * (32 * 32 + 32) + 2 * 32 * 48 + 48 + 32 + 4 * 32, 2 * 3 },
    { "net-resnet", NULL, 72 + 8 + 144 + 8 + 8 + 8, 3 },
    { "net-resnet", NULL, 2 * (144 + 8), 3 },
    { "net-resnet", NULL, 216 + 12 + 324 + 12 + 24 + 12, 3 },
    { "net-resnet", NULL, 2 * (324 + 12), 3 },
    { "net-resnet", NULL, 294 + 4 + 90, 2 }, /* parameters outside blocks stay */
  };
  struct ft_schedule_options options = { .training = true, .gpus = 2, .shard = 3 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(table); i++) {
    struct ft_graph *graph = open_graph(table[i].file);
    struct ft_schedule s;
    size_t gathered = 0;

    make(graph, table[i].input, &options, &s);
    for (size_t k = s.parameters; k < s.count; k++)
      gathered +=
          s.events[k].kind == FT_EVENT_ALLOCATE && s.events[k].bytes == 4 * table[i].numbers;
    if (gathered != table[i].times)
      fail_msg("%s: %zu times %lld numbers, expected %zu", table[i].file, gathered,
               (long long)table[i].numbers, table[i].times);
    ft_graph_free(graph);
  }
}

static void a_summary_leaves_blocks_too_small_for_batches(void **state)
{
  struct ft_gpu_memory plain, summed;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.no_autotune = true; /* an empty cache follows autotuning */
  run.sizes.batch = 65536;
  plain = estimate_memory("torch-cnn", NULL, &run);
  run.summary = 30000;
  summed = estimate_memory("torch-cnn", NULL, &run);
  assert_true(summed.bytes > plain.bytes);
  assert_int_equal(summed.activation_bytes, plain.activation_bytes);
}

/* Bytes of all workspaces of the forward or backward pass; COUNT: their number. */
static int64_t works(const struct ft_schedule *s, bool forward, size_t *count)
{
  int64_t bytes = 0;

  *count = 0;
  for (size_t k = forward ? 0 : s->forward; k < (forward ? s->forward : s->count); k++)
    if (s->events[k].kind == FT_EVENT_WORK) {
      bytes += s->events[k].bytes;
      ++*count;
    }
  return bytes;
}

static void workspaces_of_large_kernels_are_equal_in_all_directions(void **state)
{
  static const struct {
    int64_t channels;
    bool copies;
  } table[] = { { 0, false }, { 1, true }, { 1 << 20, false } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(table); i++) {
    struct ft_schedule_options options = { .training = true, .copied_channels = table[i].channels };
    struct ft_graph *graph = open_graph("convolution");
    size_t forward, backward;
    struct ft_schedule s;
    int64_t bytes;

    make(graph, "3x32x32", &options, &s);
    bytes = works(&s, true, &forward);
    if (!table[i].copies) {
      assert_int_equal(works(&s, false, &backward) + bytes, 0);
    } else { /* no gradient of the network's input: only the weight's */
      assert_true(forward > 0);
      assert_true(works(&s, false, &backward) >= bytes);
      assert_true(backward <= 2 * forward);
      assert_true(works(&s, false, &backward) <= 2 * bytes);
    }
    ft_graph_free(graph);
  }
}

static void checkpoints_trade_memory(void **state)
{
  struct ft_gpu_memory plain, checkpointed;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.sizes.batch = 65536;
  plain = estimate_memory("torch-cnn", NULL, &run);
  run.checkpoints = 4;
  checkpointed = estimate_memory("torch-cnn", NULL, &run);
  assert_true(checkpointed.activation_bytes < plain.activation_bytes);
}

/* A transformer of two layers in two segments: half of the saved tensors, and one tensor
 * between. */
static void checkpoint_segments_end_at_the_smallest_cut(void **state)
{
  struct ft_schedule_options options = { .training = true, .fused_attention = true };
  struct ft_graph *graph = open_graph("hf/bert.json");
  int64_t hidden = 4 * 4 * 60 * 32, plain;
  struct ft_schedule s;

  (void)state;
  make(graph, "sequence=60", &options, &s);
  plain = s.saved_bytes;
  options.segments = 2;
  make(graph, "sequence=60", &options, &s);
  assert_true(s.saved_bytes < plain / 2 + 2 * hidden);
  ft_graph_free(graph);
}

static void fused_attention_saves_no_probabilities(void **state)
{
  struct ft_gpu_memory fused, plain;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.sizes.batch = 2;
  run.plain_attention = true;
  plain = estimate_memory("attention", "sequence=1000", &run);
  run.plain_attention = false;
  fused = estimate_memory("attention", "sequence=1000", &run);
  assert_true(fused.activation_bytes <= plain.activation_bytes);
}

/* Two layers, 2 samples, 4 heads: each head and pair of tokens keeps four bytes of
 * probabilities, one of the dropout mask and four of its output; the fused kernel's sum per head
 * and token is absent. */
static void decomposed_attention_saves_its_probabilities(void **state)
{
  static const char *const lengths[] = { "sequence=16", "sequence=32", "sequence=64" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(lengths); i++) {
    int64_t length = INT64_C(16) << i;
    struct ft_gpu_memory fused, plain;
    struct ft_gpu_run run;

    ft_gpu_run_init(&run);
    run.sizes.batch = 2;
    fused = estimate_memory("hf/bert.json", lengths[i], &run);
    run.plain_attention = true;
    plain = estimate_memory("hf/bert.json", lengths[i], &run);
    assert_int_equal(plain.activation_bytes - fused.activation_bytes,
                     2 * ((4 + 1 + 4) * 2 * 4 * length * length - 4 * 2 * 4 * length));
  }
}

/* control.onnx has 5 iterations with a matrix of 4 x 4 each; the saved tensors are bounded. */
static void a_loop_saves_at_most_the_results_of_all_iterations(void **state)
{
  struct ft_gpu_memory training, inference;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  run.sizes.batch = 4;
  training = estimate_memory("control", NULL, &run);
  assert_int_equal(training.loop_bytes, 5 * 4 * 4 * 4);
  assert_true(training.complete && training.activation_bytes >= training.loop_bytes);
  run.training = false;
  inference = estimate_memory("control", NULL, &run);
  assert_int_equal(inference.loop_bytes, 0);
}

static void no_estimate_has_zero_variance(void **state)
{
  struct ft_gpu_memory memory;
  struct ft_gpu_run run;

  (void)state;
  ft_gpu_run_init(&run);
  memory = estimate_memory("torch-cnn", NULL, &run);
  for (int i = 1; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(memory.estimate.quantile[i] >= memory.estimate.quantile[i - 1]);
  assert_true(memory.estimate.quantile[0] > 0);
  assert_near(ft_estimate_quantile(&memory.estimate, 0.5), memory.bytes, 1e-6);
  assert_true(ft_gpu_memory_p_oom(&memory, ft_gpu_at(0)) < 1e-3);
}

/* glibc maps blocks above 32 MiB and unmaps them when freed: nothing of them remains between
 * others. */
static void a_process_on_a_cpu_keeps_no_large_blocks(void **state)
{
  static const struct {
    int64_t batch;
    double least, most;
  } cases[] = { { 64, 0.3, 1e9 }, { 65536, 0, 0.15 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph("convolution");
    struct ft_error err = { "" };
    struct ft_gpu_memory memory;
    struct ft_gpu_run run;

    ft_gpu_run_init(&run);
    run.sizes.batch = cases[i].batch;
    run.sizes.input = "3x32x32";
    run.accumulate = 2;
    if (ft_gpu_memory(graph, ft_gpu_find("cpu"), &run, &memory, &err) < 0)
      fail_msg("%s", err.text);
    assert_true((double)memory.cached_bytes >= cases[i].least * (double)memory.activation_bytes);
    assert_true((double)memory.cached_bytes <= cases[i].most * (double)memory.activation_bytes);
    ft_graph_free(graph);
  }
}

/* Kernels that cuDNN autotuning tried stay loaded, if the network has convolutions. */
static void the_context_is_smaller_without_autotuning(void **state)
{
  const struct {
    const char *file, *gpu;
    bool no_autotune;
    double context_mib;
  } cases[] = {
    { "torch-cnn", "h200", false, 1740 },      { "torch-cnn", "h200", true, 760 },
    { "torch-cnn", "h100-80gb", true, 760 },   { "torch-cnn", "a100-40gb", true, 1740 },
    { "net-transformer", "h200", false, 760 }, { "net-transformer", "b200", false, 1740 }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph(cases[i].file);
    struct ft_gpu_memory memory;
    struct ft_error err = { "" };
    struct ft_gpu_run run;

    ft_gpu_run_init(&run);
    run.no_autotune = cases[i].no_autotune;
    if (ft_gpu_memory(graph, ft_gpu_find(cases[i].gpu), &run, &memory, &err) < 0)
      fail_msg("%s", err.text);
    assert_near((double)memory.context_bytes, cases[i].context_mib * 1048576, 0);
    ft_graph_free(graph);
  }
}

/* Where TF32 is no faster than fp32, cuDNN's heuristics copy nothing for the tensor cores in
 * fp32. */
static void workspaces_depend_on_gpu_and_precision(void **state)
{
  const struct {
    enum ft_precision precision;
    bool no_autotune, fewer;
  } cases[] = { { FT_PRECISION_FP32, true, true },
                { FT_PRECISION_TF32, true, true },
                { FT_PRECISION_AMP, true, false },
                { FT_PRECISION_FP32, false, false } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph("net-resnet");
    struct ft_gpu_memory memory[2];
    struct ft_error err = { "" };
    struct ft_gpu_run run;

    ft_gpu_run_init(&run);
    run.sizes = (struct ft_graph_sizes){ .batch = 1024, .input = "3x64x64" };
    run.precision = cases[i].precision;
    run.precision_given = true;
    run.no_autotune = cases[i].no_autotune;
    for (int k = 0; k < 2; k++)
      if (ft_gpu_memory(graph, ft_gpu_find(k ? "rtx3060" : "h200"), &run, &memory[k], &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(memory[1].network_bytes < memory[0].network_bytes, cases[i].fewer);
    ft_graph_free(graph);
  }
}

static void gpus_are_found_in_all_spellings(void **state)
{
  (void)state;
  assert_string_equal(ft_gpu_find("NVIDIA A100 40GB")->name, "a100-40gb");
  assert_string_equal(ft_gpu_find("h100_80gb")->name, "h100-80gb");
  assert_string_equal(ft_gpu_find("NVIDIA GeForce RTX 3060")->name, "rtx-3060");
  assert_true(ft_gpu_find("CPU")->host);
  assert_null(ft_gpu_find("a100"));
  assert_null(ft_gpu_find(""));
}

/* A file whose batch normalisations were folded, by any exporter, is estimated for training as the
 * same network with them, and for inference as it is. */
static void folded_normalisations_are_restored_for_training(void **state)
{
  struct ft_gpu_run run = { .sizes = { .batch = 16, .input = "3x32x32" }, .training = true };
  struct ft_graph *graph[] = { open_graph("unfolded"), open_graph("folded") };
  struct ft_gpu_memory memory[2];
  double seconds[2];
  struct ft_error err = { "" };

  (void)state;
  run.training = false;
  for (int i = 0; i < 2; i++)
    if (ft_gpu_memory(graph[i], ft_gpu_at(0), &run, &memory[i], &err) < 0)
      fail_msg("%s", err.text);
  assert_true(memory[1].parameter_bytes < memory[0].parameter_bytes);
  assert_int_equal(memory[1].restored_norms, 0);
  run.training = true;
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 2; i++) {
      const struct ft_gpu_part part = { .gpu = ft_gpu_at(0) };

      if (ft_gpu_memory(graph[i], ft_gpu_at(0), &run, &memory[i], &err) < 0)
        fail_msg("%s", err.text);
      seconds[i] = ft_gpu_step_seconds(graph[i], &part, &run, 0, &err);
    }
    assert_near(memory[1].bytes, memory[0].bytes, 0);
    assert_int_equal(memory[1].activation_bytes, memory[0].activation_bytes);
    assert_int_equal(memory[1].parameter_bytes, memory[0].parameter_bytes);
    assert_int_equal(memory[1].restored_norms, 5);
    assert_int_equal(memory[0].restored_norms, 0);
    assert_near(seconds[1], seconds[0], 0);
  }
  ft_graph_free(graph[0]);
  ft_graph_free(graph[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_pass_frees_its_allocations),
    cmocka_unit_test(a_broadcast_operand_is_expanded),
    cmocka_unit_test(a_part_of_a_gradient_is_summed_as_a_part),
    cmocka_unit_test(mixed_precision_copies_widened_tensors),
    cmocka_unit_test(larger_inputs_and_batches_need_more_memory),
    cmocka_unit_test(the_optimizer_step_is_independent_of_accumulation),
    cmocka_unit_test(an_optimizer_may_factor_its_state_or_step_one_by_one),
    cmocka_unit_test(gpus_shard_by_the_chosen_strategy),
    cmocka_unit_test(settings_of_a_run_are_checked),
    cmocka_unit_test(tensors_in_python_variables_live_until_the_function_returns),
    cmocka_unit_test(blocks_are_gathered_one_by_one),
    cmocka_unit_test(a_summary_leaves_blocks_too_small_for_batches),
    cmocka_unit_test(workspaces_of_large_kernels_are_equal_in_all_directions),
    cmocka_unit_test(checkpoints_trade_memory),
    cmocka_unit_test(checkpoint_segments_end_at_the_smallest_cut),
    cmocka_unit_test(fused_attention_saves_no_probabilities),
    cmocka_unit_test(decomposed_attention_saves_its_probabilities),
    cmocka_unit_test(a_loop_saves_at_most_the_results_of_all_iterations),
    cmocka_unit_test(no_estimate_has_zero_variance),
    cmocka_unit_test(a_process_on_a_cpu_keeps_no_large_blocks),
    cmocka_unit_test(the_context_is_smaller_without_autotuning),
    cmocka_unit_test(workspaces_depend_on_gpu_and_precision),
    cmocka_unit_test(folded_normalisations_are_restored_for_training),
    cmocka_unit_test(gpus_are_found_in_all_spellings),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
