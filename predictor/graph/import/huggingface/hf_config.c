/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to the fields of a config.json, and those that all families share. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"

void ft_hf_refuse(struct ft_hf_config *c, const char *what)
{
  if (!c->failed)
    (void)ft_error_set(c->err, "%s: %s", c->file, what);
  c->failed = true;
}

int64_t ft_hf_int(struct ft_hf_config *c, const char *keys, int64_t otherwise)
{
  struct ft_text list = ft_text_from(keys), key;
  char name[64];

  while (ft_text_until(&list, '|', &key)) {
    const json_t *v = ft_text_copy(key, name, sizeof name) ? json_object_get(c->root, name) : NULL;

    if (!json_is_integer(v) || json_integer_value(v) == -1) /* -1 counts as absent */
      continue;
    if (json_integer_value(v) < 0 || json_integer_value(v) > FT_GRAPH_DIMENSION / 1024) {
      if (!c->failed)
        (void)ft_error_set(c->err, "%s: %s=%lld: expected 0 to 2^30", c->file, name,
                           (long long)json_integer_value(v));
      c->failed = true;
      return 0;
    }
    return json_integer_value(v);
  }
  if (otherwise < 0 && !c->failed) {
    (void)ft_error_set(c->err, "%s: expected %.100s, an integer", c->file, keys);
    c->failed = true;
  }
  return otherwise;
}

bool ft_hf_bool(const struct ft_hf_config *c, const char *key, bool otherwise)
{
  const json_t *v = json_object_get(c->root, key);

  return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

const char *ft_hf_string(const struct ft_hf_config *c, const char *key, const char *otherwise)
{
  const char *v = json_string_value(json_object_get(c->root, key));

  return v ? v : otherwise;
}

void ft_hf_common(struct ft_hf_config *c, const struct ft_hf_defaults *usual, struct ft_hf *m)
{
  static const struct ft_hf_defaults required = { NULL, -1, 0, -1, -1, 0, 0, -1 };
  const struct ft_hf_defaults *u = usual ? usual : &required;
  bool heads = strcmp(m->type, "mamba") != 0, tokens = strcmp(m->type, "vit") != 0;

  m->hidden = ft_hf_int(c, "hidden_size|n_embd|d_model|dim", u->hidden);
  m->layers =
      ft_hf_int(c, "num_hidden_layers|n_layer|num_layers|n_layers|encoder_layers", u->layers);
  m->heads = ft_hf_int(c,
                       "num_attention_heads|n_head|num_heads|n_heads|encoder_attention_heads|"
                       "attention_heads",
                       heads ? u->heads : 1);
  m->kv_heads = ft_hf_int(c, "num_key_value_heads", u->kv_heads ? u->kv_heads : m->heads);
  m->vocab = ft_hf_int(c, "vocab_size", tokens ? u->vocab : 1);
  m->embedding = ft_hf_int(c, "embedding_size", m->hidden);
  m->inner = ft_hf_int(c, "intermediate_size|n_inner|ffn_dim|hidden_dim|ffn_hidden_size|d_ff",
                       u->inner ? u->inner : 4 * m->hidden);
  m->head_dim = ft_hf_int(c, "head_dim|d_kv",
                          u->head_dim    ? u->head_dim
                          : m->heads > 0 ? m->hidden / m->heads
                                         : 0);
  m->activation =
      ft_hf_string(c, "hidden_act",
                   ft_hf_string(c, "activation_function", ft_hf_string(c, "activation", "gelu")));
  m->norms = 2;
  m->causal = true;
}

void ft_hf_image_config(struct ft_hf_config *c, int64_t image, int64_t patch, struct ft_hf *m)
{
  m->image = ft_hf_int(c, "image_size", image);
  m->channels = ft_hf_int(c, "num_channels|in_channels", 3);
  m->patch = ft_hf_int(c, "patch_size", patch);
  if (m->patch < 1 || m->patch > m->image || m->image > 1 << 16 || m->channels > 1 << 16)
    ft_hf_refuse(c, "patch_size, image_size: expected images of whole patches");
  m->bias_out = m->bias_inner = true;
  m->bias_qkv = ft_hf_bool(c, "qkv_bias", true);
  m->causal = false;
}

ft_hf_family_reader *ft_hf_find_family(const struct ft_hf_family *list, const char *type)
{
  struct ft_text types, one;

  for (; list->types; list++)
    for (types = ft_text_from(list->types); ft_text_until(&types, '|', &one);)
      if (ft_text_equals(one, type))
        return list->read;
  return NULL;
}
