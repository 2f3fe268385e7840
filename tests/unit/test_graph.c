/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files are made by tests/fixtures/graph/make-onnx; the expected figures are computed by hand.
 */
#include "config.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"

static const char *path_of(const char *name, char out[4096])
{
  const char *top = getenv("FT_TOP_SRCDIR");

  (void)snprintf(out, 4096, "%s/tests/fuzz/corpus/onnx/%s.onnx", top ? top : ".", name);
  return out;
}

static struct ft_graph *open_graph(const char *name)
{
  static char path[4096]; /* the graph refers to it */
  struct ft_error err = { "" };
  struct ft_graph *graph = ft_graph_read(path_of(name, path), &err);

  if (!graph)
    fail_msg("%s: %s", name, err.text);
  return graph;
}

static void infer(struct ft_graph *graph, int64_t batch, const char *input, struct ft_cost *cost)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = input };
  struct ft_error err = { "" };

  if (ft_graph_infer(graph, &sizes, &err) < 0 || ft_graph_cost(graph, cost, &err) < 0)
    fail_msg("%s", err.text);
}

static const struct ft_tensor *find(const struct ft_graph *graph, const char *name)
{
  for (uint32_t i = 1; i < graph->tensor_count; i++)
    if (strcmp(graph->tensors[i].name, name) == 0)
      return &graph->tensors[i];
  fail_msg("no tensor %s", name);
  return NULL;
}

static void elements_are_read_by_their_type(void **state)
{
  static const struct {
    unsigned type;
    uint8_t data[8];
    double value;
  } cases[] = { { 1, { 0, 0, 0xc0, 0xbf }, -1.5 },
                { 2, { 0xff }, 255 },
                { 3, { 0xff }, -1 },
                { 4, { 0xff, 0xff }, 65535 },
                { 5, { 0xfe, 0xff }, -2 },
                { 6, { 0xfd, 0xff, 0xff, 0xff }, -3 },
                { 7, { 0, 0, 0, 0, 1 }, 0x1p32 },
                { 9, { 1 }, 1 },
                { 10, { 0, 0xbc }, -1 },
                { 10, { 1, 0 }, 0x1p-24 },
                { 11, { 0, 0, 0, 0, 0, 0, 4, 64 }, 2.5 },
                { 12, { 0xff, 0xff, 0xff, 0xff }, 4294967295.0 },
                { 14, { 1 }, NAN },
                { 16, { 0x40, 0x40 }, 3 },
                { 17, { 1 }, NAN } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double value = ft_element_value(cases[i].type, cases[i].data);

    if (isnan(cases[i].value) ? !isnan(value) : value != cases[i].value)
      fail_msg("%s: %g, expected %g", ft_element_name(cases[i].type), value, cases[i].value);
  }
}

static void costs_equal_those_computed_by_hand(void **state)
{
  static const struct {
    const char *name, *input;
    int64_t batch;
    int64_t parameters, macs;
  } cases[] = {
    /* 8 16x16 maps of 27; 2 and 1 per element of normalisation and average; 8 x 10 */
    { "convolution", "3x32x32", 1, 322, 55296 + 4096 + 2048 + 80 },
    { "convolution", "3x32x32", 7, 322, 7 * (55296 + 4096 + 2048 + 80) },
    { "convolution", "height=16", 1, 322, 27648 + 2048 + 1024 + 80 },
    { "sizes", NULL, 3, 113, 3 * 10 * 7 * 16 },
    /* s x 16 x 5; s x 16 x 48, twice s x s x 16, s x 16 x 16 */
    { "attention", "sequence=10", 2, 1056, 2 * (800 + 7680 + 3200 + 2560) },
    /* 5 steps of 2 x 24 x (4 + 6), and of 18 x (4 + 6) */
    { "recurrent", NULL, 3, 756, 3 * 5 * (480 + 180) },
    { "volume", NULL, 1, 324 + 144, 163296 + 9216 },
    /* the costlier branch, then five times the body */
    { "control", NULL, 2, 28, 2 * (12 + 16 + 5 * 16) },
    { "old", NULL, 1, 15, 20 * 16 * 15 },
    { "external", NULL, 1, 6 << 20, 6 << 20 },
    { "disordered", NULL, 1, 0, 0 },
    /* 16x16x216, 2 x 2048, 8x8x72, 5 x 512, 512, 8 x 5 */
    { "torch-cnn", NULL, 1, 373, 55296 + 4096 + 4608 + 2560 + 512 + 40 },
    /* its two normalisations are decomposed: 5 per element, as in the fused form */
    { "torch-transformer", "sequence=7", 3, 2224,
      3 * (7 * 16 * 48 + 2 * 7 * 7 * 16 + 7 * 16 * 16 + 2 * 7 * 16 * 32 + 2 * 5 * 7 * 16) },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph(cases[i].name);
    struct ft_cost cost;

    infer(graph, cases[i].batch, cases[i].input, &cost);
    if (cost.parameters != cases[i].parameters || cost.macs != cases[i].macs)
      fail_msg("%s: %lld parameters and %lld MACs, expected %lld and %lld", cases[i].name,
               (long long)cost.parameters, (long long)cost.macs, (long long)cases[i].parameters,
               (long long)cases[i].macs);
    assert_true(ft_dim_is(cost.macs_at_most, cost.macs));
    assert_int_equal(cost.unknown + cost.unresolved, 0);
    ft_graph_free(graph);
  }
}

