/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a config.json says, as the readers of families (hf.c, hf_decoders.c) ask for it. */
#ifndef FT_GRAPH_HF_CONFIG_H
#define FT_GRAPH_HF_CONFIG_H

#include <jansson.h>

#include "predictor/graph/import/huggingface/hf.h"

struct ft_hf_config {
  struct ft_build *build;
  const json_t *root;
  const char *file;
  struct ft_error *err;
  bool failed;
  struct ft_hf *more; /* for what has two */
};

/* Nothing is built of it: FILE: WHAT. The first reason counts. */
void ft_hf_refuse(struct ft_hf_config *c, const char *what);
/* The first of KEYS, which "|" separates, that holds a whole number; OTHERWISE where none does,
 * refused where that is below 0. */
int64_t ft_hf_number(struct ft_hf_config *c, const char *keys, int64_t otherwise);
bool ft_hf_truth(const struct ft_hf_config *c, const char *key, bool otherwise);
const char *ft_hf_text(const struct ft_hf_config *c, const char *key, const char *otherwise);

/* What its code does in training (hf_training.c); M's type and activation are known. */
void ft_hf_training(struct ft_hf_config *c, struct ft_hf *m);

/* What its quantization_config says (hf_quantized.c). Returns 0 or -1. */
int ft_hf_quantized(struct ft_hf_config *c, struct ft_hf *m);

/* Which of M's layers see a part of the words alone (hf_kv_cache.c). */
void ft_hf_windows(struct ft_hf_config *c, struct ft_hf *m);

/* Whether C has the fields that a network of no known family is read by (hf_generic.c); read it. */
bool ft_hf_guessable(const struct ft_hf_config *c);
void ft_hf_guess(struct ft_hf_config *c, struct ft_hf *m);

/* What reads a family. */
typedef void ft_hf_family(struct ft_hf_config *c, struct ft_hf *m);
/* One of a list of families, which a TYPE of NULL ends. */
struct ft_hf_known {
  const char *type;
  ft_hf_family *read;
};
/* Those that are newer than hf.c's own; those that see. */
extern const struct ft_hf_known ft_hf_newer[], ft_hf_seeing[];

/* What a part of a network is where its configuration does not say (hf_vlm_config.c). */
struct ft_hf_usual {
  const char *type;
  int64_t hidden, inner, layers, heads, kv_heads, head, vocab; /* kv_heads, head 0: by the others */
};
/* The decoder that C describes into M, whose type is known. */
void ft_hf_words_part(struct ft_hf_config *c, const struct ft_hf_usual *usual, struct ft_hf *m);
/* Sizes of pictures and of their patches. */
void ft_hf_picture(struct ft_hf_config *c, int64_t image, int64_t patch, struct ft_hf *m);

/* llama and those made after it: rotary positions, grouped queries, gated connections. */
void ft_hf_llama(struct ft_hf_config *c, struct ft_hf *m);

/* Which layers have no experts: of every STEP all but the last, and those that mlp_only_layers
 * names. */
void ft_hf_sparse(struct ft_hf_config *c, const char *step, struct ft_hf *m);

#endif
