/* SPDX-License-Identifier: GPL-3.0-or-later */
/* k-medoids: the rows that best represent a table. */
#ifndef FT_LEARN_MEDOIDS_H
#define FT_LEARN_MEDOIDS_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

/*
 * Chooses COUNT (1 to ROWS) rows of x[row * columns + column] that minimise the sum of squared
 * distances to the nearest chosen row. MEDOID gets the indices of the chosen rows, ascending;
 * CLUSTER_SIZE the number of rows nearest to each, itself included. Alternating k-medoids (Park and
 * Jun 2009) from several k-means++ starts (Arthur and Vassilvitskii 2007). Returns 0; -1 if out of
 * memory and fills ERR.
 */
int ft_medoids(const double *x, size_t rows, size_t columns, size_t count, uint64_t seed,
               size_t *medoid, size_t *cluster_size, struct ft_error *err);

#endif
