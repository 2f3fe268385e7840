/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Following a TorchScript program: what the parts of it (torchscript_run.c, torchscript_evaluate.c,
 * torchscript_branch.c) share. */
#ifndef FT_GRAPH_TORCHSCRIPT_RUN_H
#define FT_GRAPH_TORCHSCRIPT_RUN_H

#include "predictor/graph/import/torch/torchscript.h"

/* Turns of a loop at most. */
enum { FT_SCRIPT_TURNS = 100000 };

struct ft_script_pair {
  uint32_t a, b; /* 0: of one branch alone */
};

struct ft_script_run {
  struct ft_tracer live;
  const struct ft_script *script;
  const struct ft_values *constants;
  int depth;
  uint32_t steps, walked;       /* statements; values in lists */
  bool raised;                  /* what failed is an exception of the network's own */
  struct ft_script_pair *pairs; /* tensors of two branches that become one */
  size_t pair_count, pair_room;
};

struct ft_script_frame {
  const struct ft_script_function *function;
  struct ft_operand *variables;
  bool *set;
  struct ft_operand result;
};

/* What a statement leads to. */
enum { FT_SCRIPT_GOES_ON, FT_SCRIPT_RETURNED };

/* "FILE: PART: byte AT: FORMAT WHAT"; -1. */
int ft_script_fail(struct ft_script_run *r, const char *format, const char *what);

/* One more value in a list is looked at: 0; -1 where lists stand in lists without end. */
int ft_script_walks(struct ft_script_run *r);

/* ---- expressions (torchscript_evaluate.c) ---- */

int ft_script_evaluate(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_node *n, struct ft_operand *value);
/* A call, of which EXPECTED results are wanted. */
int ft_script_apply(struct ft_script_run *r, struct ft_script_frame *f,
                    const struct ft_script_node *n, unsigned expected, struct ft_operand *value);
/* Whether N is NAME alone. */
bool ft_script_named(const struct ft_script_node *n, const char *name);

/* ---- statements (torchscript_run.c) ---- */

int ft_script_call(struct ft_script_run *r, const struct ft_script_function *function,
                   const struct ft_operand *args, const char *const *keys, size_t count,
                   struct ft_operand *result);
/* FT_SCRIPT_GOES_ON, FT_SCRIPT_RETURNED or -1. */
int ft_script_follow(struct ft_script_run *r, struct ft_script_frame *f,
                     const struct ft_script_body *body);

/* ---- what depends on data (torchscript_branch.c) ---- */

/* Both sides of a condition. */
int ft_script_either(struct ft_script_run *r, struct ft_script_frame *f,
                     const struct ft_script_statement *s, uint32_t condition);
/* A loop as one turn of it. */
int ft_script_some_turns(struct ft_script_run *r, struct ft_script_frame *f,
                         const struct ft_script_statement *s);

#endif
