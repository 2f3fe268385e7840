/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"

/* Appends the SIZE low bytes of BITS in little-endian order. */
static void append_little_endian(struct ft_buf *out, uint64_t bits, size_t size)
{
  unsigned char bytes[sizeof bits];

  for (size_t i = 0; i < size; i++)
    bytes[i] = (unsigned char)(bits >> 8 * i);
  (void)ft_buf_add(out, bytes, size);
}

static uint64_t parse_little_endian(const unsigned char *at, size_t size)
{
  uint64_t bits = 0;

  for (size_t i = 0; i < size; i++)
    bits |= (uint64_t)at[i] << 8 * i;
  return bits;
}

void ft_number_stream_double(struct ft_number_stream *s, double *value)
{
  uint64_t bits;

  if (s->out) {
    memcpy(&bits, value, sizeof bits);
    append_little_endian(s->out, bits, sizeof bits);
    return;
  }
  *value = 0;
  s->failed |= !s->left;
  if (s->failed)
    return;
  bits = parse_little_endian(s->at, sizeof bits);
  memcpy(value, &bits, sizeof bits);
  s->at += FT_NUMBER_STREAM_SIZE;
  s->left--;
  if (!isfinite(*value)) {
    s->failed = true;
    *value = 0;
  }
}

void ft_number_stream_doubles(struct ft_number_stream *s, double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    ft_number_stream_double(s, &value[i]);
}

void ft_number_stream_count(struct ft_number_stream *s, size_t *value, size_t min, size_t max)
{
  double number = (double)*value;

  ft_number_stream_double(s, &number);
  if (s->out)
    return;
  s->failed |= !(number >= (double)min && number <= (double)max) || number != floor(number);
  *value = s->failed ? min : (size_t)number;
}

void ft_number_stream_index(struct ft_number_stream *s, uint32_t *value, size_t min, size_t max)
{
  size_t wide = *value;

  ft_number_stream_count(s, &wide, min, max);
  *value = (uint32_t)wide;
}

void ft_number_stream_bool(struct ft_number_stream *s, bool *value)
{
  size_t wide = *value;

  ft_number_stream_count(s, &wide, 0, 1);
  *value = wide;
}

void *ft_number_stream_array(struct ft_number_stream *s, void *array, size_t count, size_t size,
                             size_t numbers)
{
  if (s->out)
    return array;
  array = s->failed || count > s->left / numbers ? NULL : calloc(count ? count : 1, size);
  s->failed |= !array;
  return array;
}

void ft_number_stream_vector(struct ft_number_stream *s, double **value, size_t count)
{
  *value = ft_number_stream_array(s, *value, count, sizeof **value, 1);
  if (*value)
    ft_number_stream_doubles(s, *value, count);
}

void ft_number_stream_floats(struct ft_number_stream *s, float **value, size_t count)
{
  size_t padded = count + count % 2;
  uint32_t bits;

  *value = ft_number_stream_array(s, *value, padded / 2, 2 * sizeof **value, 1);
  for (size_t i = 0; *value && s->out && i < padded; i++) {
    bits = 0;
    if (i < count)
      memcpy(&bits, &(*value)[i], sizeof bits);
    append_little_endian(s->out, bits, sizeof bits);
  }
  if (s->out || !*value)
    return;
  for (size_t i = 0; i < count; i++) {
    bits = (uint32_t)parse_little_endian(s->at + i * sizeof bits, sizeof bits);
    memcpy(&(*value)[i], &bits, sizeof bits);
    s->failed |= !isfinite((*value)[i]);
  }
  s->at += padded / 2 * FT_NUMBER_STREAM_SIZE;
  s->left -= padded / 2;
}
