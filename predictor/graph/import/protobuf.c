/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the protobuf wire format through a window of the file. */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/graph/import/protobuf.h"

/* Bytes read after a seek: one page, so that little of a skipped weight is read. */
enum { FIRST_CHUNK = 4096 };

int ft_proto_fail(struct ft_proto *p, uint64_t at, const char *format, ...)
{
  char text[384];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return ft_error_set(p->err, "%s: byte %llu: %s", p->name, (unsigned long long)at, text);
}

int ft_proto_init(struct ft_proto *p, int fd, const char *name, struct ft_error *err)
{
  struct stat st;

  p->name = name;
  p->fd = fd;
  p->err = err;
  p->at = p->start = p->taken = 0;
  p->length = p->chunk = 0;
  if (fstat(fd, &st) < 0)
    return ft_error_errno(err, "%s", name);
  p->size = (uint64_t)st.st_size;
  return 0;
}

/* Reads at least one byte at the cursor, which is before the end of the file; doubles the amount if
 * reading continues. Returns 0 or -1. */
static int fill_window(struct ft_proto *p)
{
  ssize_t got;

  if (p->length && p->at == p->start + p->length)
    p->chunk = p->chunk * 2 < FT_PROTO_WINDOW ? p->chunk * 2 : FT_PROTO_WINDOW;
  else
    p->chunk = FIRST_CHUNK;
  if (p->taken > FT_LIMIT_GRAPH_READ)
    return ft_proto_fail(p, p->at, "more than %d MiB of graph", FT_LIMIT_GRAPH_READ >> 20);
  do
    got = pread(p->fd, p->window, p->chunk, (off_t)p->at);
  while (got < 0 && errno == EINTR);
  if (got < 0)
    return ft_error_errno(p->err, "%s: byte %llu", p->name, (unsigned long long)p->at);
  if (got == 0)
    return ft_proto_fail(p, p->at, "the file ends in the middle of a field");
  p->start = p->at;
  p->length = (size_t)got;
  p->taken += (uint64_t)got;
  return 0;
}

static int read_byte(struct ft_proto *p, uint8_t *out)
{
  if ((p->at < p->start || p->at - p->start >= p->length) && fill_window(p) < 0)
    return -1;
  *out = p->window[p->at++ - p->start];
  return 0;
}

int ft_proto_copy(struct ft_proto *p, uint64_t at, void *out, size_t length)
{
  uint8_t *to = out;

  if (at > p->size || length > p->size - at)
    return ft_proto_fail(p, at, "%zu bytes expected, the file ends at %llu", length,
                         (unsigned long long)p->size);
  p->at = at;
  while (length) {
    size_t here, part;

    if ((p->at < p->start || p->at - p->start >= p->length) && fill_window(p) < 0)
      return -1;
    here = (size_t)(p->at - p->start);
    part = p->length - here < length ? p->length - here : length;
    memcpy(to, p->window + here, part);
    to += part;
    p->at += part;
    length -= part;
  }
  return 0;
}

/* Reads a varint that has to end before END. Returns 0 or -1. */
static int read_varint(struct ft_proto *p, uint64_t end, uint64_t *value)
{
  uint64_t begin = p->at, result = 0;
  uint8_t b = 0;

  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p->at >= end)
      return ft_proto_fail(p, begin, "a number goes past the end of its message (byte %llu)",
                           (unsigned long long)end);
    if (read_byte(p, &b) < 0)
      return -1;
    if (shift == 63 && b > 1)
      break;
    result |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *value = result;
      return 0;
    }
  }
  return ft_proto_fail(p, begin, "expected a number of at most 64 bits");
}

