/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/symbolic/expression.h"

bool ft_expression_valid(const struct ft_expression *e, size_t variables)
{
  int depth = 0;

  if (!e->length || e->length > FT_EXPRESSION_NODES || variables > FT_EXPRESSION_VARIABLES ||
      !isfinite(e->intercept) || !isfinite(e->slope))
    return false;
  for (int i = 0; i < e->length; i++) {
    int arity;

    if (e->symbol[i] >= FT_SYMBOLS)
      return false;
    arity = ft_symbol_arity(e->symbol[i]);
    if (arity > depth || (e->symbol[i] == FT_SYMBOL_CONSTANT && !isfinite(e->constant[i])) ||
        (e->symbol[i] == FT_SYMBOL_VARIABLE &&
         (e->variable[i] >= variables || !isfinite(e->scale[i]) || e->scale[i] == 0)))
      return false;
    depth += 1 - arity;
    if (depth > FT_EXPRESSION_DEPTH)
      return false;
  }
  return depth == 1;
}

int ft_expression_start(const struct ft_expression *e, int i)
{
  int need = 1;

  for (; need; i--)
    need += ft_symbol_arity(e->symbol[i]) - 1;
  return i + 1;
}

double ft_expression_evaluate(const struct ft_expression *e, const double *x)
{
  double stack[FT_EXPRESSION_DEPTH + 1], *a = stack; /* the first is never used */

  for (int i = 0; i < e->length; i++) {
    switch ((enum ft_symbol)e->symbol[i]) {
    case FT_SYMBOL_CONSTANT:
      *++a = e->constant[i];
      continue;
    case FT_SYMBOL_VARIABLE:
      *++a = x[e->variable[i]] / e->scale[i];
      continue;
    case FT_SYMBOL_ADD:
      a--, *a += a[1];
      continue;
    case FT_SYMBOL_MULTIPLY:
      a--, *a *= a[1];
      continue;
    case FT_SYMBOL_SQUARE:
      *a *= *a;
      continue;
    case FT_SYMBOL_CUBE:
      *a *= *a * *a;
      continue;
    case FT_SYMBOL_SUBTRACT:
      a--, *a -= a[1];
      continue;
    case FT_SYMBOL_DIVIDE:
      a--, *a /= a[1];
      continue;
    case FT_SYMBOL_ROOT:
      *a = sqrt(fabs(*a));
      continue;
    case FT_SYMBOL_LOG:
      *a = log1p(fabs(*a));
      continue;
    case FT_SYMBOL_SINE:
      *a = sin(*a);
      continue;
    case FT_SYMBOL_COSINE:
      *a = cos(*a);
      continue;
    case FT_SYMBOL_EXPONENTIAL:
      *a = exp(*a);
      continue;
    case FT_SYMBOL_MINIMUM:
      a--, *a = a[1] < *a ? a[1] : *a;
      continue;
    case FT_SYMBOLS:
      break;
    }
  }
  return e->intercept + e->slope * *a;
}
