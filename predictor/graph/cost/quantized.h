/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks whose weights are whole numbers: what of an operator's inputs they are,
 * and what scales and zeros beside them are (ONNX's QuantizeLinear and those alike, and ONNX
 * Runtime's own operators).
 */
#ifndef FT_GRAPH_QUANTIZED_H
#define FT_GRAPH_QUANTIZED_H

#include "predictor/graph/ir/graph.h"

enum ft_quantized {
  FT_QUANTIZED_NOT,
  FT_QUANTIZED_WEIGHT, /* stands for numbers that were learnt */
  FT_QUANTIZED_SCALE   /* how they were made whole: a scale, a zero, an order */
};

/* Returns what input I of OP is. Sets *PER_ELEMENT to the number of weights in one element, 2 for
 * weights of 4 bits in bytes. ELEMENT: the input's element type. */
enum ft_quantized ft_quantized_input(const struct ft_operator *op, uint32_t i, unsigned element,
                                     unsigned *per_element);

#endif
