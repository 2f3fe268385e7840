/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interval arithmetic: checks that an equation is defined everywhere in the range of its columns
 * (Keijzer, Improving symbolic regression with interval arithmetic and linear scaling, EuroGP
 * 2003).
 */
#ifndef FT_LEARN_INTERVAL_ARITHMETIC_H
#define FT_LEARN_INTERVAL_ARITHMETIC_H

#include <stdbool.h>

#include "predictor/learn/symbolic/expression.h"

struct ft_interval {
  double low, high;
};

/*
 * Returns the expected range of future values from the ROWS (1 or more) values of COLUMN: their
 * range and a margin on both sides. The margin is linear or logarithmic: the scale on which the
 * median is nearer to the centre of the range. The range of integers from 1 on excludes 0. SCRATCH
 * is scratch memory of ROWS numbers.
 */
struct ft_interval ft_interval_of(const double *column, size_t rows, double *scratch);

/*
 * Returns whether every divisor of EXPRESSION is non-zero and every subtree finite for all values
 * of its variables in RANGE. Variables count as independent, so the test is conservative.
 * EXPRESSION must be valid.
 */
bool ft_interval_divisors_nonzero(const struct ft_expression *expression,
                                  const struct ft_interval *range);

#endif
