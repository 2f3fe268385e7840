/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attention, transformer layers and stacks of them. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_run.h"

static uint32_t record_rotary(struct ft_hf_run *r, uint32_t x)
{
  if (!x)
    return 0;
  ft_tracer_op(&r->live, "RotaryEmbedding");
  ft_tracer_in(&r->live, x);
  if (r->m->rope_in_float32)
    ft_tracer_hints(&r->live)->decomposed = "rotary";
  return ft_tracer_end(&r->live, 1);
}

/* Rotary position embedding of the first rotary_dim features of X (batch, heads, length,
 * features). */
static uint32_t rotate_positions(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t part[2];

  if (!x || !m->rotary)
    return x;
  if (m->rotary_dim < 1 || m->rotary_dim >= m->head_dim)
    return record_rotary(r, x);
  part[0] = ft_tracer_slice(&r->live, x, 3, 0, m->rotary_dim, 1);
  part[1] = ft_tracer_slice(&r->live, x, 3, m->rotary_dim, m->head_dim, 1);
  part[0] = record_rotary(r, part[0]);
  return part[0] && part[1] ? ft_tracer_concat(&r->live, part, 2, 3) : 0;
}

/* Projects X to queries, keys or values with the weight NAME. ALL (or 0): output of a fused
 * projection, in which the requested heads begin at head FIRST. */
static uint32_t project_heads(struct ft_hf_run *r, uint32_t x, uint32_t all, const char *name,
                              int64_t first, int64_t heads)
{
  const struct ft_hf *m = r->m;
  bool turned = name[0] != 'v';

  if (all)
    x = ft_tracer_slice(&r->live, all, 2, first * m->head_dim, (first + heads) * m->head_dim, 1);
  else
    x = ft_hf_linear(r, x, name, heads * m->head_dim,
                     m->bias_qkv && (name[0] != 'k' || !m->no_key_bias));
  if (x && turned && m->norm_qk_whole)
    x = ft_hf_normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  x = x ? ft_hf_heads(r, x, heads, m->head_dim) : 0;
  if (x && name[0] != 'q' && m->repeat_kv) {
    int64_t times[4] = { 1, m->heads / heads, 1, 1 };
    uint32_t list = ft_tracer_list(&r->live, times, 4);

    x = list ? ft_tracer_binary(&r->live, "Tile", x, list) : 0;
  }
  if (x && turned && m->norm_qk)
    x = ft_hf_normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  if (turned)
    x = rotate_positions(r, x);
  if (x && turned && m->l2_norm_qk && ft_hf_in_window(r)) {
    ft_tracer_op(&r->live, "RMSNormalization");
    ft_tracer_in(&r->live, x);
    ft_tracer_hints(&r->live)->decomposed = "l2";
    x = ft_tracer_end(&r->live, 1);
  }
  if (x && name[0] == 'q' && m->copy_queries)
    x = ft_tracer_concat(&r->live, &x, 1, 2);
  return x;
}

/* Disentangled attention (He et al. 2021): scores by relative position, content to position and
 * position to content. */
static uint32_t relative_scores(struct ft_hf_run *r, uint32_t q, uint32_t k)
{
  static const int64_t order[] = { 0, 1, 3, 2 };
  const struct ft_hf *m = r->m;
  const char *where = r->prefix;
  int64_t rows[3] = { 1, m->relative_positions, m->hidden };
  uint32_t table, sides[2], scores[2] = { 0, 0 }, with[2] = { q, k };

  r->prefix = "encoder.";
  table = ft_hf_weight(r, "rel_embeddings", m->relative_positions, m->hidden, 0);
  if (m->relative_norm)
    table = ft_hf_normalise(r, table, "norm");
  r->prefix = where;
  if (table && q && m->no_key_bias && ft_hf_size(r, q, 2) < m->relative_positions / 2) {
    rows[1] = 2 * ft_hf_size(r, q, 2); /* deberta (v1) reads only the positions that occur */
    table = ft_tracer_slice(&r->live, table, 0, (m->relative_positions - rows[1]) / 2,
                            (m->relative_positions + rows[1]) / 2, 1);
  }
  table = ft_hf_reshape(r, table, rows, 3);
  if (!table)
    return 0;
  ft_tracer_of(&r->live, table)->data = true; /* keeps it from being folded as a constant */
  sides[0] = m->no_key_bias ? ft_hf_linear(r, table, "pos_proj", m->hidden, false)
                            : ft_hf_linear(r, table, "key", m->hidden, true);
  sides[1] = ft_hf_linear(r, table, m->no_key_bias ? "pos_q_proj" : "query", m->hidden, true);
  for (int i = 0; i < 2; i++) {
    int64_t length = ft_hf_size(r, q, 2), places[4] = { 1, 1, length, length };
    uint32_t which;

    sides[i] = sides[i] ? ft_hf_heads(r, sides[i], m->heads, m->head_dim) : 0;
    sides[i] = sides[i] ? ft_tracer_transpose(&r->live, sides[i], order, 4) : 0;
    sides[i] = ft_hf_binary(r, "MatMul", with[i], sides[i]);
    which = ft_hf_constant(r, FT_ELEMENT_INT64, places, 4);
    if (!sides[i] || !which)
      return 0;
    places[0] = ft_hf_size(r, q, 0);
    places[1] = m->heads;
    which = ft_hf_binary(r, "Expand", which, ft_tracer_list(&r->live, places, 4));
    if (!which)
      return 0;
    ft_tracer_op(&r->live, "GatherElements");
    ft_tracer_in(&r->live, sides[i]);
    ft_tracer_in(&r->live, which);
    ft_tracer_int(&r->live, "axis", -1);
    scores[i] = ft_tracer_end(&r->live, 1);
  }
  return ft_hf_binary(r, "Add", scores[0], scores[1]);
}

