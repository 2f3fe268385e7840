/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of Hugging Face being put together: what hf_run.c, hf_encoder_decoder.c, hf_vit.c and
 * hf_mamba.c share. Tensors are 0 once something failed, and what is given 0 gives 0. */
#ifndef FT_GRAPH_HF_RUN_H
#define FT_GRAPH_HF_RUN_H

#include "predictor/graph/import/huggingface/hf.h"
#include "predictor/graph/ir/names.h"
#include "predictor/graph/shape/live.h"

struct ft_hf_run {
  struct ft_live live;
  const struct ft_hf *m;
  const char *prefix; /* "layer.3." */
  int64_t layer;     /* 3 */
  int64_t cache_length; /* tokens that the cache holds at the end */
  struct ft_names weights;
};

/* ---- parts of any network (hf_run.c) ---- */

/* What comes next belongs to NAME. */
void ft_hf_scope(struct ft_hf_run *r, const char *name);
/* A weight of ROWS x COLUMNS, of ROWS alone where COLUMNS is 0; DEPTH x these where that is given.
 * The same for the same name. */
uint32_t ft_hf_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                      int64_t depth);
/* The same of ELEMENT, which ft_hf_weight has FT_ELEMENT_FLOAT for. */
uint32_t ft_hf_weight_in(struct ft_hf_run *r, unsigned element, const char *name, int64_t rows,
                         int64_t columns, int64_t depth);
/* X by a matrix of OUT rows, and a bias. */
uint32_t ft_hf_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out, bool biased);
/* X by the matrix W, and the bias B unless it is 0. */
uint32_t ft_hf_linear_of(struct ft_hf_run *r, uint32_t x, uint32_t w, uint32_t b);
/* An operator TYPE of A and B. */
uint32_t ft_hf_binary(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b);
/* Over the last dimension of X. */
uint32_t ft_hf_normalise(struct ft_hf_run *r, uint32_t x, const char *name);
uint32_t ft_hf_activate(struct ft_hf_run *r, uint32_t x);
/* X, of which training drops a part where SOME. */
uint32_t ft_hf_drop(struct ft_hf_run *r, uint32_t x, bool some);
/* (batch, length, features) as (batch, heads, length, SIZE). */
uint32_t ft_hf_heads(struct ft_hf_run *r, uint32_t x, int64_t heads, int64_t size);
/* What attention with queries Q reads of values V by keys K, as the layer's features; BIAS is added
 * to the scores where it is given. */
uint32_t ft_hf_attention_output(struct ft_hf_run *r, uint32_t q, uint32_t k, uint32_t v,
                                uint32_t bias);
/* Attention of X to itself by way of few features. */
uint32_t ft_hf_mla(struct ft_hf_run *r, uint32_t x);
/* Queries of X, keys and values of FROM; BIAS is added to the scores where it is given. */
uint32_t ft_hf_attention(struct ft_hf_run *r, uint32_t x, uint32_t from, uint32_t bias);
/* Two or three matrices of INNER features between, with an activation function. */
uint32_t ft_hf_mlp(struct ft_hf_run *r, uint32_t x, int64_t inner);
/* Several of these, and the one that all words share (hf_moe.c). */
uint32_t ft_hf_moe(struct ft_hf_run *r, uint32_t x);
uint32_t ft_hf_feed_forward(struct ft_hf_run *r, uint32_t x);
/* One layer whose norms stand before or behind, as the configuration says. */
uint32_t ft_hf_layer(struct ft_hf_run *r, uint32_t x);
/* TABLE's rows from the first on are added to X (batch, length, features). */
uint32_t ft_hf_positions(struct ft_hf_run *r, uint32_t x, const char *name, int64_t rows);
/* What each word's chances are computed with; X where the file is of no such network. */
uint32_t ft_hf_language_head(struct ft_hf_run *r, uint32_t x, uint32_t table);
/* An input (batch, DIMS...) of RANK dimensions behind the first; -1 is open. Sizes are given to all
 * of them together, ft_infer_inputs. */
uint32_t ft_hf_input(struct ft_hf_run *r, const char *name, unsigned element, int rank,
                     const int64_t *dims);
/* Numbers of words. */
uint32_t ft_hf_ids(struct ft_hf_run *r, const char *name);
/* What IDS stand for in *TABLE, which is made where it is 0. */
uint32_t ft_hf_embed(struct ft_hf_run *r, uint32_t ids, uint32_t *table);

/* What layers make of X, what the words of TABLE stand for. */
uint32_t ft_hf_decode(struct ft_hf_run *r, uint32_t x, uint32_t table);
/* Patches of PICTURES (n, channels, height, width) as words, with one more before them where the
 * network has that: (n, patches, features). */
uint32_t ft_hf_patches(struct ft_hf_run *r, uint32_t pictures);
/* The first of the words, as (batch, features). */
uint32_t ft_hf_first_token(struct ft_hf_run *r, uint32_t x);

/* ---- matrices in a few bits (hf_quantized.c) ---- */

/* Whether the layer's matrix NAME, or those of its "experts", is one. */
bool ft_hf_is_quantized(struct ft_hf_run *r, const char *name);
/* DEPTH (0: one) matrices of ROWS x COLUMNS and what stands beside them, into OUT. */
void ft_hf_quantized_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                            int64_t depth, uint32_t out[2]);
/* X by such a matrix of OUT rows. */
uint32_t ft_hf_quantized_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out);

/* ---- words that are made one by one (hf_kv_cache.c) ---- */

/* Whether the layer at hand sees a part of the words alone. */
bool ft_hf_in_window(const struct ft_hf_run *r);
bool ft_hf_generates(const struct ft_hf_run *r);
/* Keys or values X behind those that are kept; GROWS: with each word, else they stay. */
uint32_t ft_hf_cache(struct ft_hf_run *r, uint32_t x, bool grows);
/* A state (BATCH, ROWS, COLUMNS) is kept for the next word; WIDE: in 32 bits whatever the
 * precision. Returns 0 or -1. */
int ft_hf_state(struct ft_hf_run *r, bool wide, int64_t batch, int64_t rows, int64_t columns);
/* Of IDS those that this pass reads; of a decoder that begins with a word of its own. */
uint32_t ft_hf_input_tokens(struct ft_hf_run *r, uint32_t ids);
uint32_t ft_hf_decoder_tokens(struct ft_hf_run *r, uint32_t ids);
/* Of X (batch, length, features) that of the last word, where no more is asked for. */
uint32_t ft_hf_last_token(struct ft_hf_run *r, uint32_t x);

/* ---- whole networks; the result, 0 with the error ---- */

uint32_t ft_hf_t5(struct ft_hf_run *r);
/* bart and those alike, whisper */
uint32_t ft_hf_encoder_decoder(struct ft_hf_run *r);
uint32_t ft_hf_vit(struct ft_hf_run *r);
uint32_t ft_hf_clip(struct ft_hf_run *r);
uint32_t ft_hf_mamba(struct ft_hf_run *r);
uint32_t ft_hf_vlm(struct ft_hf_run *r);
uint32_t ft_hf_vision(struct ft_hf_run *r);

#endif
