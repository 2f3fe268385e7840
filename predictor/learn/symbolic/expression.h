/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An equation as bytecode: postfix symbols over variables and constants, wrapped
 * as intercept + slope * code. It evaluates without allocating; nothing here fits.
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
  FT_SYMBOL_ROOT, /* of the absolute value */
  FT_SYMBOL_LOG,  /* of 1 + the absolute value */
  FT_SYMBOL_SINE,
  FT_SYMBOL_COSINE,
  FT_SYMBOL_EXPONENTIAL,
  FT_SYMBOL_MINIMUM, /* the smaller of two */
  FT_SYMBOLS
}; /* stored in model files: only ever added to */

enum {
  FT_EXPRESSION_NODES = 40,     /* of one equation */
  FT_EXPRESSION_DEPTH = 16,     /* of its stack */
  FT_EXPRESSION_VARIABLES = 255 /* to choose from */
};

struct ft_expression {
  uint8_t length;
  uint8_t symbol[FT_EXPRESSION_NODES];
  uint8_t variable[FT_EXPRESSION_NODES]; /* of a FT_SYMBOL_VARIABLE */
  double constant[FT_EXPRESSION_NODES];  /* of a FT_SYMBOL_CONSTANT */
  double scale[FT_EXPRESSION_NODES];     /* a FT_SYMBOL_VARIABLE stands divided by it */
  double intercept, slope;
};

/* How many operands SYMBOL, below FT_SYMBOLS, takes: 0, 1 or 2. */
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

/* Whether EXPRESSION is one whole tree within its bounds, over VARIABLES variables. */
bool ft_expression_valid(const struct ft_expression *expression, size_t variables);

/* Where the subtree whose last symbol is at I begins. EXPRESSION must be valid. */
int ft_expression_start(const struct ft_expression *expression, int i);

/* The value at X, one number a variable. EXPRESSION must be valid. */
double ft_expression_evaluate(const struct ft_expression *expression, const double *x);

/*
 * Print with NAMES of the variables and UNIT of the value ("" for none), as plain text
 * (which Python, R and C read, but for "^") or LATEX, coefficients with so many DIGITS, 1 to 17.
 * Sums, products and powers are multiplied out into a polynomial; anything else is printed as it
 * stands, but for what reads no variable, which is a number. Returns 0, or -1 past OUT's limit.
 */
int ft_expression_print(const struct ft_expression *expression, const char *const *names,
                        const char *unit, bool latex, int digits, struct ft_buf *out);

/* constant + the sum of coefficient * name / scale, or constant * the product of
 * (name / scale)^coefficient, over COUNT names. */
struct ft_terms {
  bool product;
  double constant;
  size_t count;
  const char *const *name;
  const double *coefficient, *scale;
};

/* Print TERMS as ft_expression_print does, those that do nothing left out. */
int ft_terms_print(const struct ft_terms *terms, const char *unit, bool latex, int digits,
                   struct ft_buf *out);

#endif
