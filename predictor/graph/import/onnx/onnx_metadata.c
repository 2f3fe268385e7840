/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/onnx/onnx_metadata.h"
#include "predictor/graph/shape/operators.h"

/* What a name was in PyTorch (ft_onnx.sources). */
enum {
  SOURCE_UNKNOWN,
  SOURCE_PARAMETER,
  SOURCE_FOLDED, /* computed from one */
  SOURCE_MIXED,  /* computed from one, and from others or buffers */
  SOURCE_BUFFER
};

/* Reads the StringStringEntryProto up to END. Returns 1 with the field of its value in VALUE and
 * the index of its key among KEYS, which a NULL ends, in WHICH; 0 if its key is another one; -1. */
static int read_metadata_entry(struct ft_onnx *o, uint64_t end, const char *const *keys,
                               unsigned *which, struct ft_proto_field *value)
{
  struct ft_proto_field f = { 0 };
  bool found = false;
  int more;

  *value = (struct ft_proto_field){ 0 };
  while ((more = ft_proto_next(&o->proto, end, &f)) > 0) {
    if (f.number == 1 && f.wire == FT_PROTO_BYTES && f.value <= FT_GRAPH_NAME) {
      if (ft_onnx_string(o, &f) < 0)
        return -1;
      for (*which = 0; keys[*which] && strcmp(keys[*which], o->text) != 0;)
        ++*which;
      found = keys[*which] != NULL;
    } else if (f.number == 2 && f.wire == FT_PROTO_BYTES) {
      *value = f;
    }
  }
  return more < 0 ? -1 : found && value->number;
}

/* Reads VALUE into O->text, as "" if it is longer than FT_GRAPH_NAME. Returns 0 or -1. */
static int read_text(struct ft_onnx *o, const struct ft_proto_field *value)
{
  o->text[0] = '\0';
  return value->value > FT_GRAPH_NAME ? 0 : ft_onnx_string(o, value);
}

/* Calls TAKE with DATA for each piece of VALUE between SEPARATORs, a text in O->text. Pieces longer
 * than FT_GRAPH_NAME are left out. Returns 0 or -1. */
static int read_pieces(struct ft_onnx *o, const struct ft_proto_field *value, char separator,
                       int (*take)(struct ft_onnx *o, char *piece, void *data), void *data)
{
  uint64_t at = value->end - value->value;

  while (at < value->end) {
    uint64_t left = value->end - at;
    size_t n = left < FT_GRAPH_NAME ? (size_t)left : FT_GRAPH_NAME, begin = 0;

    if (ft_proto_copy(&o->proto, at, o->text, n) < 0)
      return -1;
    for (size_t i = 0; i < n; i++) {
      bool last = i + 1 == left;

      if (o->text[i] != separator && !last)
        continue;
      o->text[i + last] = '\0';
      if (take(o, o->text + begin, data) < 0)
        return -1;
      begin = i + 1;
    }
    at += begin ? begin : n;
  }
  return 0;
}

static int set_source(struct ft_onnx *o, uint32_t name, uint8_t source)
{
  while (name >= o->source_room) {
    uint8_t *grown =
        ft_arena_grow(&o->build->arena, o->sources, &o->source_room, o->source_room, sizeof *grown);

    if (!grown)
      return ft_build_exhausted(o->build);
    o->sources = grown;
  }
  o->sources[name] = source;
  return 0;
}

static uint8_t source_of(const struct ft_onnx *o, uint32_t name)
{
  return name < o->source_room ? o->sources[name] : SOURCE_UNKNOWN;
}

int ft_onnx_node_metadata(struct ft_onnx *o, uint64_t end, struct ft_onnx_origin *origin)
{
  static const char *const keys[] = { "pkg.onnxscript.rewriter.rule_name",
                                      "pkg.torch.onnx.class_hierarchy", NULL };
  struct ft_proto_field value;
  unsigned which;
  int found = read_metadata_entry(o, end, keys, &which, &value);

  if (found <= 0)
    return found;
  if (read_text(o, &value) < 0)
    return -1;
  if (which == 0) {
    origin->folded_norm = origin->folded_norm || strstr(o->text, "FuseBatchNorm");
    return 0;
  }
  /* the classes of the modules from the outermost inwards, then ATen's operator */
  origin->composite = ft_string_ends(o->text, "'aten.add.Scalar']") || /* Python calls add.Tensor */
                      ft_string_ends(o->text, "'aten.scaled_dot_product_attention.default']");
  origin->rms_norm = ft_string_ends(o->text, "'aten.rms_norm.default']");
  origin->t5 = strstr(o->text, "T5LayerNorm'") != NULL;
  return 0;
}