static void computed_sizes_are_propagated(void **state)
{
  static const struct {
    const char *name, *tensor, *shape;
  } cases[] = {
    { "sizes", "wanted", "3" },
    { "sizes", "r", "4x10x12" },
    { "sizes", "padded", "4x10x16" },
    { "sizes", "positions", "6" },
    { "sizes", "e", "6" },
    { "sizes", "y", "4x10x7" },
    { "recurrent", "h", "5x2x4x6" },
    { "recurrent", "g", "5x1x4x6" },
    { "volume", "c", "4x6x8x9x7" },
    { "volume", "p", "4x6x4x4x4" },
    { "volume", "t", "4x3x9x8x8" },
    { "volume", "y", "4x3x18x8x16" },
    { "control", "c", "4x4" },
    { "control", "all", "5x4x4" },
    { "old", "s", "4x3x8x6" },
    { "old", "u", "4x3x20x16" },
    { "external", "r", "4x6" },
    { "unknown", "a", "4x6" },
    { "unknown", "b", "?" },
    { "unknown", "z", "2x?" },
  };
  char shown[128];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph(cases[i].name);
    struct ft_cost cost;

    infer(graph, 1, NULL, &cost); /* an earlier inference leaves no trace */
    infer(graph, 4, NULL, &cost);
    ft_tensor_show(find(graph, cases[i].tensor), shown, sizeof shown);
    if (strcmp(shown, cases[i].shape) != 0)
      fail_msg("%s: %s is %s, expected %s", cases[i].name, cases[i].tensor, shown, cases[i].shape);
    ft_graph_free(graph);
  }
}

/* Shapes by onnx 1.23.2, STFT's by the specification: onesided is the default. */
/* Returns the index of the tensor NAME. */
static uint32_t tensor_named(const struct ft_graph *graph, const char *name)
{
  uint32_t t = 1;

  while (t < graph->tensor_count && strcmp(graph->tensors[t].name, name) != 0)
    t++;
  assert_true(t < graph->tensor_count);
  return t;
}

