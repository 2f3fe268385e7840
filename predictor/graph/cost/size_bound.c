/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/cost/size_bound.h"
#include "predictor/graph/shape/infer.h"

/* Returns the elements of TENSOR, or their upper bound in BOUNDS. */
static ft_dim elements_at_most(const struct ft_graph *graph, uint32_t tensor, const ft_dim *bounds)
{
  ft_dim elements = tensor ? ft_tensor_elements(&graph->tensors[tensor]) : ft_dim_of(0);

  return ft_dim_known(elements) ? elements : bounds[tensor];
}

ft_dim ft_size_bound_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *bounds)
{
  int64_t elements, largest = 0;

  for (uint32_t i = 0; i < op->input_count + op->capture_count; i++) {
    uint32_t tensor = i < op->input_count ? op->inputs[i] : op->captures[i - op->input_count];

    if (!ft_dim_get(elements_at_most(graph, tensor, bounds), &elements))
      return FT_DIM_UNKNOWN;
    largest = elements > largest ? elements : largest;
  }
  return ft_dim_of(largest);
}

/* Returns the elements of the product of X, which has ELEMENTS, and a matrix or filters W; 0 if no
 * side of W has the size of X's channels. */
static int64_t product_elements(const struct ft_tensor *x, int64_t elements,
                                const struct ft_tensor *w)
{
  int64_t largest = 0;

  if (x->rank < 2 || w->rank < 2)
    return 0;
  for (int i = 0; i < 2; i++) {
    int64_t channels = ft_dim_or(x->dims[i ? x->rank - 1 : 1], 0);

    for (int side = 0; side < 2; side++) {
      int64_t product = channels && ft_dim_is(w->dims[side], channels)
                            ? ft_known_times(elements / channels, ft_dim_or(w->dims[!side], 0))
                            : 0;

      largest = product > largest ? product : largest;
    }
  }
  return largest;
}

/* Returns the upper bound of the elements of OP, a Concat. */
static ft_dim sum_of_inputs(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *bounds)
{
  ft_dim sum = ft_dim_of(0);

  for (uint32_t i = 0; i < op->input_count; i++)
    sum = ft_dim_plus(sum, elements_at_most(graph, op->inputs[i], bounds));
  return sum;
}

bool ft_size_bound_holds_network(const struct ft_operator *op)
{
  static const char *const types[] = { "EPContext",      "EagerPyFunc",
                                       "PyFunc",         "TRTEngineOp",
                                       "XlaCallModule",  "XlaLaunch",
                                       "execute_engine", NULL };

  return !op->kind &&
         (ft_string_listed(types, op->type) || strcmp(op->domain, "transformers") == 0);
}

ft_dim ft_size_bound_result(const struct ft_graph *graph, const struct ft_operator *op,
                            const ft_dim *bounds)
{
  const struct ft_tensor *x =
      op->input_count && op->inputs[0] ? &graph->tensors[op->inputs[0]] : NULL;
  ft_dim bound = ft_size_bound_inputs(graph, op, bounds);
  int64_t largest, elements;

  if (ft_operator_has(op, FT_OPERATOR_ENLARGES) || ft_size_bound_holds_network(op))
    return FT_DIM_UNKNOWN;
  if (ft_operator_is(op, FT_OP_Concat))
    return sum_of_inputs(graph, op, bounds);
  if (!ft_dim_get(bound, &largest) || !x || !ft_dim_get(ft_tensor_elements(x), &elements))
    return bound;
  for (uint32_t i = 1; i < op->input_count; i++) {
    const struct ft_tensor *w = &graph->tensors[op->inputs[i]];
    int64_t product = w->constant && op->inputs[i] ? product_elements(x, elements, w) : 0;

    largest = product > largest ? product : largest;
  }
  return ft_dim_of(largest);
}

ft_dim ft_size_bound_products(const struct ft_graph *graph, const struct ft_operator *op,
                              const ft_dim *bounds)
{
  int64_t products = 1, each, rows;

  if (ft_size_bound_holds_network(op))
    return FT_DIM_UNKNOWN;
  for (uint32_t i = 1; i < op->input_count; i++) {
    const struct ft_tensor *w = &graph->tensors[op->inputs[i]];

    if (!ft_dim_get(elements_at_most(graph, op->inputs[i], bounds), &each))
      return FT_DIM_UNKNOWN;
    if (ft_dim_known(ft_tensor_elements(w)) && each > 0) {
      rows = w->rank > 1 ? ft_dim_or(w->dims[0], 1) : each;
      each = w->rank == 2 && rows > each / rows ? rows : each / rows;
    }
    products = each > products ? each : products;
  }
  return ft_dim_of(products);
}

void ft_size_bound_results(const struct ft_graph *graph, const struct ft_operator *op,
                           ft_dim *bounds)
{
  ft_dim largest = FT_DIM_UNKNOWN;
  bool computed = false;

  for (uint32_t i = 0; i < op->output_count; i++) {
    uint32_t tensor = op->outputs[i];

    if (!tensor || ft_dim_known(ft_tensor_elements(&graph->tensors[tensor])))
      continue;
    if (!computed)
      largest = ft_size_bound_result(graph, op, bounds);
    computed = true;
    bounds[tensor] = largest;
  }
}
