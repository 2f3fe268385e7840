/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracing a TorchScript program: shared by torchscript_run.c, torchscript_evaluate.c and
 * torchscript_branch.c. */
#ifndef FT_GRAPH_TORCHSCRIPT_RUN_H
#define FT_GRAPH_TORCHSCRIPT_RUN_H

#include "predictor/graph/import/torch/torchscript.h"

/* Limit of a loop's iterations. */
enum { FT_SCRIPT_ITERATIONS = 100000 };

/* Tensors A and B of the two sides of a branch, which become one result; 0: only the other side has
 * one. */
struct ft_script_pair {
  uint32_t a, b;
};

/* State of a trace. */
struct ft_script_run {
  struct ft_tracer live;
  const struct ft_script *script;    /* borrowed */
  const struct ft_values *constants; /* of constants.pkl */
  int depth;                         /* of calls */
  uint32_t steps, visited;      /* statements traced; list elements visited */
  bool raised;                  /* the failure is an exception that the network raised */
  struct ft_script_pair *pairs; /* of the branch being merged */
  size_t pair_count, pair_room;
};

/* A call in progress. */
struct ft_script_frame {
  const struct ft_script_function *function;
  struct ft_operand *variables; /* by slot */
  bool *set;                    /* by slot: the variable has a value */
  struct ft_operand result;
};

/* Status after a statement: the next one follows, or the function has returned. */
enum { FT_SCRIPT_GOES_ON, FT_SCRIPT_RETURNED };

/* Sets the error "FILE: PART: byte AT: FORMAT WHAT". Returns -1. */
int ft_script_fail(struct ft_script_run *r, const char *format, const char *what);

/* Counts a visited list element. Returns 0; -1 with the error past the limit, which lists that
 * contain themselves reach. */
int ft_script_count_value(struct ft_script_run *r);

/* ---- expressions (torchscript_evaluate.c) ---- */

/* Evaluates the expression N in frame F to VALUE. Returns 0, or -1 with the error. */
int ft_script_evaluate(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_node *n, struct ft_operand *value);
/* Evaluates the call N, of whose value EXPECTED results are unpacked. Returns 0 or -1. */
int ft_script_apply(struct ft_script_run *r, struct ft_script_frame *f,
                    const struct ft_script_node *n, unsigned expected, struct ft_operand *value);
/* Returns whether N is the single name NAME. */
bool ft_script_named(const struct ft_script_node *n, const char *name);

/* ---- statements (torchscript_run.c) ---- */

/* Traces FUNCTION with COUNT arguments ARGS; KEYS has the keyword of each, NULL for a positional
 * one. Sets RESULT. Returns 0 or -1. */
int ft_script_call(struct ft_script_run *r, const struct ft_script_function *function,
                   const struct ft_operand *args, const char *const *keys, size_t count,
                   struct ft_operand *result);
/* Traces BODY's statements. Returns FT_SCRIPT_GOES_ON or FT_SCRIPT_RETURNED; -1 with the error. */
int ft_script_run_body(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_body *body);

/* ---- control flow that depends on data (torchscript_branch.c) ---- */

/* Records both sides of S, an if statement whose CONDITION, a tensor, is not known. Returns as
 * ft_script_run_body. */
int ft_script_branch(struct ft_script_run *r, struct ft_script_frame *f,
                     const struct ft_script_statement *s, uint32_t condition);
/* Records S, a loop of unknown trip count, as a subgraph of one iteration. Returns as
 * ft_script_run_body. */
int ft_script_data_loop(struct ft_script_run *r, struct ft_script_frame *f,
                        const struct ft_script_statement *s);

#endif
