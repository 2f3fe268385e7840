/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What choosing constants (constant_fit_choose.c) and fitting them (constant_fit.c) share. */
#ifndef FT_LEARN_CONSTANT_FIT_WORK_H
#define FT_LEARN_CONSTANT_FIT_WORK_H

#include "predictor/learn/symbolic/expression.h"

/* By node: its operands' nodes, -1 where it has none. */
struct ft_links {
  int left[FT_EXPRESSION_NODES], right[FT_EXPRESSION_NODES];
};

/*
 * The NODEs of the constants to fit, MOST at most: one for each subtree without variables, and
 * none where intercept, slope or another one does the same. Fewer parameters, and a matrix that
 * is not singular. Returns how many.
 */
int ft_constant_fit_choose(const struct ft_expression *expression, const struct ft_links *links,
                           int most, int *node);

#endif