static void operators_up_to_opset_28_are_known(void **state)
{
  static const struct {
    const char *name, *shape;
  } cases[] = { { "la", "2x5x24" },   { "ls", "2x2x4x6" }, { "cc", "2x6x9" },
                { "cs", "2x6x3" },    { "a", "2x3x4x8" },  { "pk", "2x3x10x8" },
                { "pv", "2x3x10x8" }, { "s", "2x3x4x10" }, { "g", "2x5x24" },
                { "ts", "2x3x6x8" },  { "re", "2x3x4x8" }, { "im", "2x3x4x4" },
                { "cr", "2x3x6x2" },  { "mu", "2x3x8x8" }, { "st", "2x7x9x2" },
                { "df", "2x33x2" },   { "hw", "16" },      { "me", "9x5" },
                { "de", "2" },        { "ag", "2x5x6x2" }, { "dq", "2x5x24" },
                { "ds", "scalar" },   { "mn", "2x3" },     { "lo", "scalar" },
                { "lp", "2x7" },      { "nl", "2" },       { "un", "?" } };
  struct ft_graph *graph = open_graph("recent");
  struct ft_cost cost;
  char shape[64];

  (void)state;
  infer(graph, 2, NULL, &cost);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint32_t t = tensor_named(graph, cases[i].name);

    if (strcmp(ft_tensor_show(&graph->tensors[t], shape, sizeof shape), cases[i].shape) != 0)
      fail_msg("%s: %s, expected %s", cases[i].name, shape, cases[i].shape);
  }
  assert_int_equal(cost.unknown, 0);
  assert_int_equal(cost.parameters, 6 * 4 + 24);
  /* states of 4 x 6, twice for each key head, once for queries; filters of 4; 4 + 6 keys;
   * normalised */
  assert_int_equal(cost.macs,
                   2 * 5 * 24 * (2 * 2 + 4) + 2 * 6 * 9 * 4 + 2 * 3 * 4 * 10 * 16 + 5 * 2 * 5 * 24);
  ft_graph_free(graph);
}

