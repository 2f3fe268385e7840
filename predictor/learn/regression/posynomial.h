/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A posynomial: a sum of products of powers of a few columns, with coefficients of 0 or more (Boyd,
 * Kim, Vandenberghe and Hassibi 2007). Run times are such sums. If a number is affine in each of
 * two columns alone, it is a x y + b x + c y + d (Gianniti, Barbierato and Gribaudo 2019), so that
 * a few small runs are enough to extrapolate; with n processors serial part, parallel part and a
 * cost per processor are a + b / n + c n.
 */
#ifndef FT_LEARN_POSYNOMIAL_H
#define FT_LEARN_POSYNOMIAL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  FT_POSYNOMIAL_COLUMNS = 3, /* largest number of columns; it bounds the time of a fit */
  FT_POSYNOMIAL_TERMS = 10   /* largest number of products: all of three columns, and two more */
};

struct ft_posynomial_term {
  double coefficient; /* above 0 */
  int8_t power[FT_POSYNOMIAL_COLUMNS];
};

struct ft_posynomial {
  size_t columns; /* 0: there is no posynomial */
  uint8_t column[FT_POSYNOMIAL_COLUMNS];
  size_t terms;
  struct ft_posynomial_term term[FT_POSYNOMIAL_TERMS];
};

/* Returns the value of P at X, by column of P; NaN where a value is missing or not above 0. */
static inline double ft_posynomial_value(const struct ft_posynomial *p,
                                         const double x[FT_POSYNOMIAL_COLUMNS])
{
  double sum = 0;

  for (size_t c = 0; c < p->columns; c++)
    if (!(x[c] > 0))
      return NAN;
  for (size_t t = 0; t < p->terms; t++) {
    double product = p->term[t].coefficient;

    for (size_t c = 0; c < p->columns; c++)
      for (int k = p->term[t].power[c]; k != 0; k += k > 0 ? -1 : 1)
        product = k > 0 ? product * x[c] : product / x[c];
    sum += product;
  }
  return sum;
}

#endif
