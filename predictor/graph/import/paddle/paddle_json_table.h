/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators of PaddlePaddle 3 and their ProgramDesc equivalents. IN and OUT are slots in the
 * order of operands and results. "=axis" is an attribute if the operand is constant; else
 * "=shape/ShapeTensor/ShapeTensorList" names the slots for a tensor and for a list of tensors.
 * ATTRIBUTES lists the attributes whose names differ.
 */
#ifndef FT_GRAPH_PADDLE_JSON_TABLE_H
#define FT_GRAPH_PADDLE_JSON_TABLE_H

struct ft_pir_operator {
  const char *name, *type, *in, *out, *attributes;
};

/* The row of NAME without the "_" of in-place variants. NULL: same name, operands in X. */
const struct ft_pir_operator *ft_pir_find(const char *name);

#endif
