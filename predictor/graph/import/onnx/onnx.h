/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ONNX: ModelProto (onnx/onnx.proto, github.com/onnx/onnx), read as a stream. */
#ifndef FT_GRAPH_ONNX_H
#define FT_GRAPH_ONNX_H

#include "predictor/graph/import/build.h"

/* Reads FD into BUILD's graph; external data are in the directory DIRFD. Returns 0, or -1 and
 * fills BUILD's error. */
int ft_onnx_read(struct ft_build *build, int fd, int dirfd);

#endif
