/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a graph while its shapes are inferred, for the readers of programs (TorchScript, an
 * exported PyTorch program, TensorFlow, PaddlePaddle, a configuration). An operator's results have
 * their shapes as soon as it is added, so that the program can ask for sizes. Nothing survives the
 * next ft_graph_infer.
 *
 *   ft_tracer_op(l, "Conv");
 *   ft_tracer_in(l, x);
 *   ft_tracer_in(l, w);
 *   ft_tracer_ints(l, "strides", s, 2);
 *   y = ft_tracer_end(l, 1);
 *
 * Functions that give a tensor give 0 when memory is out or the operator contradicts its inputs,
 * with the error in l->in->err.
 */
#ifndef FT_GRAPH_TRACER_H
#define FT_GRAPH_TRACER_H

#include "predictor/graph/shape/infer.h"

enum {
  FT_TRACER_OPERATORS = 1 << 20, /* of one graph, loops unrolled */
  FT_TRACER_ATTRIBUTES = 16
};

/* Something learnt or kept, as the file holds it; a tensor from its first use on. */
struct ft_weight {
  struct ft_weight *joined; /* with others, where ONNX has them as one */
  const char *name;
  const char *storage; /* what its bytes are called in the file; NULL: not told */
  struct ft_declared declared;
  uint32_t tensor;
};

struct ft_changes;

struct ft_tracer {
  struct ft_infer *in;
  struct ft_graph *graph;
  struct ft_block *block;     /* the one that is being filled */
  const char *scope;          /* what an operator is called after; "" at first */
  uint64_t at;                /* its byte in the file or the part of it */
  struct ft_changes *changes; /* of the side of a branch that is followed; NULL: none (aten.h) */
  /* private */
  size_t tensor_room, operator_room, constant_room, input_room, output_room, in_room, kv_cache_room;
  uint32_t serial, serials, outer;
  uint32_t *ins;
  uint32_t *instead; /* of a tensor: the one that stands for it now; 0: itself */
  size_t instead_room;
  uint32_t instead_count;
  uint32_t *part; /* of a tensor: what is still to be written into it; 0: nothing */
  size_t part_room;
  uint32_t part_count, part_depth;
  uint32_t in_count, attribute_count;
  const char *type, *domain;
  struct ft_attribute attributes[FT_TRACER_ATTRIBUTES];
  struct ft_operator_hints hints; /* of the operator that is put together */
  bool hinted;                    /* some were asked for */
  bool failed; /* memory was out while an operator was put together */
  bool lost;   /* something was not followed: what it was made of is not known */
};

/* Empty the graph and begin it again. Returns 0; -1 out of memory. */
int ft_tracer_begin(struct ft_tracer *l, struct ft_infer *in);