static void sequences_of_tensors_are_followed(void **state)
{
  static const struct {
    const char *name, *shape;
  } cases[] = { { "at", "5x3" },      { "cat", "11x3" },    { "rest", "6x3" }, { "counted", "3" },
                { "stacked", "3x2" }, { "first", "2x3" },   { "got", "2x3" },  { "small", "6" },
                { "kept", "2x2" },    { "same", "scalar" }, { "piece", "4x3" } };
  struct ft_graph *graph = open_graph("sequences");
  struct ft_cost cost;
  char shape[64];

  (void)state;
  infer(graph, 1, NULL, &cost);
  assert_int_equal(cost.unknown + cost.unresolved, 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (strcmp(ft_tensor_show(&graph->tensors[tensor_named(graph, cases[i].name)], shape,
                              sizeof shape),
               cases[i].shape) != 0)
      fail_msg("%s: %s, expected %s", cases[i].name, shape, cases[i].shape);
  assert_string_equal(
      ft_tensor_show(&graph->tensors[tensor_named(graph, "back")], shape, sizeof shape), "1x10x1");
  ft_graph_free(graph);
}

static void classical_ml_operators_have_shapes(void **state)
{
  static const struct {
    const char *name, *shape;
  } cases[] = { { "imputed", "7x5" }, { "scaled", "7x5" },    { "normal", "7x5" },
                { "binary", "7x5" },  { "features", "7x10" }, { "some", "7x3" },
                { "class", "7" },     { "scores", "7x3" },    { "code", "7" },
                { "word", "7" },      { "hot", "7x4" },       { "lines", "7x2" },
                { "side", "7" },      { "margin", "7x2" },    { "support", "7x1" },
                { "leaf", "7" },      { "votes", "7x4" },     { "trees", "7x3" },
                { "w1", "2x3" },      { "v1", "7" },          { "h1", "2x3" },
                { "h2", "7" },        { "w2", "2x3" },        { "h4", "7" },
                { "w3", "2x3" },      { "a2", "7" },          { "b1", "2x3" },
                { "b2", "7" },        { "dw", "2x3" },        { "dv", "7" } };
  struct ft_graph *graph = open_graph("learning");
  const struct ft_tensor *maps;
  struct ft_cost cost;
  char shape[64];

  (void)state;
  infer(graph, 7, NULL, &cost);
  assert_int_equal(cost.unknown + cost.unresolved, 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (strcmp(ft_tensor_show(&graph->tensors[tensor_named(graph, cases[i].name)], shape,
                              sizeof shape),
               cases[i].shape) != 0)
      fail_msg("%s: %s, expected %s", cases[i].name, shape, cases[i].shape);
  maps = &graph->tensors[tensor_named(graph, "maps")];
  assert_non_null(maps->sequence);
  assert_true(ft_dim_is(maps->sequence->count, 7));
  assert_true(ft_dim_is(maps->sequence->each.dims[0], 3));
  assert_int_equal(graph->tensors[tensor_named(graph, "code")].element, FT_ELEMENT_INT64);
  assert_int_equal(graph->tensors[tensor_named(graph, "word")].element, FT_ELEMENT_STRING);
  ft_graph_free(graph);
}

static void unknown_operators_are_named_counted_and_bounded(void **state)
{
  struct ft_graph *graph = open_graph("unknown");
  struct ft_cost cost;

  (void)state;
  infer(graph, 10, NULL, &cost);
  assert_int_equal(cost.unknown, 2);
  assert_int_equal(cost.unknown_count, 1);
  assert_string_equal(cost.unknowns[0].type, "Warp");
  assert_string_equal(cost.unknowns[0].domain, "org.example");
  assert_int_equal(cost.unknowns[0].count, 2);
  assert_int_equal(cost.unresolved, 1);
  assert_int_equal(cost.parameters, 24);
  assert_int_equal(cost.macs, 0);
  /* each of 60 results from all 24; each of at most 60 from one */
  assert_true(ft_dim_is(cost.macs_at_most, 60 * 24 + 60));
  /* the input and the first result; the second result and that of NonZero are at most as large */
  assert_int_equal(cost.activations, 40 + 60);
  assert_true(ft_dim_is(cost.activations_at_most, 40 + 60 + 60 + 60));
  ft_graph_free(graph);
}

static void a_compiled_network_has_no_bound(void **state)
{
  struct ft_graph *graph = open_graph("compiled");
  struct ft_cost cost;

  (void)state;
  infer(graph, 2, NULL, &cost);
  assert_int_equal(cost.parameters, 24);
  assert_int_equal(cost.unknown, 1);
  assert_false(ft_dim_known(cost.macs_at_most));
  assert_false(ft_dim_known(cost.activations_at_most));
  assert_false(ft_dim_known(cost.open_at_most));
  ft_graph_free(graph);
}

static void inputs_that_may_be_weights_make_memory_incomplete(void **state)
{
  struct ft_graph *graph = open_graph("bare");
  struct ft_cost cost;
  struct ft_memory memory;
  struct ft_error err;

  (void)state;
  infer(graph, 1, NULL, &cost);
  assert_int_equal(cost.parameters, 6 * 3 * 4 * 4);
  assert_int_equal(graph->doubtful_elements, 6 * 2 * 2);
  assert_int_equal(ft_graph_memory(graph, &cost, &memory, &err), 0);
  assert_false(memory.complete);
  ft_graph_free(graph);
}

static void a_branch_without_a_bound_leaves_none(void **state)
{
  struct ft_graph *graph = open_graph("unbounded-branch");
  struct ft_cost cost;

  (void)state;
  infer(graph, 2, NULL, &cost);
  assert_int_equal(cost.macs, 2 * 4 * 4);
  assert_false(ft_dim_known(cost.macs_at_most));
  assert_false(ft_dim_known(cost.activations_at_most));
  ft_graph_free(graph);
}

static void memory_equals_that_computed_by_hand(void **state)
{
  static const struct {
    const char *name, *input;
    int64_t batch, activation_peak, saved;
  } cases[] = {
    /* at the convolution its input and result are live; saved: x, the normalisation's input, its
     * 8 means and deviations, the Relu's result, the product's input */
    { "convolution", "3x32x32", 1, 4 * (3072 + 2048), 4 * (3072 + 2048 + 2048 + 8) + 64 },
    { "convolution", "3x32x32", 6, 6 * 4 * (3072 + 2048), 6 * 4 * (3072 + 2048 + 2048 + 8) + 64 },
    /* live: x, qkv whole, probabilities and their product with v; saved: x with its statistics,
     * normalised x, qkv, softmax, a */
    { "attention", "sequence=10", 2, 2 * 4 * (160 + 480 + 100 + 160),
      2 * 4 * (160 + 20 + 160 + 480 + 100 + 160) },
    /* GELU is fused; saved: x, the normalised map, hard swish's input, the pool's input and its
     * argmax, the convolution's input, GroupNorm's input, GELU's input, 8 features */
    { "torch-cnn", NULL, 1, 4 * (2048 + 2048),
      4 * (768 + 2048 + 2048 + 2048 + 512 + 512 + 512 + 8) + 8 * 512 + 64 + 16 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = open_graph(cases[i].name);
    struct ft_memory memory;
    struct ft_error err;
    struct ft_cost cost;

    infer(graph, cases[i].batch, cases[i].input, &cost);
    assert_int_equal(ft_graph_memory(graph, &cost, &memory, &err), 0);
    assert_true(memory.complete);
    assert_int_equal(memory.attention_bytes, i == 2 ? 2 * 4 * 100 : 0);
    if (memory.activation_peak_bytes != cases[i].activation_peak ||
        memory.saved_bytes != cases[i].saved)
      fail_msg("%s: peak %lld and kept %lld, expected %lld and %lld", cases[i].name,
               (long long)memory.activation_peak_bytes, (long long)memory.saved_bytes,
               (long long)cases[i].activation_peak, (long long)cases[i].saved);
    assert_int_equal(memory.parameter_bytes, 4 * cost.parameters);
    assert_int_equal(memory.inference_peak_bytes,
                     memory.weight_bytes + memory.activation_peak_bytes);
    assert_int_equal(memory.optimizer_bytes[FT_OPTIMIZER_SGD], 0);
    assert_int_equal(memory.optimizer_bytes[FT_OPTIMIZER_MOMENTUM], memory.parameter_bytes);
    assert_int_equal(memory.optimizer_bytes[FT_OPTIMIZER_ADAM], 2 * memory.parameter_bytes);
    assert_int_equal(memory.optimizer_bytes[FT_OPTIMIZER_ADAMW], 2 * memory.parameter_bytes);
    ft_graph_free(graph);
  }
}

static void a_batch_written_into_the_file_is_scaled(void **state)
{
  struct ft_graph_sizes sizes = { .batch = 5, .input = NULL };
  struct ft_graph *graph = open_graph("baked");
  struct ft_analysis analysis;
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  assert_true(analysis.scaled);
  assert_int_equal(analysis.cost.macs, 5 * 6 * 4);
  assert_int_equal(analysis.cost.parameters, 24);
  assert_int_equal(analysis.memory.saved_bytes, 5 * 6 * 4);
  sizes.batch = 1;
  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  assert_false(analysis.scaled);
  ft_graph_free(graph);
  /* no larger batch contradicts it: the exporter's example is one sample */
  graph = open_graph("runtime");
  sizes.batch = 5;
  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  assert_true(analysis.scaled);
  assert_int_equal(analysis.cost.macs, 5 * 13152);
  ft_graph_free(graph);
}

static void bad_files_give_an_error_with_file_and_position(void **state)
{
  static const struct {
    const char *name, *says;
  } cases[] = {
    { "hostile-cycle", "byte 15: operator Add \"a\": depends on its own result" },
    { "hostile-twice", "byte 32: operator Neg \"y\": a second definition of \"y\"" },
    { "hostile-nothing", "no operator defines its input \"z\"" },
    { "hostile-word", "expected words in a row, found one" },
    { "hostile-piece", "a piece of -1" },
    { "hostile-dimension", "a dimension of 9223372036854775807: expected at most 2^40" },
    { "hostile-negative", "a tensor's dimension of -9223372036854775808" },
    { "hostile-weight", "more than 2^50 elements" },
    { "hostile-tile", "along dimension 1: expected 0 to 2^40" },
    { "hostile-deep", "graphs nested more than 16 deep" },
    { "hostile-scan", "byte 16: Scan \"y\": expected a body with 1 inputs" },
    { "hostile-waiting", "depends on its own result" },
    { "hostile-fit", "byte 15: Add \"y\": 1x2 and 3 do not fit together" },
    { "convolution", "its dimension 2 (height) is open: give it with --input=height=N" },
    { "not-there", "No such file" },
  };
  struct ft_graph_sizes sizes = { .batch = 1, .input = NULL };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_error err = { "" };
    struct ft_graph *graph;
    char path[4096];

    graph = ft_graph_read(path_of(cases[i].name, path), &err);
    if (graph)
      assert_int_equal(ft_graph_infer(graph, &sizes, &err), -1);
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].name, err.text, cases[i].says);
    ft_graph_free(graph);
  }
}

