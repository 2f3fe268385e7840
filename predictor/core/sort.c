/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdbool.h>

#include "predictor/core/sort.h"

int ft_sort_compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Shell sort with the gaps of Ciura (2001), continued by a factor of 9/4. It inlines the
 * comparison, whereas qsort() calls a function. */
void ft_sort_doubles(double *value, size_t count)
{
  static const size_t first[] = { 701, 301, 132, 57, 23, 10, 4, 1 };
  size_t gap = first[0], next = 0;

  while (gap < count / 5)
    gap = gap * 9 / 4;
  for (;; gap = gap > first[0] ? gap * 4 / 9 : first[next++]) {
    for (size_t i = gap; i < count; i++) {
      double moved = value[i];
      size_t j = i;

      for (; j >= gap && value[j - gap] > moved; j -= gap)
        value[j] = value[j - gap];
      value[j] = moved;
    }
    if (gap == 1)
      return;
  }
}

double ft_sort_median(double *value, size_t count)
{
  ft_sort_doubles(value, count);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

static double median_of_three(double a, double b, double c)
{
  double low = a < b ? a : b, high = a < b ? b : a;

  return c < low ? low : c > high ? high : c;
}

/* Moves the values above PIVOT, or below it unless ABOVE, to the front. Returns their number. */
static size_t keep_one_side(double *value, size_t count, double pivot, bool above)
{
  size_t kept = 0;

  for (size_t i = 0; i < count; i++) {
    double v = value[i];

    value[kept] = v;
    kept += above ? v > pivot : v < pivot;
  }
  return kept;
}

/* Quickselect (Hoare 1961, FIND). It compacts the array instead of exchanging values, so that the
 * inner loops have no branch that depends on a value. */
double ft_sort_select_median(double *value, size_t count)
{
  size_t rank = count / 2;
  bool even = count % 2 == 0;
  double before = 0; /* largest value removed so far that is below the median */

  for (;;) {
    double pivot = median_of_three(value[0], value[count / 2], value[count - 1]);
    size_t below = 0, same = 0;

    for (size_t i = 0; i < count; i++) {
      below += value[i] < pivot;
      same += value[i] == pivot;
    }
    if (rank >= below && rank - below < same) {
      if (!even || rank > below)
        return pivot;
      count = keep_one_side(value, count, pivot, false);
      for (size_t i = 0; i < count; i++)
        before = i && value[i] < before ? before : value[i];
      return (before + pivot) / 2;
    }
    if (rank < below) {
      count = keep_one_side(value, count, pivot, false);
      continue;
    }
    rank -= below + same;
    before = pivot;
    count = keep_one_side(value, count, pivot, true);
    if (rank >= count)
      return pivot; /* reached only with NaN */
  }
}
