/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises quantised weights, scales and zero points among an operator's inputs: of ONNX's
 * QuantizeLinear and similar operators, and of ONNX Runtime's own. */
#ifndef FT_GRAPH_QUANTIZED_H
#define FT_GRAPH_QUANTIZED_H

#include "predictor/graph/ir/graph.h"

enum ft_quantized {
  FT_QUANTIZED_NOT,
  FT_QUANTIZED_WEIGHT, /* a quantised weight, trained as real numbers */
  FT_QUANTIZED_SCALE   /* of a quantisation: a scale, a zero point, an order of columns */
};

/* Returns the role of input I of OP, whose element type is ELEMENT. Sets *PER_ELEMENT to the number
 * of weights in one element: 2 for 4-bit weights in bytes. */
enum ft_quantized ft_quantized_input(const struct ft_operator *op, uint32_t i, unsigned element,
                                     unsigned *per_element);

#endif
