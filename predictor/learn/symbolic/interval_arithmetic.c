/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/learn/symbolic/interval_arithmetic.h"

/* Margin, as a fraction of the range, times the number of rows: the rule of three, at 95 % (Hanley
 * and Lippman-Hand 1983). */
#define RULE_OF_THREE 3.0
/* Largest margin as a fraction of the range. Chosen by judgement. */
#define MAX_MARGIN 0.1
/* Lower bound of the range of integers from 1 on: what rounds to 1. */
#define MIN_WHOLE 0.5

static bool are_whole_numbers(const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (value[i] != floor(value[i]))
      return false;
  return true;
}

struct ft_interval ft_interval_of(const double *column, size_t rows, double *scratch)
{
  double fraction = fmin(RULE_OF_THREE / (double)rows, MAX_MARGIN), middle, low, high, margin;
  struct ft_interval r;

  memcpy(scratch, column, rows * sizeof *scratch);
  middle = ft_sort_median(scratch, rows);
  low = scratch[0];
  high = scratch[rows - 1];
  margin = fraction * (high - low);
  r = (struct ft_interval){ low - margin, high + margin };
  if (low > 0 && low < high &&
      fabs(log(middle / low) / log(high / low) - 0.5) < fabs((middle - low) / (high - low) - 0.5)) {
    margin = pow(high / low, fraction);
    r = (struct ft_interval){ low / margin, high * margin };
  }
  if (low >= 1 && are_whole_numbers(column, rows))
    r.low = fmax(r.low, MIN_WHOLE);
  return r;
}

static struct ft_interval interval_product(struct ft_interval a, struct ft_interval b)
{
  double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;

  return (struct ft_interval){ fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)) };
}

static struct ft_interval interval_absolute(struct ft_interval a)
{
  double low = fabs(a.low), high = fabs(a.high);

  return (struct ft_interval){ a.low <= 0 && a.high >= 0 ? 0 : fmin(low, high), fmax(low, high) };
}

/* Returns whether A contains AT plus a multiple of 2 pi. */
static bool interval_contains_phase(struct ft_interval a, double at)
{
  return floor((a.high - at) / (2 * M_PI)) >= ceil((a.low - at) / (2 * M_PI));
}

static struct ft_interval interval_sine(struct ft_interval a)
{
  double low = sin(a.low), high = sin(a.high);

  return (struct ft_interval){ interval_contains_phase(a, -M_PI_2) ? -1 : fmin(low, high),
                               interval_contains_phase(a, M_PI_2) ? 1 : fmax(low, high) };
}

static struct ft_interval interval_unary(enum ft_symbol symbol, struct ft_interval a)
{
  struct ft_interval size = interval_absolute(a);

  switch (symbol) {
  case FT_SYMBOL_SQUARE:
    return (struct ft_interval){ size.low * size.low, size.high * size.high };
  case FT_SYMBOL_CUBE:
    return (struct ft_interval){ a.low * a.low * a.low, a.high * a.high * a.high };
  case FT_SYMBOL_ROOT:
    return (struct ft_interval){ sqrt(size.low), sqrt(size.high) };
  case FT_SYMBOL_LOG:
    return (struct ft_interval){ log1p(size.low), log1p(size.high) };
  case FT_SYMBOL_SINE:
    return interval_sine(a);
  case FT_SYMBOL_COSINE:
    return interval_sine((struct ft_interval){ a.low + M_PI_2, a.high + M_PI_2 });
  case FT_SYMBOL_EXPONENTIAL:
    return (struct ft_interval){ exp(a.low), exp(a.high) };
  default:
    return (struct ft_interval){ NAN, NAN };
  }
}

static struct ft_interval interval_binary(enum ft_symbol symbol, struct ft_interval a,
                                          struct ft_interval b)
{
  switch (symbol) {
  case FT_SYMBOL_ADD:
    return (struct ft_interval){ a.low + b.low, a.high + b.high };
  case FT_SYMBOL_SUBTRACT:
    return (struct ft_interval){ a.low - b.high, a.high - b.low };
  case FT_SYMBOL_MULTIPLY:
    return interval_product(a, b);
  case FT_SYMBOL_DIVIDE:
    return interval_product(a, (struct ft_interval){ 1 / b.high, 1 / b.low });
  case FT_SYMBOL_MINIMUM:
    return (struct ft_interval){ fmin(a.low, b.low), fmin(a.high, b.high) };
  default:
    return (struct ft_interval){ NAN, NAN };
  }
}

bool ft_interval_divisors_nonzero(const struct ft_expression *e, const struct ft_interval *range)
{
  struct ft_interval stack[FT_EXPRESSION_DEPTH + 1], *a = stack; /* element 0 is unused */

  for (int i = 0; i < e->length; i++) {
    enum ft_symbol symbol = e->symbol[i];
    int arity = ft_symbol_arity(symbol);

    if (symbol == FT_SYMBOL_CONSTANT) {
      *++a = (struct ft_interval){ e->constant[i], e->constant[i] };
    } else if (symbol == FT_SYMBOL_VARIABLE) {
      double p = range[e->variable[i]].low / e->scale[i];
      double q = range[e->variable[i]].high / e->scale[i];

      *++a = (struct ft_interval){ fmin(p, q), fmax(p, q) };
    } else if (arity == 1) {
      *a = interval_unary(symbol, *a);
    } else {
      if (symbol == FT_SYMBOL_DIVIDE && a->low <= 0 && a->high >= 0)
        return false;
      a--;
      *a = interval_binary(symbol, a[0], a[1]);
    }
    /* the negation also rejects NaN */
    if (!(a->low > -INFINITY && a->high < INFINITY))
      return false;
  }
  return true;
}
