/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which parameters are gathered at once where they are shared out. Whoever wraps a network wraps
 * its blocks, each a module, and then the whole (https://pytorch.org/docs/stable/fsdp.html); of
 * modules a graph says nothing, but a block shows: nothing passes around it, and something does
 * around what is in it, or it repeats. So a unit begins only where one tensor alone goes on. What
 * comes before the first block and behind the last is the outermost module's own, one unit that
 * stays gathered.
 */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/training/schedule_plan.h"

/* Upper limit of compared pairs of trainable tensors; chosen by judgement. */
enum { COMPARED = 1 << 24 };

/* A learnt tensor, in the order of use. */
struct learnt {
  uint32_t tensor, first, last;
  uint32_t next; /* the first from here on with which a unit may begin */
  uint32_t unit; /* 0: the outermost module's */
  bool begins;   /* a unit may begin with it */
  bool block;    /* it is of a block, for something passes around its products */
};

/* The state of the search for FSDP units. */
struct unit_search {
  const struct ft_plan *plan;
  struct learnt *all;
  uint32_t count;
  int64_t left; /* pairs to compare */
};

/* ---- what is learnt ---- */

static int by_use(const void *a, const void *b)
{
  const struct learnt *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static void note_parameter_use(const struct ft_plan *p, struct learnt *uses, uint32_t t,
                               uint32_t op)
{
  if (!p->cost->learnt[t])
    return;
  if (!uses[t].tensor)
    uses[t] = (struct learnt){ .tensor = t, .first = op };
  uses[t].last = op;
}

/* Fills ALL with the trainable tensors in the order of use. Returns their number. */
static uint32_t gather_learnt(const struct ft_plan *p, struct learnt *all)
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

/* ---- parts ---- */

/* Before each operator: behind it + 1 the last place so far that one tensor alone passes. PASSING
 * has room for one more than there are. */
static void find_narrow(const struct ft_plan *p, uint32_t *passing)
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
    passing[last]--; /* below 0 it comes round again */
  }
  for (uint32_t i = 0; i <= count; i++) {
    now += passing[i];
    if (now <= 1)
      narrow = i;
    passing[i] = narrow;
  }
}

static bool is_product(const struct ft_plan *p, const struct learnt *x)
{
  const struct ft_operator *op = &p->block->operators[x->first];

  return ft_plan_tensor(p, x->tensor)->rank > 1 &&
         ((op->kind && op->kind->weight) || ft_operator_is(op, FT_OP_Transpose));
}

/* What FROM to END have of a part: a block where it has several products, unless most of MOST bytes
 * in all are there: what passes around nearly all of a network, as in a U-Net, makes it no block.
 */
static void mark_part(struct unit_search *s, uint32_t from, uint32_t end, int64_t most)
{
  uint32_t products = 0;
  int64_t bytes = 0;

  for (uint32_t i = from; i < end; i++) {
    bytes = ft_known_plus(bytes, ft_plan_bytes(s->plan, s->all[i].tensor));
    products += is_product(s->plan, &s->all[i]);
  }
  for (uint32_t i = from; i < end; i++) {
    s->all[i].block = products > 1 && bytes <= most / 2;
    if (bytes > most / 2 && i > from)
      s->all[i].begins = s->all[i].first != s->all[i - 1].first;
  }
}

static void mark_parts(struct unit_search *s, const uint32_t *narrow)
{
  uint32_t next = s->count, from = 0;
  int64_t most = 0;

  for (uint32_t i = 0; i < s->count; i++) {
    most = ft_known_plus(most, ft_plan_bytes(s->plan, s->all[i].tensor));
    s->all[i].begins = i == 0 || narrow[s->all[i].first] > s->all[i - 1].first;
  }
  for (uint32_t i = 1; i <= s->count; i++)
    if (i == s->count || s->all[i].begins) {
      mark_part(s, from, i, most);
      from = i;
    }
  for (uint32_t i = s->count; i-- > 0;)
    s->all[i].next = next = s->all[i].begins ? i : next;
}

/* ---- units ---- */

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

/* The most tensors from FROM to END that are one series again and again: where they begin, COUNT
 * how many (0: none), PERIOD how many a series has. */
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

/* Number them where nothing repeats: blocks that follow one another, or all of it. */
static uint32_t divide_rest(struct unit_search *s, uint32_t from, uint32_t end, uint32_t unit)
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
    return divide_rest(s, from, end, unit);
  unit = number_units(s, from, begin, unit);
  for (uint32_t i = 0; i < count; i++)
    s->all[begin + i].unit = unit + i / period;
  return number_units(s, begin + count, end, unit + count / period);
}

static bool take_room(struct ft_plan *p, struct unit_search *s, uint32_t **narrow)
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

static void add_unit_parameter(struct ft_plan *p, struct ft_fsdp_unit *u, const struct learnt *x,
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
  if (!take_room(p, &s, &narrow)) {
    p->failed = true;
    return;
  }
  s.count = gather_learnt(p, s.all);
  find_narrow(p, narrow);
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

    p->opens[u->first] = k + 1; /* the first of those that begin there: they follow one another */
    u->earlier = p->closes[u->last];
    p->closes[u->last] = k + 1;
  }
}
