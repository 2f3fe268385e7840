/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "predictor/record/file_header.h"
#include "predictor/record/run_columns.h"

enum { COLUMN_HEADER = 8 }; /* bytes */

/* A field of a run. The position in its table is its number in files: append only. */
struct run_field {
  size_t offset, size; /* of a value, in bytes */
  size_t elements;     /* of a list */
};

#define SCALAR(type, name)                                                                         \
  {                                                                                                \
    offsetof(type, name), sizeof((type *)NULL)->name, 1                                            \
  }
#define LIST(type, name)                                                                           \
  {                                                                                                \
    offsetof(type, name), sizeof(float), sizeof((type *)NULL)->name / sizeof(float)                \
  }

/* COUNT values of an ft_run from quantity FIRST. */
#define VALUES(first, count)                                                                       \
  {                                                                                                \
    offsetof(ft_run, values[first]), sizeof(float), count                                          \
  }

static const struct run_field fields_of_run[] = { SCALAR(ft_run, key),
                                                  SCALAR(ft_run, time),
                                                  SCALAR(ft_run, bytes),
                                                  SCALAR(ft_run, runtime_seconds),
                                                  SCALAR(ft_run, censored),
                                                  SCALAR(ft_run, sampled),
                                                  SCALAR(ft_run, killed_by),
                                                  SCALAR(ft_run, x_count),
                                                  LIST(ft_run, x),
                                                  SCALAR(ft_run, predicted_log),
                                                  SCALAR(ft_run, equation_log),
                                                  SCALAR(ft_run, residual),
                                                  VALUES(1, 1),
                                                  SCALAR(ft_run, network_bytes),
                                                  SCALAR(ft_run, gpu),
                                                  SCALAR(ft_run, gpu_limit_bytes),
                                                  SCALAR(ft_run, out_of_memory),
                                                  SCALAR(ft_run, submitted),
                                                  SCALAR(ft_run, requested_bytes),
                                                  VALUES(2, FT_RUN_VALUES - 2) };

static const struct run_field fields_of_timed_run[] = { SCALAR(ft_timed_run, key),
                                                        SCALAR(ft_timed_run, time),
                                                        SCALAR(ft_timed_run, seconds),
                                                        SCALAR(ft_timed_run, platform),
                                                        SCALAR(ft_timed_run, x_count),
                                                        LIST(ft_timed_run, x),
                                                        SCALAR(ft_timed_run, run_features_count),
                                                        LIST(ft_timed_run, run_features),
                                                        SCALAR(ft_timed_run, values_count),
                                                        LIST(ft_timed_run, values) };

/* A list of runs: its fields, the bytes of a run, and the maximum number. */
static const struct run_layout {
  const struct run_field *field;
  size_t fields, size, max_runs;
} history_layout = { fields_of_run, sizeof fields_of_run / sizeof *fields_of_run, sizeof(ft_run),
                     FT_HISTORY_RUNS },
  runtimes_layout = { fields_of_timed_run, sizeof fields_of_timed_run / sizeof *fields_of_timed_run,
                      sizeof(ft_timed_run), FT_RUNTIME_RUNS };

const char *ft_category_name(const ft_categories *categories, size_t column, size_t level)
{
  if (column >= categories->columns_count || level >= categories->columns[column].name_count)
    return "?";
  return categories->columns[column].name[level];
}

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

/* Appends element ELEMENT of field NUMBER of the COUNT RUNS to OUT, but not if it is 0 in each.
 * Returns 0; -1 over OUT's limit. */
static int add_column(const struct run_layout *layout, const void *runs, size_t count,
                      size_t number, size_t element, struct ft_buf *out)
{
  const struct run_field *field = &layout->field[number];
  unsigned char column[COLUMN_HEADER + FT_HISTORY_RUNS * sizeof(uint64_t)];
  unsigned char *values = column + COLUMN_HEADER;
  size_t length = count * field->size;

  for (size_t i = 0; i < count; i++)
    copy_number(values + i * field->size,
                (const char *)runs + i * layout->size + field->offset + element * field->size,
                field->size);
  if (are_zeros(values, length))
    return 0;
  ft_put32(column, (uint32_t)(number | element << 16));
  ft_put32(column + 4, (uint32_t)field->size);
  return ft_buf_add(out, column, COLUMN_HEADER + length);
}

