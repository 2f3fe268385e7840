/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of attention and of recurrent-state operators (ONNX 23 to 28). */
#include "config.h"

#include "predictor/graph/shape/infer.h"

/* Returns the length of the KV cache PAST; 0 if it is absent. */
static ft_dim past_length(const struct ft_tensor *past)
{
  return !past ? ft_dim_of(0) : past->rank == 4 ? past->dims[2] : FT_DIM_UNKNOWN;
}

/* Sets output I to keys or values X appended to PAST: (batch, heads, length, head size). */
static int append_past_states(struct ft_infer *in, unsigned i, const struct ft_tensor *x,
                              int64_t heads, const struct ft_tensor *past)
{
  struct ft_tensor *y = ft_output(in, i);

  if (in->op->output_count <= i)
    return 0;
  y->element = x->element;
  if (!ft_shape(in, y, 4))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[2] = ft_dim_plus(x->dims[x->rank - 2], past_length(past));
  y->dims[3] = x->rank == 4 ? x->dims[3] : ft_dim_divide(x->dims[2], heads);
  if (x->rank == 3)
    return ft_set_dims(in, y, 1, &heads, 1);
  y->dims[1] = x->dims[1];
  return 0;
}

/* Inputs: queries, keys, values, (batch, length, heads x size) or (batch, heads, length, size),
 * and the KV cache. Outputs: the result, the new keys and values, the scores. */
int ft_infer_attention(struct ft_infer *in)
{
  const struct ft_tensor *q = ft_input(in, 0), *k = ft_input(in, 1), *v = ft_input(in, 2);
  int64_t heads = ft_integer(in->op, "q_num_heads", 0), kv = ft_integer(in->op, "kv_num_heads", 0);
  struct ft_tensor *y = ft_output(in, 0), *scores = ft_output(in, 3);

  if (!q || !k || !v || q->rank < 3 || v->rank != q->rank)
    return 0;
  if (ft_like(in, y, q) < 0)
    return -1;
  y->dims[q->rank - 1] = v->dims[q->rank - 1];
  if (q->rank == 3 && heads > 0 && kv > 0)
    y->dims[2] = ft_dim_times(ft_dim_divide(v->dims[2], kv), ft_dim_of(heads));
  if (q->rank > 4 || k->rank != q->rank)
    return 0;
  if (append_past_states(in, 1, k, kv, ft_input(in, 4)) < 0 ||
      append_past_states(in, 2, v, kv, ft_input(in, 5)) < 0)
    return -1;
  if (in->op->output_count < 4)
    return 0;
  if (!ft_shape(in, scores, 4))
    return -1;
  scores->element = q->element;
  scores->dims[0] = q->dims[0];
  scores->dims[2] = q->dims[q->rank - 2];
  scores->dims[3] = ft_output(in, 1)->rank == 4 ? ft_output(in, 1)->dims[2] : k->dims[k->rank - 2];
  if (q->rank == 3)
    return ft_set_dims(in, scores, 1, &heads, 1);
  scores->dims[1] = q->dims[1];
  return 0;
}

/* Queries are (batch, length, heads x size), the state (batch, KV heads, key size, value size). */
int ft_infer_linear_attention(struct ft_infer *in)
{
  int64_t heads = ft_integer(in->op, "q_num_heads", 0), kv = ft_integer(in->op, "kv_num_heads", 0);
  const struct ft_tensor *q = ft_input(in, 0), *k = ft_input(in, 1), *v = ft_input(in, 2);
  struct ft_tensor *y = ft_output(in, 0), *state = ft_output(in, 1);

  if (!q || !k || !v || q->rank != 3 || k->rank != 3 || v->rank != 3)
    return 0;
  if (heads < 1 || kv < 1 || heads % kv || heads > FT_GRAPH_DIMENSION)
    return ft_contradiction(in, "%lld heads of queries and %lld of keys", (long long)heads,
                            (long long)kv);
  if (ft_like(in, y, q) < 0)
    return -1;
  y->dims[2] = ft_dim_times(ft_dim_divide(v->dims[2], kv), ft_dim_of(heads));
  if (in->op->output_count < 2)
    return 0;
  state->element = q->element;
  if (!ft_shape(in, state, 4))
    return -1;
  state->dims[0] = q->dims[0];
  state->dims[1] = ft_dim_of(kv);
  state->dims[2] = ft_dim_divide(k->dims[2], kv);
  state->dims[3] = ft_dim_divide(v->dims[2], kv);
  return 0;
}

/* Output like the input (batch, channels, length); state: the last (kernel size - 1) inputs. */
int ft_infer_causal_conv(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *w = ft_input(in, 1);
  struct ft_tensor *state = ft_output(in, 1);

  if (!x || !w || x->rank != 3 || w->rank != 3)
    return 0;
  if (ft_dim_differ(x->dims[1], w->dims[0]))
    return ft_contradiction(in, "%lld channels, but filters for %lld", ft_dim_shown(x->dims[1]),
                            ft_dim_shown(w->dims[0]));
  if (ft_like(in, ft_output(in, 0), x) < 0)
    return -1;
  if (in->op->output_count < 2)
    return 0;
  if (ft_like(in, state, x) < 0)
    return -1;
  state->dims[2] = ft_dim_minus(w->dims[2], ft_dim_of(1));
  return 0;
}
