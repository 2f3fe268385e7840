/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/onnx/onnx_literals.h"
#include "predictor/graph/shape/operators.h"

/* Returns whether NAME is "val" or one of ATen's operators, perhaps with "_" and a number. */
static bool is_exporters_name(const char *name)
{
  size_t length = strlen(name), digits = 0;
  const char *known, *type;

  while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9')
    digits++;
  if (digits && digits < length && name[length - 1 - digits] == '_')
    length -= digits + 1;
  if (length == 3 && strncmp(name, "val", length) == 0)
    return true;
  for (size_t i = 0; (known = ft_aten_operator_at(i, &type)); i++)
    if (strlen(known) == length && strncmp(name, known, length) == 0)
      return true;
  return false;
}

/* Returns whether OP multiplies by a weight. */
static bool has_weight(const struct ft_operator *op)
{
  return op->kind && op->kind->work != FT_WORK_NONE && op->kind->work <= FT_WORK_RECURRENT;
}

int ft_onnx_mark_literals(struct ft_build *build)
{
  struct ft_graph *g = build->graph;
  const struct ft_block *block = &g->block;
  bool *weights;

  if (strcmp(g->producer, "pytorch") != 0)
    return 0;
  weights = ft_arena_take(&build->arena, g->tensor_count * sizeof *weights);
  if (!weights)
    return ft_build_exhausted(build);
  for (uint32_t i = 0; i < block->operator_count; i++)
    for (uint32_t j = 0; has_weight(&block->operators[i]) && j < block->operators[i].input_count;
         j++)
      weights[block->operators[i].inputs[j]] = true;
  for (uint32_t i = 0; i < block->constant_count; i++) {
    struct ft_tensor *t = &g->tensors[block->constants[i]];
    struct ft_declared *marked;

    if (weights[block->constants[i]] || !t->name || t->constant->learnt ||
        !is_exporters_name(t->name))
      continue;
    marked = ft_arena_take(&g->arena, sizeof *marked);
    if (!marked)
      return ft_build_exhausted(build);
    *marked = *t->constant;
    marked->kept = true;
    t->constant = marked;
  }
  return 0;
}
