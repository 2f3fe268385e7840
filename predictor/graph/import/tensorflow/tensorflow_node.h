/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators of one node. Each appends its results to the call and returns 0 or -1 with the
 * error; 1: it needs sizes that are unknown. */
#ifndef FT_GRAPH_TENSORFLOW_NODE_H
#define FT_GRAPH_TENSORFLOW_NODE_H

#include "predictor/graph/import/tensorflow/tensorflow.h"

/* ---- inputs and results (tensorflow_call.c) ---- */

const struct ft_operand *ft_tf_operand(const struct ft_tf_call *c, size_t i);
/* Input I as a tensor; 0 with the error. */
uint32_t ft_tf_tensor(struct ft_tf_call *c, size_t i);
/* Gives T as a result; -1 if it is 0. */
int ft_tf_give_tensor(struct ft_tf_call *c, uint32_t t);
int ft_tf_give_tensors(struct ft_tf_call *c, uint32_t first, uint32_t count);
struct ft_tensor *ft_tf_of(const struct ft_tf_call *c, uint32_t t);
/* The integers of input I into OUT. Returns their number, -1 if unknown or more than ROOM. */
int ft_tf_numbers(struct ft_tf_call *c, size_t i, int64_t *out, int room);
/* Begins an operator TYPE with the inputs from FIRST to before LAST. Returns 0 or -1. */
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
/* Select, recorded as Where, Range and OneHot: the first three inputs, one result. */
int ft_tf_ternary(struct ft_tf_call *c);
int ft_tf_space_batch(struct ft_tf_call *c);
/* TYPE is the operator that is recorded. */
int ft_tf_reduce(struct ft_tf_call *c, const char *type);
/* TensorList operators, which loops use. */
int ft_tf_list_operator(struct ft_tf_call *c);
/* Makes an added weight the bias of the layer before. Returns false if it is none. */
bool ft_tf_fold_bias(struct ft_tf_call *c);

#endif
