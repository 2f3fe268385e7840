/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fitted models as one run of numbers, each an IEEE 754 double of 8 bytes, the lowest first, on
 * every machine: how they are kept, and read with a bound at every step.
 */
#ifndef FT_LEARN_NUMBER_STREAM_H
#define FT_LEARN_NUMBER_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/buf.h"

enum { FT_NUMBER_STREAM_SIZE = 8 }; /* bytes of one */

/* Numbers are added to the end of BUF. */
struct ft_number_stream {
  struct ft_buf *buf;
};

struct ft_number_reader {
  const unsigned char *at;
  size_t left; /* numbers that are still to be read */
  bool failed; /* more was wanted than there is, or it was out of range; sticky */
};

void ft_number_stream_write(struct ft_number_stream *out, double value);
void ft_number_stream_write_all(struct ft_number_stream *out, const double *value, size_t count);

/* COUNT of single precision, two in the place of a number; the last place is filled with 0. */
void ft_number_stream_write_floats(struct ft_number_stream *out, const float *value, size_t count);

/* The next number; it must be finite. 0 once failed. */
double ft_number_reader_read(struct ft_number_reader *in);

/* The next number, which must be whole and from LEAST to MOST. LEAST once failed. */
size_t ft_number_reader_read_count(struct ft_number_reader *in, size_t least, size_t most);

/*
 * The next COUNT numbers, in memory of their own (one place at least) that the caller frees. NULL,
 * and failed, when there are not as many or memory is out.
 */
double *ft_number_reader_read_all(struct ft_number_reader *in, size_t count);

/* The same of COUNT of single precision. */
float *ft_number_reader_read_floats(struct ft_number_reader *in, size_t count);

#endif
