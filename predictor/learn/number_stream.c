/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"

void ft_number_stream_write(struct ft_number_stream *out, double value)
{
  unsigned char bytes[FT_NUMBER_STREAM_SIZE];
  uint64_t bits;

  memcpy(&bits, &value, sizeof bits);
  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(bits >> 8 * i);
  (void)ft_buf_add(out->buf, bytes, sizeof bytes);
}

void ft_number_stream_write_all(struct ft_number_stream *out, const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    ft_number_stream_write(out, value[i]);
}

void ft_number_stream_write_floats(struct ft_number_stream *out, const float *value, size_t count)
{
  unsigned char bytes[sizeof(float)];
  uint32_t bits;

  for (size_t i = 0; i < (count + 1) / 2 * 2; i++) {
    float v = i < count ? value[i] : 0;

    memcpy(&bits, &v, sizeof bits);
    for (size_t k = 0; k < sizeof bytes; k++)
      bytes[k] = (unsigned char)(bits >> 8 * k);
    (void)ft_buf_add(out->buf, bytes, sizeof bytes);
  }
}

double ft_number_reader_read(struct ft_number_reader *in)
{
  uint64_t bits = 0;
  double value;

  if (in->failed || !in->left) {
    in->failed = true;
    return 0;
  }
  for (size_t i = 0; i < FT_NUMBER_STREAM_SIZE; i++)
    bits |= (uint64_t)in->at[i] << 8 * i;
  memcpy(&value, &bits, sizeof value);
  in->at += FT_NUMBER_STREAM_SIZE;
  in->left--;
  if (!isfinite(value)) {
    in->failed = true;
    return 0;
  }
  return value;
}

size_t ft_number_reader_read_count(struct ft_number_reader *in, size_t least, size_t most)
{
  double value = ft_number_reader_read(in);

  if (in->failed || !(value >= (double)least && value <= (double)most) || value != floor(value)) {
    in->failed = true;
    return least;
  }
  return (size_t)value;
}

double *ft_number_reader_read_all(struct ft_number_reader *in, size_t count)
{
  double *value = NULL;

  if (in->failed || count > in->left || !(value = malloc((count ? count : 1) * sizeof *value))) {
    in->failed = true;
    return NULL;
  }
  for (size_t i = 0; i < count; i++)
    value[i] = ft_number_reader_read(in);
  if (in->failed) {
    free(value);
    value = NULL;
  }
  return value;
}

float *ft_number_reader_read_floats(struct ft_number_reader *in, size_t count)
{
  size_t places = count / 2 + count % 2;
  float *value = NULL;

  if (in->failed || places > in->left || !(value = malloc((count ? count : 1) * sizeof *value)))
    in->failed = true;
  for (size_t i = 0; !in->failed && i < count; i++) {
    const unsigned char *at = in->at + i * sizeof(float);
    uint32_t bits = 0;

    for (size_t k = 0; k < sizeof bits; k++)
      bits |= (uint32_t)at[k] << 8 * k;
    memcpy(&value[i], &bits, sizeof bits);
    in->failed = !isfinite(value[i]);
  }
  if (in->failed) {
    free(value);
    return NULL;
  }
  in->at += places * FT_NUMBER_STREAM_SIZE;
  in->left -= places;
  return value;
}
