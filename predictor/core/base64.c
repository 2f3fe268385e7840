/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void ft_base64_encode(const uint8_t *data, size_t length, char *out)
{
  for (size_t i = 0; i < length; i += 3) {
    uint32_t v = (uint32_t)data[i] << 16;

    if (i + 1 < length)
      v |= (uint32_t)data[i + 1] << 8;
    if (i + 2 < length)
      v |= data[i + 2];
    *out++ = alphabet[v >> 18];
    *out++ = alphabet[v >> 12 & 63];
    *out++ = i + 1 < length ? alphabet[v >> 6 & 63] : '=';
    *out++ = i + 2 < length ? alphabet[v & 63] : '=';
  }
  *out = '\0';
}

static int base64_digit(char c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ssize_t ft_base64_decode(const char *text, uint8_t *out, size_t size)
{
  size_t length = strlen(text), used = 0;

  if (length % 4)
    return -1;
  for (size_t i = 0; i < length; i += 4) {
    size_t pad = 0, bytes;
    uint32_t v = 0;

    for (size_t j = 0; j < 4; j++) {
      int d = base64_digit(text[i + j]);

      if (text[i + j] == '=' && i + 4 == length && j >= 2)
        pad++, d = 0;
      else if (d < 0 || pad)
        return -1;
      v = v << 6 | (uint32_t)d;
    }
    bytes = 3 - pad;
    if (used + bytes > size)
      return -1;
    for (size_t j = 0; j < bytes; j++)
      out[used++] = (uint8_t)(v >> (16 - 8 * j));
  }
  return (ssize_t)used;
}
