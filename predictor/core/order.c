/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/order.h"

int ft_order_rising(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Shell's sort with Ciura's gaps (2001), continued: no call a comparison, as qsort has. */
void ft_order_sort(double *value, size_t count)
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

double ft_order_median(double *value, size_t count)
{
  ft_order_sort(value, count);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* Hoare's FIND (1961): the value of rank K, those before it being no larger. */
static double find(double *value, ptrdiff_t count, ptrdiff_t k)
{
  ptrdiff_t low = 0, high = count - 1;

  while (low < high) {
    double pivot = value[k];
    ptrdiff_t i = low, j = high;

    while (i <= j) {
      while (value[i] < pivot)
        i++;
      while (pivot < value[j])
        j--;
      if (i <= j) {
        double moved = value[i];

        value[i++] = value[j];
        value[j--] = moved;
      }
    }
    if (j < k)
      low = i;
    if (k < i)
      high = j;
  }
  return value[k];
}

double ft_order_middle(double *value, size_t count)
{
  size_t half = count / 2;
  double above = find(value, (ptrdiff_t)count, (ptrdiff_t)half), below;

  if (count % 2)
    return above;
  below = value[0];
  for (size_t i = 1; i < half; i++)
    below = value[i] > below ? value[i] : below;
  return (below + above) / 2;
}
