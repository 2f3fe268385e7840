/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a graph and infers its shapes at the same time, for the readers that trace a program
 * (TorchScript, torch.export, TensorFlow, PaddlePaddle) or build one from a configuration (Hugging
 * Face). Each operator is inferred when it is added, so the program can read the sizes of its
 * results. The next ft_graph_infer frees the graph and traces again.
 *
 *   ft_tracer_op(l, "Conv");
 *   ft_tracer_in(l, x);
 *   ft_tracer_in(l, w);
 *   ft_tracer_ints(l, "strides", s, 2);
 *   y = ft_tracer_end(l, 1);
 *
 * Functions that return a tensor return its index; 0 if memory is exhausted or the operator
 * contradicts its inputs, with the error in l->in->err.
 */
#ifndef FT_GRAPH_TRACER_H
#define FT_GRAPH_TRACER_H

#include "predictor/graph/shape/infer.h"

enum {
  FT_TRACER_OPERATORS = 1 << 20, /* of one graph, loops unrolled */
  FT_TRACER_ATTRIBUTES = 16
};

/* A parameter or buffer of the file. It becomes a tensor of the graph at its first use. */
struct ft_weight {
  struct ft_weight *joined; /* the weight that joins it with others as ONNX does; NULL: none */
  const char *name;
  const char *storage; /* name of its storage, which weights may share; NULL: unknown */
  struct ft_declared declared;
  bool no_gradient; /* the file says that it needs none */
  uint32_t tensor;  /* 0: not used yet */
};

struct ft_changes;

struct ft_tracer {
  struct ft_infer *in;
  struct ft_graph *graph;
  struct ft_block *block;     /* receives the operators */
  const char *scope;          /* prefix of the operators' names; "" at first */
  uint64_t at;                /* byte of the next operator in the file, for errors */
  struct ft_changes *changes; /* lists changed in the current branch; NULL: no branch (aten.h) */
  /* private */
  size_t tensor_room, operator_room, constant_room, input_room, output_room, in_room, kv_cache_room;
  uint32_t serial, serials, outer;
  uint32_t *ins;
  uint32_t *replacement; /* by tensor: the tensor that replaced it; 0: none */
  size_t replacement_room;
  uint32_t replacement_count;
  uint32_t *part; /* by tensor: what a pending write stores in a part of it; 0: none */
  size_t part_room;
  uint32_t part_count, part_depth;
  uint32_t in_count, attribute_count;
  const char *type, *domain;
  struct ft_attribute attributes[FT_TRACER_ATTRIBUTES];
  struct ft_operator_hints hints; /* of the operator between ft_tracer_op and ft_tracer_end */
  bool hinted;                    /* ft_tracer_hints was called for it */
  bool failed;                    /* memory was exhausted since ft_tracer_op */
  bool lost;                      /* a value was not traced, so its inputs are unknown */
};

/* Empties the graph. Returns 0; -1 if memory is exhausted. */
int ft_tracer_begin(struct ft_tracer *l, struct ft_infer *in);

/* Return SIZE bytes of zeros, a copy of LENGTH bytes of TEXT, formatted text: in the graph's arena
 * of results. NULL with the error. */
