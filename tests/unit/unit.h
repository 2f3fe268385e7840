/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common includes of all unit tests, in the order that cmocka requires. */
#ifndef FT_TESTS_UNIT_H
#define FT_TESTS_UNIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* Fails unless A and B differ by at most RELATIVE of B. */
#define assert_near(a, b, relative)                                                      \
  do {                                                                                   \
    double a_ = (a), b_ = (b);                                                           \
    if (!(fabs(a_ - b_) <= (relative) * fabs(b_)))                                       \
      fail_msg("%s = %.9g, expected %.9g within %g", #a, a_, b_, (double)(relative));    \
  } while (0)

#endif
