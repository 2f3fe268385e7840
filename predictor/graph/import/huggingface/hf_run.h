/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builders of Hugging Face networks. Tensors are indices into the graph, 0 after an error; a
 * builder whose argument is 0 returns 0, so that only the last result need be checked. */
#ifndef FT_GRAPH_HF_RUN_H
#define FT_GRAPH_HF_RUN_H

#include "predictor/graph/import/huggingface/hf.h"
#include "predictor/graph/ir/symbol_table.h"
#include "predictor/graph/shape/tracer.h"

struct ft_hf_run {
  struct ft_tracer live;
  const struct ft_hf *m;
  const char *prefix;   /* prepended to weight names: "layer.3." */
  int64_t layer;        /* number of the current layer, from 0 */
  bool adapter;         /* the next weights are an adapter's */
  int64_t cache_length; /* tokens that the cache holds after this pass */
  struct ft_symbol_table weights;
};

/* ---- modules (hf_weight.c, hf_module.c, hf_layer.c) ---- */

/* Sets the scope of the operators recorded next to NAME. */
void ft_hf_scope(struct ft_hf_run *r, const char *name);
/* The weight NAME of ROWS x COLUMNS, of ROWS only if COLUMNS is 0, of DEPTH such matrices if
 * DEPTH is not 0. The same name returns the same weight. */
uint32_t ft_hf_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                      int64_t depth);
/* As ft_hf_weight, with element type ELEMENT instead of FT_ELEMENT_FLOAT. */
uint32_t ft_hf_weight_in(struct ft_hf_run *r, unsigned element, const char *name, int64_t rows,
                         int64_t columns, int64_t depth);
/* The size of X along AXIS, counted from the last if negative; 0 if X is 0. All sizes are known,
 * because the input sizes are. */
int64_t ft_hf_size(const struct ft_hf_run *r, uint32_t x, int axis);
uint32_t ft_hf_reshape(struct ft_hf_run *r, uint32_t x, const int64_t *sizes, int rank);
/* A constant of unknown values, such as indices. */
uint32_t ft_hf_constant(struct ft_hf_run *r, unsigned element, const int64_t *sizes, int rank);
/* A linear layer of X with OUT output features, and a bias if BIASED. */
uint32_t ft_hf_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out, bool biased);
/* X times the transposed matrix W, plus the bias B unless it is 0. */
uint32_t ft_hf_linear_of(struct ft_hf_run *r, uint32_t x, uint32_t w, uint32_t b);
/* Operator TYPE of A and B. */
uint32_t ft_hf_binary(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b);
/* The configured norm over X's last dimension. */
uint32_t ft_hf_normalise(struct ft_hf_run *r, uint32_t x, const char *name);
uint32_t ft_hf_activate(struct ft_hf_run *r, uint32_t x);
/* X with dropout if SOME, else X. */
uint32_t ft_hf_drop(struct ft_hf_run *r, uint32_t x, bool some);
/* (batch, length, features) as (batch, heads, length, SIZE). */
uint32_t ft_hf_heads(struct ft_hf_run *r, uint32_t x, int64_t heads, int64_t size);
/* Scaled dot-product attention and the output projection. BIAS (or 0) is added to the scores. */
uint32_t ft_hf_attention_output(struct ft_hf_run *r, uint32_t q, uint32_t k, uint32_t v,
                                uint32_t bias);
/* Multi-head latent attention of X to itself (hf_mla.c). */
uint32_t ft_hf_mla(struct ft_hf_run *r, uint32_t x);
/* Attention with queries of X, keys and values of FROM. BIAS (or 0) is added
 * to the scores. */
uint32_t ft_hf_attention(struct ft_hf_run *r, uint32_t x, uint32_t from, uint32_t bias);
/* The MLP with INNER features, gated or not. */
uint32_t ft_hf_mlp(struct ft_hf_run *r, uint32_t x, int64_t inner);
/* The mixture of experts and its shared expert (hf_moe.c). */
uint32_t ft_hf_moe(struct ft_hf_run *r, uint32_t x);
/* The current layer's mixture of experts or MLP. */
uint32_t ft_hf_feed_forward(struct ft_hf_run *r, uint32_t x);
/* One layer, with norms before or after as configured. */
uint32_t ft_hf_layer(struct ft_hf_run *r, uint32_t x);
/* X (batch, length, features) plus the first rows of the table NAME of ROWS rows. */
uint32_t ft_hf_positions(struct ft_hf_run *r, uint32_t x, const char *name, int64_t rows);
/* Logits of X, or X if the file has no head. TABLE: the token embeddings, which tied heads use. */
uint32_t ft_hf_language_head(struct ft_hf_run *r, uint32_t x, uint32_t table);
/* Declares an input (batch, SIZES...) of RANK dimensions after the first. A size of -1 is set by
 * --input, through ft_infer_inputs, which sets the sizes of all inputs together. */
