/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FSDP units: parameters that are gathered together. Users wrap each block of a network, a module,
 * and then the whole network (https://pytorch.org/docs/stable/fsdp.html). A graph has no modules,
 * but blocks can be recognised: no tensor bypasses a block, while a residual connection bypasses
 * operators inside it, or its shapes repeat. A unit therefore begins only where a single tensor is
 * live. Parameters before the first block and after the last belong to the outermost module: one
 * unit, which stays gathered.
 */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/training/schedule_plan.h"

/* Upper limit of compared pairs of trainable tensors. */
enum { COMPARED = 1 << 24 };

/* A trainable tensor, in the order of use. */
struct trainable {
  uint32_t tensor, first, last; /* in the graph; its first and last reader */
  uint32_t next; /* index of the first tensor from this one on that may begin a unit */
  uint32_t unit; /* its unit; 0: the outermost module's */
  bool begins;   /* may begin a unit */
  bool block;    /* belongs to a block: a tensor bypasses its matrix products */
};

struct unit_search {
  const struct ft_plan *plan;
  struct trainable *all;
  uint32_t count;
  int64_t left; /* pairs that may still be compared */
};

/* ---- trainable tensors ---- */

static int by_use(const void *a, const void *b)
{
  const struct trainable *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

/* Records in USES that operator OP reads T, if T is trainable. */
static void note_parameter_use(const struct ft_plan *p, struct trainable *uses, uint32_t t,
                               uint32_t op)
{
  if (!p->cost->trainable[t])
    return;
  if (!uses[t].tensor)
    uses[t] = (struct trainable){ .tensor = t, .first = op };
  uses[t].last = op;
}

/* Fills ALL, zeroed and with one entry per tensor, with the trainable tensors in the order of use.
 * Returns their number. */
static uint32_t list_trainable(const struct ft_plan *p, struct trainable *all)
{
  uint32_t count = 0;

  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++)
      note_parameter_use(p, all, op->inputs[j], i);
    for (uint32_t j = 0; j < op->capture_count; j++)
      note_parameter_use(p, all, op->captures[j], i);
  }
  for (uint32_t t = 1; t < p->graph->tensor_count; t++)
    if (all[t].tensor)
      all[count++] = all[t];
  qsort(all, count, sizeof *all, by_use);
  return count;
}

/* ---- parts, divided where a single tensor is live ---- */

/* Sets PASSING[I] to the largest J up to I such that at most one tensor is live before operator J.
 * PASSING has an entry for each operator and one for the end, all 0 before. */
static void find_narrow_places(const struct ft_plan *p, uint32_t *passing)
{
  uint32_t count = p->block->operator_count, now = 0, narrow = 0;

  for (uint32_t t = 1; t < p->graph->tensor_count; t++) {
    const struct ft_storage *storage = &p->storages[t];
    uint32_t from = ft_plan_tensor(p, t)->producer;
    uint32_t last = storage->last < count ? storage->last : count;

    if (ft_plan_tensor(p, t)->block != 1 /* the outermost */ || storage->owner != t ||
        storage->fixed || !storage->wanted || !from || from >= last ||
        p->fusions[from - 1].kind == FT_FUSED_INSIDE)
      continue;
    passing[from]++;
    passing[last]--; /* wraps around, and back in the sum below */
  }
  for (uint32_t i = 0; i <= count; i++) {
    now += passing[i];
    if (now <= 1)
      narrow = i;
    passing[i] = narrow;
  }
}

/* Returns whether X is a weight of a matrix product or a convolution. */
static bool is_product(const struct ft_plan *p, const struct trainable *x)
{
  const struct ft_operator *op = &p->block->operators[x->first];

  return ft_plan_tensor(p, x->tensor)->rank > 1 &&
         ((op->kind && op->kind->weight) || ft_operator_is(op, FT_OP_Transpose));
}

/*
 * Sets `block` of tensors FROM to END, a part: whether it has several products and at most half of
 * TOTAL, the bytes of all parameters. A larger part is no block, as skip connections around nearly
 * the whole network (U-Net) make it: each of its operators may begin a unit.
 */
static void mark_part(struct unit_search *s, uint32_t from, uint32_t end, int64_t total)
{
  uint32_t products = 0;
  int64_t bytes = 0;

  for (uint32_t i = from; i < end; i++) {
    bytes = ft_known_plus(bytes, ft_plan_bytes(s->plan, s->all[i].tensor));
    products += is_product(s->plan, &s->all[i]);
  }
  for (uint32_t i = from; i < end; i++) {
    s->all[i].block = products > 1 && bytes <= total / 2;
    if (bytes > total / 2 && i > from)
      s->all[i].begins = s->all[i].first != s->all[i - 1].first;
  }
}

/* Divides all tensors into parts where NARROW (find_narrow_places) allows a unit to begin, and sets
 * their fields `begins`, `block` and `next`. */
static void mark_parts(struct unit_search *s, const uint32_t *narrow)
{
  uint32_t next = s->count, from = 0;
  int64_t total = 0;

  for (uint32_t i = 0; i < s->count; i++) {
    total = ft_known_plus(total, ft_plan_bytes(s->plan, s->all[i].tensor));
    s->all[i].begins = i == 0 || narrow[s->all[i].first] > s->all[i - 1].first;
  }
  for (uint32_t i = 1; i <= s->count; i++)
    if (i == s->count || s->all[i].begins) {
      mark_part(s, from, i, total);
      from = i;
    }
  for (uint32_t i = s->count; i-- > 0;)
    s->all[i].next = next = s->all[i].begins ? i : next;
}

/* ---- units ---- */

