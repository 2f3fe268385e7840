/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Serialises fitted models as a stream of numbers, each an IEEE 754 double in little-endian order
 * on every machine. As with xdr(3), one function writes and reads: a model's serialise function
 * visits its fields once, and the stream has the direction. Reading starts from a zeroed model,
 * checks the length at every step, and allocates the arrays.
 */
#ifndef FT_LEARN_NUMBER_STREAM_H
#define FT_LEARN_NUMBER_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/buf.h"

enum { FT_NUMBER_STREAM_SIZE = 8 }; /* bytes of a number */

struct ft_number_stream {
  struct ft_buf *out;      /* writing: numbers are appended to it; NULL: reading. Not owned */
  const unsigned char *at; /* reading: next number. Not owned */
  size_t left;             /* reading: numbers not yet read */
  bool failed; /* reading: too short, not finite, or out of range; stays set, so callers may check
                  once */
};

/* Writes or reads VALUE, which must be finite if read; 0 once failed. */
void ft_number_stream_double(struct ft_number_stream *s, double *value);

/* Writes or reads COUNT numbers VALUE. */
void ft_number_stream_doubles(struct ft_number_stream *s, double *value, size_t count);

/* Writes or reads VALUE, which must be an integer from MIN to MAX if read; MIN once failed. */
void ft_number_stream_count(struct ft_number_stream *s, size_t *value, size_t min, size_t max);

/* As ft_number_stream_count, for other types. */

void ft_number_stream_index(struct ft_number_stream *s, uint32_t *value, size_t min, size_t max);
void ft_number_stream_bool(struct ft_number_stream *s, bool *value);

/*
 * Reading: returns zeroed memory for COUNT elements of SIZE bytes, which the caller frees; NULL,
 * and the stream fails, if fewer than COUNT * NUMBERS numbers are left or memory is exhausted.
 * Writing: returns ARRAY.
 */
void *ft_number_stream_array(struct ft_number_stream *s, void *array, size_t count, size_t size,
                             size_t numbers);

/* Writes COUNT numbers, or reads them into an array that the caller frees, NULL on error. */
void ft_number_stream_vector(struct ft_number_stream *s, double **value, size_t count);

/* As ft_number_stream_vector, for COUNT floats: two per number, an odd last one padded with 0. */
void ft_number_stream_floats(struct ft_number_stream *s, float **value, size_t count);

#endif
