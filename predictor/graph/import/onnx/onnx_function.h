/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FunctionProto: operators that a model defines itself, inlined. */
#ifndef FT_GRAPH_ONNX_FUNCTION_H
#define FT_GRAPH_ONNX_FUNCTION_H

#include "predictor/graph/import/build.h"

/* A function as read; tensor indices are numbers of names (ft_build_name). */
struct ft_onnx_function {
  const char *name, *domain;
  uint32_t *inputs, *outputs;
  struct ft_operator *operators;
  struct ft_attribute *attributes; /* default values of its attributes */
  size_t input_count, output_count, operator_count, operator_room;
  uint32_t attribute_count;
  size_t attribute_room;
};

/* Replaces the calls of the COUNT FUNCTIONS in BLOCK and its subgraphs by the functions' operators.
 * Precedes ft_build_finish. Returns 0; -1 with the error past a million operators, or if a function
 * calls itself. */
int ft_onnx_inline(struct ft_build *build, struct ft_block *block,
                   const struct ft_onnx_function *functions, size_t count);

#endif