/* Returns whether tensors A and B have the same shape and may both begin a unit, or neither. */
static bool parameters_alike(const struct unit_search *s, uint32_t a, uint32_t b)
{
  const struct ft_tensor *x = ft_plan_tensor(s->plan, s->all[a].tensor),
                         *y = ft_plan_tensor(s->plan, s->all[b].tensor);

  if (x->rank != y->rank || s->all[a].begins != s->all[b].begins)
    return false;
  for (int i = 0; i < x->rank; i++)
    if (!ft_dim_equal(x->dims[i], y->dims[i]))
      return false;
  return true;
}

/* Finds the longest run of tensors FROM to END that repeats one series of shapes. Returns its first
 * index. Sets COUNT to its tensors (0: no repetition) and PERIOD to those of one series. */
static uint32_t find_repetition(struct unit_search *s, uint32_t from, uint32_t end, uint32_t *count,
                                uint32_t *period)
{
  uint32_t begin = from;

  *count = *period = 0;
  for (uint32_t length = 1; length <= (end - from) / 2 && s->left > 0; length++) {
    uint32_t run = 0;

    for (uint32_t i = from; i + length < end; i++) {
      uint32_t first, repeats;

      run = parameters_alike(s, i, i + length) ? run + 1 : 0;
      if (run < length)
        continue;
      first = s->all[i + 1 - run].next;
      repeats = first <= i ? (i + length + 1 - first) / length : 0;
      if (repeats > 1 && repeats * length > *count) {
        *count = repeats * length;
        *period = length;
        begin = first;
      }
    }
    s->left -= end - from - length;
  }
  return begin;
}

/*
 * Numbers the units of tensors FROM to END, which do not repeat: a unit for each of adjacent
 * blocks, else one unit. Tensors before the first block and after the last get 0. Returns the next
 * free number.
 */
static uint32_t number_blocks(struct unit_search *s, uint32_t from, uint32_t end, uint32_t unit)
{
  uint32_t begin = from;
  bool last = end == s->count;

  while (from == 0 && begin < end && !s->all[begin].block)
    s->all[begin++].unit = 0;
  while (last && end > begin && !s->all[end - 1].block)
    s->all[--end].unit = 0;
  for (uint32_t i = begin; i < end; i++) {
    if (i > begin && s->all[i].begins && s->all[i].block && s->all[i - 1].block)
      unit++;
    s->all[i].unit = unit;
  }
  return begin < end ? unit + 1 : unit;
}

/* Numbers the units of tensors FROM to END, from UNIT on. Returns the next free number. */
static uint32_t number_units(struct unit_search *s, uint32_t from, uint32_t end, uint32_t unit)
{
  uint32_t count, period, begin;

  if (from == end)
    return unit;
  begin = find_repetition(s, from, end, &count, &period);
  if (!count)
    return number_blocks(s, from, end, unit);
  unit = number_units(s, from, begin, unit);
  for (uint32_t i = 0; i < count; i++)
    s->all[begin + i].unit = unit + i / period;
  return number_units(s, begin + count, end, unit + count / period);
}

/* Allocates the arrays of S and P, and NARROW. Returns false if memory is exhausted. */
static bool allocate_unit_search(struct ft_plan *p, struct unit_search *s, uint32_t **narrow)
{
  size_t operators = (size_t)p->block->operator_count + 1, tensors = p->graph->tensor_count;
  struct ft_arena *arena = &p->graph->results;

  s->all = ft_arena_take(arena, tensors * sizeof *s->all);
  p->used = ft_arena_take(arena, tensors * sizeof *p->used);
  p->closes = ft_arena_take(arena, operators * sizeof *p->closes);
  p->opens = ft_arena_take(arena, operators * sizeof *p->opens);
  *narrow = ft_arena_take(arena, operators * sizeof **narrow);
  return s->all && p->used && p->closes && p->opens && *narrow;
}

/* Appends X to unit U's parameters; USED is the number of entries of P->used. */
static void add_unit_parameter(struct ft_plan *p, struct ft_fsdp_unit *u, const struct trainable *x,
                               uint32_t *used)
{
  int64_t bytes = ft_plan_bytes(p, x->tensor);

  if (u->from == u->end) {
    u->first = x->first;
    u->from = u->end = *used;
  }
  p->used[(*used)++] = x->tensor;
  u->end = *used;
  if (x->last > u->last)
    u->last = x->last;
  u->bytes = ft_known_plus(u->bytes, bytes);
  u->share = ft_known_plus(u->share, ft_share(bytes, p->options->gpus));
}

void ft_plan_fsdp_units(struct ft_plan *p)
{
  struct unit_search s = { .plan = p, .left = COMPARED };
  uint32_t *narrow, used = 0;

  if (!ft_plan_shards(p))
    return;
  if (!allocate_unit_search(p, &s, &narrow)) {
    p->failed = true;
    return;
  }
  s.count = list_trainable(p, s.all);
  find_narrow_places(p, narrow);
  mark_parts(&s, narrow);
  p->unit_count = number_units(&s, 0, s.count, 1);
  p->units = ft_arena_take(&p->graph->results, (size_t)p->unit_count * sizeof *p->units);
  if (!p->units) {
    p->failed = true;
    return;
  }
  for (uint32_t outer = 2; outer-- > 0;)
    for (uint32_t i = 0; i < s.count; i++)
      if ((s.all[i].unit == 0) == outer)
        add_unit_parameter(p, &p->units[s.all[i].unit], &s.all[i], &used);
  for (uint32_t k = p->unit_count; k-- > 1;) {
    struct ft_fsdp_unit *u = &p->units[k];

    p->opens[u->first] = k + 1; /* the first unit that begins there; the others follow it */
    u->earlier = p->closes[u->last];
    p->closes[u->last] = k + 1;
  }
}
