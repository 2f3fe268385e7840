/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Activation functions that PyTorch's exporter merged, told apart again. */
#ifndef FT_GRAPH_ONNX_UNMERGE_H
#define FT_GRAPH_ONNX_UNMERGE_H

#include "predictor/graph/import/build.h"

/*
 * The exporter gives equal operators on one tensor as one (torch/csrc/jit, common subexpression
 * elimination), where the network runs each and keeps each result. Names say which: a result of
 * "/cell/left/act/Relu" that "/cell/left" itself uses, and "/cell/right" too, stands for two.
 * After ft_build_finish; looks at the outermost block. Returns 0; -1 with the error.
 */
int ft_onnx_unmerge(struct ft_build *build);

#endif
