/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equations in units that people read: of a table's columns, and of an app's model. */
#ifndef FT_CLI_EQUATION_H
#define FT_CLI_EQUATION_H

#include <jansson.h>

#include "predictor/core/buf.h"
#include "predictor/learn/symbolic/expression.h"
#include "predictor/record/record.h"

/* Whether NAME is one of bytes: "bytes", "input_bytes". */
bool ft_named_bytes(const char *name);

/*
 * Print EXPRESSION over VARIABLES called NAMES as text or LATEX. UNIT is the target's; NULL: it
 * is bytes, told in what suits TYPICAL of them. Variables named as bytes are told in what suits
 * their scale, which is added: "1.2 + 3.1*input_bytes [GiB; input_bytes in MiB]".
 * Returns 0, or -1 past OUT's limit.
 */
int ft_show_expression(const struct ft_expression *expression, const char *const *names,
                       size_t variables, const char *unit, double typical, bool latex,
                       int digits, struct ft_buf *out);

/* What ft_linear_fit found, of variables or of their logarithms that of the value. */
struct ft_linear_equation {
  const double *coefficients; /* the intercept, then one a variable */
  bool logarithms;
  const char *const *names;
  const double *sizes; /* what each variable is of the order of */
  size_t variables;    /* at most FT_EXPRESSION_VARIABLES */
};

/*
 * The same of EQUATION; "2.9*input_bytes^0.75*batch^1.02" of logarithms, and "(kelvin/300)^9000"
 * where the power alone would be next to no number. Returns as ft_show_expression.
 */
int ft_show_linear(const struct ft_linear_equation *equation, const char *unit, double typical,
                   bool latex, int digits, struct ft_buf *out);

/* Of a coefficient, for people. */
enum { FT_EQUATION_DIGITS = 4 };

/* The same for MODEL's equation; nothing is printed where it has none. */
int ft_show_equation(const ft_model *model, bool latex, struct ft_buf *out);

/* "equation", "latex", "error", "runs", "fitted" and "used", or null where MODEL has none. */
json_t *ft_equation_json(const ft_model *model);

#endif
