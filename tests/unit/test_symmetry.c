/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Invariants of a network's costs: the order of a sum's operands, results that no operator reads,
 * and samples at once or one by one. Each model of the corpus is transformed and compared with the
 * original.
 */
#include "config.h"

#include "tests/unit/corpus.h"

#include <dirent.h>

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/training/autograd_rules.h"

/* ---- the corpus ---- */

static const struct {
  const char *folder, *input; /* sizes that the files leave open; NULL: those of the file */
} folders[] = { { "onnx", NULL },          { "onnx", "sequence=7" }, { "torchscript", "3x16x16" },
                { "torchscript", "9x16" }, { "torchscript", "6" },   { "pt2", NULL },
                { "tensorflow", NULL },    { "paddle", NULL } };

struct turned {
  unsigned compared;
  void (*each)(struct turned *t, const char *name, struct ft_graph *graph, const char *input);
};

static void each_file(struct turned *t, size_t i)
{
  char folder[4096], path[8192];
  struct ft_error err = { "" };
  struct dirent *entry;
  struct ft_graph *graph;
  DIR *dir = opendir(corpus_path(folders[i].folder, folder));

  assert_non_null(dir);
  while ((entry = readdir(dir))) {
    (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    graph = entry->d_name[0] == '.' ? NULL : ft_graph_read(path, &err);
    if (graph)
      t->each(t, entry->d_name, graph, folders[i].input);
    ft_graph_free(graph);
  }
  (void)closedir(dir);
}

static unsigned each_model(void (*each)(struct turned *t, const char *name, struct ft_graph *graph,
                                        const char *input),
                           bool fixed)
{
  struct turned t = { .each = each };

  for (size_t i = 0; i < COUNT_OF(folders); i++)
    if (!fixed || strcmp(folders[i].folder, "onnx") == 0)
      each_file(&t, i);
  return t.compared;
}

/* ---- costs ---- */

struct figures {
  struct ft_analysis analysis;
  struct ft_gpu_memory gpu[2]; /* training, inference */
  bool played[2];
};

/* Returns false if the sizes do not fit the network. */
static bool measure(struct ft_graph *graph, int64_t batch, const char *input, struct figures *out)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = input };
  struct ft_error err = { "" };
  struct ft_gpu_run run;

  if (ft_graph_analyse(graph, &sizes, &out->analysis, &err) < 0)
    return false;
  for (int i = 0; i < 2; i++) {
    ft_gpu_run_init(&run);
    run.sizes = sizes;
    run.training = i == 0;
    out->played[i] = ft_gpu_memory(graph, ft_gpu_at(0), &run, &out->gpu[i], &err) == 0;
  }
  return true;
}

static void same(const char *name, const char *what, double a, double b)
{
  if (a != b)
    fail_msg("%s: %s of %.17g, turned %.17g", name, what, a, b);
}

static void same_figures(const char *name, const struct figures *a, const struct figures *b)
{
  same(name, "MACs", (double)a->analysis.cost.macs, (double)b->analysis.cost.macs);
  same(name, "parameters", (double)a->analysis.cost.parameters,
       (double)b->analysis.cost.parameters);
  same(name, "peak", (double)a->analysis.memory.activation_peak_bytes,
       (double)b->analysis.memory.activation_peak_bytes);
  same(name, "saved", (double)a->analysis.memory.saved_bytes,
       (double)b->analysis.memory.saved_bytes);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(a->played[i], b->played[i]);
    if (a->played[i])
      same(name, i ? "GPU memory, inference" : "GPU memory, training", a->gpu[i].bytes,
           b->gpu[i].bytes);
  }
}

/* ---- operands ---- */

/* Excludes sums of two tensors of one size: PyTorch's a += b has this form and is stored in a. */
static bool commutes(const struct ft_graph *graph, const struct ft_operator *op)
{
  static const char *const types[] = { "Add", "And", "Equal", "Max", "Mean",
                                       "Min", "Mul", "Or",    "Sum", "Xor" };

  for (size_t i = 0; i < COUNT_OF(types); i++)
    if (strcmp(op->type, types[i]) == 0 && op->input_count == 2)
      return strcmp(op->type, "Add") != 0 ||
             ft_dim_differ(ft_tensor_elements(&graph->tensors[op->inputs[0]]),
                           ft_tensor_elements(&graph->tensors[op->inputs[1]]));
  return false;
}

