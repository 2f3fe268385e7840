/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sure independence screening (Fan and Lv 2008): selects the features with the largest marginal
 * rank correlation with a target, of the feature or of its distance from the median.
 */
#ifndef FT_LEARN_FEATURE_SCREENING_H
#define FT_LEARN_FEATURE_SCREENING_H

#include <stddef.h>

/*
 * Selects the COUNT (at most COLUMNS) columns of X[row * COLUMNS + column] with the largest
 * correlation with Y over ROWS rows. CHOSEN gets their indices in ascending order. Returns 0; -1
 * with errno set if out of memory.
 */
int ft_feature_screening(const double *x, const double *y, size_t rows, size_t columns,
                         size_t count, size_t *chosen);

#endif
