/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes of PyTorch into tensors and into views of them. The files: tests/fixtures/graph. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/graph/analyse.h"

/* The graph of NAME and its costs for 4 samples; the caller frees it. */
static struct ft_graph *analyse(const char *name, struct ft_analysis *analysis)
{
  bool shaped = strncmp(name, "pt2/", 4) == 0;
  struct ft_graph_sizes sizes = { .batch = 4, .input = shaped ? NULL : "9x16" };
  struct ft_graph *graph = corpus_graph(name);
  struct ft_error err = { "" };

  if (ft_graph_analyse(graph, &sizes, analysis, &err) < 0)
    fail_msg("%s: %s", name, err.text);
  return graph;
}

/* PyTorch counts parameters and MACs itself (numel, FlopCounterMode). */
static void writes_into_a_tensor_count(void **state)
{
  static const char *const files[] = { "torchscript/net-writes-traced.pt",
                                       "torchscript/net-writes-scripted.pt", "pt2/net-writes.pt2" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    struct ft_analysis a;
    struct ft_graph *graph = analyse(files[i], &a);

    if (a.cost.parameters != 708 || a.cost.macs != 11200 || a.cost.unknown || a.cost.unresolved)
      fail_msg("%s: %lld parameters, %lld MACs, %u unknown, %u unresolved", files[i],
               (long long)a.cost.parameters, (long long)a.cost.macs, a.cost.unknown,
               a.cost.unresolved);
    ft_graph_free(graph);
  }
}

static unsigned operators(const struct ft_graph *graph, const char *type)
{
  unsigned count = 0;

  for (uint32_t i = 0; i < graph->block.operator_count; i++)
    count += strcmp(graph->block.operators[i].type, type) == 0;
  return count;
}

/* PyTorch has 969 parameters, of which 144 are added to a copy that is never read, and 25408
 * MACs. Five views are written, the last one twice. Python's x[i] += y then copies the view onto
 * itself, unlike a script's, at no further cost. */
static void writes_into_a_view_are_in_its_tensor(void **state)
{
  static const char *const files[] = { "torchscript/net-parts-traced.pt",
                                       "torchscript/net-parts-scripted.pt", "pt2/net-parts.pt2" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(files); i++) {
    struct ft_analysis a;
    struct ft_graph *graph = analyse(files[i], &a);

    if (a.cost.parameters != 969 - 144 || a.cost.macs != 25408 || a.cost.unknown ||
        a.cost.unresolved || operators(graph, "ScatterND") != 5)
      fail_msg("%s: %lld parameters, %lld MACs, %u unknown, %u unresolved, %u written", files[i],
               (long long)a.cost.parameters, (long long)a.cost.macs, a.cost.unknown,
               a.cost.unresolved, operators(graph, "ScatterND"));
    ft_graph_free(graph);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(writes_into_a_tensor_count),
    cmocka_unit_test(writes_into_a_view_are_in_its_tensor),
  };

  return cmocka_run_group_tests_name("parts", tests, NULL, NULL);
}
