/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the duration of one cross-platform prediction.
 *
 *   relative_speed MODEL DATA.csv    MODEL: of foretell train relative; DATA.csv: its table
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "predictor/cli/relative/relative.h"
#include "predictor/estimate/relative.h"
#include "predictor/core/io.h"
#include "predictor/core/sort.h"

enum { PREDICTIONS = 2000 };

int main(int argc, char **argv)
{
  static const struct ft_relative_reading all;
  double seconds[FT_RELATIVE_PLATFORMS], took[PREDICTIONS], begin, first;
  struct ft_relative_model m;
  struct ft_relative_table t;
  struct ft_relative_prediction a;
  struct ft_error err;

  if (argc != 3) {
    fprintf(stderr, "usage: relative_speed MODEL DATA.csv\n");
    return 2;
  }
  begin = ft_io_monotonic();
  if (ft_relative_load(argv[1], &m, &err) < 0 || ft_relative_read(argv[2], &all, &t, &err) < 0 ||
      t.features < m.features || !t.rows) {
    fprintf(stderr, "relative_speed: not a model and its table\n");
    return 1;
  }
  printf("model and table read in %.1f ms\n", 1e3 * (ft_io_monotonic() - begin));
  for (size_t p = 0; p < FT_RELATIVE_PLATFORMS; p++)
    seconds[p] = NAN;
  for (size_t i = 0; i < PREDICTIONS; i++) {
    seconds[0] = (double)(1 + i);
    begin = ft_io_monotonic();
    if (ft_relative_predict(&m, t.x + i % t.rows * t.features, seconds, &a, &err) < 0)
      return 1;
    took[i] = 1e6 * (ft_io_monotonic() - begin);
  }
  first = took[0];
  printf("a prediction of %zu platforms: median %.1f us, first %.1f us\n", m.platforms - 1,
         ft_sort_median(took, PREDICTIONS), first);
  ft_relative_table_free(&t);
  ft_relative_model_free(&m);
  return 0;
}
