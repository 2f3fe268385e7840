/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network of a configuration, layer by layer. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/hf.h"
#include "predictor/graph/live.h"

struct run {
  struct ft_live live;
  const struct ft_hf *m;
  const char *where; /* "layer.3." */
};

/* A weight of ROWS x COLUMNS, of ROWS alone where COLUMNS is 0; DEPTH x these where that is given. */
static uint32_t weight(struct run *r, const char *name, int64_t rows, int64_t columns,
                       int64_t depth)
{
  struct ft_weight *w = ft_live_take(&r->live, sizeof *w);
  int rank = 0;

  if (!w)
    return 0;
  w->name = ft_live_format(&r->live, "%s%s", r->where, name);
  w->declared.dims = ft_live_take(&r->live, 4 * sizeof *w->declared.dims);
  if (!w->declared.dims)
    return 0;
  if (depth)
    w->declared.dims[rank++] = depth;
  w->declared.dims[rank++] = rows;
  if (columns)
    w->declared.dims[rank++] = columns;
  w->declared.rank = rank;
  w->declared.element = FT_ELEMENT_FLOAT;
  w->declared.elements = ft_times(ft_times(rows, columns ? columns : 1), depth ? depth : 1);
  if (w->declared.elements > FT_GRAPH_ELEMENTS) {
    (void)ft_live_fail(&r->live, "%s: more than 2^50 elements", w->name);
    return 0;
  }
  return ft_live_weight(&r->live, w);
}

static void scope(struct run *r, const char *name)
{
  r->live.scope = ft_live_format(&r->live, "%s%s", r->where, name);
}

static uint32_t connect_with(struct run *r, uint32_t x, uint32_t w, uint32_t b)
{
  if (!x || !w)
    return 0;
  ft_live_op(&r->live, "Linear");
  ft_live_in(&r->live, x);
  ft_live_in(&r->live, w);
  if (b)
    ft_live_in(&r->live, b);
  return ft_live_end(&r->live, 1);
}

static uint32_t connect(struct run *r, uint32_t x, const char *name, int64_t out, bool biased)
{
  int64_t in = x ? ft_live_of(&r->live, x)->dims[ft_live_of(&r->live, x)->rank - 1] : 0;
  uint32_t w, b = 0;

  scope(r, name);
  w = x ? weight(r, name, out, in, 0) : 0;
  if (biased)
    b = weight(r, "bias", out, 0, 0);
  return connect_with(r, x, w, b);
}

static uint32_t two(struct run *r, const char *type, uint32_t a, uint32_t b)
{
  return a && b ? ft_live_binary(&r->live, type, a, b) : 0;
}

/* Over the last dimension of X. */
static uint32_t normalise(struct run *r, uint32_t x, const char *name)
{
  const struct ft_hf *m = r->m;
  int64_t size = x ? ft_live_of(&r->live, x)->dims[ft_live_of(&r->live, x)->rank - 1] : 0;
  uint32_t w, b = 0;

  scope(r, name);
  w = x ? weight(r, name, size, 0, 0) : 0;
  if (m->norm == FT_HF_LAYER)
    b = weight(r, "shift", size, 0, 0);
  if (!w || !x)
    return 0;
  ft_live_op(&r->live, m->norm == FT_HF_ROOT ? "RMSNormalization" : "LayerNormalization");
  ft_live_in(&r->live, x);
  ft_live_in(&r->live, w);
  if (b)
    ft_live_in(&r->live, b);
  ft_live_int(&r->live, "axis", -1);
  return ft_live_end(&r->live, 1);
}

static uint32_t activate(struct run *r, uint32_t x)
{
  const char *name = r->m->activation;
  const char *type = strstr(name, "gelu")      ? "Gelu"
                     : strcmp(name, "relu") == 0 ? "Relu"
                     : strcmp(name, "tanh") == 0 ? "Tanh"
                                                 : "Swish";

  return x ? ft_live_unary(&r->live, type, x) : 0;
}

