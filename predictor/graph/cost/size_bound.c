/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/cost/size_bound.h"
#include "predictor/graph/shape/infer.h"

static int64_t elements_at_most(const struct ft_graph *graph, uint32_t tensor, const int64_t *most)
{
  int64_t elements = tensor ? ft_tensor_elements(&graph->tensors[tensor]) : 0;

  return elements >= 0 ? elements : most[tensor] > 0 ? most[tensor] : -1;
}

int64_t ft_size_bound_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                             const int64_t *most)
{
  int64_t largest = 0;

  for (uint32_t i = 0; i < op->input_count + op->capture_count; i++) {
    uint32_t tensor = i < op->input_count ? op->inputs[i] : op->captures[i - op->input_count];
    int64_t elements = elements_at_most(graph, tensor, most);

    if (elements < 0)
      return -1;
    largest = elements > largest ? elements : largest;
  }
  return largest;
}

/* What X gives times a matrix or filters W, of whose two sides one is X's channels. */
static int64_t product_elements(const struct ft_tensor *x, const struct ft_tensor *w)
{
  int64_t elements = ft_tensor_elements(x), most = 0;

  if (x->rank < 2 || w->rank < 2)
    return 0;
  for (int i = 0; i < 2; i++) {
    int64_t channels = x->dims[i ? x->rank - 1 : 1];

    for (int side = 0; side < 2; side++) {
      int64_t given = channels > 0 && w->dims[side] == channels
                          ? ft_dim_times(elements / channels, w->dims[!side])
                          : 0;

      most = given > most ? given : most;
    }
  }
  return most;
}

/* What OP, a Concat, gives. */
static int64_t sum_of_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                             const int64_t *most)
{
  int64_t sum = 0;

  for (uint32_t i = 0; i < op->input_count; i++) {
    int64_t elements = elements_at_most(graph, op->inputs[i], most);

    if (elements < 0)
      return -1;
    sum = ft_dim_plus(sum, elements);
  }
  return sum;
}

/* Whether OP, which is not known, holds a network or a program of its own: nothing bounds that. */
static bool is_whole_network(const struct ft_operator *op)
{
  static const char *const types[] = { "EPContext",     "EagerPyFunc", "PyFunc",         "TRTEngineOp",
                                       "XlaCallModule", "XlaLaunch",   "execute_engine", NULL };

  return !op->kind && ft_string_listed(types, op->type);
}

int64_t ft_size_bound_result(const struct ft_graph *graph, const struct ft_operator *op,
                             const int64_t *most)
{
  const struct ft_tensor *x =
      op->input_count && op->inputs[0] ? &graph->tensors[op->inputs[0]] : NULL;
  int64_t largest = ft_size_bound_inputs(graph, op, most);

  if (ft_operator_has(op, FT_OPERATOR_ENLARGES) || is_whole_network(op))
    return -1;
  if (ft_operator_is(op, FT_OP_Concat))
    return sum_of_inputs(graph, op, most);
  if (largest < 0 || !x || ft_tensor_elements(x) < 0)
    return largest;
  for (uint32_t i = 1; i < op->input_count; i++) {
    const struct ft_tensor *w = &graph->tensors[op->inputs[i]];
    int64_t given = w->constant && op->inputs[i] ? product_elements(x, w) : 0;

    largest = given > largest ? given : largest;
  }
  return largest;
}

int64_t ft_size_bound_products(const struct ft_graph *graph, const struct ft_operator *op,
                               const int64_t *most)
{
  int64_t products = 1;

  if (is_whole_network(op))
    return -1;
  for (uint32_t i = 1; i < op->input_count; i++) {
    const struct ft_tensor *w = &graph->tensors[op->inputs[i]];
    int64_t each = elements_at_most(graph, op->inputs[i], most);

    if (each < 0)
      return -1;
    if (ft_tensor_elements(w) >= 0 && w->rank < 2)
      each = 1;
    else if (ft_tensor_elements(w) > 0)
      each = w->rank > 2 ? each / w->dims[0] : w->dims[0] > w->dims[1] ? w->dims[0] : w->dims[1];
    products = each > products ? each : products;
  }
  return products;
}

void ft_size_bound_results(const struct ft_graph *graph, const struct ft_operator *op,
                           int64_t *most)
{
  int64_t largest = -1;
  bool asked = false;

  for (uint32_t i = 0; i < op->output_count; i++) {
    uint32_t tensor = op->outputs[i];

    if (!tensor || ft_tensor_elements(&graph->tensors[tensor]) >= 0)
      continue;
    if (!asked)
      largest = ft_size_bound_result(graph, op, most);
    asked = true;
    most[tensor] = largest > 0 ? largest : largest == 0 ? 1 : 0;
  }
}
