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
  struct ft_hf *vision; /* room for the vision encoder of a network that has one */
};

/* Nothing is built of it: FILE: WHAT. The first reason counts. */
void ft_hf_refuse(struct ft_hf_config *c, const char *what);
/* The first of KEYS, which "|" separates, that holds a whole number; OTHERWISE where none does,
 * refused where that is below 0. */
int64_t ft_hf_int(struct ft_hf_config *c, const char *keys, int64_t otherwise);
bool ft_hf_bool(const struct ft_hf_config *c, const char *key, bool otherwise);
const char *ft_hf_string(const struct ft_hf_config *c, const char *key, const char *otherwise);

/* What its code does in training (hf_training.c); M's type and activation are known. */
void ft_hf_training(struct ft_hf_config *c, struct ft_hf *m);

/* What its quantization_config says (hf_quantized.c). Returns 0 or -1. */
int ft_hf_quantized(struct ft_hf_config *c, struct ft_hf *m);

/* Which of M's layers see a part of the words alone (hf_kv_cache.c). */
void ft_hf_windows(struct ft_hf_config *c, struct ft_hf *m);

/* Whether C has the fields that a network of no known family is read by (hf_generic.c); read it. */
bool ft_hf_generic_applies(const struct ft_hf_config *c);
void ft_hf_generic(struct ft_hf_config *c, struct ft_hf *m);

/* What reads a family. */
typedef void ft_hf_family_reader(struct ft_hf_config *c, struct ft_hf *m);
/* One of a list of families, which a TYPE of NULL ends. */
struct ft_hf_family {
  const char *type;
  ft_hf_family_reader *read;
};
/* Those that are newer than hf.c's own; those that see. */
extern const struct ft_hf_family ft_hf_encoders[], ft_hf_decoders[], ft_hf_vlms[];
/* What reads TYPE of LIST; NULL: it is not there. */
ft_hf_family_reader *ft_hf_find_family(const struct ft_hf_family *list, const char *type);

/* What a part of a network is where its configuration does not say (hf_vlm_config.c). */
struct ft_hf_defaults {
  const char *type;
  int64_t hidden, inner, layers, heads, kv_heads, head_dim, vocab; /* kv_heads, head_dim 0: by the others */
};
/* The fields that nearly all configurations have, into M; USUAL (or NULL) where C has none. */
void ft_hf_common(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m);
/* The decoder that C describes into M, whose type is known. */
void ft_hf_text_config(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m);
/* Sizes of pictures and of their patches. */
void ft_hf_image_config(struct ft_hf_config *c, int64_t image, int64_t patch, struct ft_hf *m);

/* llama and those made after it: rotary positions, grouped queries, gated connections. */
void ft_hf_llama(struct ft_hf_config *c, struct ft_hf *m);

/* Which layers have no experts: of every STEP all but the last, and those that mlp_only_layers
 * names. */
void ft_hf_dense_layers(struct ft_hf_config *c, const char *step, struct ft_hf *m);

#endif
