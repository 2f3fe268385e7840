/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to a config.json for the readers of model families. */
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
  struct ft_hf *vision; /* receives the vision encoder of a network that has one */
};

/* Reports "FILE: WHAT" unless an error is set already, and sets C->failed. */
void ft_hf_refuse(struct ft_hf_config *c, const char *what);
/* Returns the value of the first of KEYS, separated by "|", that holds an integer; else OTHERWISE.
 * Sets C->failed if no key does and OTHERWISE is negative, or if the value is not in 0 to 2^30. */
int64_t ft_hf_int(struct ft_hf_config *c, const char *keys, int64_t otherwise);
/* The value of KEY; OTHERWISE if KEY is absent or of another type. */
bool ft_hf_bool(const struct ft_hf_config *c, const char *key, bool otherwise);
const char *ft_hf_string(const struct ft_hf_config *c, const char *key, const char *otherwise);

/* Sets the training fields of M: dropout, decompositions (hf_training.c). M's type and activation
 * must be set. */
void ft_hf_training(struct ft_hf_config *c, struct ft_hf *m);

/* Reads quantization_config into M (hf_quantized.c). Returns 0, or -1 with the error. */
int ft_hf_quantized(struct ft_hf_config *c, struct ft_hf *m);

/* Reads no file: weights of BITS, 4 or 8, as bitsandbytes quantises them when it loads them. */
struct ft_hf_quantized ft_hf_bitsandbytes(int bits);

/* Sets M's sliding window and the layers that have it (hf_kv_cache.c). */
void ft_hf_windows(struct ft_hf_config *c, struct ft_hf *m);

/* ft_hf_generic_applies returns whether C has the fields needed to read an unknown family as a
 * llama-like decoder; ft_hf_generic reads C as one into M (hf_generic.c). */
bool ft_hf_generic_applies(const struct ft_hf_config *c);
void ft_hf_generic(struct ft_hf_config *c, struct ft_hf *m);

/* Reads the configuration C of a family into M. */
typedef void ft_hf_family_reader(struct ft_hf_config *c, struct ft_hf *m);
/* A row of a table of families; TYPES of NULL ends the table. */
struct ft_hf_family {
  const char *types; /* model_type, or several separated by "|" */
  ft_hf_family_reader *read;
};
extern const struct ft_hf_family ft_hf_encoders[], ft_hf_decoders[], ft_hf_vlms[];
/* The reader of model_type TYPE in LIST, or NULL. */
ft_hf_family_reader *ft_hf_find_family(const struct ft_hf_family *list, const char *type);

/* The library's defaults for a part of a network (configuration_*.py); -1: required in the file. */
struct ft_hf_defaults {
  const char *type;
  int64_t hidden, inner, layers, heads, kv_heads, head_dim,
      vocab; /* kv_heads, head_dim of 0 follow from the other fields */
};
/* Reads the fields common to nearly all configurations into M. USUAL: their defaults, or NULL. */
void ft_hf_common(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m);
/* Reads the decoder C of a vision-language model into M, whose type is set. USUAL: its defaults, or
 * NULL. */
void ft_hf_text_config(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m);
/* Reads image and patch sizes in pixels; IMAGE and PATCH are the defaults. */
void ft_hf_image_config(struct ft_hf_config *c, int64_t image, int64_t patch, struct ft_hf *m);

/* The base of llama's descendants: RMSNorm, rotary positions, gated MLP. */
void ft_hf_llama(struct ft_hf_config *c, struct ft_hf *m);

/* Sets M's number of layers without experts: those in mlp_only_layers, and of each group of n
 * layers all but the last, where n is the value of key STEP. */
void ft_hf_dense_layers(struct ft_hf_config *c, const char *step, struct ft_hf *m);

#endif