static void swap_operands(const struct ft_graph *graph, struct ft_block *block)
{
  for (uint32_t i = 0; i < block->operator_count; i++) {
    struct ft_operator *op = &block->operators[i];
    uint32_t first = op->input_count ? op->inputs[0] : 0;

    for (uint32_t j = 0; j < op->attribute_count; j++)
      if (op->attributes[j].type == FT_ATTRIBUTE_BLOCK)
        swap_operands(graph, op->attributes[j].block);
    if (!commutes(graph, op))
      continue;
    op->inputs[0] = op->inputs[1];
    op->inputs[1] = first;
  }
}

static void swap_and_compare(struct turned *t, const char *name, struct ft_graph *graph,
                             const char *input)
{
  struct figures plain, swapped;

  if (!measure(graph, 4000, input, &plain))
    return;
  swap_operands(graph, &graph->block);
  assert_true(measure(graph, 4000, input, &swapped));
  same_figures(name, &plain, &swapped);
  t->compared++;
}

static void operands_may_have_any_order(void **state)
{
  (void)state;
  assert_true(each_model(swap_and_compare, true) > 30);
}

/* ---- results ---- */

static void mark_read(const struct ft_block *block, bool *read)
{
  for (uint32_t i = 0; i < block->output_count; i++)
    read[block->outputs[i]] = true;
  for (uint32_t i = 0; i < block->operator_count; i++) {
    const struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++)
      read[op->inputs[j]] = true;
    for (uint32_t j = 0; j < op->capture_count; j++)
      read[op->captures[j]] = true;
    for (uint32_t j = 0; j < op->attribute_count; j++)
      if (op->attributes[j].type == FT_ATTRIBUTE_BLOCK)
        mark_read(op->attributes[j].block, read);
  }
}

/* A layer's first result stays, because a reader adds it if the file lacks it. */
static void drop_results(struct ft_block *block, const bool *read)
{
  for (uint32_t i = 0; i < block->operator_count; i++)
    for (uint32_t j = 1; j < block->operators[i].output_count; j++)
      if (!read[block->operators[i].outputs[j]])
        block->operators[i].outputs[j] = 0;
}

static void drop_and_compare(struct turned *t, const char *name, struct ft_graph *graph,
                             const char *input)
{
  bool *read = calloc(graph->tensor_count, sizeof *read);
  struct figures plain, dropped;

  if (measure(graph, 2, input, &plain)) {
    mark_read(&graph->block, read);
    drop_results(&graph->block, read);
    assert_true(measure(graph, 2, input, &dropped));
    same(name, "MACs", (double)plain.analysis.cost.macs, (double)dropped.analysis.cost.macs);
    same(name, "parameters", (double)plain.analysis.cost.parameters,
         (double)dropped.analysis.cost.parameters);
    t->compared++;
  }
  free(read);
}

static void unread_results_cost_nothing(void **state)
{
  (void)state;
  assert_true(each_model(drop_and_compare, true) > 30);
}

/* 5 steps of 24 x (4 + 6) and of 18 x (4 + 6); only the last states are read. */
static void the_cost_of_a_layer_does_not_depend_on_the_results_read(void **state)
{
  struct ft_graph *graph = corpus_graph("onnx/states.onnx");
  struct figures f;

  (void)state;
  assert_true(measure(graph, 3, NULL, &f));
  assert_int_equal(f.analysis.cost.macs, 3 * 5 * (240 + 180));
  assert_true(ft_dim_is(f.analysis.cost.macs_at_most, f.analysis.cost.macs));
  assert_true(f.analysis.memory.saved_bytes > 3 * 5 * 6 * 4);
  assert_int_equal(f.analysis.cost.unresolved, 0);
  ft_graph_free(graph);
}

static void attributes_of_a_file_are_no_hints(void **state)
{
  struct ft_graph *graph = corpus_graph("onnx/hints.onnx");
  struct figures said, plain;

  (void)state;
  assert_true(measure(graph, 2, NULL, &said));
  for (uint32_t i = 0; i < graph->block.operator_count; i++)
    graph->block.operators[i].attribute_count = 0;
  assert_true(measure(graph, 2, NULL, &plain));
  same_figures("hints", &plain, &said);
  ft_graph_free(graph);
}

/* ---- samples ---- */

