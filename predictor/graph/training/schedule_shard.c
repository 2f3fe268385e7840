/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of training on several GPUs: DistributedDataParallel's buckets. With sharded parameters
 * (FullyShardedDataParallel, fully_shard, ZeRO): gathered units (schedule_fsdp.c), two at a time,
 * and flat gradients for the reduction (Zhao et al., PyTorch FSDP, 2023, section 3).
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
 * Buckets fill in the order of the backward pass: the first has 1 MiB, so that the exchange begins
 * early, the others 25 MiB each (torch.nn.parallel.DistributedDataParallel, bucket_cap_mb).
 */
void ft_plan_buckets(struct ft_plan *p)
{
  const int64_t first = INT64_C(1) << 20, next = INT64_C(25) << 20;
  int64_t filled = 0, limit = first;

  if (!p->options->training || p->options->gpus < 2 || ft_plan_shards(p))
    return;
  for (uint32_t k = p->out->trainable_count; k-- > 0;) {
    filled = ft_known_plus(filled, p->out->trainable_sizes[k]);
    if (filled < limit && k > 0)
      continue;
    (void)ft_plan_allocate(p, filled);
    filled = 0;
    limit = next;
  }
}

/* ---- units ---- */

/* Allocates U's parameters, unless they are gathered. */
static void gather_unit(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  if (u->gathered)
    return;
  u->gathered = ft_plan_allocate(p, u->bytes);
  p->gathered_bytes = ft_known_plus(p->gathered_bytes, u->gathered ? u->bytes : 0);
}

/* Frees U's gathered parameters. */
static void release_unit(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  if (!u->gathered)
    return;
  ft_plan_release(p, u->gathered);
  p->gathered_bytes -= u->bytes;
  u->gathered = 0;
}

/* Returns the first of the COUNT units that begin at operator I; NULL: none. */
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
    gather_unit(p, &p->units[0]); /* the outermost module's unit stays gathered */
  for (uint32_t k = 0; k < count; k++)
    gather_unit(p, &u[k]);
  if (count && !again && u + count < p->units + p->unit_count)
    gather_unit(p, u + count); /* prefetch */
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
 * Reduces U's flat gradients over all GPUs; each GPU stores its share. The previous unit's flat
 * gradients live until then. FullyShardedDataParallel allocates them before it frees the parameters
 * (torch/distributed/fsdp/_runtime_utils.py, _post_backward_hook), fully_shard afterwards
 * (_fully_shard/_fsdp_param_group.py, post_backward). The former needs more and is simulated.
 */
static void reduce_gradients(struct ft_plan *p, struct ft_fsdp_unit *u)
{
  uint32_t share;

  ft_plan_release(p, p->flat);
  p->flat = ft_plan_allocate(p, u->bytes);
  release_unit(p, u);
  for (uint32_t k = u->from; k < u->end; k++) {
    ft_plan_release(p, p->storages[p->used[k]].gradient);
    p->storages[p->used[k]].gradient = 0;
  }
  share = ft_plan_allocate(p, u->share);
  if (p->options->keep_gradients)
    ft_plan_release(p, share); /* accumulated into the existing share */
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
  ft_plan_release(p, p->flat);
  p->flat = 0;
}

void ft_plan_fsdp_free_shares(struct ft_plan *p)
{
  for (uint32_t k = 0; k < p->unit_count; k++)
    ft_plan_release(p, p->units[k].reduced);
}
