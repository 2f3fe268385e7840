/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What training on several GPUs adds to one's step: DistributedDataParallel's buckets, and where
 * parameters are shared out (FullyShardedDataParallel, fully_shard, ZeRO) the units that are
 * gathered while they are used (schedule_fsdp.c), two at once, and the flat copies that exchange
 * their gradients (Zhao et al., PyTorch FSDP, 2023, section 3).
 */
#include "config.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/schedule_plan.h"

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
    filled = ft_known_plus(filled, p->out->learnt[k]);
    if (filled < limit && k > 0)
      continue;
    (void)ft_plan_take(p, filled);
    filled = 0;
    limit = next;
  }
}

/* ---- while the step is played ---- */

static void gather_unit(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  if (u->gathered)
    return;
  u->gathered = ft_plan_take(p, u->bytes);
  p->gathered_bytes = ft_known_plus(p->gathered_bytes, u->gathered ? u->bytes : 0);
}

static void release_unit(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  if (!u->gathered)
    return;
  ft_plan_drop(p, u->gathered);
  p->gathered_bytes -= u->bytes;
  u->gathered = 0;
}

/* Units that begin at operator I: COUNT of them from the one that is returned on. */
static struct ft_fsdp_unit *units_beginning_at(const struct ft_plan *p, uint32_t i, uint32_t *count)
{
  uint32_t first = p->unit_count ? p->opens[i] : 0;

  *count = 0;
  for (uint32_t k = first; k && k <= p->unit_count && p->units[k - 1].first == i; k++)
    ++*count;
  return *count ? &p->units[first - 1] : NULL;
}

void ft_plan_fsdp_enter(struct ft_plan *p, uint32_t i, bool again)
{
  uint32_t count;
  struct ft_fsdp_unit *u = units_beginning_at(p, i, &count);

  if (p->unit_count)
    gather_unit(p, &p->units[0]); /* the outermost module's, and it stays */
  for (uint32_t k = 0; k < count; k++)
    gather_unit(p, &u[k]);
  if (count && !again && u + count < p->units + p->unit_count)
    gather_unit(p, u + count); /* the next, while these are at work */
}

void ft_plan_fsdp_leave(struct ft_plan *p, uint32_t i)
{
  uint32_t k = p->unit_count && (p->options->shard > 2 || !p->options->training) ? p->closes[i] : 0;

  for (; k; k = p->units[k - 1].earlier)
    release_unit(p, &p->units[k - 1]);
}

void ft_plan_fsdp_return(struct ft_plan *p, uint32_t i)
{
  uint32_t k = p->unit_count ? p->closes[i] : 0;

  for (; k; k = p->units[k - 1].earlier) {
    gather_unit(p, &p->units[k - 1]);
    if (k > 1)
      gather_unit(p, &p->units[k - 2]);
  }
}

/*
 * Its gradients, in one piece, are summed over all GPUs, and each keeps its share. The piece of the
 * unit before is held until then. FullyShardedDataParallel makes the piece while parameters are
 * there still (torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook), fully_shard when
 * they are gone (_fully_shard/_fsdp_param_group.py, post_backward): the first, which needs more.
 */
static void reduce_gradients(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  uint32_t share;

  ft_plan_drop(p, p->flat);
  p->flat = ft_plan_take(p, u->bytes);
  release_unit(p, u);
  for (uint32_t k = u->from; k < u->end; k++) {
    ft_plan_drop(p, p->storages[p->used[k]].gradient);
    p->storages[p->used[k]].gradient = 0;
  }
  share = ft_plan_take(p, u->share);
  if (p->options->keep_gradients)
    ft_plan_drop(p, share); /* added to the one that is there */
  else
    u->reduced = share;
}

void ft_plan_fsdp_reduce(struct ft_plan *p, uint32_t i)
{
  uint32_t count;
  struct ft_fsdp_unit *u = units_beginning_at(p, i, &count);

  for (uint32_t k = count; k-- > 0;)
    reduce_gradients(p, &u[k]);
}

void ft_plan_fsdp_end(struct ft_plan *p)
{
  if (p->unit_count && p->options->training)
    reduce_gradients(p, &p->units[0]);
  for (uint32_t k = p->unit_count; k-- > 0;)
    release_unit(p, &p->units[k]);
  ft_plan_drop(p, p->flat);
  p->flat = 0;
}

void ft_plan_fsdp_forget(struct ft_plan *p)
{
  for (uint32_t k = 0; k < p->unit_count; k++)
    ft_plan_drop(p, p->units[k].reduced);
}