int ft_onnx_value_metadata(struct ft_onnx *o, uint64_t end, uint32_t name)
{
  static const char *const keys[] = { "pkg.torch.export.graph_signature.InputSpec.kind",
                                      "pkg.onnxscript.optimizer.folded_from", NULL };
  struct ft_onnx_fold *folds;
  struct ft_proto_field value;
  unsigned which;
  int found = read_metadata_entry(o, end, keys, &which, &value);

  if (found <= 0 || (which == 0 && read_text(o, &value) < 0))
    return found;
  if (which == 0 && strcmp(o->text, "USER_INPUT") != 0)
    return set_source(o, name,
                      strcmp(o->text, "PARAMETER") == 0 ? SOURCE_PARAMETER : SOURCE_BUFFER);
  if (which == 0)
    return 0;
  folds = ft_arena_grow(&o->build->arena, o->folds, &o->fold_room, o->fold_count, sizeof *folds);
  if (!folds)
    return ft_build_exhausted(o->build);
  o->folds = folds;
  folds[o->fold_count++] = (struct ft_onnx_fold){ .name = name, .sources = value };
  return 0;
}

/* Takes a line of the signature of torch.export: "p_weight: PARAMETER target='weight'". Sets *DATA,
 * a bool, if it is a parameter's. */
static int take_signature(struct ft_onnx *o, char *line, void *data)
{
  static const char target[] = " target='";
  const char *begin = strstr(line, target),
             *end = begin ? strchr(begin + sizeof target, '\'') : NULL;
  bool parameter, *found = data;
  uint32_t name;

  if (!end)
    return 0;
  line[begin - line] = '\0';
  parameter = ft_string_ends(line, ": PARAMETER");
  if (!parameter && !ft_string_ends(line, ": BUFFER"))
    return 0;
  *found = *found || parameter;
  begin += sizeof target - 1;
  name = ft_build_name(o->build, begin, (size_t)(end - begin));
  return name == UINT32_MAX ? -1
                            : set_source(o, name, parameter ? SOURCE_PARAMETER : SOURCE_BUFFER);
}

int ft_onnx_graph_metadata(struct ft_onnx *o, uint64_t end)
{
  static const char *const keys[] = { "pkg.torch.export.ExportedProgram.graph_signature", NULL };
  struct ft_proto_field value;
  unsigned which;
  int found = read_metadata_entry(o, end, keys, &which, &value);

  return found > 0 ? read_pieces(o, &value, '\n', take_signature, &o->has_signature) : found;
}

/* Parameters and buffers that a constant was computed from. */
struct folded {
  unsigned parameters, buffers;
};

/* Takes one of the names in "['conv.weight', 'val_3']" into DATA, a struct folded. */
static int take_folded(struct ft_onnx *o, char *piece, void *data)
{
  struct folded *from = data;
  const char *begin = strchr(piece, '\''), *end = begin ? strchr(begin + 1, '\'') : NULL;
  uint32_t name = end ? ft_build_name(o->build, begin + 1, (size_t)(end - begin - 1)) : 0;

  from->parameters += source_of(o, name) == SOURCE_PARAMETER;
  from->buffers += source_of(o, name) == SOURCE_BUFFER;
  return name == UINT32_MAX ? -1 : 0;
}

int ft_onnx_mark_sources(struct ft_onnx *o, const struct ft_draft *draft)
{
  for (size_t i = 0; o->has_signature && i < o->fold_count; i++) {
    struct folded from = { 0 };

    if (read_pieces(o, &o->folds[i].sources, ',', take_folded, &from) < 0 ||
        set_source(o, o->folds[i].name,
                   !from.parameters                      ? SOURCE_BUFFER
                   : from.parameters + from.buffers == 1 ? SOURCE_FOLDED
                                                         : SOURCE_MIXED) < 0)
      return -1;
  }
  for (size_t i = 0; i < draft->constant_count; i++) {
    uint8_t source = source_of(o, draft->constants[i].name);

    draft->constants[i].declared->learnt =
        source == SOURCE_PARAMETER || source == SOURCE_FOLDED || source == SOURCE_MIXED;
    draft->constants[i].declared->mixed = source == SOURCE_MIXED;
    draft->constants[i].declared->folded = source == SOURCE_FOLDED;
    draft->constants[i].declared->kept = source == SOURCE_BUFFER;
  }
  return 0;
}

void ft_onnx_set_origin(struct ft_operator *op, const struct ft_onnx_origin *origin)
{
  static const struct ft_operator_hints llama = { .decomposed = "llama" },
                                        t5 = { .decomposed = "t5" };

  op->composite = origin->composite;
  if (!origin->rms_norm && (strcmp(op->type, "RMSNormalization") == 0 ||
                            strcmp(op->type, "SimplifiedLayerNormalization") == 0))
    op->hints = origin->t5 ? &t5 : &llama;
}

/* Returns the element type of TENSOR as the file states it. */
static unsigned stated_element(const struct ft_graph *g, uint32_t tensor)
{
  const struct ft_tensor *t = &g->tensors[tensor];

  return t->constant ? t->constant->element : t->declared ? t->declared->element : 0;
}

void ft_onnx_hint_norms(struct ft_graph *g)
{
  static const struct ft_operator_hints gemma = { .decomposed = "gemma" };

  for (uint32_t i = 0; i < g->block.operator_count; i++) {
    struct ft_operator *op = &g->block.operators[i];
    unsigned element = stated_element(g, ft_input_of(op, 0));

    if (op->hints && (element == FT_ELEMENT_FLOAT16 || element == FT_ELEMENT_BFLOAT16) &&
        stated_element(g, ft_input_of(op, 1)) == FT_ELEMENT_FLOAT)
      op->hints = &gemma;
  }
}
