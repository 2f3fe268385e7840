/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Control flow of a TorchScript program that depends on data: both sides of a branch are
 * recorded, a loop is recorded as one iteration, and the variables and lists of both sides are
 * merged.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/torch/torchscript_run.h"

enum { LEVELS = 12 }; /* nested lists that are merged */

/* ---- branches that depend on data ---- */

struct fork {
  struct ft_operand *variables;
  bool *set;
  struct ft_changes lists; /* lists changed by the side */
};

static int copy_variables(struct ft_script_run *r, const struct ft_script_frame *f, struct fork *to)
{
  size_t n = f->function->slots;

  to->variables = ft_tracer_take(&r->live, (n + 1) * sizeof *to->variables);
  to->set = ft_tracer_take(&r->live, (n + 1) * sizeof *to->set);
  if (!to->variables || !to->set)
    return -1;
  memcpy(to->variables, f->variables, n * sizeof *to->variables);
  memcpy(to->set, f->set, n * sizeof *to->set);
  return 0;
}

static bool operands_match(const struct ft_operand *a, const struct ft_operand *b)
{
  return a->type == b->type && a->known == b->known && a->integer == b->integer;
}

/* Appends the pair of the tensors A and B, which become one result, to R->pairs. Sets VALUE to the
 * pair's index, marked as a computed tensor, until resolve_pairs. */
static int pair_up(struct ft_script_run *r, uint32_t a, uint32_t b, struct ft_operand *value)
{
  struct ft_script_pair *pairs =
      ft_tracer_grow(&r->live, r->pairs, &r->pair_room, r->pair_count, sizeof *pairs);

  if (!pairs)
    return -1;
  r->pairs = pairs;
  *value = ft_value_tensor((uint32_t)r->pair_count);
  value->computed = true;
  pairs[r->pair_count++] = (struct ft_script_pair){ a, b };
  return 0;
}

static int merge_values(struct ft_script_run *r, const struct ft_operand *a,
                        const struct ft_operand *b, int level, struct ft_operand *value)
{
  bool lists = ft_value_is_list(a) && a->type == b->type;
  struct ft_operand item;

  *value = *a;
  if (operands_match(a, b))
    return 0;
  if (a->type == FT_VALUE_TENSOR || b->type == FT_VALUE_TENSOR)
    return pair_up(r, a->type == FT_VALUE_TENSOR ? a->tensor : 0,
                   b->type == FT_VALUE_TENSOR ? b->tensor : 0, value);
  if (ft_value_is_number(a) && a->type == b->type) {
    *value = ft_value_unknown(a->type);
    return 0;
  }
  if (!lists || a->list->count != b->list->count || level == 0) {
    if (a->type == FT_VALUE_NONE)
      *value = *b;
    else if (b->type != FT_VALUE_NONE && !lists)
      *value = a->type == b->type ? *a : ft_value_unknown(FT_VALUE_OPAQUE);
    return 0;
  }
  *value = ft_value_list(&r->live, a->type, NULL, 0);
  for (size_t i = 0; value->type == a->type && i < a->list->count; i++)
    if (merge_values(r, &a->list->items[i], &b->list->items[i], level - 1, &item) < 0 ||
        ft_value_append(&r->live, value->list, item) < 0)
      return -1;
  return r->live.failed ? -1 : 0;
}

/* Merges LIST, the state after the first side, with the COUNT values OTHER after the second. The
 * values by which one is longer belong to that side only. */
static int merge_list(struct ft_script_run *r, struct ft_values *list,
                      const struct ft_operand *other, size_t count)
{
  const struct ft_operand none = ft_value_none();
  size_t most = list->count > count ? list->count : count;
  struct ft_operand *items = ft_tracer_take(&r->live, (most + 1) * sizeof *items);

  for (size_t i = 0; items && i < most; i++)
    if (merge_values(r, i < list->count ? &list->items[i] : &none, i < count ? &other[i] : &none,
                     LEVELS, &items[i]) < 0)
      return -1;
  if (!items)
    return -1;
  list->items = items;
  list->count = list->room = most;
  return 0;
}

