/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints equations in readable units. */
#ifndef FT_LEARN_SHOW_H
#define FT_LEARN_SHOW_H

#include "predictor/core/buf.h"
#include "predictor/learn/symbolic/expression.h"

/* True if NAME names bytes: "bytes", "input_bytes". */
bool ft_named_bytes(const char *name);

/*
 * Prints EXPRESSION over VARIABLES called NAMES as text or LATEX to OUT. UNIT is the target's;
 * NULL: bytes, scaled to suit TYPICAL bytes. Variables named as bytes are scaled likewise, with a
 * legend: "1.2 + 3.1*input_bytes [GiB; input_bytes in MiB]". Returns 0; -1 past OUT's limit.
 */
int ft_show_expression(const struct ft_expression *expression, const char *const *names,
                       size_t variables, const char *unit, double typical, bool latex, int digits,
                       struct ft_buf *out);

/* Result of ft_linear_fit on variables, or on the logarithms of variables and target. */
struct ft_linear_equation {
  const double *coefficients; /* the intercept, then one per variable */
  bool logarithms;
  const char *const *names;
  const double *sizes; /* magnitude of each variable */
  size_t variables;    /* at most FT_EXPRESSION_VARIABLES */
};

/*
 * Prints EQUATION like ft_show_expression. With logarithms: "2.9*input_bytes^0.75*batch^1.02", and
 * "(kelvin/300)^9000" if the power alone would underflow or overflow. Returns 0; -1 past OUT's
 * limit.
 */
int ft_show_linear(const struct ft_linear_equation *equation, const char *unit, double typical,
                   bool latex, int digits, struct ft_buf *out);

#endif
