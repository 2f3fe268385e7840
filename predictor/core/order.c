/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/order.h"

int ft_order_rising(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

double ft_order_median(double *value, size_t count)
{
  qsort(value, count, sizeof *value, ft_order_rising);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}
