/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "predictor/record/file_header.h"
#include "predictor/record/run_columns.h"

enum { COLUMN_HEADER = 8 }; /* bytes */

/* A field of ft_run. The position in the table is its number in files: append only. */
static const struct run_field {
  size_t offset, size; /* of a value, in bytes */
  size_t elements;     /* of a list */
} fields[] = {
#define SCALAR(name)                                                                               \
  {                                                                                                \
    offsetof(ft_run, name), sizeof((ft_run *)NULL)->name, 1                                        \
  }
  SCALAR(key),
  SCALAR(time),
  SCALAR(bytes),
  SCALAR(runtime_seconds),
  SCALAR(censored),
  SCALAR(sampled),
  SCALAR(killed_by),
  SCALAR(x_count),
  { offsetof(ft_run, x), sizeof(float), FT_HISTORY_COLUMNS },
  SCALAR(predicted_log),
  SCALAR(equation_log),
  SCALAR(residual),
  SCALAR(gpu_bytes),
  SCALAR(network_bytes),
  SCALAR(gpu),
  SCALAR(gpu_limit_bytes),
  SCALAR(out_of_memory),
  SCALAR(submitted)
#undef SCALAR
};

enum { FIELDS = sizeof fields / sizeof *fields };

/* Copies a number of SIZE bytes between memory and file, which is little-endian. */
static void copy_number(void *to, const void *from, size_t size)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  memcpy(to, from, size);
#else
  for (size_t i = 0; i < size; i++)
    ((char *)to)[i] = ((const char *)from)[size - 1 - i];
#endif
}

static bool are_zeros(const unsigned char *data, size_t length)
{
  return !length || (!data[0] && memcmp(data, data + 1, length - 1) == 0);
}

/* Appends element ELEMENT of field NUMBER of all runs to OUT, but not if it is 0 in each. Returns
 * 0; -1 over OUT's limit. */
static int add_column(const struct ft_history *history, size_t number, size_t element,
                      struct ft_buf *out)
{
  const struct run_field *field = &fields[number];
  unsigned char column[COLUMN_HEADER + FT_HISTORY_RUNS * sizeof(uint64_t)];
  unsigned char *values = column + COLUMN_HEADER;
  size_t length = history->count * field->size;

  for (size_t i = 0; i < history->count; i++)
    copy_number(values + i * field->size,
                (const char *)&history->run[i] + field->offset + element * field->size,
                field->size);
  if (are_zeros(values, length))
    return 0;
  ft_put32(column, (uint32_t)(number | element << 16));
  ft_put32(column + 4, (uint32_t)field->size);
  return ft_buf_add(out, column, COLUMN_HEADER + length);
}

int ft_history_encode(const struct ft_history *history, struct ft_buf *out, struct ft_error *err)
{
  unsigned char count[4];
  int status;

  ft_put32(count, (uint32_t)history->count);
  status = ft_buf_add(out, count, sizeof count);
  for (size_t f = 0; f < FIELDS && status == 0; f++)
    for (size_t e = 0; e < fields[f].elements && status == 0; e++)
      status = add_column(history, f, e, out);
  return status < 0
             ? ft_error_set(err, "history: longer than %zu bytes, or out of memory", out->limit)
             : 0;
}

static int reject_history(struct ft_error *err, size_t at, const char *what)
{
  errno = EBADMSG;
  return ft_error_set(err, "history: byte %zu: %s", at, what);
}

/* Sets element ELEMENT of FIELD of all runs to the VALUES of a column. */
static void read_column(const struct run_field *field, size_t element, const unsigned char *values,
                        struct ft_history *history)
{
  for (size_t i = 0; i < history->count; i++)
    copy_number((char *)&history->run[i] + field->offset + element * field->size,
                values + i * field->size, field->size);
}

int ft_history_decode(const unsigned char *data, size_t length, struct ft_history *history,
                      struct ft_error *err)
{
  size_t at = sizeof(uint32_t);

  history->count = length < at ? 0 : ft_get32(data);
  if (length < at)
    return reject_history(err, 0, "truncated");
  if (history->count > FT_HISTORY_RUNS)
    return reject_history(err, 0, "more runs than this version of foretell keeps");
  memset(history->run, 0, history->count * sizeof *history->run);
  while (at < length) {
    size_t left = length - at, number, element, size;

    if (left < COLUMN_HEADER)
      return reject_history(err, at, "truncated");
    number = ft_get32(data + at) & 0xffff;
    element = ft_get32(data + at) >> 16;
    size = ft_get32(data + at + 4);
    if (history->count && size > (left - COLUMN_HEADER) / history->count)
      return reject_history(err, at, "truncated");
    if (number < FIELDS && size == fields[number].size && element < fields[number].elements)
      read_column(&fields[number], element, data + at + COLUMN_HEADER, history);
    at += COLUMN_HEADER + history->count * size;
  }
  for (size_t i = 0; i < history->count; i++)
    if (history->run[i].x_count > FT_HISTORY_COLUMNS)
      return reject_history(err, 0, "a run has more features than this version of foretell keeps");
  return 0;
}
