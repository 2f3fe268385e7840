/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights that an ONNX file declares as inputs and does not hold. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/onnx/onnx_weights.h"
#include "predictor/graph/shape/infer.h"

/* How an input is read: everywhere as a weight, or otherwise. */
enum { READ_NOT, READ_AS_WEIGHT, READ_OTHERWISE };

/* Returns whether input J of OP is a weight in every network that an exporter writes. The products
 * of two activations have no bias and are not named for the operator. */
static bool is_weight_input(const struct ft_operator *op, uint32_t j, const char *name)
{
  static const uint16_t layers[] = { FT_OP_Conv,
                                     FT_OP_ConvTranspose,
                                     FT_OP_BatchNormalization,
                                     FT_OP_LayerNormalization,
                                     FT_OP_GroupNormalization,
                                     FT_OP_InstanceNormalization,
                                     FT_OP_PRelu };

  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
    if (ft_operator_is(op, layers[i]))
      return j > 0;
  if (ft_operator_is(op, FT_OP_LSTM) || ft_operator_is(op, FT_OP_GRU) ||
      ft_operator_is(op, FT_OP_RNN))
    return j > 0 && j < 4;
  if (ft_operator_is(op, FT_OP_Gemm))
    return j > 0 && op->input_count > 2;
  return ft_operator_is(op, FT_OP_MatMul) && j == 1 && strncmp(name, "onnx::MatMul_", 13) == 0;
}

static bool ends_with(const char *name, const char *end)
{
  size_t length = strlen(name), n = strlen(end);

  return length > n && strcmp(name + length - n, end) == 0;
}

/* Returns whether NAME is a module's parameter or buffer: "body.0.weight". */
static bool is_module_weight(const char *name)
{
  return ends_with(name, ".weight") || ends_with(name, ".bias") ||
         ends_with(name, ".running_mean") || ends_with(name, ".running_var");
}

/* Returns whether NAME, beside weights, is one: it has a module's path, which ends in no number as
 * "input.1" does; it is a parameter of a vision transformer itself ("cls_token", "pos_embed"); or
 * it is, LATE, after the first weight, the exporter's own name of a folded constant. */
static bool is_named_as_weight(const char *name, bool late)
{
  const char *dot = strrchr(name, '.');

  return (dot && dot > name && !(dot[1] >= '0' && dot[1] <= '9')) || ends_with(name, "_token") ||
         ends_with(name, "_embed") || (late && strncmp(name, "onnx::", 6) == 0);
}

/* Returns the elements of the real numbers that D declares; 0: unknown, or others. */
static int64_t static_elements(const struct ft_declared *d)
{
  return d && d->rank >= 0 && ft_element_is_real(d->element)
             ? ft_dim_or(ft_dim_product(d->dims, d->rank), 0)
             : 0;
}

static void mark_reads(const struct ft_graph *g, uint8_t *reads)
{
  for (uint32_t i = 0; i < g->block.operator_count; i++) {
    const struct ft_operator *op = &g->block.operators[i];

    for (uint32_t j = 0; j < op->input_count; j++) {
      uint32_t t = op->inputs[j];
      bool weight = is_weight_input(op, j, g->tensors[t].name);

      if (reads[t] != READ_OTHERWISE)
        reads[t] = weight ? READ_AS_WEIGHT : READ_OTHERWISE;
    }
    for (uint32_t j = 0; j < op->capture_count; j++)
      reads[op->captures[j]] = READ_OTHERWISE;
  }
}

int ft_onnx_take_weights(struct ft_build *build)
{
  struct ft_graph *g = build->graph;
  struct ft_block *block = &g->block;
  uint8_t *reads = ft_arena_take(&build->arena, g->tensor_count);
  uint32_t *constants = ft_arena_take(&g->arena, (block->constant_count + block->input_count + 1) *
                                                     sizeof *constants);
  uint32_t left = 0;
  bool found = false;

  if (!reads || !constants)
    return ft_build_exhausted(build);
  mark_reads(g, reads);
  for (uint32_t i = 0; i < block->input_count; i++)
    found = found || reads[block->inputs[i]] == READ_AS_WEIGHT ||
            is_module_weight(g->tensors[block->inputs[i]].name);
  if (!found)
    return 0;
  memcpy(constants, block->constants, block->constant_count * sizeof *constants);
  block->constants = constants;
  for (uint32_t i = 0; i < block->input_count; i++) {
    uint32_t t = block->inputs[i];
    int64_t elements = static_elements(g->tensors[t].declared);
    struct ft_declared *weight;

    if (elements < 1 || elements > FT_GRAPH_ELEMENTS ||
        (reads[t] != READ_AS_WEIGHT &&
         (i == 0 || !is_named_as_weight(g->tensors[t].name, g->weight_inputs > 0)))) {
      if (left) /* the first input is data */
        g->doubtful_elements = ft_known_plus(g->doubtful_elements, elements);
      block->inputs[left++] = t;
      continue;
    }
    weight = ft_build_keep(build, g->tensors[t].declared, sizeof *weight);
    if (!weight)
      return -1;
    weight->elements = elements;
    g->tensors[t].constant = weight;
    constants[block->constant_count++] = t;
    g->weight_inputs++;
  }
  block->input_count = left;
  return 0;
}
