/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Undoes common subexpression elimination by PyTorch's exporter. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/import/onnx/onnx_unmerge.h"
#include "predictor/graph/training/autograd_rules.h"

/* A use of an operator's result by another module. */
struct use {
  uint32_t from, user, input; /* the two operators, and the input of the user */
  uint32_t copy, next;        /* the copy's tensor; the next copy before the same user, + 1 */
  const char *name;           /* of the user */
  size_t length;              /* length of the part of NAME that names the module */
};

struct unmerge {
  struct ft_build *build;
  struct ft_block *block;
  struct use *uses;
  size_t count, room;
  bool *inside;     /* for each operator: its own module also uses the result */
  uint32_t *before; /* for each operator: first copy to insert before it, + 1 */
  uint32_t copies;
};

/* Returns the length of the name of the module that contains the operator NAME: that of
 * "/cell/left" for "/cell/left/act/Relu"; 0 if there is none. */
static size_t module_length(const char *name)
{
  const char *slash = strrchr(name, '/');
  size_t length = slash ? (size_t)(slash - name) : 0;

  while (length > 0 && name[length - 1] != '/')
    length--;
  return length > 1 ? length - 1 : 0;
}

/* Returns the length of the components that NAME has in common with MODULE, of LENGTH bytes, and of
 * NAME's next component. */
static size_t sibling_length(const char *name, const char *module, size_t length)
{
  size_t same = 0;

  for (size_t i = 0; i < length && name[i] && name[i] == module[i]; i++)
    if (name[i] == '/')
      same = i + 1;
  return same + strcspn(name + same, "/");
}

static bool may_be_merged(const struct ft_operator *op)
{
  return op->output_count == 1 && op->input_count >= 1 && ft_autograd_rule_of(op).in_place &&
         module_length(op->name) > 0;
}

static int add_use(struct unmerge *p, const struct use *use)
{
  struct use *uses = ft_arena_grow(&p->build->arena, p->uses, &p->room, p->count, sizeof *uses);

  if (!uses)
    return ft_build_exhausted(p->build);
  p->uses = uses;
  uses[p->count++] = *use;
  return 0;
}

static int find_uses(struct unmerge *p)
{
  const struct ft_operator *ops = p->block->operators;

  for (uint32_t i = 0; i < p->block->operator_count; i++)
    for (uint32_t j = 0; j < ops[i].input_count; j++) {
      uint32_t from = p->build->graph->tensors[ops[i].inputs[j]].producer;
      const char *module;
      struct use use;

      if (!from || !may_be_merged(&ops[from - 1]))
        continue;
      module = ops[from - 1].name;
      use = (struct use){ .from = from - 1, .user = i, .input = j, .name = ops[i].name };
      use.length = module_length(module);
      if (strncmp(use.name, module, use.length) == 0 && use.name[use.length] == '/') {
        p->inside[from - 1] = true;
        continue;
      }
      use.length = sibling_length(use.name, module, use.length);
      if (use.name[0] == '/' && add_use(p, &use) < 0)
        return -1;
    }
  return 0;
}

static int same_copy(const struct use *a, const struct use *b)
{
  size_t least = a->length < b->length ? a->length : b->length;
  int order = (a->from > b->from) - (a->from < b->from);

  if (!order)
    order = memcmp(a->name, b->name, least);
  return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare_uses(const void *left, const void *right)
{
  const struct use *a = left, *b = right;
  int order = same_copy(a, b);

  return order ? order : (a->user > b->user) - (a->user < b->user);
}

/* Creates a tensor for the result of the copy for USE. Returns it; 0 if memory is exhausted. */
static uint32_t new_tensor(struct unmerge *p, const struct use *use)
{
  struct ft_graph *g = p->build->graph;
  struct ft_tensor *tensors = ft_arena_grow(&g->arena, g->tensors, &p->build->tensor_room,
                                            g->tensor_count, sizeof *tensors);

  if (!tensors) {
    (void)ft_build_exhausted(p->build);
    return 0;
  }
  g->tensors = tensors;
  tensors[g->tensor_count] = tensors[p->block->operators[use->from].outputs[0]];
  return g->tensor_count++;
}

/* Gives each module that uses a result a copy of its operator. */
static int copy_operators(struct unmerge *p)
{
  if (p->count)
    qsort(p->uses, p->count, sizeof *p->uses, compare_uses);
  for (size_t i = 0; i < p->count; i++) {
    struct use *use = &p->uses[i];

    if (!p->inside[use->from])
      continue;
    if (i > 0 && same_copy(use, use - 1) == 0) {
      use->copy = use[-1].copy;
    } else {
      use->copy = new_tensor(p, use);
      if (!use->copy)
        return -1;
      use->next = p->before[use->user];
      p->before[use->user] = (uint32_t)i + 1;
      p->copies++;
    }
    p->block->operators[use->user].inputs[use->input] = use->copy;
  }
  return 0;
}

/* Inserts the copies, each before its first user. */
static int insert_copies(struct unmerge *p)
{
  struct ft_graph *g = p->build->graph;
  struct ft_block *block = p->block;
  struct ft_operator *all =
      ft_arena_take(&g->arena, ((size_t)block->operator_count + p->copies) * sizeof *all);
  uint32_t n = 0;

  if (!all)
    return ft_build_exhausted(p->build);
  for (uint32_t i = 0; i < block->operator_count; i++) {
    for (uint32_t k = p->before[i]; k; k = p->uses[k - 1].next) {
      const struct use *use = &p->uses[k - 1];

      all[n] = block->operators[use->from];
      all[n].outputs = ft_arena_take(&g->arena, sizeof *all[n].outputs);
      if (!all[n].outputs)
        return ft_build_exhausted(p->build);
      all[n++].outputs[0] = use->copy;
    }
    all[n++] = block->operators[i];
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < all[i].output_count; j++)
      if (all[i].outputs[j])
        g->tensors[all[i].outputs[j]].producer = i + 1;
  block->operators = all;
  block->operator_count = n;
  g->operator_count += p->copies;
  return 0;
}

int ft_onnx_unmerge(struct ft_build *build)
{
  struct unmerge p = { .build = build, .block = &build->graph->block };
  size_t n = (size_t)p.block->operator_count + 1;

  p.inside = ft_arena_take(&build->arena, n * sizeof *p.inside);
  p.before = ft_arena_take(&build->arena, n * sizeof *p.before);
  if (!p.inside || !p.before)
    return ft_build_exhausted(build);
  if (find_uses(&p) < 0 || copy_operators(&p) < 0)
    return -1;
  return p.copies ? insert_copies(&p) : 0;
}
