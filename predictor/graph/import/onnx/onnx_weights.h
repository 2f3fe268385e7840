/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights that an ONNX file declares as inputs and does not hold. */
#ifndef FT_GRAPH_ONNX_WEIGHTS_H
#define FT_GRAPH_ONNX_WEIGHTS_H

#include "predictor/graph/import/build.h"

/*
 * A file by PyTorch's exporter with export_params=False has weights as inputs. Those that layers
 * read where their weights are, or that are named as in a state dict, become constants. Called
 * after ft_build_finish; changes the outermost block only. Returns 0, or -1 with the error.
 */
int ft_onnx_take_weights(struct ft_build *build);

#endif
