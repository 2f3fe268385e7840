/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"

void ft_buf_init(struct ft_buf *buf, size_t limit)
{
  *buf = (struct ft_buf){ .limit = limit };
}

void ft_buf_free(struct ft_buf *buf)
{
  free(buf->data);
  ft_buf_init(buf, buf->limit);
}

static int reserve_bytes(struct ft_buf *buf, size_t more)
{
  size_t need, size;
  char *data;

  if (buf->failed || more > buf->limit - buf->length) {
    buf->failed = true;
    return -1;
  }
  need = buf->length + more + 1;
  if (need <= buf->size)
    return 0;
  size = buf->size ? buf->size : 128;
  while (size < need)
    size *= 2;
  data = realloc(buf->data, size);
  if (!data) {
    buf->failed = true;
    return -1;
  }
  buf->data = data;
  buf->size = size;
  return 0;
}

int ft_buf_add(struct ft_buf *buf, const void *data, size_t length)
{
  if (reserve_bytes(buf, length) < 0)
    return -1;
  if (length)
    memcpy(buf->data + buf->length, data, length);
  buf->length += length;
  buf->data[buf->length] = '\0';
  return 0;
}

int ft_buf_printf(struct ft_buf *buf, const char *format, ...)
{
  va_list ap;
  int length;

  va_start(ap, format);
  length = vsnprintf(NULL, 0, format, ap);
  va_end(ap);
  if (length < 0 || reserve_bytes(buf, (size_t)length) < 0) {
    buf->failed = true;
    return -1;
  }
  va_start(ap, format);
  (void)vsnprintf(buf->data + buf->length, (size_t)length + 1, format, ap);
  va_end(ap);
  buf->length += (size_t)length;
  return 0;
}

const char *ft_buf_text(const struct ft_buf *buf)
{
  return buf->data ? buf->data : "";
}
