/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that record one node. Each appends the node's results to C and returns 0; -1 on error,
 * with the tracer's error set; 1 if the node depends on sizes that are unknown. */
#ifndef FT_GRAPH_TENSORFLOW_NODE_H
#define FT_GRAPH_TENSORFLOW_NODE_H

#include "predictor/graph/import/tensorflow/tensorflow.h"

/* ---- inputs and results (tensorflow_call.c) ---- */

const struct ft_operand *ft_tf_operand(const struct ft_tf_call *c, size_t i);
/* Input I as a tensor index; 0 on error, with the tracer's error set. */
uint32_t ft_tf_tensor(struct ft_tf_call *c, size_t i);
/* Appends tensor T to C's results. Returns 0, or -1 if T is 0. */
int ft_tf_give_tensor(struct ft_tf_call *c, uint32_t t);
/* Appends the COUNT tensors from FIRST on. Returns 0 or -1. */
int ft_tf_give_tensors(struct ft_tf_call *c, uint32_t first, uint32_t count);
/* The tensor with index T. */
struct ft_tensor *ft_tf_of(const struct ft_tf_call *c, uint32_t t);
/* Writes the integers of input I to OUT, which holds ROOM. Returns their number; -1 if they are
 * unknown or more than ROOM. */
int ft_tf_numbers(struct ft_tf_call *c, size_t i, int64_t *out, int room);
/* Begins an operator TYPE with C's inputs FIRST to LAST - 1. Returns 0 or -1. */
int ft_tf_begin(struct ft_tf_call *c, const char *type, size_t first, size_t last);
/* Returns whether the call is of operator OP. */
bool ft_tf_is(const struct ft_tf_call *c, const char *op);
/* Returns whether the channels are before the spatial dimensions (data_format NCHW, NCDHW);
 * default: after them, NHWC. */
bool ft_tf_channels_first(const struct ft_tf_call *c);

/* ---- layers (tensorflow_layer.c) ---- */

int ft_tf_pool(struct ft_tf_call *c);
int ft_tf_batch_product(struct ft_tf_call *c);
int ft_tf_convolution(struct ft_tf_call *c);
int ft_tf_conv_transpose(struct ft_tf_call *c);
int ft_tf_depthwise(struct ft_tf_call *c);
int ft_tf_einsum(struct ft_tf_call *c);
int ft_tf_batch_norm(struct ft_tf_call *c);
int ft_tf_product(struct ft_tf_call *c);

/* ---- shapes (tensorflow_shape.c) ---- */

int ft_tf_cast(struct ft_tf_call *c);
int ft_tf_concat(struct ft_tf_call *c);
int ft_tf_expand_dims(struct ft_tf_call *c);
int ft_tf_fill(struct ft_tf_call *c);
int ft_tf_gather(struct ft_tf_call *c);
int ft_tf_pad(struct ft_tf_call *c);
int ft_tf_pack(struct ft_tf_call *c);
int ft_tf_reshape(struct ft_tf_call *c);
int ft_tf_resize(struct ft_tf_call *c);
int ft_tf_slice(struct ft_tf_call *c);
int ft_tf_split(struct ft_tf_call *c);
int ft_tf_squeeze(struct ft_tf_call *c);
int ft_tf_strided_slice(struct ft_tf_call *c);
int ft_tf_transpose(struct ft_tf_call *c);
int ft_tf_unpack(struct ft_tf_call *c);
/* ArgMax and ArgMin. */
int ft_tf_arg(struct ft_tf_call *c);
/* Select (recorded as Where), Range and OneHot: three inputs, one result. */
int ft_tf_ternary(struct ft_tf_call *c);
int ft_tf_space_batch(struct ft_tf_call *c);
/* Reductions; TYPE is the operator that is recorded. */
int ft_tf_reduce(struct ft_tf_call *c, const char *type);
/* TensorList operators, in which loops collect the results of their iterations. */
int ft_tf_list_operator(struct ft_tf_call *c);
/* If C adds a weight to a layer's output, makes the weight that layer's bias. Returns whether it
 * did. */
bool ft_tf_fold_bias(struct ft_tf_call *c);

#endif
