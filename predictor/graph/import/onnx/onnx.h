/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ONNX: ModelProto (onnx/onnx.proto, github.com/onnx/onnx), read as a stream. */
#ifndef FT_GRAPH_ONNX_H
#define FT_GRAPH_ONNX_H

#include "predictor/graph/import/build.h"

/* Fill BUILD's graph from FD, whose folder DIRFD holds external data. Returns 0 or -1. */
int ft_onnx_read(struct ft_build *build, int fd, int dirfd);

#endif
