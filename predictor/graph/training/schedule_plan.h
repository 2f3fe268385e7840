/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files schedule*.c share: the training step while it is written down.
 *   schedule_plan.c        buffers with their references, sizes of tensors
 *   schedule_storage.c     which tensor owns the memory, what is a view, when it is read last
 *   schedule_references.c  what Python variables refer to until the forward pass ends
 *   schedule_forward.c     an operator's forward pass and what it keeps
 *   schedule_decomposed.c  the same of what a library computes in several operations
 *   schedule_backward.c    an operator's backward pass
 *   schedule_shard.c       what several GPUs share out and exchange
 *   schedule_fsdp.c        which parameters they gather at once
 *   schedule.c             the order of it all
 */
#ifndef FT_GRAPH_SCHEDULE_PLAN_H
#define FT_GRAPH_SCHEDULE_PLAN_H

#include <string.h>

#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/shape/strides.h"
#include "predictor/graph/training/autograd_rules.h"
#include "predictor/graph/training/schedule.h"

/* A tensor's memory, or that of which it is a view. */
struct ft_storage {
  uint32_t owner;  /* the tensor whose memory it is */
  uint32_t last;   /* operator + 1 that reads that memory last in the forward pass (of the owner) */
  uint32_t buffer; /* + 1; 0: none now (of the owner) */
  uint32_t gradient;                /* buffer + 1 of this tensor's gradient */
  const struct ft_strides *strides; /* NULL: dense */
  bool held;                        /* by the forward pass (of the owner) */
  bool referenced;                  /* until that ends (of the owner) */
  bool fixed;                       /* parameters, inputs: there all the time (of the owner) */
  bool cast;                        /* a weight whose copy in 16 bits is there */
  bool wanted;                      /* its gradient is */
  uint8_t width;                    /* bytes of an element, where it is a real number */
};

/* Parameters that are gathered at once. */
struct ft_fsdp_unit {
  uint32_t first, last; /* operators that use it */
  uint32_t from, end;   /* of what is learnt, as ft_plan.used has it */
  uint32_t earlier;     /* another one with the same last, + 1 */
  uint32_t gathered;    /* buffer + 1 of its parameters, while they are there */
  uint32_t reduced;     /* the same of its share of their gradients */
  int64_t bytes, share;
};

struct ft_plan {
  struct ft_graph *graph;
  const struct ft_block *block;
  const struct ft_cost *cost;
  const struct ft_schedule_options *options;
  struct ft_schedule *out;
  struct ft_fusion *fusions;
  struct ft_storage *storages;
  uint32_t *uses; /* of each tensor: how many, and one of them */
  const struct ft_operator **users;
  uint32_t *references; /* of each buffer */
  int64_t *sizes;       /* of each buffer */
  struct ft_kept {
    uint32_t buffer, next;
  } * kept;        /* what operators keep, in lists */
  uint32_t *keeps; /* of each operator: its first + 1 */
  int64_t *inside; /* of each operator: elements that its blocks give in all iterations */
  size_t event_room, reference_room, size_room, kept_room, kept_count;
  uint32_t *cuts;    /* where each segment begins, and the last ends */
  uint32_t segments; /* of the blocks' operators; what they keep of earlier ones stands behind */
  int64_t live;
  /* where parameters are shared out: */
  struct ft_fsdp_unit *units; /* in the order of use, behind the outermost module's own */
  uint32_t unit_count;
  uint32_t *opens, *closes; /* of each operator: a unit + 1 that it is the first, the last to use */
  uint32_t *used;           /* what is learnt, unit by unit */
  uint32_t flat;            /* buffer + 1 of the gradients that are being summed */
  int64_t gathered_bytes;
  bool failed;
};

static inline const struct ft_tensor *ft_plan_tensor(const struct ft_plan *p, uint32_t t)
{
  return &p->graph->tensors[t];
}

static inline struct ft_storage *ft_plan_owner(const struct ft_plan *p, uint32_t t)
{
  return &p->storages[p->storages[t].owner];
}

/* Whether T holds real numbers, as far as is known. */
static inline bool ft_plan_real(const struct ft_plan *p, uint32_t t)
{
  uint8_t element = ft_plan_tensor(p, t)->element;

  return element == FT_ELEMENT_UNKNOWN || ft_element_is_real(element);
}

static inline uint32_t ft_plan_input(const struct ft_operator *op, uint32_t i)
{
  return i < op->input_count ? op->inputs[i] : 0;
}

/* Allocate a buffer of BYTES with one reference. Returns its number + 1; 0 for 0 bytes or where
 * memory is out (p->failed). */
uint32_t ft_plan_take(struct ft_plan *p, int64_t bytes);
/* Add a reference to BUFFER, which is returned; remove one, and with the last free it. 0: nothing.
 */
