/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fitted models as one run of numbers, each an IEEE 754 double of 8 bytes, the lowest first, on
 * every machine: how they are kept, and read with a bound at every step.
 */
#ifndef FT_LEARN_NUMBERS_H
#define FT_LEARN_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/buf.h"

enum { FT_NUMBERS_SIZE = 8 }; /* bytes of one */

/* Numbers are added to the end of BUF. */
struct ft_numbers {
  struct ft_buf *buf;
};

struct ft_numbers_reader {
  const unsigned char *at;
  size_t left; /* numbers that are still to be read */
  bool failed; /* more was wanted than there is, or it was out of range; sticky */
};

void ft_numbers_put(struct ft_numbers *out, double value);
void ft_numbers_put_all(struct ft_numbers *out, const double *value, size_t count);

/* COUNT of single precision, two in the place of a number; the last place is filled with 0. */
void ft_numbers_put_floats(struct ft_numbers *out, const float *value, size_t count);

/* The next number; it must be finite. 0 once failed. */
double ft_numbers_take(struct ft_numbers_reader *in);

/* The next number, which must be whole and from LEAST to MOST. LEAST once failed. */
size_t ft_numbers_take_count(struct ft_numbers_reader *in, size_t least, size_t most);

/*
 * The next COUNT numbers, in memory of their own (one place at least) that the caller frees. NULL,
 * and failed, when there are not as many or memory is out.
 */
double *ft_numbers_take_all(struct ft_numbers_reader *in, size_t count);

/* The same of COUNT of single precision. */
float *ft_numbers_take_floats(struct ft_numbers_reader *in, size_t count);

#endif