static int encode_runs(const struct run_layout *layout, const void *runs, size_t count,
                       struct ft_buf *out, struct ft_error *err)
{
  unsigned char start[4];
  int status;

  ft_put32(start, (uint32_t)count);
  status = ft_buf_add(out, start, sizeof start);
  for (size_t f = 0; f < layout->fields && status == 0; f++)
    for (size_t e = 0; e < layout->field[f].elements && status == 0; e++)
      status = add_column(layout, runs, count, f, e, out);
  return status < 0
             ? ft_error_set(err, "history: longer than %zu bytes, or out of memory", out->limit)
             : 0;
}

int ft_history_encode(const struct ft_history *history, struct ft_buf *out, struct ft_error *err)
{
  return encode_runs(&history_layout, history->run, history->count, out, err);
}

int ft_runtimes_encode(const struct ft_runtimes *runtimes, struct ft_buf *out, struct ft_error *err)
{
  return encode_runs(&runtimes_layout, runtimes->run, runtimes->count, out, err);
}

static int reject_history(struct ft_error *err, size_t at, const char *what)
{
  errno = EBADMSG;
  return ft_error_set(err, "history: byte %zu: %s", at, what);
}

/* Sets element ELEMENT of FIELD of the COUNT RUNS of SIZE bytes to the VALUES of a column. */
static void read_column(const struct run_field *field, size_t element, const unsigned char *values,
                        void *runs, size_t size, size_t count)
{
  for (size_t i = 0; i < count; i++)
    copy_number((char *)runs + i * size + field->offset + element * field->size,
                values + i * field->size, field->size);
}

static int decode_runs(const struct run_layout *layout, const unsigned char *data, size_t length,
                       void *runs, size_t *count, struct ft_error *err)
{
  size_t at = sizeof(uint32_t);

  *count = length < at ? 0 : ft_get32(data);
  if (length < at)
    return reject_history(err, 0, "truncated");
  if (*count > layout->max_runs)
    return reject_history(err, 0, "more runs than this version of foretell keeps");
  memset(runs, 0, *count * layout->size);
  while (at < length) {
    size_t left = length - at, number, element, size;

    if (left < COLUMN_HEADER)
      return reject_history(err, at, "truncated");
    number = ft_get32(data + at) & 0xffff;
    element = ft_get32(data + at) >> 16;
    size = ft_get32(data + at + 4);
    if (*count && size > (left - COLUMN_HEADER) / *count)
      return reject_history(err, at, "truncated");
    if (number < layout->fields && size == layout->field[number].size &&
        element < layout->field[number].elements)
      read_column(&layout->field[number], element, data + at + COLUMN_HEADER, runs, layout->size,
                  *count);
    at += COLUMN_HEADER + *count * size;
  }
  return 0;
}

static int reject_features(struct ft_error *err)
{
  return reject_history(err, 0, "a run has more features than this version of foretell keeps");
}

int ft_history_decode(const unsigned char *data, size_t length, struct ft_history *history,
                      struct ft_error *err)
{
  if (decode_runs(&history_layout, data, length, history->run, &history->count, err) < 0)
    return -1;
  for (size_t i = 0; i < history->count; i++)
    if (history->run[i].x_count > FT_HISTORY_COLUMNS)
      return reject_features(err);
  return 0;
}

int ft_runtimes_decode(const unsigned char *data, size_t length, struct ft_runtimes *runtimes,
                       struct ft_error *err)
{
  if (decode_runs(&runtimes_layout, data, length, runtimes->run, &runtimes->count, err) < 0)
    return -1;
  for (size_t i = 0; i < runtimes->count; i++)
    if (runtimes->run[i].x_count > FT_HISTORY_COLUMNS ||
        runtimes->run[i].run_features_count > FT_RUNTIME_FEATURES ||
        runtimes->run[i].values_count > FT_RUN_VALUES)
      return reject_features(err);
  return 0;
}
