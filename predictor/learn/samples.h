/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of numbers with several targets each: what the learners of many outputs are given. */
#ifndef FT_LEARN_SAMPLES_H
#define FT_LEARN_SAMPLES_H

#include <stddef.h>

/* x[row * columns + column], y[row * outputs + output]; all finite. Not owned. */
struct ft_samples {
  const double *x, *y;
  size_t rows, columns, outputs;
};

#endif
