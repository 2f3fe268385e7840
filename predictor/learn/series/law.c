/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/learn/series/law.h"

bool ft_law_make(const struct ft_expression *code, const struct ft_variable *variables,
                 struct ft_law *law)
{
  uint8_t number[FT_EXPRESSION_VARIABLES]; /* of each variable: 1 + index in LAW; 0: not yet */
  double scale[FT_LAW_VARIABLES];

  memset(number, 0, sizeof number);
  law->code = *code;
  law->code.length = 0;
  law->variables = 0;
  for (size_t i = 0; i < code->length; i++) {
    uint8_t v = code->variable[i];

    if (code->symbol[i] != FT_SYMBOL_VARIABLE)
      continue;
    if (!number[v]) {
      if (law->variables == FT_LAW_VARIABLES)
        return false;
      scale[law->variables] = code->scale[i];
      law->variable[law->variables++] = variables[v];
      number[v] = (uint8_t)law->variables;
    }
    law->code.variable[i] = (uint8_t)(number[v] - 1);
    law->code.scale[i] = scale[number[v] - 1];
  }
  law->code.length = code->length;
  return true;
}

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