/* sbatch has another option for the size of the input than foretell predict. */
static void a_missing_size_names_the_callers_option(void **state)
{
  static const char config[] = "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\","
                               "\"hidden_size\":64,\"intermediate_size\":128,\"vocab_size\":100,"
                               "\"num_attention_heads\":4,\"num_hidden_layers\":2,"
                               "\"max_position_embeddings\":4096}";
  struct ft_graph_sizes sizes = { .batch = 1, .input_option = "--predict-params=input" };
  char path[] = "/tmp/test-graph-XXXXXX.json";
  int fd = mkstemps(path, 5);
  struct ft_error err = { "" };
  struct ft_graph *graph;

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(write(fd, config, sizeof config - 1), (ssize_t)sizeof config - 1);
  close(fd);
  graph = ft_graph_read(path, &err);
  unlink(path);
  if (!graph)
    fail_msg("%s", err.text);
  assert_int_equal(ft_graph_infer(graph, &sizes, &err), -1);
  if (!strstr(err.text, "give it with --predict-params=input=sequence=N, at most 4096 "
                        "(max_position_embeddings)"))
    fail_msg("%s", err.text);
  ft_graph_free(graph);
}

static void user_given_sizes_are_checked(void **state)
{
  static const struct {
    const char *input, *says;
  } cases[] = {
    { "3x32", "gives 2 sizes" },
    { "3xx32", "expected sizes such as" },
    { "3x0x32", "expected sizes such as" },
    { "z=3x32x32", "has no input or dimension \"z\"" },
    { "4x32x32", "4 channels, but filters for 3" },
    { "3x99999999999999x32", "expected sizes such as" },
  };
  struct ft_graph *graph = open_graph("convolution");

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph_sizes sizes = { .batch = 1, .input = cases[i].input };
    struct ft_error err = { "" };

    assert_int_equal(ft_graph_infer(graph, &sizes, &err), -1);
    if (!strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].input, err.text, cases[i].says);
  }
  ft_graph_free(graph);
}

