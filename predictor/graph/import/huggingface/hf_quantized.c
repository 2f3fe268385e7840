/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matrices quantised by the file's quantization_config (transformers 5.23,
 * utils/quantization_config.py and integrations/): those of nn.Linear except the language model
 * head, routers and excluded modules. Experts are quantised in checkpoints, not when weights are
 * quantised on loading (bitsandbytes).
 */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/import/huggingface/hf_run.h"

enum {
  ELEMENT_UINT4 = 21, /* onnx.TensorProto.UINT4 */
  EXCLUDED = 4096     /* limit of excluded modules */
};

/* ---- quantization_config ---- */

static const json_t *json_member(const json_t *object, const char *key)
{
  return json_object_get(object, key);
}

static int64_t positive_member(const json_t *object, const char *key, int64_t otherwise)
{
  const json_t *v = json_member(object, key);

  return json_is_integer(v) && json_integer_value(v) > 0 && json_integer_value(v) < 1 << 20
             ? json_integer_value(v)
             : otherwise;
}

/* bitsandbytes, functional.py: blocks of 64 with a 32-bit scale. */
struct ft_hf_quantized ft_hf_bitsandbytes(int bits)
{
  return (struct ft_hf_quantized){
    .bits = (uint8_t)bits, .group = bits == 4 ? 64 : 0, .scale_bits = 32, .dequantized = bits == 4
  };
}

/* Double quantisation stores scales in 8 bits, in blocks of 256. */
static void read_bitsandbytes(const json_t *q, struct ft_hf_quantized *out)
{
  *out = ft_hf_bitsandbytes(json_is_true(json_member(q, "load_in_8bit")) ? 8 : 4);
  if (out->bits == 4 && json_is_true(json_member(q, "bnb_4bit_use_double_quant")))
    out->scale_bits = 8;
}

/* compressed-tensors, config/quant_scheme.py; only the first group is read. */
static void read_compressed_tensors(const json_t *q, struct ft_hf_quantized *out)
{
  const json_t *groups = json_member(q, "config_groups"), *w = NULL;
  const char *key, *strategy, *format = json_string_value(json_member(q, "format"));
  json_t *group;

  json_object_foreach ((json_t *)groups, key, group) {
    w = json_member(group, "weights");
    break;
  }
  if (!json_is_object(w))
    return;
  strategy = json_string_value(json_member(w, "strategy"));
  out->bits = positive_member(w, "num_bits", 8) <= 4 ? 4 : 8;
  out->scale_bits = 16;
  out->group = positive_member(w, "group_size", 0);
  out->per_tensor = strategy && strcmp(strategy, "tensor") == 0;
  if (strategy && strcmp(strategy, "block") == 0)
    out->tile = 128;
  if (format && strcmp(format, "nvfp4-pack-quantized") == 0)
    out->scale_bits = 8;
  out->zeros = json_is_false(json_member(w, "symmetric")) && out->bits == 4;
}

static void read_method(const json_t *q, const char *method, struct ft_hf_quantized *out)
{
  out->experts = true;
  if (strcmp(method, "bitsandbytes") == 0) {
    read_bitsandbytes(q, out);
  } else if (strcmp(method, "gptq") == 0 || strcmp(method, "awq") == 0) {
    out->bits = positive_member(q, json_member(q, "bits") ? "bits" : "w_bit", 4) <= 4 ? 4 : 8;
    out->group =
        positive_member(q, json_member(q, "group_size") ? "group_size" : "q_group_size", 0);
    out->scale_bits = 16;
    out->zeros = true;
    out->column_groups = strcmp(method, "gptq") == 0;
  } else if (strcmp(method, "fp8") == 0) {
    out->bits = 8;
    out->tile = json_is_null(json_member(q, "weight_block_size")) ? 0 : 128;
    out->per_tensor = !out->tile;
    out->scale_bits = 32;
  } else if (strcmp(method, "fbgemm_fp8") == 0) {
    out->bits = 8;
    out->scale_bits = 32;
  } else if (strcmp(method, "compressed-tensors") == 0) {
    read_compressed_tensors(q, out);
  } else if (strcmp(method, "mxfp4") == 0) {
    out->bits = 4;
    out->group = 32;
    out->scale_bits = 8;
    out->only_experts = true;
  }
}

