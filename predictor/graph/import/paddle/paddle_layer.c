/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of PaddlePaddle as operators of ATen. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/paddle/paddle_run.h"

/* ---- layers ---- */

/* Paddings of N dimensions. If the file gives 2 N numbers, those before and after are averaged. */
static struct ft_operand padding_argument(struct ft_pd_run *r, size_t n)
{
  const struct ft_pd_attribute *a = ft_pd_attribute(r, "paddings"),
                               *how = ft_pd_attribute(r, "padding_algorithm");
  struct ft_operand list = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);

  if (how && strcmp(how->text, "SAME") == 0)
    return ft_value_string("same");
  for (size_t i = 0; i < n && list.type == FT_VALUE_LIST; i++) {
    int64_t pad = !a || !a->integers  ? 0
                  : a->count == 2 * n ? (a->integers[2 * i] + a->integers[2 * i + 1] + 1) / 2
                  : a->count > i      ? a->integers[i]
                                      : 0;

    (void)ft_value_append(&r->live, list.list,
                          ft_value_int(how && strcmp(how->text, "VALID") == 0 ? 0 : pad));
  }
  return list;
}

static size_t spatial_dims(const struct ft_pd_run *r)
{
  return strstr(r->op->type, "3d") ? 3 : 2;
}

int ft_pd_convolution(struct ft_pd_run *r)
{
  bool transposed = strstr(r->op->type, "transpose") != NULL;
  struct ft_operand args[] = { ft_pd_input(r, "Input"),
                               ft_pd_input(r, "Filter"),
                               ft_pd_input(r, "Bias"),
                               ft_pd_integers(r, "strides"),
                               padding_argument(r, spatial_dims(r)),
                               ft_pd_integers(r, "dilations"),
                               ft_value_bool(transposed),
                               ft_pd_integers(r, "output_padding"),
                               ft_value_int(ft_pd_integer(r, "groups", 1)) };

  return ft_pd_call_and_give(r, "convolution", args, 9);
}

int ft_pd_pool(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *type = ft_pd_attribute(r, "pooling_type");
  bool largest = type && strcmp(type->text, "max") == 0;
  bool all = ft_pd_integer(r, "global_pooling", 0) != 0,
       adaptive = ft_pd_integer(r, "adaptive", 0) != 0;
  size_t n = spatial_dims(r);
  struct ft_operand args[7] = { ft_pd_input(r, "X"), ft_pd_integers(r, "ksize"),
                                ft_pd_integers(r, "strides"), padding_argument(r, n) };
  const char *name =
      n == 3 ? (largest ? "max_pool3d" : "avg_pool3d") : (largest ? "max_pool2d" : "avg_pool2d");

  if (all)
    args[1] = ft_value_int(1);
  if (all || adaptive) {
    struct ft_operand result;

    if (ft_pd_call(r,
                   n == 3 ? (largest ? "adaptive_max_pool3d" : "adaptive_avg_pool3d")
                          : (largest ? "adaptive_max_pool2d" : "adaptive_avg_pool2d"),
                   args, 2, &result) < 0)
      return -1;
    return ft_pd_give(r, result.type == FT_VALUE_TUPLE ? result.list->items[0] : result);
  }
  if (args[3].type == FT_VALUE_STRING)
    args[3] = ft_value_int(0);
  args[largest ? 4 : 5] = largest ? ft_value_int(1) : ft_value_none();
  args[largest ? 5 : 4] = ft_value_bool(ft_pd_integer(r, "ceil_mode", 0) != 0);
  return ft_pd_call_and_give(r, name, args, 6);
}

int ft_pd_normalisation(struct ft_pd_run *r)
{
  const char *type = r->op->type;
  struct ft_operand x = ft_pd_input(r, "X"), w = ft_pd_input(r, "Scale"),
                    b = ft_pd_input(r, "Bias");

  if (strcmp(type, "batch_norm") == 0 || strcmp(type, "sync_batch_norm") == 0) {
    struct ft_operand args[] = { x, w, b, ft_pd_input(r, "Mean"), ft_pd_input(r, "Variance") };

    return ft_pd_call_and_give(r, "batch_norm", args, 5);
  }
  if (strcmp(type, "group_norm") == 0) {
    struct ft_operand args[] = { x, ft_value_int(ft_pd_integer(r, "groups", 1)), w, b };

    return ft_pd_call_and_give(r, "group_norm", args, 4);
  }
  if (strcmp(type, "instance_norm") == 0) {
    struct ft_operand args[] = { x, w, b };

    return ft_pd_call_and_give(r, "instance_norm", args, 3);
  }
  /* layer_norm normalises the dimensions from begin_norm_axis on */
  struct ft_operand shape = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
  struct ft_operand args[] = { x, shape, w, b };
  int rank = x.type == FT_VALUE_TENSOR ? ft_tracer_of(&r->live, x.tensor)->rank : 0;

  for (int64_t i = ft_pd_integer(r, "begin_norm_axis", 1); i < rank && i >= 0; i++)
    if (shape.type == FT_VALUE_LIST)
      (void)ft_value_append(&r->live, shape.list, ft_value_int(1));
  return ft_pd_call_and_give(r, "layer_norm", args, 4);
}

