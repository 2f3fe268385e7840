/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The few rows that stand best for all. */
#ifndef FT_LEARN_MEDOIDS_H
#define FT_LEARN_MEDOIDS_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

/*
 * COUNT, 1 to ROWS, rows of x[row * columns + column] in MEDOID, rising, so that the squares of
 * distances of all rows to the nearest of them are small; SHARE gets to how many rows each is the
 * nearest, itself among them. By alternation (Park and Jun 2009) from several starts (k-means++,
 * Arthur and Vassilvitskii 2007). 0; -1 with ERR when memory is out.
 */
int ft_medoids(const double *x, size_t rows, size_t columns, size_t count, uint64_t seed,
               size_t *medoid, size_t *share, struct ft_error *err);

#endif
