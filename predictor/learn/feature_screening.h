/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of very many features those that go with a target, each by itself (sure independence screening,
 * Fan and Lv 2008), by ranks: of the feature, or of its distance from its middle.
 */
#ifndef FT_LEARN_FEATURE_SCREENING_H
#define FT_LEARN_FEATURE_SCREENING_H

#include <stddef.h>

/*
 * Put the MOST columns of X[row * columns + column], over ROWS rows, that go most with Y into
 * CHOSEN, rising. MOST is at most COLUMNS. Returns 0, or -1 with errno out of memory.
 */
int ft_feature_screening(const double *x, const double *y, size_t rows, size_t columns, size_t most,
                         size_t *chosen);

#endif
