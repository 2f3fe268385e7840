/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks of Hugging Face being put together: what hf_run.c, hf_sides.c, hf_picture.c and
 * hf_mamba.c share. Tensors are 0 once something failed, and what is given 0 gives 0. */
#ifndef FT_GRAPH_HF_RUN_H
#define FT_GRAPH_HF_RUN_H

#include "predictor/graph/hf.h"
#include "predictor/graph/live.h"
#include "predictor/graph/names.h"

struct ft_hf_run {
  struct ft_live live;
  const struct ft_hf *m;
  const char *where; /* "layer.3." */
  int64_t layer;     /* 3 */
  struct ft_names weights;
};

/* ---- parts of any network (hf_run.c) ---- */

/* What comes next belongs to NAME. */
void ft_hf_scope(struct ft_hf_run *r, const char *name);
/* A weight of ROWS x COLUMNS, of ROWS alone where COLUMNS is 0; DEPTH x these where that is given.
 * The same for the same name. */
uint32_t ft_hf_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                      int64_t depth);
/* X by a matrix of OUT rows, and a bias. */
uint32_t ft_hf_connect(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out, bool biased);
/* An operator TYPE of A and B. */
uint32_t ft_hf_both(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b);
/* Over the last dimension of X. */
uint32_t ft_hf_normalise(struct ft_hf_run *r, uint32_t x, const char *name);
uint32_t ft_hf_activate(struct ft_hf_run *r, uint32_t x);
/* X, of which training drops a part where SOME. */
uint32_t ft_hf_drop(struct ft_hf_run *r, uint32_t x, bool some);
/* (batch, length, features) as (batch, heads, length, SIZE). */
uint32_t ft_hf_heads(struct ft_hf_run *r, uint32_t x, int64_t heads, int64_t size);
/* What attention with queries Q reads of values V by keys K, as the layer's features; BIAS is added
 * to the scores where it is given. */
uint32_t ft_hf_read_out(struct ft_hf_run *r, uint32_t q, uint32_t k, uint32_t v, uint32_t bias);
/* Attention of X to itself by way of few features. */
uint32_t ft_hf_latent(struct ft_hf_run *r, uint32_t x);
/* Queries of X, keys and values of FROM; BIAS is added to the scores where it is given. */
uint32_t ft_hf_attend(struct ft_hf_run *r, uint32_t x, uint32_t from, uint32_t bias);
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
uint32_t ft_hf_words(struct ft_hf_run *r, uint32_t ids, uint32_t *table);

/* ---- whole networks; the result, 0 with the error ---- */

uint32_t ft_hf_t5(struct ft_hf_run *r);
/* bart and those alike, whisper */
uint32_t ft_hf_sides(struct ft_hf_run *r);
uint32_t ft_hf_vit(struct ft_hf_run *r);
uint32_t ft_hf_clip(struct ft_hf_run *r);
uint32_t ft_hf_mamba(struct ft_hf_run *r);

#endif
