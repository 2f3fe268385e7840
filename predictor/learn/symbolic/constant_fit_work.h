/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the choice of constants (constant_fit_choose.c) and their fit (constant_fit.c). */
#ifndef FT_LEARN_CONSTANT_FIT_WORK_H
#define FT_LEARN_CONSTANT_FIT_WORK_H

#include "predictor/learn/symbolic/expression.h"

/* Operands of each node; -1: none. */
struct ft_links {
  int left[FT_EXPRESSION_NODES], right[FT_EXPRESSION_NODES];
};

/*
 * Chooses at most MAX constants to fit and fills NODE with their nodes, ascending: one per subtree
 * without variables, none if intercept, slope or another constant is equivalent, so that the normal
 * equations are regular. Returns their number.
 */
int ft_constant_fit_choose(const struct ft_expression *expression, const struct ft_links *links,
                           int max, int *node);

#endif
