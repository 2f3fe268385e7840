/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One node of a TensorFlow graph: what tensorflow_node.c, tensorflow_layer.c and tensorflow_shape.c
 * share. What runs a node leaves the results in the call; 1: it cannot, as its sizes are not known.
 */
#ifndef FT_GRAPH_TENSORFLOW_NODE_H
#define FT_GRAPH_TENSORFLOW_NODE_H

#include "predictor/graph/import/tensorflow/tensorflow.h"

/* ---- inputs and results (tensorflow_call.c) ---- */

const struct ft_operand *ft_tf_operand(const struct ft_tf_call *c, size_t i);
/* Input I; 0 with the error. */
uint32_t ft_tf_tensor(struct ft_tf_call *c, size_t i);
/* T as the result; -1 where it is 0. */
int ft_tf_give_tensor(struct ft_tf_call *c, uint32_t t);
int ft_tf_give_tensors(struct ft_tf_call *c, uint32_t first, uint32_t count);
struct ft_tensor *ft_tf_of(const struct ft_tf_call *c, uint32_t t);
/* Whole numbers that input I holds; how many, -1 not known. */
int ft_tf_numbers(struct ft_tf_call *c, size_t i, int64_t *out, int room);
/* Begin an operator TYPE of the inputs from FIRST on, before LAST. */
int ft_tf_begin(struct ft_tf_call *c, const char *type, size_t first, size_t last);
bool ft_tf_is(const struct ft_tf_call *c, const char *op);
bool ft_tf_channels_first(const struct ft_tf_call *c);

/* ---- layers (tensorflow_layer.c) ---- */

int ft_tf_pool(struct ft_tf_call *c);
int ft_tf_batch_product(struct ft_tf_call *c);
int ft_tf_convolution(struct ft_tf_call *c);
int ft_tf_transposed(struct ft_tf_call *c);
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
/* TYPE is the operator that it becomes. */
int ft_tf_reduce(struct ft_tf_call *c, const char *type);
int ft_tf_arg(struct ft_tf_call *c, const char *type);
int ft_tf_three(struct ft_tf_call *c, const char *type);
int ft_tf_space_batch(struct ft_tf_call *c, bool to_batch);
/* Lists of tensors: what loops keep. */
int ft_tf_list_operator(struct ft_tf_call *c);
/* Make what is added a bias of the layer before; false where it is none. */
bool ft_tf_take_in(struct ft_tf_call *c);

#endif
