/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model's equation: from its bytes in the model file to what it says of a run, and back. */
#ifndef FT_ESTIMATE_EQUATION_H
#define FT_ESTIMATE_EQUATION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/symbolic/expression.h"
#include "predictor/record/record.h"

/*
 * Unpack EQUATION into CODE, which is then valid. False when there is none or it is not
 * sound; an estimate does without it then. Takes some 50 ns, and allocates nothing.
 */
bool ft_equation_open(const ft_equation *equation, struct ft_expression *code);

/*
 * The logarithm of the bytes that it gives at COUNT values of X, by column as
 * ft_columns_fill makes them. NaN where it says nothing: a number it needs is
 * missing, or the value is not one of 1 byte to 2^50.
 */
double ft_equation_log(const ft_equation *equation, const struct ft_expression *code,
                       const float *x, size_t count);

/* What a variable of an equation is: the number in a column, or whether it is one category there.
 */
struct ft_variable {
  uint8_t column;
  uint8_t level; /* 0: the number; else 1 + the category's index */
};

/*
 * Pack CODE, a valid one over VARIABLES; those it does not use are left out. False, and
 * EQUATION has no code, when it uses more than 12 of them.
 */
bool ft_equation_pack(const struct ft_expression *code, const struct ft_variable *variables,
                      ft_equation *equation);

#endif