uint32_t ft_hf_input(struct ft_hf_run *r, const char *name, unsigned element, int rank,
                     const int64_t *sizes);
/* Declares an input of token IDs. */
uint32_t ft_hf_ids(struct ft_hf_run *r, const char *name);
/* Embeddings of IDS from *TABLE, which is created if it is 0. */
uint32_t ft_hf_embed(struct ft_hf_run *r, uint32_t ids, uint32_t *table);

/* All layers, the final norm and the head. TABLE: the token embeddings. */
uint32_t ft_hf_decode(struct ft_hf_run *r, uint32_t x, uint32_t table);
/* Patch embeddings of images (n, channels, height, width) and the class token, if there is one:
 * (n, patches, features). */
uint32_t ft_hf_patches(struct ft_hf_run *r, uint32_t images);
/* The first token of X, as (batch, features). */
uint32_t ft_hf_first_token(struct ft_hf_run *r, uint32_t x);

/* ---- quantised matrices (hf_quantized.c) ---- */

/* Whether the layer's matrix NAME, or its "experts", is quantised. */
bool ft_hf_is_quantized(struct ft_hf_run *r, const char *name);
/* Sets OUT to DEPTH (0: one) quantised matrices of ROWS x COLUMNS and to their scales. */
void ft_hf_quantized_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                            int64_t depth, uint32_t out[2]);
/* A linear layer of X with a quantised matrix of OUT rows. */
uint32_t ft_hf_quantized_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out);

/* ---- adapters (hf_lora.c) ---- */

/* Adds to Y, the linear layer NAME of X, its adapter; Y if the layer has none. */
uint32_t ft_hf_adapt(struct ft_hf_run *r, uint32_t x, uint32_t y, const char *name);

/* ---- KV cache and generation (hf_kv_cache.c) ---- */

/* Whether the current layer has a sliding window. */
bool ft_hf_in_window(const struct ft_hf_run *r);
bool ft_hf_generates(const struct ft_hf_run *r);
/* Appends the keys or values X to the cache and returns the cache; X without a cache. GROWS: the
 * cache grows with each token, unlike that of an encoder's output. */
uint32_t ft_hf_cache(struct ft_hf_run *r, uint32_t x, bool grows);
/* Records a recurrent state (BATCH, ROWS, COLUMNS) that is stored between tokens. WIDE: in 32 bits
 * at any precision. Returns 0 or -1. */
int ft_hf_state(struct ft_hf_run *r, bool wide, int64_t batch, int64_t rows, int64_t columns);
/* The tokens of IDS that this pass reads; ft_hf_decoder_tokens: of an encoder-decoder's decoder,
 * whose input begins with a start token. */
uint32_t ft_hf_input_tokens(struct ft_hf_run *r, uint32_t ids);
uint32_t ft_hf_decoder_tokens(struct ft_hf_run *r, uint32_t ids);
/* Only the last token of X (batch, length, features) when generating. */
uint32_t ft_hf_last_token(struct ft_hf_run *r, uint32_t x);

/* ---- whole networks; return the output tensor, 0 on error ---- */

uint32_t ft_hf_t5(struct ft_hf_run *r);
/* bart and relatives, whisper */
uint32_t ft_hf_encoder_decoder(struct ft_hf_run *r);
uint32_t ft_hf_vit(struct ft_hf_run *r);
uint32_t ft_hf_clip(struct ft_hf_run *r);
uint32_t ft_hf_mamba(struct ft_hf_run *r);
uint32_t ft_hf_vlm(struct ft_hf_run *r);
uint32_t ft_hf_vision(struct ft_hf_run *r);

#endif