/* WeightList: matrices of all layers and directions, then their biases. */
int ft_pd_recurrent(struct ft_pd_run *r)
{
  const struct ft_pd_attribute *mode = ft_pd_attribute(r, "mode");
  const char *name = !mode                             ? "lstm"
                     : strcmp(mode->text, "LSTM") == 0 ? "lstm"
                     : strcmp(mode->text, "GRU") == 0  ? "gru"
                                                       : "rnn_tanh";
  struct ft_operand list = ft_pd_input_list(r, "WeightList"), result;
  struct ft_operand weights = ft_value_list(&r->live, FT_VALUE_LIST, NULL, 0);
  bool both = ft_pd_integer(r, "is_bidirec", 0) != 0;
  struct ft_operand args[9] = { ft_pd_input(r, "Input"),
                                ft_pd_input_list(r, "PreState"),
                                weights,
                                ft_value_bool(true),
                                ft_value_int(ft_pd_integer(r, "num_layers", 1)),
                                ft_value_real(0),
                                ft_value_bool(false),
                                ft_value_bool(both),
                                ft_value_bool(false) };
  size_t half;

  if (list.type != FT_VALUE_LIST || weights.type != FT_VALUE_LIST)
    return -1;
  half = list.list->count / 2;
  for (size_t i = 0; i + 1 < half; i += 2)
    for (size_t j = 0; j < 4; j++)
      if (ft_value_append(&r->live, weights.list, list.list->items[(j / 2) * half + i + j % 2]) < 0)
        return -1;
  if (ft_pd_call(r, name, args, 9, &result) < 0)
    return -1;
  if (result.type != FT_VALUE_TUPLE)
    return ft_pd_give(r, result);
  for (size_t i = 1; i < result.list->count; i++)
    if (ft_pd_give_at(r, "State", i - 1, result.list->items[i]) < 0)
      return -1;
  return ft_pd_give(r, result.list->items[0]);
}

static int swap_last_dims(struct ft_pd_run *r, struct ft_operand *x)
{
  struct ft_operand args[] = { *x, ft_value_int(-2), ft_value_int(-1) };

  return ft_pd_call(r, "transpose", args, 3, x);
}

int ft_pd_product(struct ft_pd_run *r)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_input(r, "Y") };

  if ((ft_pd_integer(r, "trans_x", ft_pd_integer(r, "transpose_X", 0)) &&
       swap_last_dims(r, &args[0]) < 0) ||
      (ft_pd_integer(r, "trans_y", ft_pd_integer(r, "transpose_Y", 0)) &&
       swap_last_dims(r, &args[1]) < 0))
    return -1;
  return ft_pd_call_and_give(r, "matmul", args, 2);
}

/* Makes the weight B the bias of the layer that computes X if B's size is the channel dimension
 * (last of a product, second of a convolution). Returns whether it did. */
static bool fold_bias(struct ft_pd_run *r, uint32_t x, struct ft_weight *b)
{
  const struct ft_tensor *t = ft_tracer_of(&r->live, x);
  int channels = b->declared.rank == 1 ? t->rank - 1 : 1;

  return t->rank > channels && channels >= 0 &&
         ft_tracer_add_bias(&r->live, x, b, t->dims[channels]);
}

/* Broadcasts Y, whose dimensions match X's from attribute axis on. */
int ft_pd_elementwise(struct ft_pd_run *r, const char *name)
{
  struct ft_operand args[] = { ft_pd_input(r, "X"), ft_pd_input(r, "Y") };
  int64_t axis = ft_pd_integer(r, "axis", -1);
  ft_dim dims[FT_GRAPH_RANK];
  uint32_t x = ft_value_as_tensor(&r->live, &args[0]), y;
  int p, q;

  if (x && strcmp(name, "add") == 0 && args[1].type == FT_VALUE_WEIGHT &&
      fold_bias(r, x, args[1].weight))
    return ft_pd_give(r, args[0]);
  y = ft_value_as_tensor(&r->live, &args[1]);
  if (!x || !y)
    return ft_tracer_fail(&r->live, "%s: expected two inputs", r->op->type);
  p = ft_tracer_of(&r->live, x)->rank;
  q = ft_tracer_of(&r->live, y)->rank;
  args[0] = ft_value_tensor(x);
  if (axis >= 0 && q > 0 && axis + q < p) {
    for (int i = 0; i < p - axis; i++)
      dims[i] = i < q ? ft_tracer_of(&r->live, y)->dims[i] : ft_dim_of(1);
    y = ft_tracer_reshape(&r->live, y, dims, (int)(p - axis));
    if (!y)
      return -1;
  }
  args[1] = ft_value_tensor(y);
  return ft_pd_call_and_give(r, name, args, 2);
}