/* Merges the lists that existed before the branch, and undoes the second side's changes. */
static int merge_lists(struct ft_script_run *r, const struct fork forks[2])
{
  for (int side = 1; side >= 0; side--)
    for (size_t i = 0; i < forks[side].lists.count; i++) {
      const struct ft_changed *one = &forks[side].lists.all[i];

      if (one->made || one->list->merged)
        continue;
      one->list->merged = true;
      if (merge_list(r, one->list, one->items, one->count) < 0)
        return -1;
    }
  return 0;
}

/* Replaces the indices of pairs in V by the tensors of their results, which begin at FIRST. Returns
 * 0; -1 with the error if lists contain themselves. */
static int resolve_pairs(struct ft_script_run *r, struct ft_operand *value, uint32_t first,
                         int level)
{
  if (ft_script_count_value(r) < 0)
    return -1;
  if (value->type == FT_VALUE_TENSOR && value->computed)
    *value = ft_value_tensor(first + value->tensor);
  if (ft_value_is_list(value) && level)
    for (size_t i = 0; i < value->list->count; i++)
      if (resolve_pairs(r, &value->list->items[i], first, level - 1) < 0)
        return -1;
  return 0;
}

/* As resolve_pairs, in the lists that either side has changed. */
static int resolve_list_pairs(struct ft_script_run *r, const struct fork forks[2], uint32_t first)
{
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < forks[side].lists.count; i++) {
      struct ft_values *list = forks[side].lists.all[i].list;

      for (size_t j = 0; list->merged && j < list->count; j++)
        if (resolve_pairs(r, &list->items[j], first, LEVELS) < 0)
          return -1;
      list->merged = false;
    }
  return 0;
}

static int set_result_shape(struct ft_script_run *r, uint32_t to, const struct ft_script_pair *p)
{
  struct ft_tensor *t = ft_tracer_of(&r->live, to);
  const struct ft_tensor *a = ft_tracer_of(&r->live, p->a ? p->a : p->b);
  const struct ft_tensor *b = ft_tracer_of(&r->live, p->b ? p->b : p->a);

  t->element = a->element;
  if (a->rank < 0 || a->rank != b->rank)
    return 0;
  if (ft_like(r->live.in, t, a) < 0)
    return -1;
  for (int i = 0; i < t->rank; i++)
    if (!ft_dim_equal(a->dims[i], b->dims[i]))
      t->dims[i] = FT_DIM_UNKNOWN;
  return 0;
}

static int set_outputs(struct ft_script_run *r, struct ft_block *block, bool second)
{
  block->outputs = ft_tracer_take(&r->live, (r->pair_count + 1) * sizeof *block->outputs);
  if (!block->outputs)
    return -1;
  for (size_t i = 0; i < r->pair_count; i++) {
    uint32_t tensor = second ? r->pairs[i].b : r->pairs[i].a;

    if (tensor)
      block->outputs[block->output_count++] = tensor;
  }
  return 0;
}

