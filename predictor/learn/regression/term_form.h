/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of a number that a term may be proportional to. */
#ifndef FT_LEARN_TERM_FORM_H
#define FT_LEARN_TERM_FORM_H

#include <math.h>

/* Model files use these numbers: append only. */
enum ft_term_form {
  FT_FORM_PLAIN,
  FT_FORM_LOG, /* log(1 + |x|) */
  FT_FORM_INVERSE,
  FT_FORM_X_LOG_X, /* x log(1 + |x|) */
  FT_FORM_SQUARE,
  FT_FORM_CUBE,
  FT_FORMS
};

/* Returns the FORM of X. */
static inline double ft_term_form_of(enum ft_term_form form, double x)
{
  switch (form) {
  case FT_FORM_LOG:
    return log1p(fabs(x));
  case FT_FORM_INVERSE:
    return 1 / x;
  case FT_FORM_X_LOG_X:
    return x * log1p(fabs(x));
  case FT_FORM_SQUARE:
    return x * x;
  case FT_FORM_CUBE:
    return x * x * x;
  default:
    return x;
  }
}

#endif