/* Reads the names of excluded modules. Returns 0 or -1. */
static int read_excluded(struct ft_hf_config *c, const json_t *q, struct ft_hf_quantized *out)
{
  static const char *const keys[] = { "modules_to_not_convert", "llm_int8_skip_modules", "ignore",
                                      "ignored_layers" };

  for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
    const json_t *list = json_member(q, keys[k]);
    size_t count = json_array_size(list) < EXCLUDED ? json_array_size(list) : EXCLUDED;

    if (!count)
      continue;
    out->excluded = ft_build_take(c->build, count * sizeof *out->excluded);
    for (size_t i = 0; out->excluded && i < count; i++) {
      const char *name = json_string_value(json_array_get(list, i));

      if (name)
        out->excluded[out->excluded_count++] = ft_build_same(c->build, name, strlen(name));
    }
    return out->excluded ? 0 : -1;
  }
  return 0;
}

/* bitsandbytes: saved files may have both load_in_* switches off. */
static bool switched_off(const json_t *q, const char *method)
{
  const json_t *four = json_member(q, "load_in_4bit"), *eight = json_member(q, "load_in_8bit");

  return method && strcmp(method, "bitsandbytes") == 0 && (four || eight) && !json_is_true(four) &&
         !json_is_true(eight);
}

int ft_hf_quantized(struct ft_hf_config *c, struct ft_hf *m)
{
  const json_t *q = json_member(c->root, "quantization_config");
  const char *method = json_string_value(json_member(q, "quant_method"));

  if (!json_is_object(q) || json_is_true(json_member(q, "dequantize")))
    return 0;
  if (!method && (json_member(q, "load_in_4bit") || json_member(q, "load_in_8bit")))
    method = "bitsandbytes";
  if (switched_off(q, method))
    return 0;
  read_method(q, method ? method : "", &m->quantized);
  if (!m->quantized.bits && method && strcmp(method, "compressed-tensors") == 0)
    return ft_error_set(c->err,
                        "%s: quantization_config: config_groups: expected a group with \"weights\"",
                        c->file);
  if (!m->quantized.bits)
    return ft_error_set(c->err,
                        "%s: quantization_config: unsupported quant_method %.60s; expected "
                        "bitsandbytes, gptq, awq, fp8, fbgemm_fp8, compressed-tensors or mxfp4",
                        c->file, method ? method : "(none)");
  return read_excluded(c, q, &m->quantized);
}

/* ---- which matrices are quantised ---- */

/* Whether PATTERN (letters, "\." and ".*") matches NAME up to the end of one of its components. */
static bool matches_pattern(const char *pattern, const char *name)
{
  const char *again = NULL, *from = NULL;

  if (strncmp(pattern, "re:", 3) == 0)
    pattern += 3;
  pattern += *pattern == '^';
  for (;;) {
    if (strncmp(pattern, ".*", 2) == 0) {
      again = pattern += 2;
      from = name;
      continue;
    }
    if ((!*pattern || strcmp(pattern, "$") == 0) && (!*name || *name == '.'))
      return true;
    pattern += *pattern == '\\';
    if (*pattern && *pattern == *name) {
      pattern++;
      name++;
    } else if (again && *from) {
      pattern = again;
      name = ++from;
    } else {
      return false;
    }
  }
}

