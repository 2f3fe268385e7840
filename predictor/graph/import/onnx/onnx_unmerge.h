/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Undoes the merging of activation functions by PyTorch's exporter. */
#ifndef FT_GRAPH_ONNX_UNMERGE_H
#define FT_GRAPH_ONNX_UNMERGE_H

#include "predictor/graph/import/build.h"

/*
 * The exporter merges equal operators on one tensor (torch/csrc/jit, common subexpression
 * elimination), but the network runs each and saves each result. Names show it: if both
 * "/cell/left" and "/cell/right" use a result of "/cell/left/act/Relu", the network has two.
 * Called after ft_build_finish; changes the outermost block only. Returns 0, or -1 with the
 * error.
 */
int ft_onnx_unmerge(struct ft_build *build);

#endif
