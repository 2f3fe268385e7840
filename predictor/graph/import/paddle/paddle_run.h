/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracing a PaddlePaddle program. A function that runs an operator binds its results and returns
 * 0 or -1 with the error. */
#ifndef FT_GRAPH_PADDLE_RUN_H
#define FT_GRAPH_PADDLE_RUN_H

#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/ir/symbol_table.h"

struct ft_pd_run {
  struct ft_tracer live;
  struct ft_symbol_table names;
  const struct ft_pd_program *program;
  const struct ft_pd_operator *op;
  int depth;
  size_t steps; /* operators traced so far; a block's count each time it is traced */
};

/* ---- attributes, inputs and results (paddle_operator.c) ---- */

const struct ft_pd_attribute *ft_pd_attribute(const struct ft_pd_run *r, const char *name);
int64_t ft_pd_integer(const struct ft_pd_run *r, const char *name, int64_t otherwise);
/* Attribute NAME as a list of integers; empty if the operator has none. */
struct ft_operand ft_pd_integers(struct ft_pd_run *r, const char *name);
const struct ft_pd_slot *ft_pd_slot(const struct ft_pd_slot *slots, size_t count, const char *name);
/* Binds the variable NAME to VALUE. Returns 0 or -1. */
int ft_pd_bind(struct ft_pd_run *r, const char *name, struct ft_operand value);
/* The value bound to the variable NAME. */
struct ft_operand ft_pd_value(struct ft_pd_run *r, const char *name);
struct ft_operand ft_pd_input_at(struct ft_pd_run *r, const char *name, size_t i);
struct ft_operand ft_pd_input(struct ft_pd_run *r, const char *name);
struct ft_operand ft_pd_input_list(struct ft_pd_run *r, const char *name);
/* Sizes from the inputs TENSORS (a list) or TENSOR, else from the attribute NAME. */
struct ft_operand ft_pd_sizes(struct ft_pd_run *r, const char *tensors, const char *tensor,
                              const char *name);
int ft_pd_give_at(struct ft_pd_run *r, const char *name, size_t i, struct ft_operand value);
/* Binds VALUE to the result Out, Output or Y, whichever the operator has. Returns 0 or -1. */
int ft_pd_give(struct ft_pd_run *r, struct ft_operand value);
int ft_pd_give_list(struct ft_pd_run *r, const char *name, const struct ft_operand *value);
/* Calls ATen's operator NAME. Returns 0 or -1. */
int ft_pd_call(struct ft_pd_run *r, const char *name, const struct ft_operand *args, size_t count,
               struct ft_operand *result);
/* Calls ATen's operator NAME and binds its result by ft_pd_give. Returns 0 or -1. */
int ft_pd_call_and_give(struct ft_pd_run *r, const char *name, const struct ft_operand *args,
                        size_t count);

/* ---- layers (paddle_layer.c) ---- */

int ft_pd_convolution(struct ft_pd_run *r);
int ft_pd_pool(struct ft_pd_run *r);
int ft_pd_normalisation(struct ft_pd_run *r);
int ft_pd_recurrent(struct ft_pd_run *r);
int ft_pd_product(struct ft_pd_run *r);
/* NAME is ATen's operator. */
int ft_pd_elementwise(struct ft_pd_run *r, const char *name);

/* ---- shapes (paddle_shape.c) ---- */

int ft_pd_reshape(struct ft_pd_run *r);
int ft_pd_slice(struct ft_pd_run *r);
int ft_pd_fill(struct ft_pd_run *r);
int ft_pd_assign_value(struct ft_pd_run *r);
int ft_pd_resize(struct ft_pd_run *r);
int ft_pd_shape(struct ft_pd_run *r);
int ft_pd_split(struct ft_pd_run *r);
int ft_pd_unsqueeze(struct ft_pd_run *r);
int ft_pd_flatten(struct ft_pd_run *r);
int ft_pd_gather(struct ft_pd_run *r);
int ft_pd_pad(struct ft_pd_run *r);
int ft_pd_concat(struct ft_pd_run *r);
int ft_pd_stack(struct ft_pd_run *r);
int ft_pd_where(struct ft_pd_run *r);
int ft_pd_scale(struct ft_pd_run *r);
int ft_pd_norm(struct ft_pd_run *r);
/* NAME is ATen's operator. */
int ft_pd_reduce(struct ft_pd_run *r, const char *name);

#endif
