/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fits a posynomial to runs. For each set of up to three columns the products of all subsets of
 * them are fitted, each column with the power 1 or -1; then products
 * with other powers are added one by one. Relative least squares with Huber weights; products of
 * negative coefficients leave, the most negative one first. The columns and the added products
 * are chosen by the error in generalised cross-validation.
 */
#ifndef FT_LEARN_POSYNOMIAL_FIT_H
#define FT_LEARN_POSYNOMIAL_FIT_H

#include "predictor/learn/regression/additive.h"
#include "predictor/learn/regression/posynomial.h"

struct ft_posynomial_fit {
  struct ft_posynomial function;
  double error;                      /* mean absolute residual, each limited to 1 */
  double residual[FT_ADDITIVE_RUNS]; /* per run: log(y / out-of-sample prediction) */
};

struct ft_posynomial_work;

/* Returns the size in bytes of the working memory of a fit, which the caller allocates. */
size_t ft_posynomial_work_size(void);

/*
 * Fits OUT to DATA, of 1 run or more; columns with a missing value or one not above 0 are not used.
 * Returns whether the function of OUT depends on a column. WORK is scratch memory. Deterministic;
 * allocates nothing.
 */
bool ft_posynomial_fit(const struct ft_additive_data *data, struct ft_posynomial_work *work,
                       struct ft_posynomial_fit *out);

#endif
