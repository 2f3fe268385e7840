/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What training on several GPUs adds to one's step: DistributedDataParallel's buckets, and where
 * parameters are shared out (FullyShardedDataParallel, fully_shard, ZeRO) the units that are
 * gathered while they are used, two at once, and the flat copies that exchange their gradients
 * (Zhao et al., PyTorch FSDP, 2023, section 3). A unit is a block that repeats, or what lies
 * between two of these; what comes before the first and behind the last stays gathered, as the
 * outermost module's own parameters do.
 */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/infer.h"
#include "predictor/graph/schedule_plan.h"

/* Pairs of learnt tensors that are compared at most while blocks are sought. */
enum { COMPARED = 1 << 26 };

struct ft_unit {
  uint32_t first, last; /* operators that use it */
  uint32_t from, end;   /* of what is learnt, in the order of use */
  uint32_t earlier;     /* another one with the same last, + 1 */
  uint32_t gathered;    /* buffer + 1 of its parameters, while they are there */
  uint32_t reduced;     /* the same of its share of their gradients */
  int64_t bytes, share;
  bool outer; /* of the outermost module */
};

/* A learnt tensor, in the order of use. */
struct learnt {
  uint32_t tensor, first, last, unit;
  bool between; /* it is in no block that repeats */
};

struct sought {
  const struct ft_plan *plan;
  struct learnt *all;
  int64_t left; /* pairs to compare */
};

bool ft_plan_shards(const struct ft_plan *p)
{
  return p->options->gpus > 1 && p->options->shard >= (p->options->training ? 2 : 3);
}

bool ft_plan_views(const struct ft_plan *p)
{
  return p->options->views && p->options->gpus > 1 && p->options->training && !ft_plan_shards(p);
}

/*
 * In the order in which gradients come, the reverse of use: 1 MiB first, so that the exchange
 * begins early, then 25 MiB each (torch.nn.parallel.DistributedDataParallel, bucket_cap_mb).
 */
void ft_plan_buckets(struct ft_plan *p)
{
  const int64_t first = INT64_C(1) << 20, next = INT64_C(25) << 20;
  int64_t filled = 0, limit = first;

  if (!p->options->training || p->options->gpus < 2 || ft_plan_shards(p))
    return;
  for (uint32_t k = p->out->learnt_count; k-- > 0;) {
    filled = ft_plus(filled, p->out->learnt[k]);
    if (filled < limit && k > 0)
      continue;
    (void)ft_plan_take(p, filled);
    filled = 0;
    limit = next;
  }
}

/* ---- blocks ---- */

static bool alike(const struct ft_plan *p, uint32_t a, uint32_t b)
{
  const struct ft_tensor *x = ft_plan_tensor(p, a), *y = ft_plan_tensor(p, b);

  if (x->rank != y->rank)
    return false;
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] != y->dims[i])
      return false;
  return true;
}

/* The most tensors from FROM to END that are one series again and again: where they begin, COUNT
 * how many (0: none), PERIOD how many a series has. */
static uint32_t repeated(struct sought *s, uint32_t from, uint32_t end, uint32_t *count,
                         uint32_t *period)
{
  uint32_t begin = from;

  *count = *period = 0;
  for (uint32_t length = 1; length <= (end - from) / 2 && s->left > 0; length++) {
    uint32_t run = 0;

    for (uint32_t i = from; i + length < end; i++) {
      run = alike(s->plan, s->all[i].tensor, s->all[i + length].tensor) ? run + 1 : 0;
      if (run >= length && (run / length + 1) * length > *count) {
        *count = (run / length + 1) * length;
        *period = length;
        begin = i + 1 - run;
      }
    }
    s->left -= end - from - length;
  }
  return begin;
}

/* Number the units of the tensors from FROM to END, from UNIT on. Returns what comes after. */
static uint32_t divide(struct sought *s, uint32_t from, uint32_t end, uint32_t unit)
{
  uint32_t count, period, begin;

  if (from == end)
    return unit;
  begin = repeated(s, from, end, &count, &period);
  if (!count) {
    for (uint32_t i = from; i < end; i++) {
      s->all[i].unit = unit;
      s->all[i].between = true;
    }
    return unit + 1;
  }
  unit = divide(s, from, begin, unit);
  for (uint32_t i = 0; i < count; i++)
    s->all[begin + i].unit = unit + i / period;
  return divide(s, begin + count, end, unit + count / period);
}

/* ---- units ---- */

static int by_use(const void *a, const void *b)
{
  const struct learnt *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->tensor < y->tensor ? -1 : x->tensor > y->tensor;
}

static void use(const struct ft_plan *p, struct learnt *uses, uint32_t t, uint32_t op)
{
  if (!p->cost->learnt[t])
    return;
  if (!uses[t].tensor)
    uses[t] = (struct learnt){ .tensor = t, .first = op };
  uses[t].last = op;
}

/* What is learnt and used, first come first; returns how many. */
static uint32_t gather_learnt(const struct ft_plan *p, struct learnt *all)
{
  uint32_t count = 0;

  for (uint32_t i = 0; i < p->block->operator_count; i++) {
    const struct ft_operator *op = &p->block->operators[i];

    for (uint32_t j = 0; j < op->input_count; j++)
      use(p, all, op->inputs[j], i);
    for (uint32_t j = 0; j < op->capture_count; j++)
      use(p, all, op->captures[j], i);
  }
  for (uint32_t t = 1; t < p->graph->tensor_count; t++)
    if (all[t].tensor)
      all[count++] = all[t];
  qsort(all, count, sizeof *all, by_use);
  return count;
}

