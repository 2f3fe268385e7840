/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes and tensors in a TensorFlow file (tensor_shape.proto, tensor.proto). */
#ifndef FT_GRAPH_TENSORFLOW_TENSOR_H
#define FT_GRAPH_TENSORFLOW_TENSOR_H

#include "predictor/graph/import/protobuf.h"
#include "predictor/graph/import/tensorflow/tensorflow.h"

/* State of the reader; INTEGERS and REALS are buffers for the values of an attribute or tensor. */
struct ft_tf_reader {
  struct ft_build *build;
  struct ft_tf_program *program;
  struct ft_proto proto;
  int64_t integers[FT_GRAPH_VALUES];
  double reals[FT_GRAPH_VALUES];
};

/* Reads a TensorShapeProto up to offset END into D. A shape without dimensions is a scalar, unless
 * unknown_rank is set. Returns 0 or -1. */
int ft_tf_read_shape(struct ft_tf_reader *r, uint64_t end, struct ft_declared *d);
/* Reads a TensorProto up to offset END into *KEPT, which the graph owns: type, shape, and the
 * values if they are few. Returns 0 or -1. */
int ft_tf_read_tensor(struct ft_tf_reader *r, uint64_t end, struct ft_declared **kept);

#endif
