/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * State shared by the files schedule*.c while they build a schedule.
 *   schedule_plan.c        reference-counted buffers, sizes of tensors
 *   schedule_storage.c     storage owners, views, strides, liveness, element widths
 *   schedule_references.c  tensors that Python variables keep alive until the forward pass ends
 *   schedule_forward.c     an operator's forward pass and the tensors that it saves
 *   schedule_decomposed.c  the same for decomposed operators
 *   schedule_backward.c    an operator's backward pass
 *   schedule_shard.c       buckets and sharding of several GPUs
 *   schedule_fsdp.c        FSDP units: parameters gathered together
 *   schedule.c             the order of the pass
 */
#ifndef FT_GRAPH_SCHEDULE_PLAN_H
#define FT_GRAPH_SCHEDULE_PLAN_H

#include <string.h>

#include "predictor/graph/cost/fuse.h"
#include "predictor/graph/shape/operators.h"
#include "predictor/graph/shape/strides.h"
#include "predictor/graph/training/autograd_rules.h"
#include "predictor/graph/training/schedule.h"

/* A tensor's storage. "Owner": the field counts only in the storage's owner. */
struct ft_storage {
  uint32_t owner;    /* the tensor itself, or the tensor of which it is a view */
  uint32_t last;     /* owner: index + 1 of its last reader in the forward pass; 0: none */
  uint32_t buffer;   /* owner: buffer + 1; 0: none yet */
  uint32_t gradient; /* buffer + 1 of this tensor's gradient; 0: none */
  const struct ft_strides *strides; /* NULL: dense */
  bool held;                        /* owner: the forward pass has a reference to the buffer */
  bool referenced; /* owner: a Python variable keeps it until the forward pass ends */
  bool fixed;      /* owner: a parameter, constant or input, live during the whole pass */
  bool cast;       /* a weight whose 16-bit copy autocast has cached */
  bool wanted;     /* the backward pass computes its gradient */
  uint8_t width;   /* bytes of an element, if it is a real number */
};

/* FSDP unit: parameters that are gathered together. */
struct ft_fsdp_unit {
  uint32_t first, last; /* its first and last operator */
  uint32_t from, end;   /* its parameters: indices of ft_plan.used */
  uint32_t earlier;     /* unit + 1: next in the list of units with the same last; 0: none */
  uint32_t gathered;    /* buffer + 1 of its gathered parameters; 0: sharded */
  uint32_t reduced;     /* buffer + 1 of this GPU's share of the gradients; 0: none */
  int64_t bytes, share; /* of all parameters, of this GPU's share */
};

/* All arrays are in the graph's arena of results. */
struct ft_plan {
  struct ft_graph *graph;
  const struct ft_block *block;
  const struct ft_cost *cost;
  const struct ft_schedule_options *options;
  struct ft_schedule *out;
  struct ft_fusion *fusions;
  struct ft_storage *storages;
  uint32_t *uses;                   /* of each tensor: number of readers */
  const struct ft_operator **users; /* of each tensor: one operator that reads it; NULL: none */
  uint32_t *references;             /* of each buffer; 0: freed */
  int64_t *sizes;                   /* of each buffer, in bytes */
  struct ft_saved_buffer {
    uint32_t buffer, next; /* + 1; next 0: the last */
  } * saved;               /* lists of saved buffers */
  uint32_t
      *saved_first; /* index + 1 in saved of the first, by operator, then by segment; 0: none */
  int64_t *inside;  /* of each operator: activation elements of its subgraphs in all iterations */
  size_t event_room, reference_room, size_room, saved_room, saved_count;
  uint32_t *cuts;    /* first operator of each checkpoint segment, then the number of operators */
  uint32_t segments; /* of activation checkpointing; 1: none */
  int64_t live;      /* bytes of all live buffers */
  /* sharded parameters only: */
  struct ft_fsdp_unit *units; /* 0: the outermost module's own; then in the order of use */
  uint32_t unit_count;        /* 0: not sharded */
  uint32_t *opens, *closes; /* of each operator: the first of the units + 1 that begin, end there */
  uint32_t *used;           /* trainable tensors, unit by unit */
  uint32_t flat;            /* buffer + 1 of the flat gradients being reduced; 0: none */
  int64_t gathered_bytes;   /* of all gathered units */
  bool failed;              /* the arena is full; the schedule is incomplete */
};

static inline const struct ft_tensor *ft_plan_tensor(const struct ft_plan *p, uint32_t t)
{
  return &p->graph->tensors[t];
}

/* Returns the storage of T's owner. */
static inline struct ft_storage *ft_plan_owner(const struct ft_plan *p, uint32_t t)
{
  return &p->storages[p->storages[t].owner];
}

/* Returns whether T's elements are real numbers or of unknown type. */
static inline bool ft_plan_real(const struct ft_plan *p, uint32_t t)
{
  uint8_t element = ft_plan_tensor(p, t)->element;

  return element == FT_ELEMENT_UNKNOWN || ft_element_is_real(element);
}

/*
 * Tensors T are indices into p->graph->tensors, operators I indices into p->block->operators, and
 * buffers are numbered from 1; buffer 0 is none, and functions ignore it. A function that runs out
 * of memory sets p->failed.
 */

/* Allocates a buffer of BYTES with one reference. Returns the buffer; 0 for 0 bytes or on error. */
uint32_t ft_plan_allocate(struct ft_plan *p, int64_t bytes);
/* Adds a reference to BUFFER. Returns BUFFER. */
uint32_t ft_plan_retain(struct ft_plan *p, uint32_t buffer);
/* Removes a reference to BUFFER, and frees BUFFER without references. */
void ft_plan_release(struct ft_plan *p, uint32_t buffer);
/* Saves BUFFER for the backward pass of operator OP, which takes over the caller's reference. OP
 * may also be p->block->operator_count + a checkpoint segment, here and in ft_plan_release_saved.
 */
