/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A law: an equation that predicts a number from columns. */
#ifndef FT_LEARN_SERIES_LAW_H
#define FT_LEARN_SERIES_LAW_H

#include "predictor/learn/symbolic/expression.h"

/* Maximum of a prediction; in bytes 1 PiB, more than a node has. */
#define FT_LAW_MAX 0x1p50

enum { FT_LAW_VARIABLES = 12 /* largest number of variables: ft_equation.columns */ };

/* A variable of a law: a numeric column, or the indicator of one category. */
struct ft_variable {
  uint8_t column; /* index of the column */
  uint8_t level;  /* 0: the number; else 1 + index of the category */
};

struct ft_law {
  struct ft_expression code; /* length 0: there is no law */
  size_t variables;
  struct ft_variable variable[FT_LAW_VARIABLES];
};

/*
 * Fills LAW with CODE, a valid expression of VARIABLES, without the variables that CODE does not
 * read. Returns false, and leaves LAW without code, if CODE reads more than FT_LAW_VARIABLES.
 */
bool ft_law_make(const struct ft_expression *code, const struct ft_variable *variables,
                 struct ft_law *law);

/*
 * Returns the natural logarithm of the number that LAW predicts at the COUNT values X, one per
 * column. Returns NaN if a number that the law reads is missing, or the prediction is not between 1
 * and FT_LAW_MAX. LAW must have code.
 */
double ft_law_log(const struct ft_law *law, const float *x, size_t count);

#endif
