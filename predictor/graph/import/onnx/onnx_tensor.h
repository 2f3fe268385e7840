/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TensorProto: a tensor in an ONNX file, or in a file beside it. */
#ifndef FT_GRAPH_ONNX_TENSOR_H
#define FT_GRAPH_ONNX_TENSOR_H

#include "predictor/graph/import/build.h"
#include "predictor/graph/import/protobuf.h"

/* A constant that the exporter has computed from other values. */
struct ft_onnx_fold {
  uint32_t name;
  struct ft_proto_field sources; /* their names */
};

/* An ONNX file being read. */
struct ft_onnx {
  struct ft_build *build;
  int dirfd;                  /* the directory of external data */
  int depth;                  /* of nested graphs */
  struct ft_declared *tensor; /* the last result of ft_onnx_tensor */
  uint8_t *sources; /* of each name, for onnx_metadata.c */
  struct ft_onnx_fold *folds;
  size_t source_room, fold_count, fold_room;
  bool has_signature;                /* the names of all parameters are known */
  char text[FT_GRAPH_NAME + 1];      /* of ft_onnx_string */
  int64_t integers[FT_GRAPH_VALUES]; /* buffers for the values of a tensor or attribute */
  double reals[FT_GRAPH_VALUES];
  struct ft_proto proto;
};

/* Reads the string of FIELD into O->text. Returns 0; -1 with the error if it is longer than
 * FT_GRAPH_NAME. */
int ft_onnx_string(struct ft_onnx *o, const struct ft_proto_field *field);

/* Reads a TensorProto up to offset END: sets TENSOR to its element type, shape and, if they may be
 * sizes, values (at most FT_GRAPH_VALUES integers or 64 others); the graph owns it. Sets NAME,
 * unless it is NULL, to the tensor's name (ft_build_name). Returns 0 or -1. */
int ft_onnx_tensor(struct ft_onnx *o, uint64_t end, const struct ft_declared **tensor,
                   uint32_t *name);

#endif