uint32_t ft_plan_hold(struct ft_plan *p, uint32_t buffer);
void ft_plan_drop(struct ft_plan *p, uint32_t buffer);
/* Keep BUFFER for the backward pass of operator OP, which takes its reference over; drop all that
 * OP keeps. */
void ft_plan_keep(struct ft_plan *p, uint32_t op, uint32_t buffer);
void ft_plan_forget(struct ft_plan *p, uint32_t op);
/* Move what OP keeps to the host; bring it back into new buffers. */
void ft_plan_send(struct ft_plan *p, uint32_t op);
void ft_plan_fetch(struct ft_plan *p, uint32_t op);
void ft_plan_emit(struct ft_plan *p, uint8_t kind, uint32_t buffer, int64_t bytes);

/* Bytes of tensor T in a step, 0 where unknown. */
int64_t ft_plan_bytes(const struct ft_plan *p, uint32_t t);
/* Whether OP does something in a training step: it works on what is fed or what is learnt. */
bool ft_plan_runs(const struct ft_plan *p, const struct ft_operator *op);

/* Whether OP takes one element along an axis, as unbind and indexing with a number do: a view. */
bool ft_plan_selects(const struct ft_plan *p, const struct ft_operator *op);
/* Whether OP is padding that the pooling behind it does itself. */
bool ft_plan_pads_pool(const struct ft_plan *p, const struct ft_operator *op);
/* The input of operator I that mixed precision copies from 16 into 32 bits; 0: none. */
uint32_t ft_plan_widened(const struct ft_plan *p, uint32_t i);
/* Whether OP computes its result in the memory of its first input. */
bool ft_plan_in_place(const struct ft_plan *p, const struct ft_operator *op);
/* The strides of T: dense, unless it is a view of another order. */
struct ft_strides ft_plan_strides(const struct ft_plan *p, uint32_t t);
/* Fill storages, and widths where precision is mixed. */
void ft_plan_settle(struct ft_plan *p);

/* Mark what the network's own Python code refers to until the forward pass ends. */
void ft_plan_mark_references(struct ft_plan *p);

/* The forward pass of operator I, with SAVE what its backward pass needs; its backward pass. */
void ft_plan_forward(struct ft_plan *p, uint32_t i, bool save);
void ft_plan_backward(struct ft_plan *p, uint32_t i);
/* Bytes of operand T of OP, a matrix product, written out over the dimensions before its matrices
 * that only the other operand has; 0 where there are none. */
int64_t ft_plan_broadcast(const struct ft_plan *p, const struct ft_operator *op, uint32_t t);
/* Whether OP is attention, and not in one kernel. */
bool ft_plan_decomposes_attention(const struct ft_plan *p, const struct ft_operator *op);
/* Bytes of the products of queries and keys where it is; 0 elsewhere. */
int64_t ft_plan_scores(const struct ft_plan *p, const struct ft_operator *op);
/* Bytes of what its products make of T, its queries, keys or values; 0 where they take T itself. */
int64_t ft_plan_operand(const struct ft_plan *p, const struct ft_operator *op, uint32_t t);
/* What comes between its two products, and what is kept of that. */
void ft_plan_decomposed_attention(struct ft_plan *p, uint32_t i, bool saves);
/* Keep what operator I makes for its backward pass where a library spells it out (decomposed.h);
 * INPUT: what comes in is wanted too. False where nothing is said of it. */
bool ft_plan_keep_decomposed(struct ft_plan *p, uint32_t i, bool *input);
/* Take the buckets in which gradients are exchanged. */
void ft_plan_buckets(struct ft_plan *p);
/* Whether the pass has but a share of what is learnt, and gathers the rest. */
bool ft_plan_shards(const struct ft_plan *p);
/* Whether gradients are parts of the buckets. */
bool ft_plan_views(const struct ft_plan *p);
/* Find the units, if it does; all that follows does nothing if not. */
void ft_plan_fsdp_units(struct ft_plan *p);
/* Before operator I (AGAIN: for its backward pass), and after it: what it is the first to use, or
 * the last. */
void ft_plan_fsdp_enter(struct ft_plan *p, uint32_t i, bool again);
void ft_plan_fsdp_leave(struct ft_plan *p, uint32_t i);
/* The same of its backward pass, which begins with what it was the last to use. */
void ft_plan_fsdp_return(struct ft_plan *p, uint32_t i);
void ft_plan_fsdp_reduce(struct ft_plan *p, uint32_t i);
/* After the last one, and once the optimiser has done its step. */
void ft_plan_fsdp_end(struct ft_plan *p);
void ft_plan_fsdp_forget(struct ft_plan *p);
/* The workspace of a convolution: 0 forward, 1 gradient of the input, 2 of the weight. */
void ft_plan_work(struct ft_plan *p, const struct ft_operator *op, int direction);

#endif
