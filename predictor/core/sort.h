/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorting and medians of doubles. */
#ifndef FT_CORE_SORT_H
#define FT_CORE_SORT_H

#include <stddef.h>

/* Compares two doubles for qsort(), in ascending order. */
int ft_sort_compare(const void *a, const void *b);

/* Sorts COUNT values in ascending order; none may be NaN. For some hundreds of values it is several
 * times faster than qsort(). */
void ft_sort_doubles(double *value, size_t count);

/* Sorts COUNT (at least 1) values and returns their median. */
double ft_sort_median(double *value, size_t count);

/* Returns the median of COUNT (at least 1) values and overwrites VALUE. For 200 values it takes an
 * eighth of the time of ft_sort_median. */
double ft_sort_select_median(double *value, size_t count);

#endif