/* ---- attention ---- */

/* (batch, length, features) as (batch, heads, length, features of a head) */
static uint32_t heads_of(struct run *r, uint32_t x, int64_t heads)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_hf *m = r->m;
  const struct ft_tensor *t = ft_live_of(&r->live, x);
  int64_t dims[4] = { t->dims[0], t->dims[1], heads, m->head };

  x = ft_live_reshape(&r->live, x, dims, 4);
  return x ? ft_live_transpose(&r->live, x, order, 4) : 0;
}

static uint32_t project(struct run *r, uint32_t x, const char *name, int64_t heads, bool turned)
{
  const struct ft_hf *m = r->m;

  x = connect(r, x, name, heads * m->head, m->bias_qkv);
  if (x && turned && m->norm_heads_whole)
    x = normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  x = x ? heads_of(r, x, heads) : 0;
  if (x && turned && m->norm_heads)
    x = normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  return x && turned && m->rotary ? ft_live_unary(&r->live, "RotaryEmbedding", x) : x;
}

/* Queries of X, keys and values of FROM; BIAS is added to the scores where it is given. */
static uint32_t attend(struct run *r, uint32_t x, uint32_t from, uint32_t bias)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_hf *m = r->m;
  uint32_t q, k, v, y;
  int64_t dims[3];

  if (!x || !from)
    return 0;
  memcpy(dims, ft_live_of(&r->live, x)->dims, 2 * sizeof *dims);
  dims[2] = m->heads * m->head;
  q = project(r, x, "query", m->heads, true);
  k = project(r, from, "key", m->kv_heads, true);
  v = project(r, from, "value", m->kv_heads, false);
  if (!q || !k || !v)
    return 0;
  scope(r, "attention");
  ft_live_op(&r->live, "Attention");
  ft_live_in(&r->live, q);
  ft_live_in(&r->live, k);
  ft_live_in(&r->live, v);
  if (bias)
    ft_live_in(&r->live, bias);
  y = ft_live_end(&r->live, 1);
  y = y ? ft_live_transpose(&r->live, y, order, 4) : 0;
  y = y ? ft_live_reshape(&r->live, y, dims, 3) : 0;
  return connect(r, y, "output", m->hidden, m->bias_out);
}

/* ---- what follows attention ---- */

static uint32_t widen(struct run *r, uint32_t x, int64_t inner)
{
  const struct ft_hf *m = r->m;
  uint32_t y = activate(r, connect(r, x, m->gated ? "gate" : "up", inner, m->bias_inner));

  if (m->gated)
    y = two(r, "Mul", y, connect(r, x, "up", inner, m->bias_inner));
  return connect(r, y, "down", m->hidden, m->bias_inner);
}

/* A few experts for each word, chosen by the router (Shazeer et al. 2017). */
static uint32_t experts(struct run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t router = connect(r, x, "router", m->experts, false), up, down, y, shared;

  up = weight(r, "experts.gate_up", 2 * m->expert_inner, m->hidden, m->experts);
  down = weight(r, "experts.down", m->hidden, m->expert_inner, m->experts);
  if (!router || !up || !down)
    return 0;
  scope(r, "experts");
  ft_live_op(&r->live, "MoE");
  ft_live_in(&r->live, x);
  ft_live_in(&r->live, router);
  ft_live_in(&r->live, up);
  ft_live_in(&r->live, down);
  ft_live_int(&r->live, "k", m->chosen);
  y = ft_live_end(&r->live, 1);
  if (!m->shared_inner)
    return y;
  shared = widen(r, x, m->shared_inner);
  if (m->shared_gate) {
    uint32_t gate = connect(r, x, "shared_gate", 1, false);

    shared = two(r, "Mul", gate ? ft_live_unary(&r->live, "Sigmoid", gate) : 0, shared);
  }
  return two(r, "Add", y, shared);
}

