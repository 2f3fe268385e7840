/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracing a TensorFlow graph: shared by tensorflow_run.c, tensorflow_order.c,
 * tensorflow_control.c and tensorflow_loop.c. */
#ifndef FT_GRAPH_TENSORFLOW_RUN_H
#define FT_GRAPH_TENSORFLOW_RUN_H

#include "predictor/graph/import/tensorflow/tensorflow.h"

/* Limit of traced nodes, against hostile files; a loop's nodes count once per iteration. */
enum { FT_TF_NODES = 1 << 18 };

struct ft_tf_run {
  struct ft_tracer live;
  struct ft_tf_program *program;
  int depth;
  size_t steps;              /* nodes traced so far */
  struct ft_operand *inputs; /* buffer for nodes that call no function */
  size_t input_room;
};

/* The results of the nodes of the function, or of the graph, that is being traced. */
struct ft_tf_scope {
  const struct ft_tf_function *function;
  struct ft_operand **values; /* results of each node */
  size_t *counts;             /* number of results of each node */
  const struct ft_operand *arguments;
  size_t argument_count;
};

/* A stack entry of ft_tf_order's depth-first search: NEXT of the COUNT inputs LIST is next. */
struct ft_tf_visit {
  size_t node, next, count;
  const char *const *list;
  const char *room[5];
};

/* Sets the error "FILE: byte AT: OPERATOR \"NAME\": WHAT". Returns -1. */
int ft_tf_fail(struct ft_tf_run *r, const struct ft_tf_node *n, const char *what);

/* ---- order (tensorflow_order.c) ---- */

/* The node that INPUT refers to, or NULL if INPUT is an argument. Sets WHICH to the index of the
 * node's result. */
const struct ft_tf_node *ft_tf_source(const struct ft_tf_scope *s, const char *input,
                                      uint32_t *which);
/* The value of INPUT in scope S. */
struct ft_operand ft_tf_value(struct ft_tf_scope *s, const char *input);
/* The node at input I of N if its operator begins with OP (NULL: any operator), else NULL. */
const struct ft_tf_node *ft_tf_input_node(struct ft_tf_scope *s, const struct ft_tf_node *n,
                                          size_t i, const char *op);
/*
 * Recognises the decomposed x m + (shift - mean m), m = rsqrt(variance + e) gain, of
 * tf.nn.batch_normalization at node N. IN: x, gain, shift, mean, variance; "" for no gain, or if
 * mean and variance are those of x.
 */
bool ft_tf_is_normalisation(struct ft_tf_scope *s, const struct ft_tf_node *n, const char *in[5]);
/* The Merge node that the loop's EXIT reads through a Switch, and the loop's CONDITION; or NULL. */
const struct ft_tf_node *ft_tf_merge(struct ft_tf_scope *s, const struct ft_tf_node *exit,
                                     const struct ft_tf_node **condition);
/* Returns the number of Merge nodes of the loop with CONDITION, and writes them to LIST unless LIST
 * is NULL. */
size_t ft_tf_merges(struct ft_tf_scope *s, const struct ft_tf_node *condition,
                    const struct ft_tf_node **list);
/* Appends the nodes that INPUT depends on to ORDER, each after its own inputs. SEEN, per node: 1 in
 * progress, 2 done. Returns 0, or -1 for a cycle. */
int ft_tf_order(struct ft_tf_run *r, struct ft_tf_scope *s, const char *input, uint8_t *seen,
                struct ft_tf_visit *stack, size_t *order, size_t *count);

/* ---- functions and control flow (tensorflow_control.c) ---- */

/* Calls the function in attribute KEY with ARGS; its results become those of C. */
int ft_tf_run_function(struct ft_tf_run *r, struct ft_tf_call *c, const char *key,
                       const struct ft_operand *args, size_t count);
int ft_tf_loop(struct ft_tf_run *r, struct ft_tf_call *c);
int ft_tf_if(struct ft_tf_run *r, struct ft_tf_call *c);
/* The result of Exit: runs the loop when its first Exit is reached. */
int ft_tf_exit(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c);

/* ---- loops (tensorflow_loop.c) ---- */

enum { FT_TF_FAILED = -2 };

struct ft_tf_loop {
  struct ft_tf_run *r;
  struct ft_operand *state; /* on entry the initial state, on return the final one */
  size_t count;
  /* Evaluates the condition for STATE. Returns 1 or 0; -1 if unknown; FT_TF_FAILED on error. */
  int (*condition)(struct ft_tf_loop *loop, const struct ft_operand *state);
  /* Traces one iteration from STATE and writes the new state to NEXT. Returns 0 or -1. */
  int (*body)(struct ft_tf_loop *loop, const struct ft_operand *state, struct ft_operand *next);
  void *data;
};

/* Traces LOOP: unrolled, or its remaining iterations as a subgraph. Returns 0 or -1. */
int ft_tf_run_loop(struct ft_tf_loop *loop);

/* ---- nodes (tensorflow_run.c) ---- */

/* Traces the COUNT nodes of S whose indices are in ORDER. Returns 0 or -1. */
int ft_tf_run_nodes(struct ft_tf_run *r, struct ft_tf_scope *s, const size_t *order, size_t count);
/* Traces FN with the arguments ARGS and appends its OUTPUTS to INTO's results. Returns 0 or -1. */
int ft_tf_trace_function(struct ft_tf_run *r, const struct ft_tf_function *fn,
                         const char *const *outputs, size_t output_count,
                         const struct ft_operand *args, size_t arg_count, struct ft_tf_call *into);

#endif
