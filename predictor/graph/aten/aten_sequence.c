/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recurrent layers and attention of ATen. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

/* ---- recurrent layers ---- */

/* Joins tensors that PyTorch keeps separate and ONNX joins: one per direction, or two biases. */
static struct ft_weight *join_weights(struct ft_tracer *l, struct ft_weight *const *parts,
                                      unsigned count, unsigned directions)
{
  const struct ft_declared *first = &parts[0]->declared;
  struct ft_weight *w = parts[0]->joined;
  int rank = first->rank;
  ft_dim rows = ft_dim_of(0);

  if (w)
    return w;
  w = ft_tracer_take(l, sizeof *w);
  if (!w)
    return NULL;
  w->name = parts[0]->name;
  w->declared =
      (struct ft_declared){ .rank = rank + 1, .element = first->element, .kept = first->kept };
  w->declared.dims = ft_tracer_take(l, (size_t)(rank + 2) * sizeof *w->declared.dims);
  if (!w->declared.dims)
    return NULL;
  for (unsigned i = 0; i < count; i++) {
    rows = ft_dim_plus(rows, parts[i]->declared.dims[0]);
    w->declared.elements = ft_known_plus(w->declared.elements, parts[i]->declared.elements);
  }
  w->declared.dims[0] = ft_dim_of(directions);
  w->declared.dims[1] = ft_dim_divide(rows, directions);
  for (int i = 1; i < rank; i++)
    w->declared.dims[i + 1] = first->dims[i];
  parts[0]->joined = w;
  return w;
}

/* Joined weights of a layer into W: input, recurrent, biases (0: none). */
static int join_layer(struct ft_call *c, const struct ft_operand *params, unsigned each,
                      unsigned directions, uint32_t out[3])
{
  struct ft_weight *parts[4];

  out[2] = 0;
  for (unsigned k = 0; k < (each > 2 ? 3 : 2); k++) {
    unsigned count = 0;
    struct ft_weight *w;

    for (unsigned d = 0; d < directions; d++)
      for (unsigned j = k; j < (k == 2 ? 4 : k + 1); j++) {
        const struct ft_operand *p = &params[d * each + j];

        if (p->type != FT_VALUE_WEIGHT || p->weight->declared.rank != (k == 2 ? 1 : 2))
          return 1;
        parts[count++] = p->weight;
      }
    w = join_weights(c->l, parts, count, directions);
    out[k] = w ? ft_tracer_weight(c->l, w) : 0;
    if (!out[k])
      return -1;
  }
  return 0;
}

/* One layer over a sequence X (steps, batch, features); OUT: results and last states. */
static uint32_t record_recurrent_layer(struct ft_call *c, uint32_t x, const uint32_t w[3],
                                       unsigned directions, unsigned outputs)
{
  const char *type = c->type;
  ft_dim hidden = ft_tracer_of(c->l, w[1])->dims[2];

  ft_tracer_op(c->l, type);
  ft_tracer_in(c->l, x);
  for (int i = 0; i < 3; i++)
    ft_tracer_in(c->l, w[i]);
  ft_tracer_int(c->l, "hidden_size", ft_dim_or(hidden, -1));
  ft_tracer_string(c->l, "direction", directions == 2 ? "bidirectional" : "forward");
  return ft_tracer_end(c->l, outputs);
}

/* (steps, directions, batch, hidden) to PyTorch's (steps, batch, directions x hidden). */
static uint32_t merge_directions(struct ft_tracer *l, uint32_t y)
{
  static const int64_t turned[] = { 0, 2, 1, 3 };
  const struct ft_tensor *t = ft_tracer_of(l, y);
  ft_dim dims[3];

  if (t->rank != 4)
    return y;
  dims[0] = t->dims[0];
  dims[1] = t->dims[2];
  dims[2] = ft_dim_times(t->dims[1], t->dims[3]);
  if (!ft_dim_is(t->dims[1], 1))
    y = ft_tracer_transpose(l, y, turned, 4);
  return y ? ft_tracer_reshape(l, y, dims, 3) : 0;
}

