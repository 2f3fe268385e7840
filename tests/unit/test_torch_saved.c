/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make-torch-saved beside tests/fixtures/graph/torch-saved.csv exports networks, and counts what
 * they save in PyTorch. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/shape/operators.h"

enum { FILE_NAME, INPUT, BATCH, PARAMETERS, MACS, BYTES, COLUMNS };

/* Returns the MACs of the network without those of normalisations, which PyTorch does not count. */
static int64_t product_macs(const struct ft_cost *cost)
{
  int64_t macs = 0;

  for (size_t i = 0; i < cost->layer_count; i++)
    if (!cost->layers[i].op->kind || cost->layers[i].op->kind->work < FT_WORK_NORM)
      macs += ft_dim_or(cost->layers[i].macs, 0);
  return macs;
}

/* Known errors above 1 %: masks, angles and widened weights, which the graph has as constants. */
static double allowed(const char *name)
{
  return strstr(name, "boolean") || strstr(name, "infinite") ? 0.09
         : strstr(name, "rotary")                            ? 0.05
         : strstr(name, "gemma")                             ? 0.03
                                                             : 0.01;
}

/* Counts a mismatching row in *OFF. */
static void compare(void *off, char *const *field)
{
  struct ft_graph *graph = corpus_graph(field[FILE_NAME]);
  int64_t parameters = strtoll(field[PARAMETERS], NULL, 10), macs = strtoll(field[MACS], NULL, 10);
  char input[128];
  struct ft_analysis analysis;
  struct ft_gpu_memory memory;
  struct ft_error err = { "" };
  struct ft_gpu_run run;
  double error;

  ft_gpu_run_init(&run);
  run.sizes.batch = strtol(field[BATCH], NULL, 10);
  (void)snprintf(input, sizeof input, "%s", field[INPUT]);
  run.sizes.input = strncmp(field[FILE_NAME], "torchscript/", 12) == 0 ? input : NULL;
  if (ft_graph_analyse(graph, &run.sizes, &analysis, &err) < 0)
    fail_msg("%s: %s", field[FILE_NAME], err.text);
  if (analysis.cost.parameters != parameters || product_macs(&analysis.cost) != macs ||
      analysis.cost.unknown) {
    ++*(unsigned *)off;
    print_message("# %s: %lld parameters, %lld MACs, %u unknown operators\n", field[FILE_NAME],
                  (long long)analysis.cost.parameters, (long long)product_macs(&analysis.cost),
                  analysis.cost.unknown);
  }
  if (ft_gpu_memory(graph, ft_gpu_at(0), &run, &memory, &err) < 0)
    fail_msg("%s: %s", field[FILE_NAME], err.text);
  error = (double)memory.activation_bytes / strtod(field[BYTES], NULL) - 1;
  if (error > allowed(field[FILE_NAME]) || error < -allowed(field[FILE_NAME])) {
    ++*(unsigned *)off;
    print_message("# %s: saved %+.1f %%\n", field[FILE_NAME], 100 * error);
  }
  ft_graph_free(graph);
}

static void exported_networks_cost_and_save_what_pytorch_counts(void **state)
{
  unsigned off = 0;

  (void)state;
  assert_true(corpus_rows("torch-saved.csv", COLUMNS, &off, compare) > 1);
  assert_int_equal(off, 0);
}

/* The older exporter marks neither the buffer of positions, 288 elements, nor the parameter, which
 * is 288 of 1360. */
static void constants_that_no_layer_reads_may_be_no_parameters(void **state)
{
  struct ft_graph *graph = corpus_graph("onnx/unmarked-positions-17.onnx");
  struct ft_graph_sizes sizes = { .batch = 2 };
  struct ft_analysis analysis;
  struct ft_error err = { "" };

  (void)state;
  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  assert_int_equal(analysis.cost.parameters, 1360 + 288);
  assert_int_equal(analysis.cost.doubtful, 2 * 288);
  ft_graph_free(graph);
}

/* A table of 17 rows of 32 elements that the exporter has written out to 81 rows. */
static void a_constant_computed_of_parameter_and_buffer_may_have_fewer_parameters(void **state)
{
  struct ft_graph *graph = corpus_graph("onnx/folded-relative-18.onnx");
  struct ft_graph_sizes sizes = { .batch = 2 };
  struct ft_analysis analysis;
  struct ft_error err = { "" };

  (void)state;
  assert_int_equal(ft_graph_analyse(graph, &sizes, &analysis, &err), 0);
  assert_int_equal(analysis.cost.parameters, 17 * 32 + 81 * 32);
  assert_int_equal(analysis.cost.doubtful, 81 * 32);
  ft_graph_free(graph);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
    cmocka_unit_test(exported_networks_cost_and_save_what_pytorch_counts),
    cmocka_unit_test(constants_that_no_layer_reads_may_be_no_parameters),
    cmocka_unit_test(a_constant_computed_of_parameter_and_buffer_may_have_fewer_parameters),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
