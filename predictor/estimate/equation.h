/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equation of a model: decodes it from the model's record, evaluates it, and encodes it. */
#ifndef FT_ESTIMATE_EQUATION_H
#define FT_ESTIMATE_EQUATION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/symbolic/expression.h"
#include "predictor/record/record.h"

/*
 * Decodes EQUATION into CODE. Returns whether CODE is valid; false if EQUATION is empty or invalid.
 * Allocates nothing; about 50 ns.
 */
bool ft_equation_open(const ft_equation *equation, struct ft_expression *code);

/*
 * Returns the natural logarithm of the bytes that EQUATION, decoded into CODE, predicts at the
 * COUNT values X, one per column (ft_columns_fill). Returns NaN if a number that the equation reads
 * is missing, or the prediction is not between 1 byte and 2^50 bytes.
 */
double ft_equation_log(const ft_equation *equation, const struct ft_expression *code,
                       const float *x, size_t count);

/* A variable of an equation: a numeric column, or the indicator of one category. */
struct ft_variable {
  uint8_t column; /* index of the model's column */
  uint8_t level;  /* 0: the number; else 1 + index of the category */
};

/*
 * Encodes CODE, a valid expression of VARIABLES, into EQUATION, without the variables that CODE
 * does not read. Returns false, and leaves EQUATION without code, if CODE reads more than 12
 * variables.
 */
bool ft_equation_pack(const struct ft_expression *code, const struct ft_variable *variables,
                      ft_equation *equation);

#endif