/* Returns the MACs of what GRAPH computes of its parameters alone, for one sample. */
static double macs_of_parameters(struct ft_graph *graph, const char *input)
{
  struct ft_graph_sizes sizes = { .batch = 1, .input = input };
  struct ft_analysis analysis;
  struct ft_error err;
  double sum = 0;

  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  for (size_t i = 0; i < analysis.cost.layer_count; i++)
    if (!analysis.cost.layers[i].depth && !analysis.cost.layers[i].op->data)
      sum += (double)ft_dim_or(analysis.cost.layers[i].macs, 0);
  return sum;
}

/* Three samples at once cost three times as much as one, without what is computed once for all. */
static void multiply_and_compare(struct turned *t, const char *name, struct ft_graph *graph,
                                 const char *input)
{
  const struct ft_block *block = &graph->block;
  struct figures one, many;
  double once;

  if (!measure(graph, 1, input, &one) || !measure(graph, 3, input, &many) ||
      one.analysis.cost.unresolved || one.analysis.cost.unbounded_loops)
    return;
  for (uint32_t i = 0; i < block->input_count && !many.analysis.scaled; i++)
    if (graph->tensors[block->inputs[i]].rank < 1 ||
        !ft_dim_is(graph->tensors[block->inputs[i]].dims[0], 3))
      return; /* the file fixes the batch, or has it in another dimension */
  once = macs_of_parameters(graph, input);
  same(name, "MACs of three", 3 * ((double)one.analysis.cost.macs - once),
       (double)many.analysis.cost.macs - once);
  same(name, "parameters", (double)one.analysis.cost.parameters,
       (double)many.analysis.cost.parameters);
  t->compared++;
}

static void every_normalisation_has_its_own_statistics(void **state)
{
  ft_dim dims[] = { ft_dim_of(2), ft_dim_of(8), ft_dim_of(5), ft_dim_of(3) };
  const struct ft_tensor y = { .name = "y", .dims = dims, .rank = 4 };
  static const struct {
    const char *type, *attribute;
    int64_t value, batch, groups;
  } cases[] = { { "BatchNormalization", "epsilon", 1, 1, 8 },
                { "BatchNormalization", "epsilon", 1, 3, 8 },
                { "InstanceNormalization", "epsilon", 1, 1, 2 * 8 },
                { "InstanceNormalization", "epsilon", 1, 3, 3 * 2 * 8 },
                { "GroupNormalization", "num_groups", 4, 1, 2 * 4 },
                { "GroupNormalization", "num_groups", 4, 3, 3 * 2 * 4 },
                { "LayerNormalization", "axis", -1, 1, 2 * 8 * 5 },
                { "LayerNormalization", "axis", 1, 1, 2 },
                { "LayerNormalization", "axis", -2, 3, 3 * 2 * 8 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_attribute a = { .name = cases[i].attribute,
                              .type = FT_ATTRIBUTE_INTEGER,
                              .integer = cases[i].value };
    struct ft_operator op = { .type = cases[i].type,
                              .kind = ft_operator_find("", cases[i].type),
                              .attributes = &a,
                              .attribute_count = 1 };

    assert_int_equal(ft_autograd_groups(&op, &y, cases[i].batch), cases[i].groups);
  }
}

/* In addition to its input of 2 x 8 x 4 x 4, each saves a mean and a deviation per group. */
static void statistics_are_kept_for_the_backward_pass(void **state)
{
  const int64_t input = 4 * 2 * 8 * 16, groups = 2 * 8 + 2 * 2 + 2;
  struct ft_graph *graph = corpus_graph("onnx/norms.onnx");
  struct figures f;

  (void)state;
  assert_true(measure(graph, 2, NULL, &f));
  assert_int_equal(f.analysis.memory.saved_bytes, 3 * input + 2 * 4 * groups);
  ft_graph_free(graph);
}

static void samples_cost_the_same_at_once_and_one_by_one(void **state)
{
  (void)state;
  assert_true(each_model(multiply_and_compare, false) > 60);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(operands_may_have_any_order),
    cmocka_unit_test(unread_results_cost_nothing),
    cmocka_unit_test(the_cost_of_a_layer_does_not_depend_on_the_results_read),
    cmocka_unit_test(attributes_of_a_file_are_no_hints),
    cmocka_unit_test(every_normalisation_has_its_own_statistics),
    cmocka_unit_test(statistics_are_kept_for_the_backward_pass),
    cmocka_unit_test(samples_cost_the_same_at_once_and_one_by_one),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
