/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/order.h"
#include "predictor/learn/symbolic/range.h"

/* Of evenly spread values so many in all lie beyond one end, at 95 %, that N were not among
 * (Hanley and Lippman-Hand 1983): 3 / N, and no more than a part of the range. */
#define UNSEEN 3.0
#define WIDEST 0.1
/* Of whole numbers from 1 on, the bound. */
#define BELOW_ONE 0.5

static bool whole(const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (value[i] != floor(value[i]))
      return false;
  return true;
}

struct ft_range ft_range_of(const double *column, size_t rows, double *room)
{
  double part = fmin(UNSEEN / (double)rows, WIDEST), middle, low, high, more;
  struct ft_range r;

  memcpy(room, column, rows * sizeof *room);
  middle = ft_order_median(room, rows);
  low = room[0];
  high = room[rows - 1];
  more = part * (high - low);
  r = (struct ft_range){ low - more, high + more };
  if (low > 0 && low < high &&
      fabs(log(middle / low) / log(high / low) - 0.5) < fabs((middle - low) / (high - low) - 0.5)) {
    more = pow(high / low, part);
    r = (struct ft_range){ low / more, high * more };
  }
  if (low >= 1 && whole(column, rows))
    r.low = fmax(r.low, BELOW_ONE);
  return r;
}

static struct ft_range product(struct ft_range a, struct ft_range b)
{
  double p = a.low * b.low, q = a.low * b.high, r = a.high * b.low, s = a.high * b.high;

  return (struct ft_range){ fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)) };
}

static struct ft_range absolute(struct ft_range a)
{
  double low = fabs(a.low), high = fabs(a.high);

  return (struct ft_range){ a.low <= 0 && a.high >= 0 ? 0 : fmin(low, high), fmax(low, high) };
}

/* Whether A holds AT or what lies a whole number of turns from it. */
static bool passes(struct ft_range a, double at)
{
  return floor((a.high - at) / (2 * M_PI)) >= ceil((a.low - at) / (2 * M_PI));
}

static struct ft_range sine(struct ft_range a)
{
  double low = sin(a.low), high = sin(a.high);

  return (struct ft_range){ passes(a, -M_PI_2) ? -1 : fmin(low, high),
                            passes(a, M_PI_2) ? 1 : fmax(low, high) };
}

static struct ft_range of_one(enum ft_symbol symbol, struct ft_range a)
{
  struct ft_range size = absolute(a);

  switch (symbol) {
  case FT_SYMBOL_SQUARE:
    return (struct ft_range){ size.low * size.low, size.high * size.high };
  case FT_SYMBOL_CUBE:
    return (struct ft_range){ a.low * a.low * a.low, a.high * a.high * a.high };
  case FT_SYMBOL_ROOT:
    return (struct ft_range){ sqrt(size.low), sqrt(size.high) };
  case FT_SYMBOL_LOG:
    return (struct ft_range){ log1p(size.low), log1p(size.high) };
  case FT_SYMBOL_SINE:
    return sine(a);
  case FT_SYMBOL_COSINE:
    return sine((struct ft_range){ a.low + M_PI_2, a.high + M_PI_2 });
  case FT_SYMBOL_EXPONENTIAL:
    return (struct ft_range){ exp(a.low), exp(a.high) };
  default:
    return (struct ft_range){ NAN, NAN };
  }
}

static struct ft_range of_two(enum ft_symbol symbol, struct ft_range a, struct ft_range b)
{
  switch (symbol) {
  case FT_SYMBOL_ADD:
    return (struct ft_range){ a.low + b.low, a.high + b.high };
  case FT_SYMBOL_SUBTRACT:
    return (struct ft_range){ a.low - b.high, a.high - b.low };
  case FT_SYMBOL_MULTIPLY:
    return product(a, b);
  case FT_SYMBOL_DIVIDE:
    return product(a, (struct ft_range){ 1 / b.high, 1 / b.low });
  case FT_SYMBOL_MINIMUM:
    return (struct ft_range){ fmin(a.low, b.low), fmin(a.high, b.high) };
  default:
    return (struct ft_range){ NAN, NAN };
  }
}

bool ft_ranges_sound(const struct ft_expression *e, const struct ft_range *range)
{
  struct ft_range stack[FT_EXPRESSION_DEPTH + 1], *a = stack; /* the first is never used */

  for (int i = 0; i < e->length; i++) {
    enum ft_symbol symbol = e->symbol[i];
    int arity = ft_symbol_arity(symbol);

    if (symbol == FT_SYMBOL_CONSTANT) {
      *++a = (struct ft_range){ e->constant[i], e->constant[i] };
    } else if (symbol == FT_SYMBOL_VARIABLE) {
      double p = range[e->variable[i]].low / e->scale[i];
      double q = range[e->variable[i]].high / e->scale[i];

      *++a = (struct ft_range){ fmin(p, q), fmax(p, q) };
    } else if (arity == 1) {
      *a = of_one(symbol, *a);
    } else {
      if (symbol == FT_SYMBOL_DIVIDE && a->low <= 0 && a->high >= 0)
        return false;
      a--;
      *a = of_two(symbol, a[0], a[1]);
    }
    /* written so that what is no number is refused, too */
    if (!(a->low > -INFINITY && a->high < INFINITY))
      return false;
  }
  return true;
}