/* transformers' name of the matrix NAME in the current layer. */
static const char *transformers_name(struct ft_hf_run *r, const char *name)
{
  static const struct {
    const char *ours, *theirs;
  } names[] = { { "query", "self_attn.q_proj" },
                { "key", "self_attn.k_proj" },
                { "value", "self_attn.v_proj" },
                { "qkv", "self_attn.qkv_proj" },
                { "output", "self_attn.o_proj" },
                { "q_a", "self_attn.q_a_proj" },
                { "q_b", "self_attn.q_b_proj" },
                { "kv_a", "self_attn.kv_a_proj_with_mqa" },
                { "kv_b", "self_attn.kv_b_proj" },
                { "gate", "mlp.gate_proj" },
                { "up", "mlp.up_proj" },
                { "down", "mlp.down_proj" },
                { "gate_up", "mlp.gate_up_proj" },
                { "experts", "mlp.experts" },
                { "shared_gate", "mlp.shared_gate" } };
  size_t i = FT_TABLE_FIND(names, name);

  return ft_tracer_format(&r->live, "model.layers.%lld.%s", (long long)r->layer,
                          i < sizeof names / sizeof *names ? names[i].theirs : name);
}

bool ft_hf_is_quantized(struct ft_hf_run *r, const char *name)
{
  const struct ft_hf_quantized *q = &r->m->quantized;
  bool experts = strcmp(name, "experts") == 0;
  const char *whole_name;

  if (!q->bits || (experts ? !q->experts : q->only_experts) || strcmp(name, "router") == 0)
    return false;
  whole_name = q->excluded_count ? transformers_name(r, name) : "";
  for (size_t i = 0; i < q->excluded_count; i++) {
    const char *left = q->excluded[i];

    if (left && (matches_pattern(left, whole_name) || (*left && ft_string_ends(whole_name, left))))
      return false;
  }
  return true;
}

/* ---- sizes ---- */

/* Number of 16-bit elements that hold scales, zero points and group indices of DEPTH matrices of
 * ROWS x COLUMNS. */
static int64_t scale_elements(const struct ft_hf_quantized *q, int64_t rows, int64_t columns,
                              int64_t depth)
{
  int64_t scales = rows, bits;

  if (q->per_tensor)
    scales = 1;
  else if (q->tile)
    scales = ft_known_times((rows + q->tile - 1) / q->tile, (columns + q->tile - 1) / q->tile);
  else if (q->group)
    scales = ft_known_times(rows, (columns + q->group - 1) / q->group);
  bits = ft_known_times(scales, q->scale_bits + (q->zeros ? q->bits : 0));
  if (q->column_groups)
    bits = ft_known_plus(bits, ft_known_times(32, columns));
  return ft_known_times(depth, (bits + 15) / 16);
}

void ft_hf_quantized_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                            int64_t depth, uint32_t out[2])
{
  const struct ft_hf_quantized *q = &r->m->quantized;

  out[0] = ft_hf_weight_in(r, q->bits == 4 ? ELEMENT_UINT4 : FT_ELEMENT_UINT8, name, rows, columns,
                           depth);
  out[1] = ft_hf_weight_in(r, FT_ELEMENT_FLOAT, ft_tracer_format(&r->live, "%s.scales", name),
                           scale_elements(q, rows, columns, depth ? depth : 1), 0, 0);
}

uint32_t ft_hf_quantized_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out)
{
  int64_t in = ft_hf_size(r, x, -1);
  uint32_t w[2];

  if (!x)
    return 0;
  ft_hf_quantized_weight(r, name, out, in, 0, w);
  if (!w[0] || !w[1])
    return 0;
  if (r->m->quantized.dequantized) { /* dequantised to the product's precision for this use */
    ft_tracer_of(&r->live, w[0])->data = true;
    w[0] = ft_tracer_binary(&r->live, "DequantizeLinear", w[0], w[1]);
    return ft_hf_binary(r, "Linear", x, w[0]);
  }
  ft_tracer_unknown(&r->live, "com.microsoft", "MatMulNBits");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w[0]);
  ft_tracer_in(&r->live, w[1]);
  ft_tracer_int(&r->live, "bits", 8); /* one element per weight */
  ft_tracer_int(&r->live, "K", in);
  ft_tracer_int(&r->live, "N", out);
  return ft_tracer_end(&r->live, 1);
}
