/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/estimate/equation.h"

enum {
  /* first code byte of a variable; smaller ones are an enum ft_symbol (foretell.proto) */
  FIRST_VARIABLE = 32,
  CONSTANTS = sizeof((ft_equation *)NULL)->constants / sizeof(double)
};
_Static_assert(sizeof((ft_equation *)NULL)->columns == FT_LAW_VARIABLES, "foretell.options");

bool ft_equation_open(const ft_equation *q, struct ft_law *law)
{
  struct ft_expression *code = &law->code;
  size_t constants = 0;

  if (!q->code.size || q->code.size > FT_EXPRESSION_NODES || q->columns_count != q->scales_count ||
      q->levels_count != q->scales_count)
    return false;
  code->length = (uint8_t)q->code.size;
  code->intercept = q->intercept;
  code->slope = q->slope;
  for (size_t i = 0; i < q->code.size; i++) {
    uint8_t byte = q->code.bytes[i];

    code->symbol[i] = byte < FIRST_VARIABLE ? byte : FT_SYMBOL_VARIABLE;
    code->variable[i] = byte < FIRST_VARIABLE ? 0 : (uint8_t)(byte - FIRST_VARIABLE);
    code->scale[i] = code->variable[i] < q->scales_count ? q->scales[code->variable[i]] : 0;
    if (byte != FT_SYMBOL_CONSTANT)
      continue;
    if (constants == q->constants_count)
      return false;
    code->constant[i] = q->constants[constants++];
  }
  law->variables = q->columns_count;
  for (size_t v = 0; v < q->columns_count; v++)
    law->variable[v] = (struct ft_variable){ q->columns[v], q->levels[v] };
  return ft_expression_valid(code, q->scales_count);
}

void ft_equation_pack(const struct ft_law *law, ft_equation *q)
{
  const struct ft_expression *code = &law->code;

  q->code.size = code->length;
  q->constants_count = 0;
  q->columns_count = q->levels_count = q->scales_count = (pb_size_t)law->variables;
  q->intercept = code->intercept;
  q->slope = code->slope;
  for (size_t v = 0; v < law->variables; v++) {
    q->columns[v] = law->variable[v].column;
    q->levels[v] = law->variable[v].level;
  }
  for (size_t i = 0; i < code->length; i++) {
    q->code.bytes[i] = code->symbol[i];
    if (code->symbol[i] == FT_SYMBOL_CONSTANT && q->constants_count < CONSTANTS)
      q->constants[q->constants_count++] = code->constant[i];
    if (code->symbol[i] != FT_SYMBOL_VARIABLE)
      continue;
    q->scales[code->variable[i]] = code->scale[i];
    q->code.bytes[i] = (uint8_t)(FIRST_VARIABLE + code->variable[i]);
  }
}
