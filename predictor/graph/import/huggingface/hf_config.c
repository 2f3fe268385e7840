/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"

void ft_hf_refuse(struct ft_hf_config *c, const char *what)
{
  if (!c->failed)
    (void)ft_error_set(c->err, "%s: %s", c->file, what);
  c->failed = true;
}

int64_t ft_hf_number(struct ft_hf_config *c, const char *keys, int64_t otherwise)
{
  struct ft_text list = ft_text_from(keys), key;
  char name[64];

  while (ft_text_until(&list, '|', &key)) {
    const json_t *v = ft_text_copy(key, name, sizeof name) ? json_object_get(c->root, name) : NULL;

    if (!json_is_integer(v) || json_integer_value(v) == -1) /* -1: as if it were not there */
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
    (void)ft_error_set(c->err, "%s: expected %.100s, a whole number", c->file, keys);
    c->failed = true;
  }
  return otherwise;
}

bool ft_hf_truth(const struct ft_hf_config *c, const char *key, bool otherwise)
{
  const json_t *v = json_object_get(c->root, key);

  return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

const char *ft_hf_text(const struct ft_hf_config *c, const char *key, const char *otherwise)
{
  const char *v = json_string_value(json_object_get(c->root, key));

  return v ? v : otherwise;
}