void *ft_tracer_take(struct ft_tracer *l, size_t size);
char *ft_tracer_text(struct ft_tracer *l, const char *text, size_t length);
const char *ft_tracer_format(struct ft_tracer *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* ft_arena_grow for memory of ft_tracer_take. */
void *ft_tracer_grow(struct ft_tracer *l, void *data, size_t *room, size_t count, size_t size);

/* Adds an input of the network. ft_infer_inputs sets the shapes of all inputs after the last. */
uint32_t ft_tracer_input(struct ft_tracer *l, const char *name, const struct ft_declared *declared);
int ft_tracer_output(struct ft_tracer *l, uint32_t tensor);
/* Adds TENSOR to the KV cache (ft_graph.kv_cache). Returns 0; -1 with the error. */
int ft_tracer_add_kv_cache(struct ft_tracer *l, uint32_t tensor);
/* If a value was not traced (lost), makes every unread result an output: the value may depend on
 * it. Returns 0; -1 with the error. */
int ft_tracer_loose_ends(struct ft_tracer *l);

/* Makes later operators read Y instead of X, which was written in place. No effect if X is outside
 * the current block. */
void ft_tracer_replace(struct ft_tracer *l, uint32_t x, uint32_t y);
/* Returns the tensor that replaces TENSOR now; TENSOR if none does. */
uint32_t ft_tracer_now(struct ft_tracer *l, uint32_t tensor);

/* Writes PART into a part of X in place: a ScatterND is recorded before the next operator that
 * reads X. No effect if X is outside the current block. */
void ft_tracer_scatter(struct ft_tracer *l, uint32_t x, uint32_t part);

/* Returns WEIGHT's tensor, added at its first use. */
uint32_t ft_tracer_weight(struct ft_tracer *l, struct ft_weight *weight);
/* Constants of the program: no parameters. VALUES may be NULL: unknown. Do not call between
 * ft_tracer_op and ft_tracer_end. */
uint32_t ft_tracer_constant(struct ft_tracer *l, unsigned element, int rank, const ft_dim *dims,
                            const double *values);
uint32_t ft_tracer_number(struct ft_tracer *l, unsigned element, double value);
uint32_t ft_tracer_list(struct ft_tracer *l, const int64_t *values, size_t count);
/* The same of RANK dimensions; the values of unknown ones are unknown. */
uint32_t ft_tracer_sizes(struct ft_tracer *l, const ft_dim *dims, int rank);

/* Compose an operator: type, inputs (0: absent), attributes. ft_tracer_end adds it. */
void ft_tracer_op(struct ft_tracer *l, const char *type);
void ft_tracer_unknown(struct ft_tracer *l, const char *domain, const char *type);
void ft_tracer_in(struct ft_tracer *l, uint32_t tensor);
void ft_tracer_int(struct ft_tracer *l, const char *name, int64_t value);
void ft_tracer_ints(struct ft_tracer *l, const char *name, const int64_t *values, size_t count);
void ft_tracer_string(struct ft_tracer *l, const char *name, const char *value);
/* Returns the hints of the operator being composed, all 0 at first, for the caller to set. */
struct ft_operator_hints *ft_tracer_hints(struct ft_tracer *l);
/* Adds the operator and infers its shapes. Returns the first of its OUTPUTS results, whose indices
 * are consecutive. */
uint32_t ft_tracer_end(struct ft_tracer *l, uint32_t outputs);

/* Common operators in one call. */
uint32_t ft_tracer_unary(struct ft_tracer *l, const char *type, uint32_t x);
uint32_t ft_tracer_binary(struct ft_tracer *l, const char *type, uint32_t a, uint32_t b);
/* One unknown or inferred dimension follows from the others; several stay unknown. */
uint32_t ft_tracer_reshape(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank);
/* Concatenates COUNT TENSORS along AXIS. */
uint32_t ft_tracer_concat(struct ft_tracer *l, const uint32_t *tensors, size_t count, int64_t axis);
uint32_t ft_tracer_resize(struct ft_tracer *l, uint32_t x, const ft_dim *dims, int rank);
uint32_t ft_tracer_transpose(struct ft_tracer *l, uint32_t x, const int64_t *order, int rank);
uint32_t ft_tracer_slice(struct ft_tracer *l, uint32_t x, int axis, int64_t start, int64_t end,
                         int64_t step);
uint32_t ft_tracer_cast(struct ft_tracer *l, uint32_t x, unsigned element);

/* Changes the shape of W, which no operator reads yet. Returns false if one does, or if the number
 * of elements would change. */
bool ft_tracer_reshape_weight(struct ft_tracer *l, struct ft_weight *w, const ft_dim *dims,
                              int rank);

/*
 * Makes BIAS, which a file adds to X, the bias of the layer that computes X: the frameworks'
 * kernels do both at once. Returns false if the layer has a bias, or BIAS does not have CHANNELS
 * elements.
 */
bool ft_tracer_add_bias(struct ft_tracer *l, uint32_t x, struct ft_weight *bias, ft_dim channels);

/* The state of the outer block while an inner one (a subgraph) is recorded. */
struct ft_tracer_frame {
  struct ft_block *block, *outer;
  uint32_t serial;
  size_t operator_room, output_room;
};
/* Begins an inner block and saves the state in FRAME; ends it. Returns 0; -1 with the error. */
int ft_tracer_open(struct ft_tracer *l, struct ft_tracer_frame *frame);
void ft_tracer_close(struct ft_tracer *l, const struct ft_tracer_frame *frame);

/*
 * Adds an operator TYPE ("If", "Loop") with COUNT subgraphs BLOCKS, named NAMES, and OUTPUTS
 * results of unknown shape. CONDITION may be 0; TRIP_COUNT -1: unknown. Returns the first result;
 * if OUTPUTS is 0, the number of tensors.
 */
uint32_t ft_tracer_blocks(struct ft_tracer *l, const char *type, uint32_t condition,
                          struct ft_block *const *blocks, const char *const *names, unsigned count,
                          uint32_t outputs, int64_t trip_count);

static inline struct ft_tensor *ft_tracer_of(const struct ft_tracer *l, uint32_t tensor)
{
  return &l->graph->tensors[tensor];
}

/* Sets the error "FILE: PART: TEXT". Returns -1. */
int ft_tracer_fail(struct ft_tracer *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
