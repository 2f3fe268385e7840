/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The network of a configuration, layer by layer. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/import/huggingface/hf_run.h"

uint32_t ft_hf_weight_in(struct ft_hf_run *r, unsigned element, const char *name, int64_t rows,
                         int64_t columns, int64_t depth)
{
  const char *whole = ft_tracer_format(&r->live, "%s%s", r->where, name);
  struct ft_weight *w = ft_symbol_table_get(&r->weights, whole);
  int rank = 0;

  if (w)
    return ft_tracer_weight(&r->live, w);
  w = ft_tracer_take(&r->live, sizeof *w);
  if (!w || ft_symbol_table_put(&r->weights, whole, w) < 0)
    return 0;
  w->name = whole;
  w->declared.dims = ft_tracer_take(&r->live, 4 * sizeof *w->declared.dims);
  if (!w->declared.dims)
    return 0;
  if (depth)
    w->declared.dims[rank++] = depth;
  w->declared.dims[rank++] = rows;
  if (columns)
    w->declared.dims[rank++] = columns;
  w->declared.rank = rank;
  w->declared.element = (uint8_t)element;
  w->declared.elements = ft_times(ft_times(rows, columns ? columns : 1), depth ? depth : 1);
  if (w->declared.elements > FT_GRAPH_ELEMENTS) {
    (void)ft_tracer_fail(&r->live, "%s: more than 2^50 elements", w->name);
    return 0;
  }
  return ft_tracer_weight(&r->live, w);
}

uint32_t ft_hf_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                      int64_t depth)
{
  return ft_hf_weight_in(r, FT_ELEMENT_FLOAT, name, rows, columns, depth);
}

void ft_hf_scope(struct ft_hf_run *r, const char *name)
{
  r->live.scope = ft_tracer_format(&r->live, "%s%s", r->where, name);
}

