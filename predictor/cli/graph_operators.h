/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef FT_CLI_GRAPH_OPERATORS_H
#define FT_CLI_GRAPH_OPERATORS_H

#include <stdbool.h>

/*
 * Print every operator that is known (predictor/graph/shape/operators.h) with what PyTorch,
 * TensorFlow and PaddlePaddle call what becomes it, as text or as one JSON object. Returns the exit
 * status.
 */
int ft_graph_operators(bool json);

#endif