static uint32_t join_states(struct ft_tracer *l, const uint32_t *states, unsigned layers)
{
  if (layers == 1)
    return states[0];
  ft_tracer_op(l, "Concat");
  for (unsigned i = 0; i < layers; i++)
    ft_tracer_in(l, states[i]);
  ft_tracer_int(l, "axis", 0);
  return ft_tracer_end(l, 1);
}

/* (x, states, weights, biases?, layers, dropout, training, bidirectional, batch_first) */
int ft_aten_recurrent(struct ft_call *c)
{
  static const int64_t swapped[] = { 1, 0, 2 };
  enum { LAYERS = 64 }; /* at most, against hostile files */
  const struct ft_operand *params = ft_arg(c, 2, NULL);
  bool biases = ft_arg_bool(c, 3, NULL, true), batch_first = ft_arg_bool(c, 8, NULL, false);
  unsigned directions = ft_arg_bool(c, 7, NULL, false) ? 2 : 1, each = biases ? 4 : 2;
  unsigned outputs = strcmp(c->name, "lstm") == 0 ? 3 : 2;
  int64_t layers = ft_arg_int(c, 4, NULL, 1);
  uint32_t x, w[3], y = 0, states[2][LAYERS];
  struct ft_operand parts[3];
  int status;

  if (params->type != FT_VALUE_LIST || layers < 1 || layers > LAYERS || ft_arg_rank(c, 0) != 3 ||
      params->list->count != (size_t)layers * directions * each)
    return ft_aten_unknown(c);
  x = ft_arg_tensor(c, 0);
  if (x && batch_first)
    x = ft_tracer_transpose(c->l, x, swapped, 3);
  for (unsigned i = 0; x && i < layers; i++) {
    status = join_layer(c, params->list->items + i * directions * each, each, directions, w);
    if (status)
      return status < 0 ? -1 : ft_aten_unknown(c);
    y = record_recurrent_layer(c, x, w, directions, outputs);
    if (!y)
      return -1;
    for (unsigned k = 1; k < outputs; k++)
      states[k - 1][i] = y + k;
    x = merge_directions(c->l, y);
  }
  if (x && batch_first)
    x = ft_tracer_transpose(c->l, x, swapped, 3);
  if (!x)
    return -1;
  parts[0] = ft_value_tensor(x);
  for (unsigned k = 1; k < outputs; k++) {
    parts[k] = ft_value_tensor(join_states(c->l, states[k - 1], (unsigned)layers));
    if (!parts[k].tensor)
      return -1;
  }
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, parts, outputs);
  return 0;
}

static uint32_t add_linear(struct ft_tracer *l, uint32_t x, uint32_t w, uint32_t b)
{
  if (!x || !w)
    return 0;
  ft_tracer_op(l, "Linear");
  ft_tracer_in(l, x);
  ft_tracer_in(l, w);
  if (b)
    ft_tracer_in(l, b);
  return ft_tracer_end(l, 1);
}

static uint32_t add_binary(struct ft_tracer *l, const char *type, uint32_t a, uint32_t b)
{
  return a && b ? ft_tracer_binary(l, type, a, b) : 0;
}

static uint32_t add_unary(struct ft_tracer *l, const char *type, uint32_t x)
{
  return x ? ft_tracer_unary(l, type, x) : 0;
}

static uint32_t split_gates(struct ft_tracer *l, uint32_t x, uint32_t count)
{
  if (!x)
    return 0;
  ft_tracer_op(l, "Split");
  ft_tracer_in(l, x);
  ft_tracer_int(l, "axis", -1);
  return ft_tracer_end(l, count);
}