static void add_to_unit(struct ft_plan *p, const struct learnt *all, uint32_t i)
{
  const struct learnt *x = &all[i];
  struct ft_unit *u = &p->units[x->unit];
  int64_t bytes = ft_plan_bytes(p, x->tensor);

  if (!u->end) {
    u->first = x->first;
    u->from = i;
  }
  u->end = i + 1;
  p->used[i] = x->tensor;
  if (x->last > u->last)
    u->last = x->last;
  u->bytes = ft_plus(u->bytes, bytes);
  u->share = ft_plus(u->share, ft_share(bytes, p->options->gpus));
}

void ft_plan_units(struct ft_plan *p)
{
  uint32_t operators = p->block->operator_count, count, begin = 0, end;
  struct sought s = { .plan = p, .left = COMPARED };

  if (!ft_plan_shards(p))
    return;
  s.all = ft_arena_take(&p->graph->results, p->graph->tensor_count * sizeof *s.all);
  p->used = ft_arena_take(&p->graph->results, p->graph->tensor_count * sizeof *p->used);
  p->closes = ft_arena_take(&p->graph->results, ((size_t)operators + 1) * sizeof *p->closes);
  p->opens = ft_arena_take(&p->graph->results, ((size_t)operators + 1) * sizeof *p->opens);
  if (!s.all || !p->used || !p->closes || !p->opens) {
    p->failed = true;
    return;
  }
  end = count = gather_learnt(p, s.all);
  p->unit_count = divide(&s, 0, count, 0);
  p->units = ft_arena_take(&p->graph->results, ((size_t)p->unit_count + 1) * sizeof *p->units);
  if (!p->units) {
    p->failed = true;
    return;
  }
  for (uint32_t i = 0; i < count; i++)
    add_to_unit(p, s.all, i);
  while (begin < count && s.all[begin].between)
    p->units[s.all[begin++].unit].outer = true;
  while (end > 0 && s.all[end - 1].between)
    p->units[s.all[--end].unit].outer = true;
  for (uint32_t k = p->unit_count; k-- > 0;) {
    struct ft_unit *u = &p->units[k];

    p->opens[u->first] = k + 1; /* the first of those that begin there: they follow one another */
    u->earlier = p->closes[u->last];
    p->closes[u->last] = k + 1;
  }
}

/* ---- while the step is played ---- */

static void gather(struct ft_plan *p, struct ft_unit *u)
{
  if (u->gathered)
    return;
  u->gathered = ft_plan_take(p, u->bytes);
  p->gathered_bytes = ft_plus(p->gathered_bytes, u->gathered ? u->bytes : 0);
}

static void let_go(struct ft_plan *p, struct ft_unit *u)
{
  if (!u->gathered)
    return;
  ft_plan_drop(p, u->gathered);
  p->gathered_bytes -= u->bytes;
  u->gathered = 0;
}

/* Units that begin at operator I: COUNT of them from the one that is returned on. */
static struct ft_unit *begun(const struct ft_plan *p, uint32_t i, uint32_t *count)
{
  uint32_t first = p->unit_count ? p->opens[i] : 0;

  *count = 0;
  for (uint32_t k = first; k && k <= p->unit_count && p->units[k - 1].first == i; k++)
    ++*count;
  return *count ? &p->units[first - 1] : NULL;
}

void ft_plan_units_enter(struct ft_plan *p, uint32_t i, bool again)
{
  uint32_t count;
  struct ft_unit *u = begun(p, i, &count);

  for (uint32_t k = 0; k < count; k++)
    gather(p, &u[k]);
  if (count && !again && u + count < p->units + p->unit_count)
    gather(p, u + count); /* the next, while these are at work */
}

void ft_plan_units_leave(struct ft_plan *p, uint32_t i)
{
  uint32_t k = p->unit_count && (p->options->shard > 2 || !p->options->training) ? p->closes[i] : 0;

  for (; k; k = p->units[k - 1].earlier)
    if (!p->units[k - 1].outer)
      let_go(p, &p->units[k - 1]);
}

void ft_plan_units_return(struct ft_plan *p, uint32_t i)
{
  uint32_t k = p->unit_count ? p->closes[i] : 0;

  for (; k; k = p->units[k - 1].earlier) {
    gather(p, &p->units[k - 1]);
    if (k > 1)
      gather(p, &p->units[k - 2]);
  }
}

/* Its gradients, in one piece, are summed over all GPUs, and each keeps its share. The piece of the
 * unit before is held until then. */
static void reduce(struct ft_plan *p, struct ft_unit *u)
{
  uint32_t share;

  ft_plan_drop(p, p->flat);
  let_go(p, u);
  p->flat = ft_plan_take(p, u->bytes);
  for (uint32_t k = u->from; k < u->end; k++) {
    ft_plan_drop(p, p->places[p->used[k]].gradient);
    p->places[p->used[k]].gradient = 0;
  }
  share = ft_plan_take(p, u->share);
  if (p->options->keep_gradients)
    ft_plan_drop(p, share); /* added to the one that is there */
  else
    u->reduced = share;
}

void ft_plan_units_reduce(struct ft_plan *p, uint32_t i)
{
  uint32_t count;
  struct ft_unit *u = begun(p, i, &count);

  for (uint32_t k = count; k-- > 0;)
    if (!u[k].outer)
      reduce(p, &u[k]);
}

void ft_plan_units_end(struct ft_plan *p)
{
  for (uint32_t k = p->unit_count; k-- > 0;) {
    if (p->units[k].outer && p->options->training)
      reduce(p, &p->units[k]);
    let_go(p, &p->units[k]);
  }
  ft_plan_drop(p, p->flat);
  p->flat = 0;
}

void ft_plan_units_forget(struct ft_plan *p)
{
  for (uint32_t k = 0; k < p->unit_count; k++)
    ft_plan_drop(p, p->units[k].reduced);
}