/* A model of LENGTH bytes, cut anywhere: an error with the position, never a crash. */
static void a_truncated_file_is_rejected(void **state)
{
  char path[4096], scratch[] = "/tmp/test-graph-XXXXXX";
  int fd = mkstemp(scratch);
  struct ft_error err;
  struct ft_buf file;

  (void)state;
  assert_true(fd >= 0);
  ft_buf_init(&file, 1 << 20);
  assert_int_equal(ft_io_read_file(-1, path_of("sizes", path), &file, &err), 0);
  for (size_t length = 0; length < file.length - 20; length++) {
    struct ft_graph *graph;

    assert_int_equal(ftruncate(fd, 0), 0);
    assert_true(lseek(fd, 0, SEEK_SET) == 0);
    assert_int_equal(ft_io_write_all(fd, file.data, length), 0);
    graph = ft_graph_read(scratch, &err);
    assert_null(graph);
    assert_non_null(strstr(err.text, scratch));
    assert_non_null(strstr(err.text, "byte "));
  }
  ft_buf_free(&file);
  unlink(scratch);
  close(fd);
}

/* The reader skips a hole of 3 GiB inside a tensor. */
static void weights_are_never_read(void **state)
{
  static const uint8_t head[] = {
    0x08, 8,                                       /* ir_version */
    0x3a, 0xbd, 0x80, 0x80, 0x80, 0x0c,            /* graph of 3 GiB + 61 */
    0x0a, 17,   0x0a, 1,    'x',  0x0a, 1,    'w', /* node, x w -> y, MatMul */
    0x12, 1,    'y',  0x22, 6,    'M',  'a',  't',  'M',  'u', 'l',  0x2a, 0x93,
    0x80, 0x80, 0x80, 0x0c, /* initializer of 3 GiB + 19 */
    0x08, 0x80, 0x80, 0x02, 0x08, 0x80, 0xc0, 0x01, 0x10, 1,   0x42, 1,    'w', /* 32768 x 24576 */
    0x4a, 0x80, 0x80, 0x80, 0x80, 0x0c                                          /* its bytes */
  };
  static const uint8_t tail[] = { 0x5a, 15, 0x0a, 1, 'x',  0x12, 10,   0x0a, 8,
                                  0x08, 1,  0x12, 4, 0x0a, 2,    0x08, 9 };
  char scratch[] = "/tmp/test-graph-XXXXXX";
  struct ft_error err = { "" };
  struct ft_graph *graph;
  int fd = mkstemp(scratch);
  clock_t begun;

  (void)state;
  assert_true(fd >= 0);
  assert_int_equal(ft_io_write_all(fd, head, sizeof head), 0);
  assert_true(lseek(fd, (off_t)3 << 30, SEEK_CUR) > 0);
  assert_int_equal(ft_io_write_all(fd, tail, sizeof tail), 0);
  begun = clock();
  graph = ft_graph_read(scratch, &err);
  if (!graph)
    fail_msg("%s", err.text);
  assert_true(clock() - begun < CLOCKS_PER_SEC / 2);
  assert_int_equal(find(graph, "w")->constant->elements, INT64_C(32768) * 24576);
  assert_true(graph->arena.used < 1 << 16);
  ft_graph_free(graph);
  unlink(scratch);
  close(fd);
}

