/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TensorProto: a tensor in an ONNX file, or in a file beside it. */
#ifndef FT_GRAPH_ONNX_TENSOR_H
#define FT_GRAPH_ONNX_TENSOR_H

#include "predictor/graph/import/build.h"
#include "predictor/graph/import/protobuf.h"

/* Location of a tensor's bytes. */
struct ft_onnx_place {
  uint64_t raw_at, raw_length; /* in the file; 0: not there */
  size_t integers, reals;      /* counts of values in typed fields */
  bool external;
  uint64_t offset, length;
  char location[256];
};

/* A constant of two dimensions (onnx_ties.h). */
struct ft_onnx_matrix {
  uint32_t name;
  const struct ft_declared *declared;
  struct ft_onnx_place place;
};

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
  struct ft_declared *tensor; /* the last result of ft_onnx_tensor, and its place */
  struct ft_onnx_place place;
  struct ft_onnx_matrix *matrices; /* constants of the outermost graph */
  size_t matrix_count, matrix_room;
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

/* Opens the file with the bytes of PLACE, which may be O's own, and sets *AT to their offset there.
 * External data is only opened in the model's own directory. Returns a descriptor, which the caller
 * closes; -1: there are none. */
int ft_onnx_open_data(struct ft_onnx *o, const struct ft_onnx_place *place, uint64_t *at);

#endif
