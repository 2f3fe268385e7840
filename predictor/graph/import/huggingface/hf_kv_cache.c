/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * KV cache of autoregressive generation (transformers 5.23, cache_utils.py and
 * generation/utils.py). ft_graph_sizes selects the pass: the prefill, or the last decode step,
 * which is the largest.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/import/huggingface/hf_run.h"

enum { WINDOW_BITS = 64 }; /* layers in one element of ft_hf.window_layers */

/* ---- which layers have a sliding window ---- */

static void set_layer_window(struct ft_hf *m, int64_t layer, bool yes)
{
  uint64_t bit = UINT64_C(1) << (layer % WINDOW_BITS);

  if (layer < FT_HF_WINDOW_LAYERS)
    m->window_layers[layer / WINDOW_BITS] = yes ? m->window_layers[layer / WINDOW_BITS] | bit
                                                : m->window_layers[layer / WINDOW_BITS] & ~bit;
}

/* Returns the period n of layers with full attention if the file has no layer_types: the last of
 * each n layers has it; the first of each -n, if n is negative; 1: no layer has it. */
static int64_t full_attention_period(struct ft_hf_config *c, const char *type)
{
  static const struct {
    const char *type, *key;
    int64_t usual;
  } some[] = { { "gemma2", NULL, 2 },     { "gemma3_text", "sliding_window_pattern", 6 },
               { "vaultgemma", NULL, 2 }, { "cohere2", "sliding_window_pattern", 4 },
               { "gpt_oss", NULL, 2 },    { "olmo3", NULL, 4 },
               { "cwm", NULL, -4 },       { "exaone4", "sliding_window_pattern", 4 },
               { "llama4_text", NULL, 4 } };
  size_t i = FT_TABLE_FIND(some, type);

  if (i == sizeof some / sizeof *some)
    return 1;
  return some[i].key ? ft_hf_int(c, some[i].key, some[i].usual) : some[i].usual;
}

