/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes and tensors in a TensorFlow file (tensor_shape.proto, tensor.proto). */
#ifndef FT_GRAPH_TENSORFLOW_TENSOR_H
#define FT_GRAPH_TENSORFLOW_TENSOR_H

#include "predictor/graph/import/protobuf.h"
#include "predictor/graph/import/tensorflow/tensorflow.h"

/* A file being read. */
struct ft_tf_reader {
  struct ft_build *build;
  struct ft_tf_program *program;
  struct ft_proto proto;
  int64_t integers[FT_GRAPH_VALUES];
  double reals[FT_GRAPH_VALUES];
};

/* TensorShapeProto. Without dimensions it is a scalar, unless unknown_rank is set. Returns 0 or
 * -1. */
int ft_tf_read_shape(struct ft_tf_reader *r, uint64_t end, struct ft_declared *d);
/* TensorProto: its type and shape, and its values if they are few. Returns 0 or -1. */
int ft_tf_read_tensor(struct ft_tf_reader *r, uint64_t end, struct ft_declared **kept);

#endif
