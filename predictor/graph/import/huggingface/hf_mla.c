/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Multi-head latent attention (DeepSeek-V2, 2024): keys and values are computed from a low-rank
 * latent vector; the rotary part of the keys is shared by all heads. */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

static uint32_t slice_mla_axis(struct ft_hf_run *r, uint32_t x, int axis, int64_t from, int64_t to)
{
  return x ? ft_tracer_slice(&r->live, x, axis, from, to, 1) : 0;
}

/* X with rotary position embedding of features STILL to ALL - 1. */
static uint32_t rotate_tail(struct ft_hf_run *r, uint32_t x, int64_t still, int64_t all)
{
  uint32_t both[2] = { slice_mla_axis(r, x, 3, 0, still), slice_mla_axis(r, x, 3, still, all) };

  both[1] = both[1] ? ft_tracer_unary(&r->live, "RotaryEmbedding", both[1]) : 0;
  return both[0] && both[1] ? ft_tracer_concat(&r->live, both, 2, 3) : 0;
}

/* X (batch, length, features) appended to the cache. */
static uint32_t cache_latent(struct ft_hf_run *r, uint32_t x)
{
  int64_t dims[3];

  if (!x)
    return 0;
  dims[2] = ft_hf_size(r, x, 2);
  x = ft_hf_cache(r, ft_hf_heads(r, x, 1, dims[2]), true);
  if (!x)
    return 0;
  dims[0] = ft_hf_size(r, x, 0);
  dims[1] = ft_hf_size(r, x, 2);
  return ft_hf_reshape(r, x, dims, 3);
}

uint32_t ft_hf_mla(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  const int64_t still = m->head_dim - m->rope_dim;
  uint32_t q, kv, down, key[2];
  int64_t dims[4];

  if (!x)
    return 0;
  q = m->q_rank ? ft_hf_normalise(r, ft_hf_linear(r, x, "q_a", m->q_rank, m->bias_qkv), "q_norm")
                : x;
  q = ft_hf_linear(r, q, "q_b", m->heads * m->head_dim, false);
  q = q ? ft_hf_heads(r, q, m->heads, m->head_dim) : 0;
  q = rotate_tail(r, q, still, m->head_dim);
  down = ft_hf_linear(r, x, "kv_a", m->kv_rank + m->rope_dim, m->bias_qkv);
  kv = ft_hf_normalise(r, slice_mla_axis(r, down, 2, 0, m->kv_rank), "kv_norm");
  key[1] = slice_mla_axis(r, down, 2, m->kv_rank, m->kv_rank + m->rope_dim);
  key[1] = key[1] ? ft_hf_heads(r, key[1], 1, m->rope_dim) : 0;
  key[1] = key[1] ? ft_tracer_unary(&r->live, "RotaryEmbedding", key[1]) : 0;
  /* the cache holds the latent vectors, before they are expanded to heads */
  kv = cache_latent(r, kv);
  key[1] = ft_hf_cache(r, key[1], true);
  kv = ft_hf_linear(r, kv, "kv_b", m->heads * (still + m->value_dim), false);
  kv = kv ? ft_hf_heads(r, kv, m->heads, still + m->value_dim) : 0;
  key[0] = slice_mla_axis(r, kv, 3, 0, still);
  if (!q || !key[0] || !key[1])
    return 0;
  for (int i = 0; i < 4; i++)
    dims[i] = ft_hf_size(r, key[0], i);
  dims[3] = m->rope_dim;
  key[1] = ft_hf_binary(r, "Expand", key[1], ft_tracer_list(&r->live, dims, 4));
  if (!key[1])
    return 0;
  return ft_hf_attention_output(r, q, ft_tracer_concat(&r->live, key, 2, 3),
                                slice_mla_axis(r, kv, 3, still, still + m->value_dim), 0);
}
