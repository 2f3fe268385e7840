/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Losses and similarities of ATen, and other operators that combine two tensors. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

enum { COMPLEX = 14 }; /* onnx.TensorProto.COMPLEX64 */

static bool is_named(const struct ft_call *c, const char *name)
{
  return strcmp(c->name, name) == 0;
}

/* Returns the mean of X over AXIS, NULL: over all dimensions; 0 if X is 0. */
static uint32_t reduce_mean(struct ft_tracer *l, uint32_t x, const int64_t *axis, bool keep)
{
  if (!x)
    return 0;
  ft_tracer_op(l, "ReduceMean");
  ft_tracer_in(l, x);
  if (axis)
    ft_tracer_ints(l, "axes", axis, 1);
  ft_tracer_int(l, "keepdims", keep);
  return ft_tracer_end(l, 1);
}

/* Combines the first COUNT arguments by operators of TYPE. Returns 0 on error. */
static uint32_t join_arguments(struct ft_call *c, const char *type, unsigned count)
{
  uint32_t y = ft_arg_tensor(c, 0);

  for (unsigned i = 1; y && i < count; i++) {
    uint32_t x = ft_arg_tensor(c, i);

    y = x ? ft_tracer_binary(c->l, type, y, x) : 0;
  }
  return y;
}

/* Argument that holds the reduction, number of tensors before it, and the dimension that each
 * loss sums over (NONE: none). */
enum { NONE = 99 };
static const struct loss {
  const char *name;
  uint8_t reduction, tensors;
  int8_t axis;
} losses[] = { { "binary_cross_entropy", 3, 2, NONE },
               { "binary_cross_entropy_with_logits", 4, 2, NONE },
               { "cosine_embedding_loss", 4, 2, -1 },
               { "hinge_embedding_loss", 3, 2, NONE },
               { "huber_loss", 2, 2, NONE },
               { "kl_div", 2, 2, NONE },
               { "l1_loss", 2, 2, NONE },
               { "margin_ranking_loss", 4, 3, NONE },
               { "mse_loss", 2, 2, NONE },
               { "multi_margin_loss", 5, 1, -1 },
               { "multilabel_margin_loss", 2, 2, -1 },
               { "poisson_nll_loss", 5, 2, NONE },
               { "smooth_l1_loss", 2, 2, NONE },
               { "soft_margin_loss", 2, 2, NONE },
               { "triplet_margin_loss", 7, 3, -1 } };

/* at::Reduction: 0 none, 1 mean, 2 sum */
int ft_aten_loss(struct ft_call *c)
{
  const struct loss *loss = NULL;
  int64_t axis;
  uint32_t y;

  for (size_t i = 0; i < sizeof losses / sizeof *losses && !loss; i++)
    if (is_named(c, losses[i].name))
      loss = &losses[i];
  if (!loss)
    return ft_aten_unknown(c);
  axis = loss->axis;
  y = join_arguments(c, "Sub", loss->tensors);
  if (y && axis != NONE)
    y = reduce_mean(c->l, y, &axis, false);
  if (ft_arg_int(c, loss->reduction, "reduction", 1) != 0)
    y = reduce_mean(c->l, y, NULL, false);
  return ft_give(c, y);
}

/* cross_entropy_loss(x, target, weight, reduction), nll_loss, nll_loss2d, nll_loss_nd;
 * nll_loss_forward also returns the total weight */
int ft_aten_class_loss(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), target = ft_arg_tensor(c, 1), y;

  if (!x || !target)
    return -1;
  if (is_named(c, "cross_entropy_loss"))
    x = ft_tracer_unary(c->l, "LogSoftmax", x);
  if (!x)
    return -1;
  ft_tracer_op(c->l, "NegativeLogLikelihoodLoss");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, target);
  if (ft_arg_int(c, 3, "reduction", 1) == 0)
    ft_tracer_string(c->l, "reduction", "none");
  y = ft_tracer_end(c->l, 1);
  return strstr(c->name, "_forward") ? ft_give_first(c, y, 1) : ft_give(c, y);
}

/* cdist(a, b): (..., n, d) and (..., m, d) to (..., n, m) */
int ft_aten_cdist(struct ft_call *c)
{
  ft_dim dims[FT_GRAPH_RANK];
  uint32_t x, y = ft_arg_tensor(c, 1);
  const struct ft_tensor *t = ft_aten_shaped(c, &x), *u = y ? ft_tracer_of(c->l, y) : NULL;

  if (!t || !u || t->rank < 2 || u->rank < 2)
    return ft_aten_not_shaped(c, y ? x : 0);
  memcpy(dims, t->dims, (size_t)t->rank * sizeof *dims);
  dims[t->rank - 1] = u->dims[u->rank - 2];
  return ft_aten_of_shape(c, dims, t->rank, t->element);
}

/* cosine_similarity(a, b, dim = 1), pairwise_distance(a, b, p, eps, keepdim), dist(a, b, p) */
int ft_aten_similarity(struct ft_call *c)
{
  bool cosine = is_named(c, "cosine_similarity");
  int64_t axis = cosine ? ft_arg_int(c, 2, "dim", 1) : -1;
  uint32_t y = join_arguments(c, cosine ? "Mul" : "Sub", 2);

  return ft_give(
      c, reduce_mean(c->l, y, is_named(c, "dist") ? NULL : &axis,
                     is_named(c, "pairwise_distance") && ft_arg_bool(c, 4, "keepdim", false)));
}

