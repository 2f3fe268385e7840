/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether an equation can be no number between the rows that it was fitted to: interval arithmetic
 * over what the columns hold (Keijzer, Improving symbolic regression with interval arithmetic and
 * linear scaling, EuroGP 2003).
 */
#ifndef FT_LEARN_INTERVAL_ARITHMETIC_H
#define FT_LEARN_INTERVAL_ARITHMETIC_H

#include <stdbool.h>

#include "predictor/learn/symbolic/expression.h"

struct ft_interval {
  double low, high;
};

/*
 * What the ROWS values of COLUMN, at least one, say of those to come: their range and a little
 * more on both sides. That is added in the scale, plain or logarithmic, in whose middle their
 * median is nearer; whole numbers from 1 on stay above 0. ROOM is for as many numbers.
 */
struct ft_interval ft_interval_of(const double *column, size_t rows, double *room);

/*
 * Whether no divisor of EXPRESSION, a valid one, can be 0, and no part of it infinite or no number,
 * while its variables are anywhere in RANGE, each by itself: a divisor that never is 0 because two
 * of them go together is not known to be.
 */
bool ft_interval_divisors_nonzero(const struct ft_expression *expression,
                                  const struct ft_interval *range);

#endif
