/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/series/law.h"

double ft_law_log(const struct ft_law *law, const float *x, size_t count)
{
  double value[FT_LAW_VARIABLES], predicted;

  for (size_t v = 0; v < law->variables; v++) {
    const struct ft_variable *from = &law->variable[v];

    value[v] = from->column < count ? (double)x[from->column] : NAN;
    if (from->level)
      value[v] = value[v] == from->level - 1;
    else if (isnan(value[v]))
      return NAN;
  }
  predicted = ft_expression_evaluate(&law->code, value);
  return predicted >= 1 && predicted <= FT_LAW_MAX ? log(predicted) : NAN;
}
