/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Serialises fitted models as a stream of numbers, each an IEEE 754 double in little-endian order
 * on every machine. Reading checks the length at every step.
 */
#ifndef FT_LEARN_NUMBER_STREAM_H
#define FT_LEARN_NUMBER_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/buf.h"

enum { FT_NUMBER_STREAM_SIZE = 8 }; /* bytes of a number */

/* Writer: appends to BUF, which is not owned. */
struct ft_number_stream {
  struct ft_buf *buf;
};

/* Reader. It stays failed after the first error, so callers may check once. */
struct ft_number_reader {
  const unsigned char *at;
  size_t left; /* numbers not yet read */
  bool failed; /* too short, not finite, or out of range */
};

/* Appends VALUE, or COUNT values. */

void ft_number_stream_write(struct ft_number_stream *out, double value);
void ft_number_stream_write_all(struct ft_number_stream *out, const double *value, size_t count);

/* Appends COUNT floats, two per number; an odd last one is padded with 0. */
void ft_number_stream_write_floats(struct ft_number_stream *out, const float *value, size_t count);

/* Returns the next number, which must be finite; 0 once failed. */
double ft_number_reader_read(struct ft_number_reader *in);

/* Returns the next number, which must be an integer from LEAST to MOST; LEAST once failed. */
size_t ft_number_reader_read_count(struct ft_number_reader *in, size_t least, size_t most);

/*
 * Returns the next COUNT numbers in an array that the caller frees. Returns NULL, and sets
 * in->failed, if there are fewer or memory is exhausted.
 */
double *ft_number_reader_read_all(struct ft_number_reader *in, size_t count);

/* As ft_number_reader_read_all, for COUNT floats. */
float *ft_number_reader_read_floats(struct ft_number_reader *in, size_t count);

#endif
