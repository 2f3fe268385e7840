/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model's equation: decoding from the model file, evaluation for a run, and encoding. */
#ifndef FT_ESTIMATE_EQUATION_H
#define FT_ESTIMATE_EQUATION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/symbolic/expression.h"
#include "predictor/record/record.h"

/*
 * Decodes EQUATION into CODE, which is then valid. Returns false if EQUATION is empty or invalid;
 * estimates then use the additive model. Allocates nothing; about 50 ns.
 */
bool ft_equation_open(const ft_equation *equation, struct ft_expression *code);

/*
 * Returns the natural logarithm of the predicted bytes at the COUNT values X (ft_columns_fill).
 * Returns NaN if a number that the equation reads is missing, or the value lies outside 1 byte to
 * 2^50 bytes.
 */
double ft_equation_log(const ft_equation *equation, const struct ft_expression *code,
                       const float *x, size_t count);

/* A variable of an equation: a numeric column, or the indicator of one category. */
struct ft_variable {
  uint8_t column; /* index of the model's column */
  uint8_t level;  /* 0: the number; else 1 + index of the category */
};

/*
 * Encodes CODE, which is valid over VARIABLES, into EQUATION without its unused variables. Returns
 * false, with no code in EQUATION, if CODE reads more than 12 variables.
 */
bool ft_equation_pack(const struct ft_expression *code, const struct ft_variable *variables,
                      ft_equation *equation);

#endif
