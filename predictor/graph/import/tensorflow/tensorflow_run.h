/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Following a TensorFlow graph: what tensorflow_run.c, tensorflow_order.c and tensorflow_control.c
 * share. */
#ifndef FT_GRAPH_TENSORFLOW_RUN_H
#define FT_GRAPH_TENSORFLOW_RUN_H

#include "predictor/graph/import/tensorflow/tensorflow.h"

/* Nodes followed at most, those of loops as often as they turn. */
enum { FT_TF_NODES = 1 << 18 };

struct ft_tf_run {
  struct ft_tracer live;
  struct ft_tf_program *program;
  int depth;
  size_t steps;
  struct ft_operand *inputs; /* of the node at hand, where it is no call */
  size_t input_room;
};

/* A function being followed, or the graph: what its nodes gave. */
struct ft_tf_scope {
  const struct ft_tf_function *function;
  struct ft_operand **values; /* of each node */
  size_t *counts;
  const struct ft_operand *arguments;
  size_t argument_count;
};

struct ft_tf_visit {
  size_t node, next, count;
  const char *const *list;
  const char *room[5];
};

/* "FILE: byte AT: OPERATOR \"NAME\": WHAT"; -1. */
int ft_tf_fail(struct ft_tf_run *r, const struct ft_tf_node *n, const char *what);

/* ---- order (tensorflow_order.c) ---- */

/* "^node", "node", "node:1", "node:output:1": the node's part of it, and which result. */
const struct ft_tf_node *ft_tf_source(const struct ft_tf_scope *s, const char *input,
                                      uint32_t *which);
struct ft_operand ft_tf_value(struct ft_tf_scope *s, const char *input);
/* The node before N at its input I, if it is an OP (or begins so); NULL: any. */
const struct ft_tf_node *ft_tf_before(struct ft_tf_scope *s, const struct ft_tf_node *n, size_t i,
                                      const char *op);
/*
 * Normalisation spelled out, x m + (shift - mean m) with m = rsqrt(variance + e) gain: the inputs
 * x, gain, shift, mean, variance, "" where there is no gain, or mean and variance are x's own.
 */
bool ft_tf_is_normalisation(struct ft_tf_scope *s, const struct ft_tf_node *n, const char *in[5]);
/* A loop of the first kind: the switch that EXIT ends, and the merge that it takes its value from.
 */
const struct ft_tf_node *ft_tf_merge(struct ft_tf_scope *s, const struct ft_tf_node *exit,
                                     const struct ft_tf_node **condition);
/* The merges of the loop with CONDITION, into LIST where that is not NULL; how many. */
size_t ft_tf_merges(struct ft_tf_scope *s, const struct ft_tf_node *condition,
                    const struct ft_tf_node **list);
/* Add the nodes that INPUT needs to ORDER, each behind what it needs itself. */
int ft_tf_order(struct ft_tf_run *r, struct ft_tf_scope *s, const char *input, uint8_t *seen,
                struct ft_tf_visit *stack, size_t *order, size_t *count);

/* ---- functions and control flow (tensorflow_control.c) ---- */

/* The function that KEY names, of ARGS. */
int ft_tf_run_function(struct ft_tf_run *r, struct ft_tf_call *c, const char *key,
                       const struct ft_operand *args, size_t count);
int ft_tf_loop(struct ft_tf_run *r, struct ft_tf_call *c);
int ft_tf_either(struct ft_tf_run *r, struct ft_tf_call *c);
/* Exit of a loop of the first kind. */
int ft_tf_leave(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c);

/* ---- loops (tensorflow_loop.c) ---- */

enum { FT_TF_FAILED = -2 };

struct ft_tf_loop {
  struct ft_tf_run *r;
  struct ft_operand *state; /* at first what goes in, at last what comes out */
  size_t count;
  /* Whether it goes on in STATE: 1, 0; -1 not known, FT_TF_FAILED with the error. */
  int (*ask)(struct ft_tf_loop *loop, const struct ft_operand *state);
  /* One turn: what STATE becomes, into NEXT. */
  int (*turn)(struct ft_tf_loop *loop, const struct ft_operand *state, struct ft_operand *next);
  void *data;
};

int ft_tf_turns(struct ft_tf_loop *loop);

/* ---- nodes (tensorflow_run.c) ---- */

int ft_tf_run_nodes(struct ft_tf_run *r, struct ft_tf_scope *s, const size_t *order, size_t count);
/* What OUTPUTS of FN are, into INTO. */
int ft_tf_follow(struct ft_tf_run *r, const struct ft_tf_function *fn, const char *const *outputs,
                 size_t output_count, const struct ft_operand *args, size_t arg_count,
                 struct ft_tf_call *into);

#endif
