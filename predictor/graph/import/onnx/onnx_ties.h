/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights that PyTorch's older exporter (TorchScript) has stored twice. */
#ifndef FT_GRAPH_ONNX_TIES_H
#define FT_GRAPH_ONNX_TIES_H

#include "predictor/graph/import/onnx/onnx_tensor.h"

/* Notes the constant NAME, the last tensor that was read, if it is a matrix. Returns 0 or -1. */
int ft_onnx_note_matrix(struct ft_onnx *o, uint32_t name);

/*
 * A language model's last product often shares the matrix of its embedding. The exporter stores
 * that matrix once more, transposed. Replaces the second one in DRAFT, the outermost block, by a
 * Transpose of the first, if SAMPLES of their elements are equal. Returns 0 or -1.
 */
int ft_onnx_tie_matrices(struct ft_onnx *o, struct ft_draft *draft);

#endif