/* X by the matrix W, and the bias B unless it is 0. */
static uint32_t connect_with(struct ft_hf_run *r, uint32_t x, uint32_t w, uint32_t b)
{
  if (!x || !w)
    return 0;
  ft_tracer_op(&r->live, "Linear");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_connect(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out, bool biased)
{
  int64_t in = x ? ft_tracer_of(&r->live, x)->dims[ft_tracer_of(&r->live, x)->rank - 1] : 0;
  uint32_t w, b = 0;

  ft_hf_scope(r, name);
  if (biased)
    b = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.bias", name), out, 0, 0);
  if (ft_hf_packs(r, name)) {
    x = ft_hf_connect_packed(r, x, name, out);
    return biased ? ft_hf_both(r, "Add", x, b) : x;
  }
  w = x ? ft_hf_weight(r, name, out, in, 0) : 0;
  return connect_with(r, x, w, b);
}

uint32_t ft_hf_both(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b)
{
  return a && b ? ft_tracer_binary(&r->live, type, a, b) : 0;
}

/* Over the last dimension of X. */
uint32_t ft_hf_normalise(struct ft_hf_run *r, uint32_t x, const char *name)
{
  const struct ft_hf *m = r->m;
  int64_t size = x ? ft_tracer_of(&r->live, x)->dims[ft_tracer_of(&r->live, x)->rank - 1] : 0;
  uint32_t w = 0, b = 0;

  ft_hf_scope(r, name);
  if (x && m->norm_heads_each && name[1] == '_') /* q_norm, k_norm */
    w = ft_hf_weight(r, name, 1, size, ft_tracer_of(&r->live, x)->dims[1]);
  else if (x && m->norm != FT_HF_BARE)
    w = ft_hf_weight(r, name, size, 0, 0);
  if (m->norm == FT_HF_LAYER)
    b = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.shift", name), size, 0, 0);
  if (!x || (!w && m->norm != FT_HF_BARE))
    return 0;
  ft_tracer_op(&r->live, m->norm == FT_HF_ROOT ? "RMSNormalization" : "LayerNormalization");
  ft_tracer_in(&r->live, x);
  if (w)
    ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_int(&r->live, "axis", -1);
  if (m->spelt_norm[0])
    ft_tracer_hints(&r->live)->decomposed = m->spelt_norm;
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_drop(struct ft_hf_run *r, uint32_t x, bool some)
{
  return x && some ? ft_tracer_unary(&r->live, "Dropout", x) : x;
}

uint32_t ft_hf_activate(struct ft_hf_run *r, uint32_t x)
{
  const char *name = r->m->activation;
  const char *type = strstr(name, "gelu")            ? "Gelu"
                     : strncmp(name, "relu", 4) == 0 ? "Relu"
                     : strcmp(name, "tanh") == 0     ? "Tanh"
                                                     : "Swish";

  if (!x)
    return 0;
  ft_tracer_op(&r->live, type);
  ft_tracer_in(&r->live, x);
  if (r->m->spelt_activation[0])
    ft_tracer_hints(&r->live)->decomposed = r->m->spelt_activation;
  return ft_tracer_end(&r->live, 1);
}

/* ---- attention ---- */

uint32_t ft_hf_heads(struct ft_hf_run *r, uint32_t x, int64_t heads, int64_t size)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_tensor *t = ft_tracer_of(&r->live, x);
  int64_t dims[4] = { t->dims[0], t->dims[1], heads, size };

  x = ft_tracer_reshape(&r->live, x, dims, 4);
  return x ? ft_tracer_transpose(&r->live, x, order, 4) : 0;
}

static uint32_t rotary(struct ft_hf_run *r, uint32_t x)
{
  if (!x)
    return 0;
  ft_tracer_op(&r->live, "RotaryEmbedding");
  ft_tracer_in(&r->live, x);
  if (r->m->wide_angles)
    ft_tracer_hints(&r->live)->decomposed = "rotary";
  return ft_tracer_end(&r->live, 1);
}

/* X (batch, heads, length, features), of which the first are turned by their positions. */
static uint32_t turn(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t part[2];

  if (!x || !m->rotary)
    return x;
  if (m->rotated < 1 || m->rotated >= m->head)
    return rotary(r, x);
  part[0] = ft_tracer_slice(&r->live, x, 3, 0, m->rotated, 1);
  part[1] = ft_tracer_slice(&r->live, x, 3, m->rotated, m->head, 1);
  part[0] = rotary(r, part[0]);
  return part[0] && part[1] ? ft_tracer_concat(&r->live, part, 2, 3) : 0;
}

/* Queries, keys or values NAME of X; ALL: where one matrix made all three, that, else 0. FIRST: the
 * head at which these begin in it. */
static uint32_t project(struct ft_hf_run *r, uint32_t x, uint32_t all, const char *name,
                        int64_t first, int64_t heads)
{
  const struct ft_hf *m = r->m;
  bool turned = name[0] != 'v';

  if (all)
    x = ft_tracer_slice(&r->live, all, 2, first * m->head, (first + heads) * m->head, 1);
  else
    x = ft_hf_connect(r, x, name, heads * m->head,
                      m->bias_qkv && (name[0] != 'k' || !m->plain_key));
  if (x && turned && m->norm_heads_whole)
    x = ft_hf_normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  x = x ? ft_hf_heads(r, x, heads, m->head) : 0;
  if (x && name[0] != 'q' && m->spread) {
    int64_t times[4] = { 1, m->heads / heads, 1, 1 };
    uint32_t list = ft_tracer_list(&r->live, times, 4);

    x = list ? ft_tracer_binary(&r->live, "Tile", x, list) : 0;
  }
  if (x && turned && m->norm_heads)
    x = ft_hf_normalise(r, x, name[0] == 'q' ? "q_norm" : "k_norm");
  if (turned)
    x = turn(r, x);
  if (x && turned && m->norm_root_heads && ft_hf_slides(r)) {
    ft_tracer_op(&r->live, "RMSNormalization");
    ft_tracer_in(&r->live, x);
    ft_tracer_hints(&r->live)->decomposed = "l2";
    x = ft_tracer_end(&r->live, 1);
  }
  if (x && name[0] == 'q' && m->dense_queries)
    x = ft_tracer_concat(&r->live, &x, 1, 2);
  return x;
}

/* What the distances between words add to the scores of Q and K (He et al. 2021): each by the rows
 * of the table that the other's places choose. */
static uint32_t relative(struct ft_hf_run *r, uint32_t q, uint32_t k)
{
  static const int64_t order[] = { 0, 1, 3, 2 };
  const struct ft_hf *m = r->m;
  const char *where = r->where;
  int64_t rows[3] = { 1, m->relative, m->hidden };
  uint32_t table, sides[2], scores[2] = { 0, 0 }, with[2] = { q, k };

  r->where = "encoder.";
  table = ft_hf_weight(r, "rel_embeddings", m->relative, m->hidden, 0);
  if (m->relative_norm)
    table = ft_hf_normalise(r, table, "norm");
  r->where = where;
  if (table && q && m->plain_key && ft_tracer_of(&r->live, q)->dims[2] < m->relative / 2) {
    rows[1] = 2 * ft_tracer_of(&r->live, q)->dims[2]; /* deberta takes those within reach */
    table = ft_tracer_slice(&r->live, table, 0, (m->relative - rows[1]) / 2,
                            (m->relative + rows[1]) / 2, 1);
  }
  table = table ? ft_tracer_reshape(&r->live, table, rows, 3) : 0;
  if (!table)
    return 0;
  ft_tracer_of(&r->live, table)->data = true; /* nobody computes this beforehand */
  sides[0] = m->plain_key ? ft_hf_connect(r, table, "pos_proj", m->hidden, false)
                          : ft_hf_connect(r, table, "key", m->hidden, true);
  sides[1] = ft_hf_connect(r, table, m->plain_key ? "pos_q_proj" : "query", m->hidden, true);
  for (int i = 0; i < 2; i++) {
    int64_t length = q ? ft_tracer_of(&r->live, q)->dims[2] : 0,
            places[4] = { 1, 1, length, length };
    uint32_t which;

    sides[i] = sides[i] ? ft_hf_heads(r, sides[i], m->heads, m->head) : 0;
    sides[i] = sides[i] ? ft_tracer_transpose(&r->live, sides[i], order, 4) : 0;
    sides[i] = ft_hf_both(r, "MatMul", with[i], sides[i]);
    which = ft_tracer_constant(&r->live, FT_ELEMENT_INT64, 4, places, NULL);
    if (!sides[i] || !which)
      return 0;
    places[0] = ft_tracer_of(&r->live, q)->dims[0];
    places[1] = m->heads;
    which = ft_hf_both(r, "Expand", which, ft_tracer_list(&r->live, places, 4));
    if (!which)
      return 0;
    ft_tracer_op(&r->live, "GatherElements");
    ft_tracer_in(&r->live, sides[i]);
    ft_tracer_in(&r->live, which);
    ft_tracer_int(&r->live, "axis", -1);
    scores[i] = ft_tracer_end(&r->live, 1);
  }
  return ft_hf_both(r, "Add", scores[0], scores[1]);
}

/* Beside the scores of each head one that nothing is read for. */
static uint32_t sinks(struct ft_hf_run *r, uint32_t q)
{
  const struct ft_hf *m = r->m;
  const int64_t dims[4] = { 1, m->heads, 1, 1 };
  uint32_t w = q ? ft_hf_weight(r, "sinks", m->heads, 0, 0) : 0;

  return w ? ft_tracer_reshape(&r->live, w, dims, 4) : 0;
}

uint32_t ft_hf_read_out(struct ft_hf_run *r, uint32_t q, uint32_t k, uint32_t v, uint32_t bias)
{
  static const int64_t order[] = { 0, 2, 1, 3 };
  const struct ft_hf *m = r->m;
  int64_t dims[3];
  uint32_t y;

  if (!q || !k || !v)
    return 0;
  dims[0] = ft_tracer_of(&r->live, q)->dims[0];
  dims[1] = ft_tracer_of(&r->live, q)->dims[2];
  dims[2] = m->heads * (m->value ? m->value : m->head);
  ft_hf_scope(r, "attention");
  ft_tracer_op(&r->live, "Attention");
  ft_tracer_in(&r->live, q);
  ft_tracer_in(&r->live, k);
  ft_tracer_in(&r->live, v);
  if (bias)
    ft_tracer_in(&r->live, bias);
  ft_tracer_hints(&r->live)->dropout = m->drop_attention;
  ft_tracer_hints(&r->live)->upcast = (uint8_t)m->upcast;
  ft_tracer_hints(&r->live)->plain = m->plain_attention;
  ft_tracer_hints(&r->live)->math = m->math;
  ft_tracer_hints(&r->live)->softcap = (uint8_t)m->softcap;
  /* a tower's windows are cut out of the picture instead */
  if (m->masked ||
      (!m->open_size && ft_hf_slides(r) && ft_tracer_of(&r->live, k)->dims[2] > m->reach))
    ft_tracer_hints(&r->live)->masked = true;
  y = ft_tracer_end(&r->live, 1);
  y = y ? ft_tracer_transpose(&r->live, y, order, 4) : 0;
  y = y ? ft_tracer_reshape(&r->live, y, dims, 3) : 0;
  if (y && m->open_size) /* each picture is attended to by itself */
    y = ft_tracer_concat(&r->live, &y, 1, 1);
  return ft_hf_drop(r, ft_hf_connect(r, y, "output", m->hidden, m->bias_out), m->drop_attended);
}

uint32_t ft_hf_attend(struct ft_hf_run *r, uint32_t x, uint32_t from, uint32_t bias)
{
  const struct ft_hf *m = r->m;
  uint32_t q, k, v, all = 0;

  if (!x || !from)
    return 0;
  if (m->kv_rank)
    return ft_hf_latent(r, x);
  if (m->fused_qkv && x == from) {
    all = ft_hf_connect(r, x, "qkv", (m->heads + 2 * m->kv_heads) * m->head, m->bias_qkv);
    if (!all)
      return 0;
  }
  q = project(r, x, all, "query", 0, m->heads);
  k = project(r, from, all, "key", m->heads, m->kv_heads);
  v = project(r, from, all, "value", m->heads + m->kv_heads, m->kv_heads);
  k = ft_hf_cached(r, k, x == from);
  v = ft_hf_cached(r, v, x == from);
  if (m->relative)
    bias = relative(r, q, k);
  if (m->sinks)
    bias = sinks(r, q);
  if ((m->relative || m->sinks) && !bias)
    return 0;
  return ft_hf_read_out(r, q, k, v, bias);
}

/* ---- what follows attention ---- */

uint32_t ft_hf_widen(struct ft_hf_run *r, uint32_t x, int64_t inner)
{
  const struct ft_hf *m = r->m;
  uint32_t y, up = 0;

  if (m->gated && m->fused_gate) {
    x = ft_hf_connect(r, x, "gate_up", 2 * inner, m->bias_inner);
    y = ft_hf_activate(r, x ? ft_tracer_slice(&r->live, x, 2, 0, inner, 1) : 0);
    up = x ? ft_tracer_slice(&r->live, x, 2, inner, 2 * inner, 1) : 0;
  } else {
    y = ft_hf_activate(r, ft_hf_connect(r, x, m->gated ? "gate" : "up", inner, m->bias_inner));
    up = m->gated ? ft_hf_connect(r, x, "up", inner, m->bias_inner) : 0;
  }
  if (m->gated)
    y = ft_hf_both(r, "Mul", y, up);
  y = ft_hf_connect(r, ft_hf_drop(r, y, m->drop_inner), "down", m->hidden, m->bias_inner);
  return ft_hf_drop(r, y, m->drop_hidden);
}

uint32_t ft_hf_feed_forward(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;

  if (m->experts && r->layer >= m->dense_layers)
    return ft_hf_experts(r, x);
  return ft_hf_widen(r, x, m->experts && m->dense_inner ? m->dense_inner : m->inner);
}

/* ---- layers ---- */

uint32_t ft_hf_layer(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t a, y;

  if (m->norm_added) {
    x = ft_hf_both(r, "Add", x, ft_hf_normalise(r, ft_hf_attend(r, x, x, 0), "attention_norm"));
    return ft_hf_both(r, "Add", x, ft_hf_normalise(r, ft_hf_feed_forward(r, x), "norm"));
  }
  if (m->norm_after) {
    x = ft_hf_normalise(r, ft_hf_both(r, "Add", ft_hf_attend(r, x, x, 0), x), "attention_norm");
    return ft_hf_normalise(r, ft_hf_both(r, "Add", ft_hf_feed_forward(r, x), x), "norm");
  }
  y = ft_hf_normalise(r, x, "attention_norm");
  a = ft_hf_attend(r, y, y, 0);
  if (m->norms == 4)
    a = ft_hf_normalise(r, a, "after_attention_norm");
  if (m->parallel) {
    y = m->norms == 1 ? y : ft_hf_normalise(r, x, "norm");
    return ft_hf_both(r, "Add", ft_hf_both(r, "Add", a, ft_hf_feed_forward(r, y)), x);
  }
  x = ft_hf_both(r, "Add", x, a);
  y = ft_hf_feed_forward(r, ft_hf_normalise(r, x, "norm"));
  if (m->norms == 4)
    y = ft_hf_normalise(r, y, "after_norm");
  return ft_hf_both(r, "Add", x, y);
}

/* ---- the network ---- */

/* Rows of TABLE. */
static uint32_t look_up(struct ft_hf_run *r, const char *name, uint32_t table, uint32_t which)
{
  ft_hf_scope(r, name);
  return ft_hf_both(r, "Gather", table, which);
}

/* Rows of NAME for LENGTH words: numbers that nobody feeds. */
static uint32_t beside(struct ft_hf_run *r, const char *name, int64_t size, int64_t features,
                       int64_t length)
{
  int64_t dims[2] = { 1, length };
  uint32_t table = ft_hf_weight(r, name, size, features, 0);
  uint32_t which = ft_tracer_constant(&r->live, FT_ELEMENT_INT64, 2, dims, NULL);

  return look_up(r, name, table, which);
}

uint32_t ft_hf_positions(struct ft_hf_run *r, uint32_t x, const char *name, int64_t rows)
{
  const int64_t *dims = x ? ft_tracer_of(&r->live, x)->dims : NULL;

  return x ? ft_hf_both(r, "Add", x, beside(r, name, rows, dims[2], dims[1])) : 0;
}

uint32_t ft_hf_words(struct ft_hf_run *r, uint32_t ids, uint32_t *table)
{
  *table = *table ? *table : ft_hf_weight(r, "words", r->m->vocab, r->m->embedding, 0);
  return look_up(r, "words", *table, ids);
}

static uint32_t embed(struct ft_hf_run *r, uint32_t ids, uint32_t *table)
{
  const struct ft_hf *m = r->m;
  bool early = m->types > 0 || m->embedding == m->hidden; /* opt widens before it adds positions */
  uint32_t x;

  r->where = "embeddings.";
  x = ft_hf_words(r, ids, table);
  if (!early)
    x = ft_hf_connect(r, x, "project_in", m->hidden, false);
  if (m->positions)
    x = ft_hf_positions(r, x, "positions", m->positions);
  if (m->types)
    x = ft_hf_positions(r, x, "types", m->types);
  if (m->norm_embedding)
    x = ft_hf_normalise(r, x, "norm");
  x = ft_hf_drop(r, x, m->drop_embedding);
  if (early && m->embedding != m->hidden)
    x = ft_hf_connect(r, x, "project", m->hidden, true);
  return x;
}

/* What each word's chances are computed with. */
uint32_t ft_hf_language_head(struct ft_hf_run *r, uint32_t x, uint32_t table)
{
  const struct ft_hf *m = r->m;
  uint32_t b = 0;

  r->where = "head.";
  if (!m->with_head)
    return x;
  if (m->head_transform) {
    x = ft_hf_connect(r, x, "transform", m->embedding, true);
    x = ft_hf_normalise(r, ft_hf_activate(r, x), "norm");
  }
  if (m->head_bias)
    b = ft_hf_weight(r, "bias", m->vocab, 0, 0);
  ft_hf_scope(r, "words");
  x = connect_with(r, x, m->tied ? table : ft_hf_weight(r, "words", m->vocab, m->embedding, 0), b);
  r->live.graph->logits = x;
  r->live.graph->logits_wide = m->loss_wide;
  return x;
}

uint32_t ft_hf_input(struct ft_hf_run *r, const char *name, unsigned element, int rank,
                     const int64_t *dims)
{
  static const char *words[FT_GRAPH_RANK] = { "batch", "sequence" },
                    *picture[FT_GRAPH_RANK] = { "batch", "channels", "height", "width" },
                    *pictures[FT_GRAPH_RANK] = { "batch", "pictures", "channels", "height",
                                                 "width" };
  const char **symbols = rank == 4 ? pictures : rank == 3 ? picture : words;
  struct ft_declared *d = ft_tracer_take(&r->live, sizeof *d);

  if (!d)
    return 0;
  *d = (struct ft_declared){ .rank = rank + 1, .symbols = symbols, .element = (uint8_t)element };
  d->dims = ft_tracer_take(&r->live, (size_t)(rank + 1) * sizeof *d->dims);
  if (!d->dims)
    return 0;
  d->dims[0] = -1;
  memcpy(d->dims + 1, dims, (size_t)rank * sizeof *dims);
  return ft_tracer_input(&r->live, name, d);
}

uint32_t ft_hf_ids(struct ft_hf_run *r, const char *name)
{
  static const int64_t open[] = { -1 };

  return ft_hf_input(r, name, FT_ELEMENT_INT64, 1, open);
}

uint32_t ft_hf_decode(struct ft_hf_run *r, uint32_t x, uint32_t table)
{
  const struct ft_hf *m = r->m;

  for (int64_t i = 0; x && i < m->layers; i++) {
    r->layer = i;
    r->where = m->shared ? "layer." : ft_tracer_format(&r->live, "layer.%lld.", (long long)i);
    x = ft_hf_layer(r, x);
  }
  r->where = "";
  if (x && m->guessed) { /* named and counted */
    ft_tracer_unknown(&r->live, "transformers", m->type);
    ft_tracer_in(&r->live, x);
    if (!ft_tracer_end(&r->live, 1))
      return 0;
  }
  if (m->norm_final)
    x = ft_hf_normalise(r, x, "final_norm");
  if (m->embedding != m->hidden && !m->types)
    x = ft_hf_connect(r, x, "project_out", m->embedding, false);
  if (x && m->pooler) {
    x = ft_tracer_slice(&r->live, x, 1, 0, 1, 1);
    x = ft_hf_connect(r, x, "pooler", m->hidden, true);
    x = x ? ft_tracer_unary(&r->live, "Tanh", x) : 0;
  }
  return ft_hf_language_head(r, m->causal ? ft_hf_last_word(r, x) : x, table);
}

/* Layers on top of each other between words and their chances. */
static uint32_t language(struct ft_hf_run *r)
{
  uint32_t table = 0, ids = ft_hf_ids(r, "input_ids"), x;

  if (!ids || ft_infer_inputs(r->live.in) < 0)
    return 0;
  x = embed(r, r->m->causal ? ft_hf_fed_words(r, ids) : ids, &table);
  return ft_hf_decode(r, x, table);
}

int ft_hf_run(struct ft_infer *in)
{
  static uint32_t (*const networks[])(struct ft_hf_run * r) = {
    [FT_HF_LANGUAGE] = language, [FT_HF_T5] = ft_hf_t5,       [FT_HF_SIDES] = ft_hf_sides,
    [FT_HF_VIT] = ft_hf_vit,     [FT_HF_CLIP] = ft_hf_clip,   [FT_HF_MAMBA] = ft_hf_mamba,
    [FT_HF_SEES] = ft_hf_sees,   [FT_HF_TOWER] = ft_hf_tower,
  };
  struct ft_hf_run *r = calloc(1, sizeof *r);
  int status = -1;
  uint32_t y;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->m = in->graph->program;
  r->where = "";
  r->weights.arena = &in->graph->results;
  if (ft_tracer_begin(&r->live, in) < 0)
    goto out;
  y = networks[r->m->kind](r);
  if (y && ft_tracer_output(&r->live, y) == 0 && !r->live.failed)
    status = 0;
out:
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its network needs more memory than there is", in->graph->file);
  free(r);
  return status;
}