/* LSTM (Hochreiter and Schmidhuber 1997), gates in PyTorch's order: i, f, g, o. */
static int lstm_step(struct ft_call *c, uint32_t gates, uint32_t cell)
{
  struct ft_tracer *l = c->l;
  uint32_t g = split_gates(l, gates, 4), kept, added, output;
  struct ft_operand both[2];

  if (!g)
    return -1;
  kept = add_binary(l, "Mul", add_unary(l, "Sigmoid", g + 1), cell);
  added = add_binary(l, "Mul", add_unary(l, "Sigmoid", g), add_unary(l, "Tanh", g + 2));
  cell = add_binary(l, "Add", kept, added);
  output = add_binary(l, "Mul", add_unary(l, "Sigmoid", g + 3), add_unary(l, "Tanh", cell));
  if (!output)
    return -1;
  both[0] = ft_value_tensor(output);
  both[1] = ft_value_tensor(cell);
  c->result = ft_value_list(l, FT_VALUE_TUPLE, both, 2);
  return 0;
}

/* GRU (Cho et al. 2014), gates in PyTorch's order: r, z, n. */
static int gru_step(struct ft_call *c, uint32_t fed, uint32_t kept, uint32_t h)
{
  struct ft_tracer *l = c->l;
  uint32_t a = split_gates(l, fed, 3), b = split_gates(l, kept, 3), r, z, n;

  if (!a || !b)
    return -1;
  r = add_unary(l, "Sigmoid", add_binary(l, "Add", a, b));
  z = add_unary(l, "Sigmoid", add_binary(l, "Add", a + 1, b + 1));
  n = add_unary(l, "Tanh", add_binary(l, "Add", a + 2, add_binary(l, "Mul", r, b + 2)));
  return ft_give(c, add_binary(l, "Add", n, add_binary(l, "Mul", z, add_binary(l, "Sub", h, n))));
}

/* (x, h or [h, c], w_ih, w_hh, b_ih, b_hh) */
int ft_aten_cell(struct ft_call *c)
{
  bool lstm = strcmp(c->name, "lstm_cell") == 0;
  const struct ft_operand *states = ft_arg(c, 1, "hx"), *h = states;
  uint32_t hidden, fed, kept;

  if (lstm) {
    if (!ft_value_is_list(states) || states->list->count != 2)
      return ft_aten_unknown(c);
    h = &states->list->items[0];
  }
  hidden = ft_value_as_tensor(c->l, h);
  fed = add_linear(c->l, ft_arg_tensor(c, 0), ft_arg_tensor(c, 2), ft_arg_optional(c, 4));
  kept = add_linear(c->l, hidden, ft_arg_tensor(c, 3), ft_arg_optional(c, 5));
  if (!fed || !kept)
    return -1;
  if (lstm)
    return lstm_step(c, add_binary(c->l, "Add", fed, kept),
                     ft_value_as_tensor(c->l, &states->list->items[1]));
  if (strcmp(c->name, "gru_cell") == 0)
    return gru_step(c, fed, kept, hidden);
  return ft_give(c, add_unary(c->l, "Tanh", add_binary(c->l, "Add", fed, kept)));
}

/* ---- attention ---- */

static uint32_t add_attention(struct ft_tracer *l, uint32_t q, uint32_t k, uint32_t v,
                              uint32_t mask)
{
  if (!q || !k || !v)
    return 0;
  ft_tracer_op(l, "Attention");
  ft_tracer_in(l, q);
  ft_tracer_in(l, k);
  ft_tracer_in(l, v);
  if (mask)
    ft_tracer_in(l, mask);
  return ft_tracer_end(l, 1);
}

int ft_aten_attention(struct ft_call *c)
{
  uint32_t q = ft_arg_tensor(c, 0), k = ft_arg_tensor(c, 1), v = ft_arg_tensor(c, 2), y;
  bool masked = strcmp(c->name, "scaled_dot_product_attention") == 0;

  y = add_attention(c->l, q, k, v, masked ? ft_arg_optional(c, 3) : 0);
  if (masked || !y)
    return ft_give(c, y);
  return ft_give_first(c, y, 8);
}

