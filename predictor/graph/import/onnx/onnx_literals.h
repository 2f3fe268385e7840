/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants that PyTorch's exporter computed. */
#ifndef FT_GRAPH_ONNX_LITERALS_H
#define FT_GRAPH_ONNX_LITERALS_H

#include "predictor/graph/import/build.h"

/*
 * Marks numbers of the program, masks and tables as not trainable. torch.onnx.export writes them as
 * initialisers with names of its own, "val_7" or that of the operator, "cos_1" (parameters are
 * named after their modules); a layer's weight that it transposed has such a name, too, and stays
 * trainable. Called after ft_build_finish; reads the outermost block only. Returns 0, or -1 with
 * the error.
 */
int ft_onnx_mark_literals(struct ft_build *build);

#endif