static const struct ft_operator *named(const struct ft_graph *graph, const char *name, int skip)
{
  for (uint32_t i = 0; i < graph->block.operator_count; i++)
    if (strcmp(graph->block.operators[i].name, name) == 0 && skip-- == 0)
      return &graph->block.operators[i];
  return NULL;
}

static void merged_activations_are_separated_by_module(void **state)
{
  struct ft_graph *graph = open_graph("merged");
  const struct ft_operator *copy, *own;

  (void)state;
  own = named(graph, "/left/act/Relu", 0);
  copy = named(graph, "/left/act/Relu", 1);
  assert_int_equal(graph->operator_count, 11);
  assert_int_equal(graph->block.operator_count, 11);
  assert_int_equal(named(graph, "/left/conv/Conv", 0)->inputs[0], own->outputs[0]);
  assert_int_equal(named(graph, "/right/one/Conv", 0)->inputs[0], copy->outputs[0]);
  assert_int_equal(named(graph, "/right/two/Conv", 0)->inputs[0], copy->outputs[0]);
  assert_int_equal(copy->inputs[0], own->inputs[0]);
  assert_null(named(graph, "/last/act/Relu", 1));
  for (uint32_t i = 0; i < graph->block.operator_count; i++)
    assert_int_equal(graph->tensors[graph->block.operators[i].outputs[0]].producer, i + 1);
  ft_graph_free(graph);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(elements_are_read_by_their_type),
    cmocka_unit_test(costs_equal_those_computed_by_hand),
    cmocka_unit_test(merged_activations_are_separated_by_module),
    cmocka_unit_test(computed_sizes_are_propagated),
    cmocka_unit_test(operators_up_to_opset_28_are_known),
    cmocka_unit_test(sequences_of_tensors_are_followed),
    cmocka_unit_test(classical_ml_operators_have_shapes),
    cmocka_unit_test(unknown_operators_are_named_counted_and_bounded),
    cmocka_unit_test(a_compiled_network_has_no_bound),
    cmocka_unit_test(inputs_that_may_be_weights_make_memory_incomplete),
    cmocka_unit_test(a_branch_without_a_bound_leaves_none),
    cmocka_unit_test(memory_equals_that_computed_by_hand),
    cmocka_unit_test(a_batch_written_into_the_file_is_scaled),
    cmocka_unit_test(bad_files_give_an_error_with_file_and_position),
    cmocka_unit_test(a_missing_size_names_the_callers_option),
    cmocka_unit_test(user_given_sizes_are_checked),
    cmocka_unit_test(a_truncated_file_is_rejected),
    cmocka_unit_test(weights_are_never_read),
  };

  return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