/* broadcast_tensors(list) */
int ft_aten_broadcast(struct ft_call *c)
{
  const struct ft_operand *v = ft_arg(c, 0, "tensors");
  struct ft_operand all = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  const struct ft_tensor *t;
  uint32_t together = 0, x, dims;

  if (!ft_value_is_list(v))
    return ft_aten_unknown(c);
  for (size_t i = 0; i < v->list->count; i++) {
    x = ft_value_as_tensor(c->l, &v->list->items[i]);
    if (!x)
      return -1;
    together =
        together ? ft_tracer_binary(c->l, "Add", together, x) : x; /* computed for its shape only */
  }
  t = together ? ft_tracer_of(c->l, together) : NULL;
  if (!t || t->rank < 0)
    return ft_aten_unknown(c);
  dims = ft_tracer_sizes(c->l, t->dims, t->rank);
  for (size_t i = 0; dims && i < v->list->count; i++) {
    x = ft_tracer_binary(c->l, "Expand", ft_value_as_tensor(c->l, &v->list->items[i]), dims);
    if (!x || ft_value_append(c->l, all.list, ft_value_tensor(x)) < 0)
      return -1;
  }
  c->result = all;
  return 0;
}

/* _weight_norm(v, g, dim) = v g / |v|; the interface variant also returns the norms */
int ft_aten_weight_norm(struct ft_call *c)
{
  uint32_t y = join_arguments(c, "Mul", 2);

  return strstr(c->name, "interface") ? ft_give_first(c, y, 1) : ft_give(c, y);
}

/* diff(x, n = 1, dim = -1, prepend, append); other n are unknown operators */
int ft_aten_diff(struct ft_call *c)
{
  const struct ft_tensor *t;
  uint32_t x, in[3], count = 0, sides[2];
  int64_t size;
  int axis;

  t = ft_aten_shaped(c, &x);
  if (!t || !t->rank || ft_arg_int(c, 1, "n", 1) != 1)
    return ft_aten_not_shaped(c, x);
  axis = ft_arg_axis(c, 2, "dim", -1, t->rank);
  if (axis < 0)
    return -1;
  if (ft_value_is_tensor(ft_arg(c, 3, "prepend")))
    in[count++] = ft_value_as_tensor(c->l, ft_arg(c, 3, "prepend"));
  in[count++] = x;
  if (ft_value_is_tensor(ft_arg(c, 4, "append")))
    in[count++] = ft_value_as_tensor(c->l, ft_arg(c, 4, "append"));
  x = count > 1 ? ft_tracer_concat(c->l, in, count, axis) : x;
  if (!x)
    return -1;
  if (!ft_dim_get(ft_tracer_of(c->l, x)->dims[axis], &size) || size < 1)
    return ft_aten_unknown(c);
  sides[0] = ft_tracer_slice(c->l, x, axis, 1, size, 1);
  sides[1] = sides[0] ? ft_tracer_slice(c->l, x, axis, 0, size - 1, 1) : 0;
  return ft_give(c, sides[1] ? ft_tracer_binary(c->l, "Sub", sides[0], sides[1]) : 0);
}

/* _grouped_mm(x (tokens, in), experts (n, in, out), ends): each token times one matrix */
int ft_aten_grouped_mm(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0), w = ft_arg_tensor(c, 1);
  const struct ft_tensor *t = x ? ft_tracer_of(c->l, x) : NULL,
                         *u = w ? ft_tracer_of(c->l, w) : NULL;
  ft_dim dims[2];

  if (!t || !u)
    return -1;
  if (u->rank == 3 && t->rank == 2) {
    dims[0] = u->dims[1];
    dims[1] = u->dims[2];
    w = ft_tracer_slice(c->l, w, 0, 0, 1, 1);
    w = w ? ft_tracer_reshape(c->l, w, dims, 2) : 0;
  } else if (u->rank != 3 || t->rank != 3) {
    return ft_aten_unknown(c);
  }
  return ft_give(c, w ? ft_tracer_binary(c->l, "MatMul", x, w) : 0);
}

/* histc(x, bins = 100) */
int ft_aten_histogram(struct ft_call *c)
{
  ft_dim bins = ft_dim_of(ft_arg_int(c, 1, "bins", 100));

  return ft_dim_known(bins) ? ft_aten_of_shape(c, &bins, 1, FT_ELEMENT_FLOAT) : ft_aten_unknown(c);
}

/* stft(x, n_fft, hop, win, window, normalized, onesided, return_complex), padded beforehand */
int ft_aten_stft(struct ft_call *c)
{
  int64_t size = ft_arg_int(c, 1, "n_fft", -1), hop = ft_arg_int(c, 2, "hop_length", size / 4),
          length;
  bool one_sided = ft_arg_bool(c, 6, "onesided", true), complex = ft_arg_bool(c, 7, NULL, true);
  ft_dim dims[4];
  const struct ft_tensor *t;
  uint32_t x;
  int n = 0;

  t = ft_aten_shaped(c, &x);
  if (!t || t->rank < 1 || t->rank > 2 || size < 1 || hop < 1 ||
      !ft_dim_get(t->dims[t->rank - 1], &length) || length < size)
    return ft_aten_not_shaped(c, x);
  if (t->rank == 2)
    dims[n++] = t->dims[0];
  dims[n++] = ft_dim_of(one_sided ? size / 2 + 1 : size);
  dims[n++] = ft_dim_of(1 + (length - size) / hop);
  if (!complex)
    dims[n++] = ft_dim_of(2);
  return ft_aten_of_shape(c, dims, n, complex ? COMPLEX : FT_ELEMENT_FLOAT);
}