/* Merges the variables of both FORKS into those of F; tensors become results of operator TYPE. */
static int merge_sides(struct ft_script_run *r, struct ft_script_frame *f, const char *type,
                       uint32_t condition, struct fork forks[2], struct ft_block *const *blocks,
                       unsigned count, int64_t trip_count)
{
  static const char *const branches[] = { "then_branch", "else_branch" };
  static const char *const bodies[] = { "body" };
  uint32_t first;

  r->pair_count = 0;
  if (merge_lists(r, forks) < 0)
    return -1;
  for (size_t i = 0; i < f->function->slots; i++) {
    struct ft_operand merged = forks[forks[0].set[i] ? 0 : 1].variables[i];

    if (forks[0].set[i] && forks[1].set[i] &&
        merge_values(r, &forks[0].variables[i], &forks[1].variables[i], LEVELS, &merged) < 0)
      return -1;
    f->variables[i] = merged;
    f->set[i] = forks[0].set[i] || forks[1].set[i];
  }
  for (unsigned i = 0; i < count; i++)
    if (set_outputs(r, blocks[i], i == 1) < 0)
      return -1;
  first = ft_tracer_blocks(&r->live, type, condition, blocks, count == 2 ? branches : bodies, count,
                           (uint32_t)r->pair_count, trip_count);
  if (!first)
    return -1;
  for (size_t i = 0; i < r->pair_count; i++)
    if (set_result_shape(r, first + (uint32_t)i, &r->pairs[i]) < 0)
      return -1;
  for (size_t i = 0; i < f->function->slots; i++)
    if (resolve_pairs(r, &f->variables[i], first, LEVELS) < 0)
      return -1;
  return resolve_list_pairs(r, forks, first) < 0 ? -1 : FT_SCRIPT_GOES_ON;
}

/* Traces BODY in a subgraph of its own on the variables of FORK. LISTS (or NULL) saves lists
 * that it changes. */
static int trace_side(struct ft_script_run *r, struct ft_script_frame *f,
                      const struct ft_script_body *body, struct fork *fork,
                      struct ft_changes *lists, struct ft_block **block)
{
  struct ft_script_frame inner = *f;
  struct ft_tracer_frame frame;
  int status;

  inner.variables = fork->variables;
  inner.set = fork->set;
  if (ft_tracer_open(&r->live, &frame) < 0)
    return -1;
  if (lists)
    ft_changes_begin(&r->live, lists);
  status = ft_script_run_body(r, &inner, body);
  if (lists && ft_changes_end(&r->live, lists) < 0)
    status = -1;
  ft_tracer_close(&r->live, &frame);
  *block = frame.block;
  return status < 0 ? -1 : 0;
}

/* Whether the last failure was an exception of the network; clears it. */
static bool clear_exception(struct ft_script_run *r)
{
  bool raised = r->raised;

  if (raised)
    r->live.in->err->text[0] = '\0';
  r->raised = false;
  return raised;
}

/* If one side raises an exception for these inputs, only the other is traced. */
int ft_script_branch(struct ft_script_run *r, struct ft_script_frame *f,
                     const struct ft_script_statement *s, uint32_t condition)
{
  struct ft_block *blocks[2];
  struct fork forks[2] = { { 0 }, { 0 } };

  if (s->body->raises || s->otherwise->raises) /* an assertion, assumed to hold */
    return s->body->raises && s->otherwise->raises
               ? FT_SCRIPT_GOES_ON
               : ft_script_run_body(r, f, s->body->raises ? s->otherwise : s->body);
  for (int i = 1; i >= 0; i--) {
    int status = copy_variables(r, f, &forks[i]);

    if (status == 0)
      status = trace_side(r, f, i ? s->otherwise : s->body, &forks[i], &forks[i].lists, &blocks[i]);
    if (i || status < 0)
      ft_changes_undo(&forks[i].lists);
    if (status < 0)
      return clear_exception(r) ? ft_script_run_body(r, f, i ? s->body : s->otherwise) : -1;
  }
  return merge_sides(r, f, "If", condition, forks, blocks, 2, 1);
}

int ft_script_data_loop(struct ft_script_run *r, struct ft_script_frame *f,
                        const struct ft_script_statement *s)
{
  struct ft_block *block;
  struct fork forks[2] = { { 0 }, { 0 } };

  if (copy_variables(r, f, &forks[0]) < 0 || copy_variables(r, f, &forks[1]) < 0 ||
      trace_side(r, f, s->body, &forks[0], NULL, &block) < 0)
    return -1;
  return merge_sides(r, f, "Loop", 0, forks, &block, 1, -1);
}