/* SIZE bytes of zeros that live as long as the graph's results; NULL with the error. */
void *ft_tracer_take(struct ft_tracer *l, size_t size);
char *ft_tracer_text(struct ft_tracer *l, const char *text, size_t length);
const char *ft_tracer_format(struct ft_tracer *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* As ft_arena_grow, of what ft_tracer_take gives. */
void *ft_tracer_grow(struct ft_tracer *l, void *data, size_t *room, size_t count, size_t size);

/* An input of the network; its shape comes with ft_infer_inputs after the last of them. */
uint32_t ft_tracer_input(struct ft_tracer *l, const char *name, const struct ft_declared *declared);
int ft_tracer_output(struct ft_tracer *l, uint32_t tensor);
/* Add TENSOR to what stays for the next token (ft_graph.kv_cache). Returns 0 or -1. */
int ft_tracer_add_kv_cache(struct ft_tracer *l, uint32_t tensor);
/* Where something was not followed every result that nothing reads becomes an output: it may have
 * gone into that. Returns 0 or -1. */
int ft_tracer_loose_ends(struct ft_tracer *l);

/*
 * Later operators that read X read Y instead (X was written in place). No effect if X is outside
 * the current block.
 */
void ft_tracer_instead(struct ft_tracer *l, uint32_t x, uint32_t y);
/* The tensor that stands for TENSOR now. */
uint32_t ft_tracer_now(struct ft_tracer *l, uint32_t tensor);

/*
 * PART is the new content of a part of X: later operators that read X read it with PART written
 * into it, by a ScatterND before the first of them. No effect if X is outside the current block.
 */
void ft_tracer_scatter(struct ft_tracer *l, uint32_t x, uint32_t part);
/* TENSOR, which stands for itself, with what is still to be written into it. For tracer.c. */
uint32_t ft_tracer_whole(struct ft_tracer *l, uint32_t tensor);

uint32_t ft_tracer_weight(struct ft_tracer *l, struct ft_weight *weight);
/* Numbers that the program holds: neither learnt nor counted. VALUES may be NULL: not known. Not
 * between ft_tracer_op and ft_tracer_end. */
uint32_t ft_tracer_constant(struct ft_tracer *l, unsigned element, int rank, const ft_dim *dims,
                            const double *values);
uint32_t ft_tracer_number(struct ft_tracer *l, unsigned element, double value);
uint32_t ft_tracer_list(struct ft_tracer *l, const int64_t *values, size_t count);
/* As ft_tracer_list, of RANK dimensions, which need not be known. */
uint32_t ft_tracer_sizes(struct ft_tracer *l, const ft_dim *dims, int rank);

/* Put an operator together: its type, inputs (0: absent) and attributes; then run it. */
void ft_tracer_op(struct ft_tracer *l, const char *type);
void ft_tracer_unknown(struct ft_tracer *l, const char *domain, const char *type);
void ft_tracer_in(struct ft_tracer *l, uint32_t tensor);
void ft_tracer_int(struct ft_tracer *l, const char *name, int64_t value);
void ft_tracer_ints(struct ft_tracer *l, const char *name, const int64_t *values, size_t count);
void ft_tracer_string(struct ft_tracer *l, const char *name, const char *value);
/* What the reader knows beside the operator's attributes: all zero until the caller sets it,
 * between ft_tracer_op and ft_tracer_end. */
struct ft_operator_hints *ft_tracer_hints(struct ft_tracer *l);
/* Add the operator and infer its shapes. Returns the first of its OUTPUTS results, which have
 * consecutive numbers. */
uint32_t ft_tracer_end(struct ft_tracer *l, uint32_t outputs);

/* The commonest kinds in one call. */
uint32_t ft_tracer_unary(struct ft_tracer *l, const char *type, uint32_t x);
uint32_t ft_tracer_binary(struct ft_tracer *l, const char *type, uint32_t a, uint32_t b);
/* One of DIMS that is not known, or is to be inferred, follows from the others; of several none. */
uint32_t ft_tracer_reshape(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank);
/* The COUNT TENSORS one behind the other along AXIS. */
uint32_t ft_tracer_concat(struct ft_tracer *l, const uint32_t *tensors, size_t count, int64_t axis);
uint32_t ft_tracer_resize(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank);
uint32_t ft_tracer_transpose(struct ft_tracer *l, uint32_t x, const int64_t *order, int rank);
uint32_t ft_tracer_slice(struct ft_tracer *l, uint32_t x, int axis, int64_t start, int64_t end,
                         int64_t step);
uint32_t ft_tracer_cast(struct ft_tracer *l, uint32_t x, unsigned element);

/* Give a weight that no operator reads yet other sizes for the same elements. False where it cannot be.
 */
bool ft_tracer_reshape_weight(struct ft_tracer *l, struct ft_weight *w, const ft_dim *dims,
                              int rank);

/*
 * Let the layer that gives X take BIAS in, one for each of its CHANNELS, where it has none: a file
 * may add it behind, the frameworks' kernels do both at once. False where it cannot be.
 */
bool ft_tracer_add_bias(struct ft_tracer *l, uint32_t x, struct ft_weight *bias, ft_dim channels);

/* Make a block of its own for what comes next, to be kept with ft_tracer_inner. */
struct ft_tracer_frame {
  struct ft_block *block, *outer;
  uint32_t serial;
  size_t operator_room, output_room;
};
int ft_tracer_open(struct ft_tracer *l, struct ft_tracer_frame *frame);
void ft_tracer_close(struct ft_tracer *l, const struct ft_tracer_frame *frame);

/*
 * An operator TYPE ("If", "Loop") of COUNT blocks with OUTPUTS results of unknown shape; CONDITION
 * may be 0. Returns the first result, or the number of tensors where there is none.
 */
uint32_t ft_tracer_blocks(struct ft_tracer *l, const char *type, uint32_t condition,
                          struct ft_block *const *blocks, const char *const *names, unsigned count,
                          uint32_t outputs, int64_t trip_count);

static inline struct ft_tensor *ft_tracer_of(const struct ft_tracer *l, uint32_t tensor)
{
  return &l->graph->tensors[tensor];
}

/* "FILE: PART: TEXT" into the error; -1. */
int ft_tracer_fail(struct ft_tracer *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