/* (batch, length, features) to (batch, heads, length, features / heads). */
static uint32_t split_heads(struct ft_tracer *l, uint32_t x, int64_t heads)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_tensor *t = ft_tracer_of(l, x);
  ft_dim dims[4] = { t->dims[0], t->dims[1], ft_dim_of(heads), ft_dim_divide(t->dims[2], heads) };

  x = ft_tracer_reshape(l, x, dims, 4);
  return x ? ft_tracer_transpose(l, x, order, 4) : 0;
}

/* Self-attention of X with one matrix for queries, keys and values. */
static uint32_t self_attention(struct ft_tracer *l, uint32_t x, int64_t heads, const uint32_t w[4])
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  ft_dim dims[3];
  uint32_t qkv = add_linear(l, x, w[0], w[1]), p, y;

  if (!qkv || ft_tracer_of(l, x)->rank != 3 || heads < 1)
    return 0;
  memcpy(dims, ft_tracer_of(l, x)->dims, sizeof dims);
  p = split_gates(l, qkv, 3);
  if (!p)
    return 0;
  y = add_attention(l, split_heads(l, p, heads), split_heads(l, p + 1, heads),
                    split_heads(l, p + 2, heads), 0);
  y = y ? ft_tracer_transpose(l, y, order, 4) : 0;
  y = y ? ft_tracer_reshape(l, y, dims, 3) : 0;
  return add_linear(l, y, w[2], w[3]);
}

static uint32_t add_layer_norm(struct ft_tracer *l, uint32_t x, uint32_t w, uint32_t b)
{
  if (!x)
    return 0;
  ft_tracer_op(l, "LayerNormalization");
  ft_tracer_in(l, x);
  ft_tracer_in(l, w);
  ft_tracer_in(l, b);
  ft_tracer_int(l, "axis", -1);
  return ft_tracer_end(l, 1);
}

/* nn.TransformerEncoderLayer calls it in evaluation. */
int ft_aten_encoder_layer(struct ft_call *c)
{
  bool gelu = ft_arg_bool(c, 7, NULL, false), norm_first = ft_arg_bool(c, 8, NULL, false);
  int64_t heads = ft_arg_int(c, 2, NULL, 1);
  struct ft_tracer *l = c->l;
  uint32_t w[18], x, y;

  if (ft_arg_rank(c, 0) != 3 || heads < 1)
    return ft_aten_unknown(c);
  for (unsigned i = 3; i < 18; i++)
    w[i] = i < 7 || i > 9 ? ft_arg_tensor(c, i) : 0;
  x = ft_arg_tensor(c, 0);
  y = self_attention(l, norm_first ? add_layer_norm(l, x, w[10], w[11]) : x, heads, w + 3);
  x = add_binary(l, "Add", x, y);
  x = norm_first ? x : add_layer_norm(l, x, w[10], w[11]);
  y = norm_first ? add_layer_norm(l, x, w[12], w[13]) : x;
  y = add_linear(l, add_unary(l, gelu ? "Gelu" : "Relu", add_linear(l, y, w[14], w[15])), w[16],
                 w[17]);
  x = add_binary(l, "Add", x, y);
  return ft_give(c, norm_first ? x : add_layer_norm(l, x, w[12], w[13]));
}

/* (query, key, value, features, heads, qkv, bias, projection, bias, ...) */
int ft_aten_native_attention(struct ft_call *c)
{
  struct ft_operand both[2] = { { 0 } };
  uint32_t w[4], y;

  if (ft_arg_rank(c, 0) != 3)
    return ft_aten_unknown(c);
  for (unsigned i = 0; i < 4; i++)
    w[i] = ft_arg_tensor(c, 5 + i);
  y = self_attention(c->l, ft_arg_tensor(c, 0), ft_arg_int(c, 4, NULL, 1), w);
  if (!y)
    return -1;
  both[0] = ft_value_tensor(y);
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, both, 2);
  return 0;
}
