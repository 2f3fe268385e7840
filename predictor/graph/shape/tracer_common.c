/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common operators in one call. */
#include "config.h"

#include "predictor/graph/shape/tracer.h"

uint32_t ft_tracer_unary(struct ft_tracer *l, const char *type, uint32_t x)
{
  ft_tracer_op(l, type);
  ft_tracer_in(l, x);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_binary(struct ft_tracer *l, const char *type, uint32_t a, uint32_t b)
{
  ft_tracer_op(l, type);
  ft_tracer_in(l, a);
  ft_tracer_in(l, b);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_reshape(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank)
{
  int64_t sizes[FT_GRAPH_RANK];

  if (rank > FT_GRAPH_RANK) {
    (void)ft_tracer_fail(l, "a shape of %d dimensions", rank);
    return 0;
  }
  for (int i = 0; i < rank; i++)
    sizes[i] = ft_dim_or(dims[i], FT_RESHAPE_UNKNOWN);
  ft_tracer_op(l, "Reshape");
  ft_tracer_in(l, x);
  ft_tracer_ints(l, "shape", sizes, (size_t)rank);
  ft_tracer_int(l, "allowzero", 1);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_concat(struct ft_tracer *l, const uint32_t *tensors, size_t count, int64_t axis)
{
  ft_tracer_op(l, "Concat");
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(l, tensors[i]);
  ft_tracer_int(l, "axis", axis);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_resize(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank)
{
  int64_t sizes[FT_GRAPH_RANK]; /* -1: unknown */
  uint32_t list;

  for (int i = 0; i < rank; i++)
    sizes[i] = ft_dim_or(dims[i], -1);
  list = ft_tracer_list(l, sizes, (size_t)rank);
  if (!list)
    return 0;
  ft_tracer_op(l, "Resize");
  ft_tracer_in(l, x);
  ft_tracer_in(l, 0);
  ft_tracer_in(l, 0);
  ft_tracer_in(l, list);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_transpose(struct ft_tracer *l, uint32_t x, const int64_t *order, int rank)
{
  ft_tracer_op(l, "Transpose");
  ft_tracer_in(l, x);
  ft_tracer_ints(l, "perm", order, (size_t)rank);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_slice(struct ft_tracer *l, uint32_t x, int axis, int64_t start, int64_t end,
                         int64_t step)
{
  int64_t along = axis;
  uint32_t steps = step == 1 ? 0 : ft_tracer_list(l, &step, 1);

  if (step != 1 && !steps)
    return 0;
  ft_tracer_op(l, "Slice");
  ft_tracer_in(l, x);
  for (int i = 0; steps && i < 4; i++)
    ft_tracer_in(l, i < 3 ? 0 : steps);
  ft_tracer_ints(l, "starts", &start, 1);
  ft_tracer_ints(l, "ends", &end, 1);
  ft_tracer_ints(l, "axes", &along, 1);
  return ft_tracer_end(l, 1);
}

uint32_t ft_tracer_cast(struct ft_tracer *l, uint32_t x, unsigned element)
{
  if (!element || ft_tracer_of(l, x)->element == element)
    return x;
  ft_tracer_op(l, "Cast");
  ft_tracer_in(l, x);
  ft_tracer_int(l, "to", element);
  return ft_tracer_end(l, 1);
}
