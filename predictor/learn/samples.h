/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training rows for learners with several outputs. */
#ifndef FT_LEARN_SAMPLES_H
#define FT_LEARN_SAMPLES_H

#include <stddef.h>

/* Features x[row * columns + column], targets y[row * outputs + output]; all finite. Not owned. */
struct ft_samples {
  const double *x, *y;
  size_t rows, columns, outputs;
};

#endif