/* A learnt score for each head that takes attention away from all tokens. */
static uint32_t sink_scores(struct ft_hf_run *r, uint32_t q)
{
  const struct ft_hf *m = r->m;
  const int64_t dims[4] = { 1, m->heads, 1, 1 };
  uint32_t w = q ? ft_hf_weight(r, "sinks", m->heads, 0, 0) : 0;

  return ft_hf_reshape(r, w, dims, 4);
}

uint32_t ft_hf_attention(struct ft_hf_run *r, uint32_t x, uint32_t from, uint32_t bias)
{
  const struct ft_hf *m = r->m;
  uint32_t q, k, v, all = 0;

  if (!x || !from)
    return 0;
  if (m->kv_rank)
    return ft_hf_mla(r, x);
  if (m->fused_qkv && x == from) {
    all = ft_hf_linear(r, x, "qkv", (m->heads + 2 * m->kv_heads) * m->head_dim, m->bias_qkv);
    if (!all)
      return 0;
  }
  q = project_heads(r, x, all, "query", 0, m->heads);
  k = project_heads(r, from, all, "key", m->heads, m->kv_heads);
  v = project_heads(r, from, all, "value", m->heads + m->kv_heads, m->kv_heads);
  k = ft_hf_cache(r, k, x == from);
  v = ft_hf_cache(r, v, x == from);
  if (m->relative_positions)
    bias = relative_scores(r, q, k);
  if (m->sinks)
    bias = sink_scores(r, q);
  if ((m->relative_positions || m->sinks) && !bias)
    return 0;
  return ft_hf_attention_output(r, q, k, v, bias);
}

uint32_t ft_hf_feed_forward(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;

  if (m->experts && r->layer >= m->dense_layers)
    return ft_hf_moe(r, x);
  return ft_hf_mlp(r, x, m->experts && m->dense_inner ? m->dense_inner : m->inner);
}

uint32_t ft_hf_layer(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t a, y;

  if (m->norm_added) {
    x = ft_hf_binary(r, "Add", x,
                     ft_hf_normalise(r, ft_hf_attention(r, x, x, 0), "attention_norm"));
    return ft_hf_binary(r, "Add", x, ft_hf_normalise(r, ft_hf_feed_forward(r, x), "norm"));
  }
  if (m->norm_after) {
    x = ft_hf_normalise(r, ft_hf_binary(r, "Add", ft_hf_attention(r, x, x, 0), x),
                        "attention_norm");
    return ft_hf_normalise(r, ft_hf_binary(r, "Add", ft_hf_feed_forward(r, x), x), "norm");
  }
  y = ft_hf_normalise(r, x, "attention_norm");
  a = ft_hf_attention(r, y, y, 0);
  if (m->norms == 4)
    a = ft_hf_normalise(r, a, "after_attention_norm");
  if (m->parallel) {
    y = m->norms == 1 ? y : ft_hf_normalise(r, x, "norm");
    return ft_hf_binary(r, "Add", ft_hf_binary(r, "Add", a, ft_hf_feed_forward(r, y)), x);
  }
  x = ft_hf_binary(r, "Add", x, a);
  y = ft_hf_feed_forward(r, ft_hf_normalise(r, x, "norm"));
  if (m->norms == 4)
    y = ft_hf_normalise(r, y, "after_norm");
  return ft_hf_binary(r, "Add", x, y);
}

uint32_t ft_hf_decode(struct ft_hf_run *r, uint32_t x, uint32_t table)
{
  const struct ft_hf *m = r->m;

  for (int64_t i = 0; x && i < m->layers; i++) {
    r->layer = i;
    r->prefix =
        m->shared_layers ? "layer." : ft_tracer_format(&r->live, "layer.%lld.", (long long)i);
    x = ft_hf_layer(r, x);
  }
  r->prefix = "";
  if (x && m->guessed) { /* the guess is reported as an unknown operator */
    ft_tracer_unknown(&r->live, "transformers", m->type);
    ft_tracer_in(&r->live, x);
    if (!ft_tracer_end(&r->live, 1))
      return 0;
  }
  if (m->norm_final)
    x = ft_hf_normalise(r, x, "final_norm");
  if (m->embedding != m->hidden && !m->types)
    x = ft_hf_linear(r, x, "project_out", m->embedding, false);
  if (x && m->pooler) {
    x = ft_tracer_slice(&r->live, x, 1, 0, 1, 1);
    x = ft_hf_linear(r, x, "pooler", m->hidden, true);
    x = x ? ft_tracer_unary(&r->live, "Tanh", x) : 0;
  }
  return ft_hf_language_head(r, m->causal ? ft_hf_last_token(r, x) : x, table);
}
