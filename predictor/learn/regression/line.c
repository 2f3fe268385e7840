/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/regression/line.h"

struct ft_line ft_line_fit(const double *x, const double *y, size_t count)
{
  struct ft_line l = { .count = count };
  double sum_x = 0, sum_y = 0, xy = 0, scale = 0;

  for (size_t i = 0; i < count; i++) {
    sum_x += x[i];
    sum_y += y[i];
    scale = fmax(scale, fabs(x[i]));
  }
  l.mean_x = sum_x / (double)count;
  for (size_t i = 0; i < count; i++) {
    l.sum_squares += (x[i] - l.mean_x) * (x[i] - l.mean_x);
    xy += (x[i] - l.mean_x) * (y[i] - sum_y / (double)count);
  }
  l.slope = l.sum_squares > 1e-12 * scale * scale * (double)count ? xy / l.sum_squares : 0;
  l.intercept = sum_y / (double)count - l.slope * l.mean_x;
  return l;
}
