/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators of PaddlePaddle 3 by what they are in a ProgramDesc. IN and OUT are slots in the order
 * of operands and results; "=axis" is an attribute where the operand is constant,
 * "=shape/ShapeTensor/ShapeTensorList" else a tensor, or a list of them. ATTRIBUTES are renamed.
 */
#ifndef FT_GRAPH_PADDLE_JSON_TABLE_H
#define FT_GRAPH_PADDLE_JSON_TABLE_H

struct ft_pir_operator {
  const char *name, *type, *in, *out, *attributes;
};

/* NULL: it is called the same and has its operands in X. A "_" behind a name is of one in place. */
const struct ft_pir_operator *ft_pir_find(const char *name);

#endif
