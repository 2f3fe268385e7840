/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracing a TorchScript program: shared by torchscript_run.c, torchscript_evaluate.c and
 * torchscript_branch.c. */
#ifndef FT_GRAPH_TORCHSCRIPT_RUN_H
#define FT_GRAPH_TORCHSCRIPT_RUN_H

#include "predictor/graph/import/torch/torchscript.h"

/* Limit of a loop's iterations. */
enum { FT_SCRIPT_ITERATIONS = 100000 };

struct ft_script_pair {
  uint32_t a, b; /* 0: in one branch only */
};

struct ft_script_run {
  struct ft_tracer live;
  const struct ft_script *script;
  const struct ft_values *constants;
  int depth;
  uint32_t steps, visited;      /* statements traced; list elements visited */
  bool raised;                  /* the failure is an exception that the network raised */
  struct ft_script_pair *pairs; /* tensors of two branches that become one result */
  size_t pair_count, pair_room;
};

struct ft_script_frame {
  const struct ft_script_function *function;
  struct ft_operand *variables;
  bool *set;
  struct ft_operand result;
};

/* How a statement ends. */
enum { FT_SCRIPT_GOES_ON, FT_SCRIPT_RETURNED };

/* Sets the error "FILE: PART: byte AT: FORMAT WHAT". Returns -1. */
int ft_script_fail(struct ft_script_run *r, const char *format, const char *what);

/* Counts a visited list element. Returns 0, or -1 if lists are nested without end. */
int ft_script_count_value(struct ft_script_run *r);

/* ---- expressions (torchscript_evaluate.c) ---- */

int ft_script_evaluate(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_node *n, struct ft_operand *value);
/* A call of which EXPECTED results are unpacked. */
int ft_script_apply(struct ft_script_run *r, struct ft_script_frame *f,
                    const struct ft_script_node *n, unsigned expected, struct ft_operand *value);
/* Whether N is just the name NAME. */
bool ft_script_named(const struct ft_script_node *n, const char *name);

/* ---- statements (torchscript_run.c) ---- */

int ft_script_call(struct ft_script_run *r, const struct ft_script_function *function,
                   const struct ft_operand *args, const char *const *keys, size_t count,
                   struct ft_operand *result);
/* Runs BODY. Returns FT_SCRIPT_GOES_ON, FT_SCRIPT_RETURNED or -1. */
int ft_script_run_body(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_body *body);

/* ---- control flow that depends on data (torchscript_branch.c) ---- */

/* Records both sides of the condition of S. */
int ft_script_branch(struct ft_script_run *r, struct ft_script_frame *f,
                     const struct ft_script_statement *s, uint32_t condition);
/* Records a loop of unknown trip count as one iteration. */
int ft_script_data_loop(struct ft_script_run *r, struct ft_script_frame *f,
                        const struct ft_script_statement *s);

#endif
