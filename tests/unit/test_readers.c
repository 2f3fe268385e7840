/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same networks have the same costs from every framework. The files are made by
 * tests/fixtures/graph/make-archives, make-torch, make-torch-quantized, make-quantized, make-
 * tensorflow, make-paddle, make-paddle-norms and make-hf.
 */
#include "config.h"

#include "tests/unit/corpus.h"

#include <math.h>
#include <time.h>

#include "predictor/core/io.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/import/tensorflow/tensorflow_run.h"

/* Returns the graph of NAME, with its costs; the caller frees it. */
static struct ft_graph *analyse(const char *name, int64_t batch, const char *input,
                                struct ft_analysis *analysis)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = input };
  struct ft_graph *graph = corpus_graph(name);
  struct ft_error err = { "" };

  if (ft_graph_analyse(graph, &sizes, analysis, &err) < 0)
    fail_msg("%s: %s", name, err.text);
  return graph;
}

/* Whether A and B differ by at most PER_MILLE thousandths. */
static bool near(int64_t a, int64_t b, int64_t per_mille)
{
  return 1000 * llabs((long long)(a - b)) <= per_mille * b;
}

static void the_same_network_costs_the_same_from_every_framework(void **state)
{
  static const struct {
    const char *network, *input, *files[8];
    int64_t parameters; /* as each framework counts them */
  } cases[] = {
    { "cnn",
      "3x16x16",
      { "torchscript/net-cnn-traced.pt", "torchscript/net-cnn-scripted.pt", "pt2/net-cnn.pt2",
        "tensorflow/net-cnn.pb", "tensorflow/net-cnn.saved.pb", "paddle/net-cnn.pdmodel",
        "paddle/net-cnn.json" },
      216 + 16 + 80 + 132 + 25 },
    { "resnet",
      "3x64x64",
      { "torchscript/net-resnet-traced.pt", "torchscript/net-resnet-scripted.pt",
        "pt2/net-resnet.pt2", "tensorflow/net-resnet.pb", "paddle/net-resnet.pdmodel" },
      0 },
    { "lstm",
      "7x6",
      { "torchscript/net-lstm-traced.pt", "torchscript/net-lstm-scripted.pt", "pt2/net-lstm.pt2",
        "../../fixtures/graph/tensorflow/net-lstm.pb",
        "../../fixtures/graph/tensorflow/net-lstm.saved.pb", "paddle/net-lstm.pdmodel",
        "paddle/net-lstm.json" },
      0 },
    { "transformer",
      "9x16",
      { "torchscript/net-transformer-traced.pt", "torchscript/net-transformer-scripted.pt",
        "pt2/net-transformer.pt2", "tensorflow/net-transformer.pb",
        "tensorflow/net-transformer.saved.pb", "paddle/net-transformer.pdmodel",
        "paddle/net-transformer.json" },
      4 * 272 + 64 + 544 + 528 },
    { "volume",
      "2x8x8x8",
      { "torchscript/net-volume-traced.pt", "torchscript/net-volume-scripted.pt",
        "pt2/net-volume.pt2", "tensorflow/net-volume.pb", "tensorflow/net-volume.saved.pb",
        "paddle/net-volume.pdmodel", "paddle/net-volume.json" },
      220 + 654 },
    { "detection",
      "3x32x32",
      { "torchscript/net-detection-traced.pt", "torchscript/net-detection-scripted.pt",
        "pt2/net-detection.pt2" },
      224 + 584 + 292 + 584 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis first, other;
    struct ft_graph *graph, *second;
    char name[64];

    (void)snprintf(name, sizeof name, "onnx/net-%s.onnx", cases[i].network);
    graph = analyse(name, 4, NULL, &first);
    if (cases[i].parameters)
      assert_int_equal(first.cost.parameters, cases[i].parameters);
    for (size_t j = 0; j < COUNT_OF(cases[i].files) && cases[i].files[j]; j++) {
      bool recurrent =
          strstr(cases[i].files[j], "../../fixtures/graph/tensorflow/net-lstm") != NULL;
      const char *file = cases[i].files[j];

      second = analyse(file, 4, strncmp(file, "torch", 5) == 0 ? cases[i].input : NULL, &other);
      if (other.cost.unknown)
        fail_msg("%s: unknown operators, one is %s", file, other.cost.unknowns[0].type);
      /* Keras has one bias for each gate, PyTorch two */
      if (other.cost.parameters + (recurrent ? 40 : 0) != first.cost.parameters ||
          !near(other.cost.macs, first.cost.macs, 1))
        fail_msg("%s: %lld parameters and %lld MACs; ONNX has %lld and %lld", file,
                 (long long)other.cost.parameters, (long long)other.cost.macs,
                 (long long)first.cost.parameters, (long long)first.cost.macs);
      /* TensorFlow's recurrence shows its steps; in detection ONNX casts the result of TopK */
      if (!recurrent &&
          other.cost.activations + (strcmp(cases[i].network, "detection") == 0 ? 80 : 0) !=
              first.cost.activations)
        fail_msg("%s: %lld activations; ONNX has %lld", file, (long long)other.cost.activations,
                 (long long)first.cost.activations);
      ft_graph_free(second);
    }
    ft_graph_free(graph);
  }
}

static void a_value_that_is_not_traced_has_the_name_of_its_operator(void **state)
{
  struct ft_analysis analysis;
  struct ft_graph *graph = analyse("torchscript/named.pt", 1, "8", &analysis);

  (void)state;
  assert_int_equal(analysis.cost.unknown, 1);
  assert_non_null(strstr(analysis.cost.unknowns[0].type, "rotate"));
  ft_graph_free(graph);
}

/* Quantised, optimised and fused by ONNX Runtime: each weight counts once, whatever its bits.
 * MORE is the number of constants that folding adds, or of padding. */
static void networks_optimised_by_onnx_runtime_cost_the_same(void **state)
{
  static const struct {
    const char *from, *made;
    int64_t more, macs, weight_bytes;
  } cases[] = {
    { "net-cnn", "net-cnn-qdq", 0, 0, 917 },
    { "net-cnn", "net-cnn-whole", 0, 0, 1061 },
    { "net-cnn", "net-cnn-last", 0, 0, 1062 },
    { "net-cnn", "net-cnn-blocked", 296, 129044, 3060 },
    { "net-transformer", "net-transformer-dynamic", 9, 0, 2914 },
    { "net-transformer", "net-transformer-4bit", 3, 0, 2372 },
    { "net-transformer", "net-transformer-8bit", 3, 0, 3524 },
    { "net-lstm", "net-lstm-dynamic", 1, 0, 883 },
    { "runtime", "runtime", 0, 13152, 5320 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis a, b;
    struct ft_graph *first, *second;
    char name[64];

    (void)snprintf(name, sizeof name, "onnx/%s.onnx", cases[i].from);
    first = analyse(name, 1, NULL, &a);
    (void)snprintf(name, sizeof name, "onnx/%s.onnx", cases[i].made);
    second = analyse(name, 1, NULL, &b);
    if (b.cost.unknown || b.cost.unresolved ||
        b.cost.parameters != a.cost.parameters + cases[i].more ||
        b.cost.macs != (cases[i].macs ? cases[i].macs : a.cost.macs) ||
        b.memory.weight_bytes != cases[i].weight_bytes)
      fail_msg("%s: %lld parameters, %lld MACs, %lld B of weights, %u unknown, %u unresolved", name,
               (long long)b.cost.parameters, (long long)b.cost.macs,
               (long long)b.memory.weight_bytes, b.cost.unknown, b.cost.unresolved);
    ft_graph_free(second);
    ft_graph_free(first);
  }
}

/* Quantised by torch.ao: the parameters of PyTorch's model before it, without those of a
 * normalisation folded into a bias of 8. A weight has one or two bytes, and 4 if each pass
 * rounds it. */
static void networks_quantised_by_pytorch_cost_the_same(void **state)
{
  static const struct {
    const char *file, *input;
    int64_t parameters, macs, weight_bytes, learnt_bytes;
  } cases[] = {
    { "static-traced", "3x16x16", 357 - 8, 74280, 328 + 4 * 21, 4 * 21 },
    { "static-scripted", "3x16x16", 357 - 8, 74280, 328 + 4 * 21, 4 * 21 },
    { "dynamic8-scripted", "7", 4720, 28672, 4096 + 4 * 624, 4 * 624 },
    { "dynamic16-scripted", "7", 4720, 28672, 2 * 4096 + 4 * 624, 2 * 4096 + 4 * 624 },
    { "reference-traced", "3x16x16", 277 - 8, 57384, 4 * 269, 4 * 269 },
    { "learning-scripted", "3x16x16", 277, 61480, 4 * 293, 4 * 277 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis a;
    struct ft_graph *graph;
    char name[64];

    (void)snprintf(name, sizeof name, "torchscript/net-%s.pt", cases[i].file);
    graph = analyse(name, 1, cases[i].input, &a);
    if (a.cost.unknown || a.cost.unresolved || a.cost.parameters != cases[i].parameters ||
        a.cost.macs != cases[i].macs || a.memory.weight_bytes != cases[i].weight_bytes ||
        a.cost.parameter_bytes != cases[i].learnt_bytes)
      fail_msg("%s: %lld parameters, %lld MACs, %lld B of weights, %lld of them learnt, %u unknown",
               name, (long long)a.cost.parameters, (long long)a.cost.macs,
               (long long)a.memory.weight_bytes, (long long)a.cost.parameter_bytes, a.cost.unknown);
    ft_graph_free(graph);
  }
}

/* An unknown number of results does not lose the weights of the inputs: 56 + 72 + 27. */
static void an_untraced_operator_keeps_its_weights(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("torchscript/net-rare-scripted.pt", 4, "6", &a);

  (void)state;
  assert_int_equal(a.cost.parameters, 155);
  assert_true(a.cost.unknown > 0);
  ft_graph_free(graph);
}

/* 2 x 55 + 5 of the linear layers and their shift, 2 + 6 + 2 of the normalised filters. */
static void parameters_of_losses_count(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("torchscript/net-losses-traced.pt", 4, "x=10,y=batch", &a);

  (void)state;
  assert_int_equal(a.cost.parameters, 125);
  assert_int_equal(a.cost.unknown + a.cost.unresolved, 0);
  ft_graph_free(graph);
}

static void a_batch_scales_costs_and_can_be_queried_again(void **state)
{
  static const struct {
    const char *file, *input;
  } cases[] = { { "torchscript/net-cnn-scripted.pt", "3x16x16" },
                { "torchscript/net-transformer-traced.pt", "9x16" },
                { "pt2/net-detection.pt2", NULL },
                { "tensorflow/net-resnet.pb", NULL },
                { "../../fixtures/graph/tensorflow/net-lstm.saved.pb", NULL },
                { "paddle/net-lstm.pdmodel", NULL },
                { "paddle/net-transformer.json", NULL },
                { "hf/llama.json", "sequence=11" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis one, many;
    struct ft_graph *graph = analyse(cases[i].file, 1, cases[i].input, &one);
    struct ft_graph_sizes sizes = { .batch = 3, .input = cases[i].input };
    int64_t macs = one.cost.macs, parameters = one.cost.parameters;
    struct ft_error err;

    assert_int_equal(ft_graph_analyse(graph, &sizes, &many, &err), 0);
    assert_false(many.scaled);
    assert_int_equal(many.cost.macs, 3 * macs);
    assert_int_equal(many.cost.parameters, parameters);
    sizes.batch = 1;
    assert_int_equal(ft_graph_analyse(graph, &sizes, &one, &err), 0);
    assert_int_equal(one.cost.macs, macs);
    ft_graph_free(graph);
  }
}

/* A Keras LSTM of 20000 steps, too many to unroll. */
static void a_long_loop_is_counted(void **state)
{
  static const char *const files[] = { "../../fixtures/graph/tensorflow/net-long.pb",
                                       "../../fixtures/graph/tensorflow/net-long-functions.pb" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    struct ft_analysis a;
    struct ft_graph *graph = analyse(files[i], 2, NULL, &a);
    char shown[64];

    assert_int_equal(a.cost.parameters, 4 * 5 * (6 + 5 + 1) + 3 * (5 + 1));
    assert_int_equal(a.cost.macs, 2 * 20000 * (4 * 5 * (6 + 5) + 3 * 5));
    assert_true(a.cost.operators < 5000);
    assert_int_equal(a.cost.unresolved, 0);
    assert_string_equal(ft_tensor_show(&graph->tensors[graph->block.outputs[0]], shown, 64),
                        "2x20000x3");
    ft_graph_free(graph);
  }
}

static int unknown_condition(struct ft_tf_loop *loop, const struct ft_operand *state)
{
  (void)loop;
  (void)state;
  return -1;
}

/* The first state keeps its size, the second one grows. */
static int one_iteration(struct ft_tf_loop *loop, const struct ft_operand *state,
                         struct ft_operand *next)
{
  struct ft_tracer *l = &loop->r->live;
  const uint32_t both[2] = { state[1].tensor, state[0].tensor };

  next[0] = ft_value_tensor(ft_tracer_unary(l, "Relu", state[0].tensor));
  next[1] = ft_value_tensor(ft_tracer_concat(l, both, 2, 1));
  return next[0].tensor && next[1].tensor ? 0 : -1;
}

static int follow_loop(struct ft_infer *in)
{
  struct ft_tf_run *r = in->graph->program;
  struct ft_operand state[2];
  struct ft_tf_loop loop = {
    .r = r, .state = state, .count = 2, .condition = unknown_condition, .body = one_iteration
  };
  struct ft_declared *d;

  assert_int_equal(ft_tracer_begin(&r->live, in), 0);
  for (int i = 0; i < 2; i++) {
    d = ft_tracer_take(&r->live, sizeof *d);
    *d = (struct ft_declared){ .rank = -1, .element = FT_ELEMENT_FLOAT };
    state[i] = ft_value_tensor(ft_tracer_input(&r->live, i ? "b" : "a", d));
  }
  if (ft_infer_inputs(in) < 0 || ft_tf_run_loop(&loop) < 0)
    return -1;
  return ft_tracer_output(&r->live, state[0].tensor) < 0 ||
                 ft_tracer_output(&r->live, state[1].tensor) < 0
             ? -1
             : 0;
}

static void values_unchanged_by_an_unbounded_loop_are_known(void **state)
{
  struct ft_graph_sizes sizes = { .batch = 2, .input = "a=3x4,b=5x4" };
  static struct ft_tf_run run;
  struct ft_graph graph = { .file = "loop", .format = "loop", .expand = follow_loop };
  struct ft_error err = { "" };
  char shown[64];

  (void)state;
  graph.program = &run;
  graph.arena.limit = graph.results.limit = 1 << 20;
  if (ft_graph_infer(&graph, &sizes, &err) < 0)
    fail_msg("%s", err.text);
  assert_string_equal(ft_tensor_show(&graph.tensors[graph.block.outputs[0]], shown, 64), "2x3x4");
  assert_string_equal(ft_tensor_show(&graph.tensors[graph.block.outputs[1]], shown, 64), "2x?x4");
  ft_arena_free(&graph.results);
}

static void a_failing_branch_is_not_taken(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("torchscript/refused.pt", 2, "x=3x4", &a);
  const struct ft_block *b = &graph->block;
  char shown[64];

  (void)state;
  for (uint32_t i = 0; i < b->operator_count; i++)
    if (strcmp(b->operators[i].type, "Exp") == 0 || strcmp(b->operators[i].type, "If") == 0)
      fail_msg("%s is there", b->operators[i].type);
  assert_int_equal(a.cost.unresolved, 0);
  assert_string_equal(ft_tensor_show(&graph->tensors[b->outputs[0]], shown, 64), "2x3x4");
  ft_graph_free(graph);
}

static void a_list_of_many_tensors_is_scanned_once(void **state)
{
  struct ft_analysis a;
  clock_t begun = clock();

  (void)state;
  ft_graph_free(analyse("torchscript/list.pt", 2, "x=3x4", &a));
  assert_true(clock() - begun < 5 * CLOCKS_PER_SEC);
}

static void branches_are_followed_by_size_and_kept_by_data(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("torchscript/net-branches-scripted.pt", 2, "6", &a);

  (void)state;
  /* three iterations; the costlier branch: 6 x 12 and 12 x 6 */
  assert_int_equal(a.cost.macs, 2 * (3 * 36 + 72 + 72));
  assert_true(ft_dim_is(a.cost.macs_at_most, a.cost.macs));
  assert_int_equal(a.cost.parameters, 42 + 84 + 78);
  assert_int_equal(a.cost.unknown, 0);
  ft_graph_free(graph);
}

static void regions_of_paddle_are_followed(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("paddle/net-control.json", 2, NULL, &a);

  (void)state;
  /* one iteration of the loop, and the branch with layers */
  assert_int_equal(a.cost.macs, 2 * (36 + 72 + 72));
  assert_int_equal(a.cost.parameters, 42 + 84 + 78);
  assert_int_equal(a.cost.unknown, 0);
  ft_graph_free(graph);
}

static void norms_of_paddle_reduce_their_axis(void **state)
{
  static const char *const shapes[] = { "2x1x16x16", "2x3x16", "scalar" };
  struct ft_analysis a;
  struct ft_graph *graph = analyse("paddle/norms.json", 2, NULL, &a);
  const struct ft_block *b = &graph->block;
  char shown[64];

  (void)state;
  assert_int_equal(a.cost.unknown + a.cost.unresolved, 0);
  assert_int_equal(b->output_count, COUNT_OF(shapes));
  for (uint32_t i = 0; i < b->output_count; i++)
    assert_string_equal(ft_tensor_show(&graph->tensors[b->outputs[i]], shown, sizeof shown),
                        shapes[i]);
  ft_graph_free(graph);
}

static void functions_of_onnx_are_inlined(void **state)
{
  struct ft_analysis plain, called;
  struct ft_graph *one = analyse("onnx/net-cnn.onnx", 2, NULL, &plain);
  struct ft_graph *other = analyse("onnx/net-functions.onnx", 2, NULL, &called);

  (void)state;
  assert_int_equal(called.cost.macs, plain.cost.macs);
  assert_int_equal(called.cost.parameters, plain.cost.parameters);
  assert_int_equal(called.cost.unknown, 0);
  ft_graph_free(one);
  ft_graph_free(other);
}

static void language_models_have_the_parameter_counts_of_transformers(void **state)
{
  static const struct {
    const char *name;
    int64_t parameters;
  } cases[] = {
    { "bert", 21440 },
    { "bert-head", 21604 },
    { "roberta", 21440 },
    { "roberta-head", 21604 },
    { "electra", 18240 },
    { "electra-head", 18900 },
    { "distilbert", 20320 },
    { "gpt2", 30720 },
    { "gpt2-head", 30720 },
    { "gptj", 28288 },
    { "gptj-head", 31588 },
    { "gpt_neox", 18272 },
    { "gpt_neox-head", 21472 },
    { "gpt_neo", 30528 },
    { "gpt_neo-head", 30528 },
    { "opt", 19808 },
    { "opt-head", 19808 },
    { "bloom", 28736 },
    { "bloom-head", 28736 },
    { "falcon", 24896 },
    { "falcon-head", 24896 },
    { "llama", 18720 },
    { "llama-head", 21920 },
    { "mistral", 18720 },
    { "mistral-head", 21920 },
    { "qwen2", 18848 },
    { "qwen2-head", 22048 },
    { "qwen3", 18752 },
    { "qwen3-head", 21952 },
    { "gemma", 24864 },
    { "gemma-head", 24864 },
    { "gemma2", 24992 },
    { "gemma2-head", 24992 },
    { "phi3", 18720 },
    { "phi3-head", 21920 },
    { "olmo2", 18816 },
    { "olmo2-head", 22016 },
    { "cohere", 18656 },
    { "cohere-head", 18656 },
    { "stablelm", 18880 },
    { "stablelm-head", 22080 },
    { "starcoder2", 16160 },
    { "starcoder2-head", 16160 },
    { "phi", 18144 },
    { "phi-head", 21444 },
    { "mixtral", 46624 },
    { "mixtral-head", 49824 },
    { "qwen2_moe", 27744 },
    { "qwen2_moe-head", 30944 },
    { "t5", 40704 },
    { "t5-head", 40704 },
    { "mt5", 46848 },
    { "mt5-head", 46848 },
    { "albert", 11792 },
    { "albert-head", 11396 },
    { "deberta-v2", 18848 },
    { "deberta-v2-head", 20068 },
    { "deberta", 25440 },
    { "deberta-head", 26660 },
    { "bart", 56376 },
    { "bart-head", 56376 },
    { "mbart", 56504 },
    { "mbart-head", 56504 },
    { "pegasus", 56248 },
    { "pegasus-head", 56248 },
    { "marian", 56120 },
    { "marian-head", 56120 },
    { "whisper", 57144 },
    { "whisper-head", 57144 },
    { "vit", 22880 },
    { "vit-head", 21890 },
    { "clip", 43713 },
    { "mamba", 18528 },
    { "mamba-head", 18528 },
    { "olmo", 18560 },
    { "olmo-head", 21760 },
    { "olmo3", 18816 },
    { "olmo3-head", 22016 },
    { "exaone4", 18752 },
    { "exaone4-head", 21952 },
    { "glm", 112928 },
    { "glm-head", 116128 },
    { "olmoe", 65280 },
    { "olmoe-head", 68480 },
    { "glm4", 113056 },
    { "glm4-head", 116256 },
    { "gemma3_text", 25056 },
    { "gemma3_text-head", 25056 },
    { "seed_oss", 112928 },
    { "seed_oss-head", 116128 },
    { "ernie4_5", 110880 },
    { "ernie4_5-head", 110880 },
    { "arcee", 15648 },
    { "arcee-head", 18848 },
    { "nemotron", 15808 },
    { "nemotron-head", 19008 },
    { "smollm3", 18720 },
    { "smollm3-head", 18720 },
    { "phimoe", 46784 },
    { "phimoe-head", 49984 },
    { "granitemoe", 46624 },
    { "granitemoe-head", 49824 },
    { "gpt_oss", 47856 },
    { "gpt_oss-head", 51056 },
    { "llama4_text", 72864 },
    { "llama4_text-head", 76064 },
    { "qwen3_moe", 21248 },
    { "qwen3_moe-head", 24448 },
    { "glm4_moe", 20000 },
    { "glm4_moe-head", 23200 },
    { "deepseek_v2", 21652 },
    { "deepseek_v2-head", 24852 },
    { "deepseek_v3", 19984 },
    { "deepseek_v3-head", 23184 },
    { "mpt", 27936 },
    { "mpt-head", 27936 },
    { "gpt_bigcode", 27552 },
    { "gpt_bigcode-head", 27552 },
    { "codegen", 28288 },
    { "codegen-head", 31588 },
    { "openai-gpt", 30656 },
    { "openai-gpt-head", 30656 },
    { "biogpt", 20384 },
    { "biogpt-head", 20384 },
  };
  char file[64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis a;
    struct ft_graph *graph;

    (void)snprintf(file, sizeof file, "hf/%s.json", cases[i].name);
    graph = analyse(file, 2, strncmp(cases[i].name, "vit", 3) == 0 ? NULL : "sequence=7", &a);
    if (a.cost.parameters != cases[i].parameters)
      fail_msg("%s: %lld parameters, transformers has %lld", file, (long long)a.cost.parameters,
               (long long)cases[i].parameters);
    assert_int_equal(a.cost.unknown + a.cost.unresolved, 0);
    assert_true(a.cost.macs > 0);
    ft_graph_free(graph);
  }
}

/* hf_shapes_table.inc states the parameters; the activations are an approximation, which is
 * reported.
 */
static void a_type_of_the_table_has_the_parameters_that_transformers_counts(void **state)
{
  static const struct {
    const char *file, *input;
    int64_t parameters;
  } cases[] = {
    { "hf/swin.json", NULL, 720878 },
    { "hf/swin-labels.json", NULL, 720878 + 5 * (192 + 1) },
    { "hf/dinov2.json", NULL, 24064 },
    { "hf/t5-encoder.json", "sequence=7", 17824 },
    { "hf/hubert-usual.json", "sequence=4000", 4453704 },
    { "hf/resnet.json", NULL, 23522375 },
    { "hf/luke.json", "sequence=7", 246895872 },
    { "hf/owlvit.json", "sequence=7", 146765697 },
    { "hf/vilt.json", "sequence=7", 86219136 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis a;
    struct ft_graph *graph = analyse(cases[i].file, 2, cases[i].input, &a);

    if (a.cost.parameters != cases[i].parameters)
      fail_msg("%s: %lld parameters, transformers has %lld", cases[i].file,
               (long long)a.cost.parameters, (long long)cases[i].parameters);
    assert_true(graph->approximate);
    assert_int_equal(a.cost.unknown, 1);
    assert_false(a.memory.complete);
    assert_true(a.memory.saved_bytes > 0);
    ft_graph_free(graph);
  }
}

/* Of most types of the table, what training saves was measured: within FT_GRAPH_MEASURED at sizes
 * that were not (truth: make-hf-shapes, Network.run_saved). */
static void saved_activations_of_measured_types_are_bounded(void **state)
{
  static const struct {
    const char *file;
    int64_t saved;
  } cases[] = { { "hf/dinov2.json", 64840 }, { "hf/resnet.json", 85511680 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_analysis a;
    struct ft_graph *graph = analyse(cases[i].file, 1, NULL, &a);

    if (fabs(log((double)a.memory.saved_bytes / (double)cases[i].saved)) > log(FT_GRAPH_MEASURED))
      fail_msg("%s: %lld bytes saved, PyTorch %lld", cases[i].file, (long long)a.memory.saved_bytes,
               (long long)cases[i].saved);
    assert_true(fabs(graph->approximate - FT_GRAPH_MEASURED) < 1e-9);
    ft_graph_free(graph);
  }
}

/* The factor of what a network saves is no factor of its results. */
static void a_factor_scales_saved_tensors_only(void **state)
{
  struct ft_tensor tensor = { .saved = 2.5F, .data = true };

  (void)state;
  assert_int_equal(ft_tensor_saved(&tensor, 100), 250);
  assert_int_equal(ft_tensor_saved(&tensor, INT64_MAX / 2), INT64_MAX / 4);
  tensor.data = false; /* a weight */
  assert_int_equal(ft_tensor_saved(&tensor, 100), 100);
  tensor = (struct ft_tensor){ .data = true };
  assert_int_equal(ft_tensor_saved(&tensor, 100), 100);
}

/* Of some types of the table the activations are a lower bound. */
static void activations_of_a_type_of_the_table_may_be_a_lower_bound(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("hf/mamba2.json", 2, "sequence=7", &a);

  (void)state;
  assert_int_equal(a.cost.parameters, 34408);
  assert_false(graph->approximate);
  assert_false(a.memory.complete);
  assert_false(ft_dim_known(a.cost.open_at_most));
  ft_graph_free(graph);
}

/* An unknown family is read as a generic decoder, which is reported, counted and bounded. */
static void an_unknown_family_is_read_as_generic_and_reported(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("hf/guessed.json", 2, "sequence=7", &a);

  (void)state;
  assert_true(graph->guessed);
  assert_int_equal(a.cost.parameters, 21920); /* a llama under another name */
  assert_int_equal(a.cost.unknown, 1);
  assert_string_equal(a.cost.unknowns[0].type, "warp");
  assert_false(a.memory.complete);
  ft_graph_free(graph);
}

/* Matrices of 4 x 32 x 32 (two of half the rows), of 3 x 32 x 48, and two products of attention. */
static void a_llama_has_the_products_computed_by_hand(void **state)
{
  struct ft_analysis a;
  struct ft_graph *graph = analyse("hf/llama.json", 2, "sequence=7", &a);
  int64_t words = 2 * 7, layer = words * (2 * 1024 + 2 * 512 + 3 * 1536) + 2 * 2 * 7 * 7 * 32;

  (void)state;
  assert_int_equal(a.cost.macs, 2 * layer + 5 * 5 * words * 32);
  ft_graph_free(graph);
}

static void bad_files_give_an_error_with_file_and_position(void **state)
{
  static const struct {
    const char *file, *input, *says;
  } cases[] = {
    { "torchscript/weights.pt", NULL, "expected a program, found only weights" },
    { "torchscript/net-cnn-traced.pt", NULL, "has no size for its input \"x\"" },
    { "torchscript/net-cnn-traced.pt", "4x16x16", "4 channels, but filters for 3" },
    { "torchscript/net-lstm-scripted.pt", "7x5", "code/__torch__/torch/nn/modules/rnn" },
    { "pt2/net-cnn.pt2", "3x9", "--input gives 2 sizes" },
    { "hf/bert.json", NULL, "its dimension 1 (sequence) is open" },
    { "hf/quantized-nothing.json", NULL, "config_groups: expected a group with \"weights\"" },
    { "hf/unknown.json", NULL, "unsupported model_type warp" },
    { "hf/hubert.json", "sequence=400", "conv_dim.2: expected a longer list" },
    { "hf/resnet-other.json", NULL, "hidden_sizes.0=64: expected 256, the default" },
    { "hf/swin-masked.json", NULL, "class SwinForMaskedImageModeling of model_type swin" },
    { "tensorflow/net-cnn.pb", "9x9x4", "4 channels, but filters for 3" },
    { "paddle/net-cnn.pdmodel", "4x16x16", "4 channels, but filters for 3" },
    { "paddle/net-cnn.json", "4x16x16", "4 channels, but filters for 3" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph_sizes sizes = { .batch = 1, .input = cases[i].input };
    struct ft_error err = { "" };
    struct ft_graph *graph;
    char path[4096];

    graph = ft_graph_read(corpus_path(cases[i].file, path), &err);
    if (graph)
      assert_int_equal(ft_graph_infer(graph, &sizes, &err), -1);
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].file, err.text, cases[i].says);
    ft_graph_free(graph);
  }
}

/* Cut at many positions: an error or, if only the end is missing, a graph; never a crash. */
static void a_truncated_file_is_rejected_or_read(void **state)
{
  static const char *const files[] = { "torchscript/net-cnn-traced.pt",
                                       "pt2/net-cnn.pt2",
                                       "tensorflow/net-volume.pb",
                                       "tensorflow/net-volume.saved.pb",
                                       "paddle/net-volume.pdmodel",
                                       "paddle/net-control.json",
                                       "hf/t5.json" };
  char scratch[] = "/tmp/test-readers-XXXXXX", path[4096];
  int fd = mkstemp(scratch);

  (void)state;
  assert_true(fd >= 0);
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    struct ft_error err;
    struct ft_buf file;

    ft_buf_init(&file, 1 << 20);
    assert_int_equal(ft_io_read_file(-1, corpus_path(files[i], path), &file, &err), 0);
    for (size_t length = 0; length < file.length; length += 1 + file.length / 97) {
      struct ft_graph_sizes sizes = { .batch = 2, .input = NULL };
      struct ft_graph *graph;

      assert_int_equal(ftruncate(fd, 0), 0);
      assert_true(lseek(fd, 0, SEEK_SET) == 0);
      assert_int_equal(ft_io_write_all(fd, file.data, length), 0);
      err.text[0] = '\0';
      graph = ft_graph_read(scratch, &err);
      if (!graph || ft_graph_infer(graph, &sizes, &err) < 0)
        assert_non_null(strstr(err.text, scratch));
      ft_graph_free(graph);
    }
    ft_buf_free(&file);
  }
  unlink(scratch);
  close(fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_same_network_costs_the_same_from_every_framework),
    cmocka_unit_test(a_value_that_is_not_traced_has_the_name_of_its_operator),
    cmocka_unit_test(networks_optimised_by_onnx_runtime_cost_the_same),
    cmocka_unit_test(networks_quantised_by_pytorch_cost_the_same),
    cmocka_unit_test(an_untraced_operator_keeps_its_weights),
    cmocka_unit_test(parameters_of_losses_count),
    cmocka_unit_test(a_batch_scales_costs_and_can_be_queried_again),
    cmocka_unit_test(a_long_loop_is_counted),
    cmocka_unit_test(branches_are_followed_by_size_and_kept_by_data),
    cmocka_unit_test(values_unchanged_by_an_unbounded_loop_are_known),
    cmocka_unit_test(a_failing_branch_is_not_taken),
    cmocka_unit_test(a_list_of_many_tensors_is_scanned_once),
    cmocka_unit_test(regions_of_paddle_are_followed),
    cmocka_unit_test(norms_of_paddle_reduce_their_axis),
    cmocka_unit_test(functions_of_onnx_are_inlined),
    cmocka_unit_test(language_models_have_the_parameter_counts_of_transformers),
    cmocka_unit_test(a_type_of_the_table_has_the_parameters_that_transformers_counts),
    cmocka_unit_test(saved_activations_of_measured_types_are_bounded),
    cmocka_unit_test(a_factor_scales_saved_tensors_only),
    cmocka_unit_test(activations_of_a_type_of_the_table_may_be_a_lower_bound),
    cmocka_unit_test(an_unknown_family_is_read_as_generic_and_reported),
    cmocka_unit_test(a_llama_has_the_products_computed_by_hand),
    cmocka_unit_test(bad_files_give_an_error_with_file_and_position),
    cmocka_unit_test(a_truncated_file_is_rejected_or_read),
  };

  return cmocka_run_group_tests_name("readers", tests, NULL, NULL);
}