void ft_plan_save(struct ft_plan *p, uint32_t op, uint32_t buffer);
/* Releases the buffers saved for OP. */
void ft_plan_release_saved(struct ft_plan *p, uint32_t op);
/* Moves the buffers saved for operator OP to the host. */
void ft_plan_offload(struct ft_plan *p, uint32_t op);
/* Copies the offloaded buffers of OP back into new buffers. */
void ft_plan_reload(struct ft_plan *p, uint32_t op);
/* Appends an event: KIND (enum ft_event_kind), BUFFER numbered from 0, BYTES. */
void ft_plan_emit(struct ft_plan *p, uint8_t kind, uint32_t buffer, int64_t bytes);

/* Returns the bytes of T for the whole batch; 0: unknown. */
int64_t ft_plan_bytes(const struct ft_plan *p, uint32_t t);
/* Returns whether OP runs in each step: its output depends on the network's inputs or parameters.
 */
bool ft_plan_runs(const struct ft_plan *p, const struct ft_operator *op);

/* Returns whether OP selects one index of a dimension (unbind, x[0]), which makes a view. */
bool ft_plan_selects(const struct ft_plan *p, const struct ft_operator *op);
/* Returns whether OP is padding that PyTorch's average pooling, its only reader, does itself. */
bool ft_plan_pads_pool(const struct ft_plan *p, const struct ft_operator *op);
/* Returns the input of operator I that autocast copies from 16 to 32 bits; 0: none. */
uint32_t ft_plan_widened(const struct ft_plan *p, uint32_t i);
/* Returns whether OP is in place: its output replaces its first input. */
bool ft_plan_in_place(const struct ft_plan *p, const struct ft_operator *op);
/* Returns T's strides: dense unless T is a view with other strides. */
struct ft_strides ft_plan_strides(const struct ft_plan *p, uint32_t t);
/* Fills p->storages, p->uses and p->users. */
void ft_plan_settle(struct ft_plan *p);

/* Sets `referenced` of tensors that the network's Python code keeps until the forward pass ends. */
void ft_plan_mark_references(struct ft_plan *p);

/* Adds the forward pass of operator I. SAVE: saves tensors for its backward pass. */
void ft_plan_forward(struct ft_plan *p, uint32_t i, bool save);
/* Adds the backward pass of operator I, and releases its saved tensors and its outputs' gradients.
 */
void ft_plan_backward(struct ft_plan *p, uint32_t i);
/* Returns the bytes of operand T of OP expanded to OP's batch dimensions; 0 if OP is no matrix
 * product or does not broadcast T. */
int64_t ft_plan_broadcast(const struct ft_plan *p, const struct ft_operator *op, uint32_t t);
/* Returns whether OP is attention that runs as several operations, not as one kernel. */
bool ft_plan_decomposes_attention(const struct ft_plan *p, const struct ft_operator *op);
/* Returns the bytes of OP's attention scores; 0 if OP is no decomposed attention. */
int64_t ft_plan_scores(const struct ft_plan *p, const struct ft_operator *op);
/* Returns the bytes of the copy that attention OP makes of its input T; 0: it reads T itself. */
int64_t ft_plan_operand(const struct ft_plan *p, const struct ft_operator *op, uint32_t t);
/* Adds scores and probabilities of operator I, if it is decomposed attention. SAVES: saves those
 * that its backward pass reads. */
void ft_plan_decomposed_attention(struct ft_plan *p, uint32_t i, bool saves);
/* Saves what a decomposed operator I (decomposed.h) or fused attention computes for its backward
 * pass. Sets *INPUT if the input is saved too. Returns false if I is not in decomposed.h. */
bool ft_plan_save_decomposed(struct ft_plan *p, uint32_t i, bool *input);
/* Allocates DistributedDataParallel's gradient buckets, if the run has them. */
void ft_plan_buckets(struct ft_plan *p);
/* Returns whether each GPU stores only a share of the parameters and gathers the rest. */
bool ft_plan_shards(const struct ft_plan *p);
/* Returns whether gradients are views of the buckets. */
bool ft_plan_views(const struct ft_plan *p);
/* Finds the FSDP units of a sharded network. Without units the functions below have no effect. */
void ft_plan_fsdp_units(struct ft_plan *p);
/* Before the forward pass of operator I: gathers the units that begin there, and the next one
 * unless AGAIN (recomputation by checkpointing). */
void ft_plan_fsdp_enter(struct ft_plan *p, uint32_t i, bool again);
/* After it: frees the gathered units that end there, if parameters are resharded. */
void ft_plan_fsdp_leave(struct ft_plan *p, uint32_t i);
/* Before the backward pass of operator I: gathers the units that end there, and the one before. */
void ft_plan_fsdp_return(struct ft_plan *p, uint32_t i);
/* After it: reduces the gradients of the units that begin there, and frees their parameters. */
void ft_plan_fsdp_reduce(struct ft_plan *p, uint32_t i);
/* At the end of the pass: reduces the outermost module's gradients, and frees all gathered units.
 */
void ft_plan_fsdp_end(struct ft_plan *p);
/* After the optimiser's step: frees this GPU's shares of the gradients. */
void ft_plan_fsdp_free_shares(struct ft_plan *p);
/* Allocates and frees the workspace of OP, if a convolution. DIRECTION: 0 forward pass, 1 gradient
 * of the input, 2 of the weights. */
void ft_plan_work(struct ft_plan *p, const struct ft_operator *op, int direction);

#endif
