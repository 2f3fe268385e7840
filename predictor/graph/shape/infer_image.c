/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of operators on images: grids, patches, crops, inverse pooling. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Sampling grid for images of SIZE: (batch, [depth,] height, width, 2 or 3). */
int ft_infer_affine_grid(struct ft_infer *in)
{
  int64_t size[FT_GRAPH_RANK];
  int n = ft_list(in, NULL, 1, size, FT_GRAPH_RANK);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (x)
    y->element = x->element;
  if (n < 4)
    return 0;
  if (!ft_shape(in, y, n))
    return -1;
  size[1] = size[0]; /* the grid has no channel dimension */
  y->dims[n - 1] = ft_dim_of(n - 2);
  return ft_set_dims(in, y, 0, size + 1, n - 1);
}

/* (batch, channels x block elements, blocks) to (batch, channels, image...) */
int ft_infer_col2im(struct ft_infer *in)
{
  int64_t picture[FT_GRAPH_RANK], block[FT_GRAPH_RANK], elements;
  ft_dim each = ft_dim_of(1);
  int n = ft_list(in, NULL, 1, picture, FT_GRAPH_RANK - 2);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank != 3 || n < 1 || ft_list(in, NULL, 2, block, FT_GRAPH_RANK) != n)
    return 0;
  for (int i = 0; i < n; i++)
    each = ft_dim_times(each, ft_dim_of(block[i]));
  elements = ft_dim_or(each, -1);
  y->element = x->element;
  if (elements < 1)
    return ft_contradiction(in, "blocks of %lld elements", (long long)elements);
  if (!ft_shape(in, y, n + 2))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[1] = ft_dim_divide(x->dims[1], elements);
  return ft_set_dims(in, y, 2, picture, n);
}

/* Output sizes are the second input, for the dimensions "axes" or all. */
int ft_infer_center_crop_pad(struct ft_infer *in)
{
  int64_t sizes[FT_GRAPH_RANK], axes[FT_GRAPH_RANK];
  int n = ft_list(in, NULL, 1, sizes, FT_GRAPH_RANK);
  int chosen = ft_list(in, "axes", -1, axes, FT_GRAPH_RANK);
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 0)
    return 0;
  if (ft_like(in, y, x) < 0)
    return -1;
  if (n < 0)
    return ft_shape(in, y, x->rank) ? 0 : -1;
  if (chosen >= 0 ? chosen != n : x->rank != n)
    return ft_contradiction(in, "%d sizes for %d dimensions", n, chosen >= 0 ? chosen : x->rank);
  for (int i = 0; i < n; i++) {
    int axis = chosen >= 0 ? ft_axis(in, axes[i], x->rank) : i;

    if (axis < 0 || ft_set_dims(in, y, axis, &sizes[i], 1) < 0)
      return -1;
  }
  return 0;
}

/* Output size: the third input, otherwise the inverse of the pooling's output size. */
int ft_infer_max_unpool(struct ft_infer *in)
{
  int64_t sizes[FT_GRAPH_RANK], kernel[FT_GRAPH_RANK], strides[FT_GRAPH_RANK];
  int64_t pads[2 * FT_GRAPH_RANK] = { 0 };
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  int n, given;

  if (!x || x->rank < 3)
    return 0;
  n = x->rank - 2;
  if (ft_like(in, y, x) < 0)
    return -1;
  given = ft_list(in, NULL, 2, sizes, FT_GRAPH_RANK);
  if (given == x->rank)
    return ft_set_dims(in, y, 0, sizes, given);
  for (int i = 0; i < n && ft_input(in, 2); i++)
    y->dims[i + 2] = FT_DIM_UNKNOWN; /* set by the third input, whose values are unknown */
  if (ft_input(in, 2) || ft_list(in, "kernel_shape", -1, kernel, FT_GRAPH_RANK) != n)
    return 0;
  if (ft_list(in, "strides", -1, strides, FT_GRAPH_RANK) != n)
    for (int i = 0; i < n; i++)
      strides[i] = 1;
  (void)ft_list(in, "pads", -1, pads, 2 * n);
  for (int i = 0; i < n; i++) {
    int64_t around = 0, size;

    if (kernel[i] < 1 || strides[i] < 1 || kernel[i] > FT_GRAPH_DIMENSION ||
        __builtin_add_overflow(pads[i], pads[i + n], &around) || around < 0 ||
        around > FT_GRAPH_DIMENSION)
      return ft_contradiction(in, "a window of %lld at steps of %lld", (long long)kernel[i],
                              (long long)strides[i]);
    if (!ft_dim_get(ft_dim_minus(x->dims[i + 2], ft_dim_of(1)), &size))
      continue;
    size = ft_known_plus(ft_known_times(size, strides[i]), kernel[i]) - around;
    if (ft_set_dims(in, y, i + 2, &size, 1) < 0)
      return -1;
  }
  return 0;
}