/* qwen and relatives: windows only if use_sliding_window is set, and never in the first layers. */
static bool has_window_switch(const char *type)
{
  static const char *const some[] = { "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "smollm3", NULL };

  return ft_string_listed(some, type);
}

void ft_hf_windows(struct ft_hf_config *c, struct ft_hf *m)
{
  const json_t *types = json_object_get(c->root, "layer_types");
  bool chunks = strcmp(m->type, "llama4_text") == 0, some = has_window_switch(m->type);
  int64_t each = full_attention_period(c, m->type), first = 0;

  m->window = ft_hf_int(c, chunks ? "attention_chunk_size" : "sliding_window", chunks ? 8192 : 0);
  if (some)
    first = ft_hf_bool(c, "use_sliding_window", false) ? ft_hf_int(c, "max_window_layers", 28)
                                                       : m->layers;
  for (int64_t i = 0; m->window && i < m->layers && i < FT_HF_WINDOW_LAYERS; i++) {
    const char *type = json_string_value(json_array_get(types, (size_t)i));

    if (type)
      set_layer_window(m, i, strstr(type, "sliding") || strstr(type, "chunked"));
    else if (each < 0)
      set_layer_window(m, i, i % -each != 0);
    else
      set_layer_window(m, i, i >= first && (each < 2 || (i + 1) % each != 0));
  }
}

/* ---- the cache ---- */

bool ft_hf_in_window(const struct ft_hf_run *r)
{
  return r->layer < FT_HF_WINDOW_LAYERS &&
         r->m->window_layers[r->layer / WINDOW_BITS] >> (r->layer % WINDOW_BITS) & 1;
}

bool ft_hf_generates(const struct ft_hf_run *r)
{
  return r->live.in->sizes->generate > 0;
}

/* Tokens that the layer's cache holds when LENGTH tokens have been read. */
static int64_t cached_tokens(const struct ft_hf_run *r, int64_t length)
{
  return ft_hf_in_window(r) && r->m->window < length ? r->m->window : length;
}

/* A tensor of RANK dimensions DIMS that an earlier pass computed. */
static uint32_t previous_tensor(struct ft_hf_run *r, unsigned element, int rank,
                                const int64_t *dims)
{
  static const int64_t one[4] = { 1, 1, 1, 1 };
  uint32_t from = ft_hf_constant(r, element, one, rank), list;

  if (!from)
    return 0;
  ft_tracer_of(&r->live, from)->data = true; /* keeps it from being folded as a constant */
  list = ft_tracer_list(&r->live, dims, (size_t)rank);
  return list ? ft_tracer_binary(&r->live, "Tile", from, list) : 0;
}

int ft_hf_state(struct ft_hf_run *r, bool wide, int64_t batch, int64_t rows, int64_t columns)
{
  int64_t dims[3] = { batch, rows, columns };
  uint32_t x;

  if (!ft_hf_generates(r))
    return 0;
  ft_hf_scope(r, "state");
  x = previous_tensor(r, wide ? FT_ELEMENT_INT32 : FT_ELEMENT_FLOAT, 3, dims);
  return x ? ft_tracer_add_kv_cache(&r->live, x) : -1;
}

/* X padded to LENGTH tokens. */
static uint32_t pad_tokens(struct ft_hf_run *r, uint32_t x, int64_t length)
{
  int64_t more[8] = { 0 };
  uint32_t list;

  more[6] = length - ft_hf_size(r, x, 2);
  list = ft_tracer_list(&r->live, more, 8);
  return list ? ft_tracer_binary(&r->live, "Pad", x, list) : 0;
}

/* Concatenates cache and new tokens, with the element type that autocast gives them. */
static uint32_t append_to_cache(struct ft_hf_run *r, const uint32_t *parts, size_t count)
{
  ft_tracer_op(&r->live, "Concat");
  for (size_t i = 0; i < count; i++)
    ft_tracer_in(&r->live, parts[i]);
  ft_tracer_int(&r->live, "axis", 2);
  if (r->m->rope_in_float32)
    ft_tracer_hints(&r->live)->decomposed = "cache";
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_cache(struct ft_hf_run *r, uint32_t x, bool grows)
{
  const struct ft_graph_sizes *sizes = r->live.in->sizes;
  uint32_t parts[2] = { 0, x };
  int64_t length, dims[4];
  bool last;

  if (!x || !r->m->kv_cache)
    return x;
  ft_hf_scope(r, "cache");
  length = ft_hf_size(r, x, 2);
  last = ft_hf_generates(r) && sizes->last && grows;
  if (ft_hf_generates(r) && sizes->static_cache && grows) {
    /* a static cache has its full length from the first token on; the prompt attends to a
     * smaller part */
    int64_t room = cached_tokens(r, r->cache_length);

    if (room > length) {
      x = pad_tokens(r, x, room);
      return x && ft_tracer_add_kv_cache(&r->live, x) == 0 ? x : 0;
    }
  }
  if (last && cached_tokens(r, r->cache_length) > 1) {
    for (int i = 0; i < 4; i++)
      dims[i] = ft_hf_size(r, x, i);
    dims[2] = cached_tokens(r, r->cache_length) - 1;
    parts[0] = previous_tensor(r, FT_ELEMENT_FLOAT, 4, dims);
    if (!parts[0])
      return 0;
  }
  x = append_to_cache(r, parts[0] ? parts : parts + 1, parts[0] ? 2 : 1);
  return x && ft_tracer_add_kv_cache(&r->live, x) == 0 ? x : 0;
}

/* ---- tokens of a pass ---- */

uint32_t ft_hf_input_tokens(struct ft_hf_run *r, uint32_t ids)
{
  const struct ft_graph_sizes *sizes = r->live.in->sizes;
  int64_t length = ft_hf_size(r, ids, 1);

  if (!ids || !ft_hf_generates(r))
    return ids;
  /* the last token generated is not an input again */
  r->cache_length = length + sizes->generate - 1;
  if (sizes->last && !r->m->kv_cache) { /* without a cache all tokens are read again */
    int64_t dims[2] = { ft_hf_size(r, ids, 0), r->cache_length };

    return previous_tensor(r, FT_ELEMENT_INT64, 2, dims);
  }
  return sizes->last ? ft_tracer_slice(&r->live, ids, 1, length - 1, length, 1) : ids;
}

uint32_t ft_hf_decoder_tokens(struct ft_hf_run *r, uint32_t ids)
{
  if (!ids || !ft_hf_generates(r))
    return ids;
  r->cache_length = r->live.in->sizes->generate;
  return ft_tracer_slice(&r->live, ids, 1, 0, 1, 1);
}

uint32_t ft_hf_last_token(struct ft_hf_run *r, uint32_t x)
{
  int64_t length = ft_hf_size(r, x, 1);

  return x && ft_hf_generates(r) ? ft_tracer_slice(&r->live, x, 1, length - 1, length, 1) : x;
}
