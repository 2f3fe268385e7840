/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An equation as bytecode: intercept + slope * code, with postfix symbols over variables and
 * constants. Evaluation allocates nothing.
 */
#ifndef FT_LEARN_EXPRESSION_H
#define FT_LEARN_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/buf.h"

enum ft_symbol {
  FT_SYMBOL_CONSTANT,
  FT_SYMBOL_VARIABLE,
  FT_SYMBOL_ADD,
  FT_SYMBOL_MULTIPLY,
  FT_SYMBOL_SQUARE,
  FT_SYMBOL_CUBE,
  FT_SYMBOL_SUBTRACT,
  FT_SYMBOL_DIVIDE,
  FT_SYMBOL_ROOT, /* square root of the absolute value */
  FT_SYMBOL_LOG,  /* log(1 + the absolute value) */
  FT_SYMBOL_SINE,
  FT_SYMBOL_COSINE,
  FT_SYMBOL_EXPONENTIAL,
  FT_SYMBOL_MINIMUM, /* the smaller operand */
  FT_SYMBOLS
}; /* stored in model files: append only */

enum {
  FT_EXPRESSION_NODES = 40,     /* largest number of nodes (foretell.options) */
  FT_EXPRESSION_DEPTH = 16,     /* largest stack depth; bounds evaluation memory */
  FT_EXPRESSION_VARIABLES = 255 /* largest number of variables: an index is a byte */
};

struct ft_expression {
  uint8_t length;
  uint8_t symbol[FT_EXPRESSION_NODES];
  uint8_t variable[FT_EXPRESSION_NODES]; /* index of a FT_SYMBOL_VARIABLE */
  double constant[FT_EXPRESSION_NODES];  /* value of a FT_SYMBOL_CONSTANT */
  double scale[FT_EXPRESSION_NODES];     /* divisor of a FT_SYMBOL_VARIABLE */
  double intercept, slope;
};

/* Returns the number of operands of SYMBOL, below FT_SYMBOLS: 0, 1 or 2. */
static inline int ft_symbol_arity(unsigned symbol)
{
  static const uint8_t arity[FT_SYMBOLS] = {
    [FT_SYMBOL_ADD] = 2,    [FT_SYMBOL_MULTIPLY] = 2,    [FT_SYMBOL_SQUARE] = 1,
    [FT_SYMBOL_CUBE] = 1,   [FT_SYMBOL_SUBTRACT] = 2,    [FT_SYMBOL_DIVIDE] = 2,
    [FT_SYMBOL_ROOT] = 1,   [FT_SYMBOL_LOG] = 1,         [FT_SYMBOL_SINE] = 1,
    [FT_SYMBOL_COSINE] = 1, [FT_SYMBOL_EXPONENTIAL] = 1, [FT_SYMBOL_MINIMUM] = 2
  };

  return arity[symbol];
}

/* Returns whether EXPRESSION is one complete tree, of VARIABLES variables, within the limits. */
bool ft_expression_valid(const struct ft_expression *expression, size_t variables);

/* Returns the first node of the subtree that ends at node I. EXPRESSION must be valid. */
int ft_expression_start(const struct ft_expression *expression, int i);

/* Returns the value at X, one number per variable. EXPRESSION must be valid. */
double ft_expression_evaluate(const struct ft_expression *expression, const double *x);

/*
 * Appends EXPRESSION to OUT as plain text, which Python, R and C parse except for "^", or as LATEX.
 * NAMES are the names of the variables, UNIT is the unit of the value ("": none), coefficients have
 * DIGITS (1 to 17) significant digits.
 * Polynomials are expanded; constant subtrees become numbers. Returns 0; -1 if OUT is full.
 */
int ft_expression_print(const struct ft_expression *expression, const char *const *names,
                        const char *unit, bool latex, int digits, struct ft_buf *out);

/* constant + sum of coefficient * name / scale over COUNT names; with `product`
 * constant * product of (name / scale)^coefficient. */
struct ft_terms {
  bool product;
  double constant;
  size_t count;
  const char *const *name;
  const double *coefficient, *scale;
};

/* Appends TERMS as ft_expression_print, without terms of coefficient 0. Returns 0; -1 if OUT is
 * full. */
int ft_terms_print(const struct ft_terms *terms, const char *unit, bool latex, int digits,
                   struct ft_buf *out);

#endif
