/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of linear layers and determinants. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Linear layer with PyTorch's weight layout: (..., in) with (out, in) gives (..., out). */
int ft_infer_linear(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *w = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || !w || x->rank < 0 || w->rank < 0)
    return 0;
  if (x->rank < 1 || w->rank != 2)
    return ft_contradiction(in, "an input of %d dimensions and a matrix of %d", x->rank, w->rank);
  if (ft_dim_differ(x->dims[x->rank - 1], w->dims[1]))
    return ft_contradiction(in, "%lld features, but weights for %lld",
                            ft_dim_shown(x->dims[x->rank - 1]), ft_dim_shown(w->dims[1]));
  if (ft_like(in, y, x) < 0)
    return -1;
  y->dims[y->rank - 1] = w->dims[0];
  return 0;
}

/* Each row of (rows, in) times the matrix of its group: weights (groups, out, in) give (rows, out).
 */
int ft_infer_grouped_linear(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *w = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || !w || x->rank < 0 || w->rank < 0)
    return 0;
  if (x->rank != 2 || w->rank != 3)
    return ft_contradiction(in, "an input of %d dimensions and weights of %d", x->rank, w->rank);
  if (ft_dim_differ(x->dims[1], w->dims[2]))
    return ft_contradiction(in, "%lld features, but weights for %lld", ft_dim_shown(x->dims[1]),
                            ft_dim_shown(w->dims[2]));
  if (ft_like(in, y, x) < 0)
    return -1;
  y->dims[1] = w->dims[1];
  return 0;
}

/* One determinant per matrix: the last two dimensions are dropped. */
int ft_infer_det(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 2)
    return 0;
  y->element = x->element;
  if (!ft_shape(in, y, x->rank - 2))
    return -1;
  memcpy(y->dims, x->dims, (size_t)y->rank * sizeof *y->dims);
  return 0;
}
