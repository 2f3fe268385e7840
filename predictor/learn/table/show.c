/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints equations with readable units, as text and LaTeX. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/learn/table/show.h"

/* Largest |logarithm| of a product of powers that is printed unscaled. With values up to 1e100,
 * the largest in a table, the constant then stays within a double (e^709). */
#define FAR 400

bool ft_named_bytes(const char *name)
{
  size_t length = strlen(name);

  return strcmp(name, "bytes") == 0 || (length > 6 && strcmp(name + length - 6, "_bytes") == 0);
}

/* Returns the index at which E first reads VARIABLE; -1 if it does not. */
static int find_variable(const struct ft_expression *e, size_t variable)
{
  for (int i = 0; i < e->length; i++)
    if (e->symbol[i] == FT_SYMBOL_VARIABLE && e->variable[i] == variable)
      return i;
  return -1;
}

/* Returns the unit for a variable called NAME of magnitude SIZE: 1, or a unit of bytes, which it
 * appends to LEGEND after BEFORE. */
static double byte_unit_of(const char *name, double size, const char **before,
                           struct ft_buf *legend)
{
  const char *unit;
  double of;

  if (!ft_named_bytes(name))
    return 1;
  of = ft_units_scale_bytes(fabs(size), &unit);
  (void)ft_buf_printf(legend, "%s%s in %s", *before, name, unit);
  *before = ", ";
  return of;
}

/* Scales variables in bytes to larger units and appends these to LEGEND. */
static void choose_units(struct ft_expression *e, const char *const *names, size_t variables,
                         struct ft_buf *legend)
{
  const char *before = legend->length ? "; " : "";

  for (size_t v = 0; v < variables; v++) {
    int first = find_variable(e, v);
    double of = first < 0 ? 1 : byte_unit_of(names[v], e->scale[first], &before, legend);

    for (int i = first; i >= 0 && i < e->length; i++)
      if (e->symbol[i] == FT_SYMBOL_VARIABLE && e->variable[i] == v)
        e->scale[i] /= of;
  }
}

int ft_show_expression(const struct ft_expression *expression, const char *const *names,
                       size_t variables, const char *unit, double typical, bool latex, int digits,
                       struct ft_buf *out)
{
  struct ft_expression e = *expression;
  struct ft_buf legend;
  int status = -1;

  ft_buf_init(&legend, out->limit);
  if (!unit) {
    double of = ft_units_scale_bytes(fabs(typical), &unit);

    e.intercept /= of;
    e.slope /= of;
  }
  (void)ft_buf_printf(&legend, "%s", unit);
  choose_units(&e, names, variables, &legend);
  if (!legend.failed)
    status = ft_expression_print(&e, names, ft_buf_text(&legend), latex, digits, out);
  ft_buf_free(&legend);
  return status;
}

/* Rounds X to DIGITS significant digits, as printed. */
static double round_digits(double x, int digits)
{
  char text[40];

  (void)snprintf(text, sizeof text, "%.*g", digits, x);
  return ft_text_is_double(ft_text_from(text), &x) ? x : 1;
}

/* Divides variables by their magnitude if their factors would be far from 1. Returns the
 * logarithm of the constant. */
static double scale_factors(const struct ft_linear_equation *q, const double *of, double constant,
                            int digits, double *scale)
{
  for (size_t v = 0; v < q->variables; v++) {
    double size = q->sizes[v] / of[v], power = q->coefficients[v + 1];

    if (fabs(power * log(size)) * (double)q->variables > FAR)
      scale[v] = round_digits(size, digits);
    constant += power * log(scale[v]);
  }
  return constant;
}

int ft_show_linear(const struct ft_linear_equation *q, const char *unit, double typical, bool latex,
                   int digits, struct ft_buf *out)
{
  double of[FT_EXPRESSION_VARIABLES], coefficient[FT_EXPRESSION_VARIABLES];
  double scale[FT_EXPRESSION_VARIABLES], constant = q->coefficients[0], target = 1;
  const char *before;
  struct ft_buf legend;
  int status = -1;

  if (!unit)
    target = ft_units_scale_bytes(fabs(typical), &unit);
  ft_buf_init(&legend, out->limit);
  (void)ft_buf_printf(&legend, "%s", unit);
  before = legend.length ? "; " : "";
  constant = q->logarithms ? constant - log(target) : constant / target;
  for (size_t v = 0; v < q->variables; v++) {
    double c = q->coefficients[v + 1];

    scale[v] = 1;
    of[v] = c == 0 ? 1 : byte_unit_of(q->names[v], q->sizes[v], &before, &legend);
    coefficient[v] = q->logarithms ? c : c * of[v] / target;
    constant += q->logarithms ? c * log(of[v]) : 0;
  }
  if (q->logarithms)
    constant = exp(scale_factors(q, of, constant, digits, scale));
  if (!legend.failed)
    status = ft_terms_print(
        &(struct ft_terms){ q->logarithms, constant, q->variables, q->names, coefficient, scale },
        ft_buf_text(&legend), latex, digits, out);
  ft_buf_free(&legend);
  return status;
}