static uint32_t feed_forward(struct run *r, uint32_t x)
{
  return r->m->experts ? experts(r, x) : widen(r, x, r->m->inner);
}

/* ---- layers ---- */

/* One layer of every family but t5. */
static uint32_t layer(struct run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t a, y;

  if (m->norm_heads_whole) { /* olmo2: what is added is normalised */
    x = two(r, "Add", x, normalise(r, attend(r, x, x, 0), "attention_norm"));
    return two(r, "Add", x, normalise(r, feed_forward(r, x), "norm"));
  }
  if (m->norm_after) {
    x = normalise(r, two(r, "Add", attend(r, x, x, 0), x), "attention_norm");
    return normalise(r, two(r, "Add", feed_forward(r, x), x), "norm");
  }
  y = normalise(r, x, "attention_norm");
  a = attend(r, y, y, 0);
  if (m->norms == 4)
    a = normalise(r, a, "after_attention_norm");
  if (m->parallel) {
    y = m->norms == 1 ? y : normalise(r, x, "norm");
    return two(r, "Add", two(r, "Add", a, feed_forward(r, y)), x);
  }
  x = two(r, "Add", x, a);
  y = feed_forward(r, normalise(r, x, "norm"));
  if (m->norms == 4)
    y = normalise(r, y, "after_norm");
  return two(r, "Add", x, y);
}

/* Encoder and decoder of t5, the latter attending to MEMORY too; positions enter the scores. */
static uint32_t stack_t5(struct run *r, uint32_t x, uint32_t memory, const char *name,
                         int64_t layers)
{
  const struct ft_hf *m = r->m;
  int64_t dims[4] = { 1, m->heads, 0, 0 }, length = x ? ft_live_of(&r->live, x)->dims[1] : 0;
  static const int64_t order[] = { 2, 0, 1 };
  uint32_t table, bias = 0, y;

  dims[2] = dims[3] = length;
  r->where = ft_live_format(&r->live, "%s.", name);
  scope(r, "relative_attention_bias");
  table = weight(r, "relative_attention_bias", m->buckets, m->heads, 0);
  bias = ft_live_constant(&r->live, FT_ELEMENT_INT64, 2, dims + 2, NULL);
  bias = two(r, "Gather", table, bias);
  bias = bias ? ft_live_transpose(&r->live, bias, order, 3) : 0;
  bias = bias ? ft_live_reshape(&r->live, bias, dims, 4) : 0;
  if (!bias)
    return 0;
  for (int64_t i = 0; x && i < layers; i++) {
    r->where = ft_live_format(&r->live, "%s.%lld.", name, (long long)i);
    y = normalise(r, x, "attention_norm");
    x = two(r, "Add", x, attend(r, y, y, bias));
    if (memory) {
      r->where = ft_live_format(&r->live, "%s.%lld.cross.", name, (long long)i);
      x = two(r, "Add", x, attend(r, normalise(r, x, "norm"), memory, 0));
      r->where = ft_live_format(&r->live, "%s.%lld.", name, (long long)i);
    }
    x = two(r, "Add", x, feed_forward(r, normalise(r, x, "norm")));
  }
  r->where = ft_live_format(&r->live, "%s.", name);
  return normalise(r, x, "final_norm");
}

/* ---- the network ---- */

static uint32_t look_up(struct run *r, const char *name, uint32_t table, uint32_t which)
{
  scope(r, name);
  return two(r, "Gather", table, which);
}

/* Positions or types of SIZE kinds, one for each word: numbers that nobody feeds. */
static uint32_t beside(struct run *r, const char *name, int64_t size, int64_t length)
{
  int64_t dims[2] = { 1, length };
  uint32_t table = weight(r, name, size, r->m->embedding == r->m->hidden || r->m->types
                                             ? r->m->embedding
                                             : r->m->hidden, 0);
  uint32_t which = ft_live_constant(&r->live, FT_ELEMENT_INT64, 2, dims, NULL);

  return look_up(r, name, table, which);
}