/* Reads a little-endian number of LENGTH bytes that has to end before END. Returns 0 or -1. */
static int read_fixed(struct ft_proto *p, uint64_t end, size_t length, uint64_t *value)
{
  uint8_t bytes[8] = { 0 };

  if (p->at > end || length > end - p->at)
    return ft_proto_fail(p, p->at, "a number goes past the end of its message (byte %llu)",
                         (unsigned long long)end);
  if (ft_proto_copy(p, p->at, bytes, length) < 0)
    return -1;
  *value = 0;
  for (size_t i = 0; i < length; i++)
    *value |= (uint64_t)bytes[i] << (8 * i);
  return 0;
}

int ft_proto_next(struct ft_proto *p, uint64_t end, struct ft_proto_field *field)
{
  uint64_t tag;

  if (field->number && field->wire == FT_PROTO_BYTES)
    p->at = field->end;
  if (p->at >= end)
    return 0;
  field->at = p->at;
  if (read_varint(p, end, &tag) < 0)
    return -1;
  field->wire = tag & 7;
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return ft_proto_fail(p, field->at, "expected a field number from 1 to 2^29-1: not protobuf");
  field->number = (uint32_t)(tag >> 3);
  switch (field->wire) {
  case FT_PROTO_VARINT:
    return read_varint(p, end, &field->value) < 0 ? -1 : 1;
  case FT_PROTO_FIXED64:
    return read_fixed(p, end, 8, &field->value) < 0 ? -1 : 1;
  case FT_PROTO_FIXED32:
    return read_fixed(p, end, 4, &field->value) < 0 ? -1 : 1;
  case FT_PROTO_BYTES:
    if (read_varint(p, end, &field->value) < 0)
      return -1;
    if (field->value > end - p->at)
      return ft_proto_fail(p, field->at,
                           "field %u of %llu bytes, but its message ends at byte %llu%s",
                           field->number, (unsigned long long)field->value, (unsigned long long)end,
                           end == p->size ? ": the file is incomplete" : "");
    field->end = p->at + field->value;
    return 1;
  default:
    return ft_proto_fail(p, field->at, "expected wire type 0, 1, 2 or 5, found %u: not protobuf",
                         field->wire);
  }
}

int ft_proto_integers(struct ft_proto *p, const struct ft_proto_field *field, int64_t *out,
                      size_t room, size_t *count)
{
  uint64_t value = field->value;

  if (field->wire == FT_PROTO_VARINT) {
    if (*count < room)
      out[*count] = (int64_t)value;
    *count = *count < room ? *count + 1 : room + 1;
    return 0;
  }
  if (field->wire != FT_PROTO_BYTES)
    return ft_proto_fail(p, field->at, "expected integers in field %u", field->number);
  while (p->at < field->end && *count <= room) {
    if (read_varint(p, field->end, &value) < 0)
      return -1;
    if (*count < room)
      out[*count] = (int64_t)value;
    ++*count;
  }
  return 0;
}

/* Returns the float or double of BITS, by WIRE. */
static double decode_real(uint64_t bits, uint32_t wire)
{
  uint32_t half = (uint32_t)bits;
  float single;
  double value;

  if (wire == FT_PROTO_FIXED32) {
    memcpy(&single, &half, sizeof single);
    return (double)single;
  }
  memcpy(&value, &bits, sizeof value);
  return value;
}

int ft_proto_reals(struct ft_proto *p, const struct ft_proto_field *field, uint32_t wire,
                   double *out, size_t room, size_t *count)
{
  size_t width = wire == FT_PROTO_FIXED32 ? 4 : 8;
  uint64_t bits = field->value;

  if (field->wire == wire) {
    if (*count < room)
      out[*count] = decode_real(bits, wire);
    *count = *count < room ? *count + 1 : room + 1;
    return 0;
  }
  if (field->wire != FT_PROTO_BYTES || field->value % width)
    return ft_proto_fail(p, field->at, "expected numbers of %zu bytes in field %u", width,
                         field->number);
  while (p->at < field->end && *count <= room) {
    if (read_fixed(p, field->end, width, &bits) < 0)
      return -1;
    if (*count < room)
      out[*count] = decode_real(bits, wire);
    ++*count;
  }
  return 0;
}
