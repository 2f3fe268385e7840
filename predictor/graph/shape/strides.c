/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/strides.h"

void ft_strides_dense(const struct ft_tensor *tensor, struct ft_strides *strides)
{
  int64_t step = 1;

  for (int i = tensor->rank - 1; i >= 0; i--) {
    strides->step[i] = step;
    step = ft_dim_times(step, tensor->dims[i]);
  }
}

void ft_strides_like(const struct ft_tensor *tensor, const struct ft_strides *from,
                     struct ft_strides *strides)
{
  int order[FT_GRAPH_RANK];
  int64_t step = 1;

  for (int i = 0; i < tensor->rank; i++) {
    int at = i;

    for (; at > 0 && from->step[order[at - 1]] < from->step[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (int i = tensor->rank - 1; i >= 0; i--) {
    strides->step[order[i]] = step;
    step = ft_dim_times(step, tensor->dims[order[i]]);
  }
}

bool ft_strides_reshape(const struct ft_tensor *tensor, const struct ft_strides *from,
                        const int64_t *dims, int rank, struct ft_strides *strides)
{
  int at = rank - 1, last = tensor->rank - 1;
  int64_t elements = 1, step;

  if (ft_tensor_elements(tensor) <= 0)
    return false;
  step = last >= 0 ? from->step[last] : 1;
  for (int i = last; i >= 0; i--) { /* runs of dimensions that lie next to each other */
    int64_t filled = 1;

    elements = ft_dim_times(elements, tensor->dims[i]);
    if (i > 0 && (tensor->dims[i - 1] == 1 || from->step[i - 1] == ft_dim_times(elements, step)))
      continue;
    while (at >= 0 && (filled < elements || dims[at] == 1)) {
      strides->step[at] = ft_dim_times(filled, step);
      filled = ft_dim_times(filled, dims[at]);
      at--;
    }
    if (filled != elements)
      return false;
    if (i > 0) {
      step = from->step[i - 1];
      elements = 1;
    }
  }
  for (; at >= 0; at--)
    strides->step[at] = 1;
  return true;
}

/* The dimensions of the input in the order of the output; those that are new or gone are of 1. */
static bool same_but_ones(const struct ft_tensor *x, const struct ft_strides *from,
                          const struct ft_tensor *y, struct ft_strides *strides)
{
  int at = 0;

  for (int i = 0; i < y->rank; i++) {
    while (at < x->rank && x->dims[at] == 1 && y->dims[i] != 1)
      at++;
    if (at < x->rank && x->dims[at] == y->dims[i])
      strides->step[i] = from->step[at++];
    else if (y->dims[i] == 1)
      strides->step[i] = 1;
    else
      return false;
  }
  return true;
}

static bool permute_strides(const struct ft_operator *op, const struct ft_tensor *x,
                            const struct ft_strides *from, struct ft_strides *strides)
{
  const struct ft_attribute *perm = ft_attribute(op, "perm");

  for (int i = 0; i < x->rank; i++) {
    int64_t k = perm && perm->type == FT_ATTRIBUTE_INTEGERS && (int)perm->count == x->rank
                    ? perm->integers[i]
                    : x->rank - 1 - i;

    if (k < 0 || k >= x->rank)
      return false;
    strides->step[i] = from->step[k];
  }
  return true;
}

static bool select_strides(const struct ft_operator *op, const struct ft_tensor *x,
                           const struct ft_strides *from, struct ft_strides *strides)
{
  int64_t axis = ft_integer(op, "axis", 0);
  int at = 0;

  axis += axis < 0 ? x->rank : 0;
  for (int i = 0; i < x->rank; i++)
    if (i != axis)
      strides->step[at++] = from->step[i];
  return true;
}

bool ft_strides_view(const struct ft_graph *graph, const struct ft_operator *op,
                     const struct ft_strides *from, struct ft_strides *strides)
{
  const struct ft_tensor *x = &graph->tensors[op->inputs[0]], *y = &graph->tensors[op->outputs[0]];

  if (x->rank < 0 || y->rank < 0)
    return false;
  switch (op->kind ? op->kind->view : FT_VIEW_NONE) {
  case FT_VIEW_PERMUTED:
    return permute_strides(op, x, from, strides);
  case FT_VIEW_ELEMENT:
    return select_strides(op, x, from, strides);
  case FT_VIEW_ONES:
    return same_but_ones(x, from, y, strides);
  case FT_VIEW_EXPANDED:
    for (int i = 0; i < y->rank; i++) {
      int k = i - (y->rank - x->rank);

      strides->step[i] = k >= 0 && x->dims[k] == y->dims[i] ? from->step[k] : 0;
    }
    return true;
  case FT_VIEW_PART: /* steps beyond 1 are rare and change no more */
  case FT_VIEW_SAME:
    *strides = *from;
    return true;
  default:
    return false;
  }
}
