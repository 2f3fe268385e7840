/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tensors that Python variables keep alive after their last reader. A tensor that one module of the
 * outermost module computes and several others read is a variable in its code, which lives until
 * the forward pass returns. The names of PyTorch's exporter identify modules
 * ("/cell_3/conv_1x1/conv/Conv"); without them no tensor is marked. Examples: NASNet-A, PNASNet.
 */
#include "config.h"

#include "predictor/graph/training/schedule_plan.h"

/* Returns the length of NAME's first module, as in "/cell_3"; 0: none. */
static size_t outer_module_length(const char *name)
{
  size_t length = name[0] == '/' ? 1 + strcspn(name + 1, "/") : 0;

  return length && name[length] == '/' ? length : 0;
}

static bool same_module(const char *a, const char *b)
{
  size_t length = outer_module_length(a);

  return length == outer_module_length(b) && memcmp(a, b, length) == 0;
}

/* Returns the name with the module of OP. An activation function that the exporter merged has
 * another module's name; its own module is its reader's (onnx_unmerge.h). */
static const char *reading_module(const struct ft_plan *p, const struct ft_operator *op)
{
  if (op->output_count == 1 && ft_autograd_rule_of(op).in_place && p->users[op->outputs[0]])
    return p->users[op->outputs[0]]->name;
  return op->name;
}

void ft_plan_mark_references(struct ft_plan *p)
{
  const char **readers =
      ft_arena_take(&p->graph->results, p->graph->tensor_count * sizeof *readers);

  if (!readers) {
    p->failed = true;
    return;
  }
  for (uint32_t i = 0; i < p->block->operator_count; i++)
    for (uint32_t j = 0; j < p->block->operators[i].input_count; j++) {
      uint32_t t = p->storages[p->block->operators[i].inputs[j]].owner;
      uint32_t from = ft_plan_tensor(p, t)->producer;
      const char *by = reading_module(p, &p->block->operators[i]);

      if (!t || p->storages[t].fixed || ft_plan_tensor(p, t)->block != 1 || !from ||
          from > p->block->operator_count || !outer_module_length(by) ||
          !outer_module_length(p->block->operators[from - 1].name) ||
          same_module(by, p->block->operators[from - 1].name))
        continue;
      if (!readers[t])
        readers[t] = by;
      else if (!same_module(by, readers[t]))
        p->storages[t].referenced = true;
    }
}
