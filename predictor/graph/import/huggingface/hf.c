/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts a config.json to struct ft_hf: finds the family's reader, calls it, checks the result.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/import/huggingface/hf_shapes.h"
#include "predictor/graph/import/json.h"
#include "predictor/graph/shape/infer.h"

static const struct ft_hf_family *const lists[] = { ft_hf_encoders, ft_hf_decoders, ft_hf_vlms };

/* Whether the file describes a model with a language model head, by the class it was saved from. */
static bool has_language_head(const json_t *root)
{
  const char *saved = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));

  return saved && (strstr(saved, "LMHead") || strstr(saved, "CausalLM") ||
                   strstr(saved, "MaskedLM") || strstr(saved, "MTModel") ||
                   strstr(saved, "ForConditionalGeneration") || strstr(saved, "ForPreTraining"));
}

static ft_hf_family_reader *find_reader(const char *type)
{
  ft_hf_family_reader *read = NULL;

  for (size_t i = 0; !read && i < sizeof lists / sizeof *lists; i++)
    read = ft_hf_find_family(lists[i], type);
  return read;
}

static size_t count_families(void)
{
  size_t count = 0;

  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    for (const struct ft_hf_family *family = lists[i]; family->types; family++) {
      count++;
      for (const char *c = family->types; *c; c++)
        count += *c == '|';
    }
  for (const struct ft_hf_shapes *row = ft_hf_shapes_table; row->type; row++)
    count += !row->architecture[0];
  return count;
}

static int read_shapes(struct ft_hf_config *c, const struct ft_hf_shapes *shapes, struct ft_hf *m)
{
  if (json_is_object(json_object_get(c->root, "quantization_config")))
    return ft_error_set(c->err, "%s: quantization_config: unsupported for model_type %.60s",
                        c->file, m->type);
  ft_hf_shapes_read(c, shapes, m);
  return c->failed ? -1 : 0;
}

/* Reports a JSON file that describes no network of transformers. Returns 0, or -1 with the error.
 */
static int check_kind(struct ft_hf_config *c)
{
  const char *base = ft_hf_string(c, "base_model_name_or_path", NULL),
             *class = ft_hf_string(c, "_class_name", NULL);

  if (base && json_object_get(c->root, "peft_type"))
    return ft_error_set(
        c->err, "%s: found an adapter (PEFT) of %.100s; use the config.json of that network",
        c->file, base);
  if (json_object_get(c->root, "weight_map"))
    return ft_error_set(c->err,
                        "%s: found an index of weights in several files, without a network; use "
                        "the config.json beside them",
                        c->file);
  if (class)
    return ft_error_set(c->err,
                        "%s: _class_name %.60s: networks of diffusers are unsupported; use what "
                        "torch.export.save writes",
                        c->file, class);
  return 0;
}

static int read_config(struct ft_hf_config *c, struct ft_hf *m)
{
  ft_hf_family_reader *family = find_reader(m->type);
  const char *saved =
      json_string_value(json_array_get(json_object_get(c->root, "architectures"), 0));
  const struct ft_hf_shapes *shapes = ft_hf_shapes_find(m->type, saved ? saved : "");

  if (shapes)
    return read_shapes(c, shapes, m);
  if (!family && ft_hf_shapes_find(m->type, ""))
    return ft_error_set(c->err, "%s: architectures: unsupported class %.60s of model_type %.60s",
                        c->file, saved, m->type);
  if (!family && m->type[0] && ft_hf_generic_applies(c))
    family = ft_hf_generic;
  if (!family)
    return ft_error_set(c->err,
                        "%s: unsupported model_type %.60s; expected bert, gpt2, llama, t5, "
                        "one of %zu others, or hidden_size, num_hidden_layers, "
                        "num_attention_heads and vocab_size for a generic decoder",
                        c->file, m->type[0] ? m->type : "(none)", count_families() - 4);
  if (!ft_hf_find_family(ft_hf_vlms, m->type))
    ft_hf_common(c, NULL, m);
  if (!c->failed)
    family(c, m);
  if (!c->failed && !m->vision && m->kind != FT_HF_VISION) {
    ft_hf_training(c, m);
    ft_hf_windows(c, m);
  }
  m->with_head = has_language_head(c->root);
  if (m->with_head)
    m->pooler = false;
  if (c->failed || ft_hf_quantized(c, m) < 0)
    return -1;
  if (!m->hidden || !m->heads || !m->kv_heads || !m->head_dim || !m->vocab ||
      m->heads % m->kv_heads || m->layers > 10000 || m->decoder_layers > 10000 ||
      m->heads > 1 << 16)
    return ft_error_set(
        c->err,
        "%s: %lld features in %lld heads of %lld, %lld layers: inconsistent or out of range",
        c->file, (long long)m->hidden, (long long)m->heads, (long long)m->kv_heads,
        (long long)m->layers);
  return 0;
}

/* Copies M's strings into the graph, since the JSON document that holds them is freed. */
static int copy_strings(struct ft_build *build, struct ft_hf *m)
{
  const char *type = m->type ? m->type : "", *activation = m->activation ? m->activation : "";

  m->type = ft_build_same(build, type, strlen(type));
  m->activation = ft_build_same(build, activation, strlen(activation));
  return m->type && m->activation ? 0 : -1;
}

/* Element type of the stored weights; FT_ELEMENT_UNKNOWN if the file does not name it. Beside
 * QUANTISED weights the others have 16 bits (transformers 5.24, quantizers). */
static uint8_t stored_element(const json_t *root, bool quantised)
{
  static const struct {
    const char *name;
    uint8_t element;
  } names[] = { { "float32", FT_ELEMENT_FLOAT },
                { "float16", FT_ELEMENT_FLOAT16 },
                { "bfloat16", FT_ELEMENT_BFLOAT16 } };
  const char *said = json_string_value(json_object_get(root, "dtype"));
  size_t i;

  if (!said)
    said = json_string_value(json_object_get(root, "torch_dtype"));
  i = FT_TABLE_FIND(names, said ? said : "");
  if (i < sizeof names / sizeof *names)
    return names[i].element;
  return quantised ? FT_ELEMENT_BFLOAT16 : FT_ELEMENT_UNKNOWN;
}

int ft_hf_read(struct ft_build *build, int fd)
{
  struct ft_graph *g = build->graph;
  struct ft_hf *m = ft_build_take(build, sizeof *m);
  struct ft_hf_config c = {
    .file = g->file, .err = build->err, .build = build, .vision = ft_build_take(build, sizeof *m)
  };
  int status = -1;
  json_t *root;

  if (!m || !c.vision)
    return -1;
  root = ft_graph_json_read(build, fd, FT_LIMIT_CONFIG);
  if (!root)
    return -1;
  c.root = root;
  m->type = ft_hf_string(&c, "model_type", "");
  if (check_kind(&c) < 0 || read_config(&c, m) < 0 || copy_strings(build, m) < 0 ||
      copy_strings(build, c.vision) < 0)
    goto out;
  g->format = "hugging face config";
  g->producer = "transformers";
  g->program = m;
  g->guessed = m->guessed;
  if (m->kind == FT_HF_SHAPES && !m->lower_bound)
    g->approximate = m->saved > 0 ? FT_GRAPH_MEASURED : FT_GRAPH_APPROXIMATE;
  g->adapts = true;
  g->generates = m->causal || m->decoder_layers;
  g->max_tokens = ft_hf_int(&c, "max_position_embeddings|n_positions", 0);
  g->stored = stored_element(root, m->quantized.bits > 0);
  g->expand = ft_hf_run;
  status = 0;
out:
  json_decref(root);
  return status;
}