static uint32_t embed(struct run *r, uint32_t ids, uint32_t *table)
{
  const struct ft_hf *m = r->m;
  int64_t length = ft_live_of(&r->live, ids)->dims[1];
  bool early = m->types > 0 || m->embedding == m->hidden; /* opt widens before it adds positions */
  uint32_t x;

  r->where = "embeddings.";
  *table = *table ? *table : weight(r, "words", m->vocab, m->embedding, 0);
  x = look_up(r, "words", *table, ids);
  if (!early)
    x = connect(r, x, "project_in", m->hidden, false);
  if (m->positions)
    x = two(r, "Add", x, beside(r, "positions", m->positions, length));
  if (m->types)
    x = two(r, "Add", x, beside(r, "types", m->types, length));
  if (m->norm_embedding)
    x = normalise(r, x, "norm");
  if (early && m->embedding != m->hidden)
    x = connect(r, x, "project", m->hidden, true);
  return x;
}

/* What each word's chances are computed with. */
static uint32_t language_head(struct run *r, uint32_t x, uint32_t table)
{
  const struct ft_hf *m = r->m;
  uint32_t b = 0;

  r->where = "head.";
  if (!m->with_head)
    return x;
  if (m->head_transform) {
    x = connect(r, x, "transform", m->embedding, true);
    x = normalise(r, activate(r, x), "norm");
  }
  if (m->head_bias)
    b = weight(r, "bias", m->vocab, 0, 0);
  scope(r, "words");
  return connect_with(r, x, m->tied ? table : weight(r, "words", m->vocab, m->embedding, 0), b);
}

static uint32_t input(struct run *r, const char *name)
{
  static int64_t open[] = { -1, -1 };
  static const char *symbols[] = { "batch", "sequence" };
  struct ft_declared *d = ft_live_take(&r->live, sizeof *d);

  if (!d)
    return 0;
  *d = (struct ft_declared){ .rank = 2, .dims = open, .symbols = symbols,
                             .element = FT_ELEMENT_INT64 };
  return ft_live_input(&r->live, name, d);
}

static uint32_t network(struct run *r, uint32_t ids, uint32_t more)
{
  const struct ft_hf *m = r->m;
  uint32_t table = 0, x = embed(r, ids, &table);

  if (m->encoder_decoder) {
    uint32_t memory = stack_t5(r, x, 0, "encoder", m->layers);

    x = stack_t5(r, embed(r, more, &table), memory, "decoder", m->decoder_layers);
    return language_head(r, x, table);
  }
  for (int64_t i = 0; x && i < m->layers; i++) {
    r->where = ft_live_format(&r->live, "layer.%lld.", (long long)i);
    x = layer(r, x);
  }
  r->where = "";
  if (m->norm_final)
    x = normalise(r, x, "final_norm");
  if (m->embedding != m->hidden && !m->types)
    x = connect(r, x, "project_out", m->embedding, false);
  if (x && m->pooler) {
    x = ft_live_slice(&r->live, x, 1, 0, 1, 1);
    x = connect(r, x, "pooler", m->hidden, true);
    x = x ? ft_live_unary(&r->live, "Tanh", x) : 0;
  }
  return language_head(r, x, table);
}

int ft_hf_run(struct ft_infer *in)
{
  struct run *r = calloc(1, sizeof *r);
  uint32_t ids, more = 0, y;
  int status = -1;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->m = in->graph->program;
  r->where = "";
  if (ft_live_begin(&r->live, in) < 0)
    goto out;
  ids = input(r, "input_ids");
  if (r->m->encoder_decoder)
    more = input(r, "decoder_input_ids");
  if (!ids || (r->m->encoder_decoder && !more) || ft_infer_inputs(in) < 0)
    goto out;
  y = network(r, ids, more);
  if (y && ft_live_output(&r->live, y) == 0 && !r->live.failed)
    status = 0;
out:
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its network needs more memory than there is", in->graph->file);
  free(r);
  return status;
}
