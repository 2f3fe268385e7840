/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/array_grow.h"
#include "predictor/core/buf.h"
#include "predictor/core/csv.h"

enum { CHUNK = 64 << 10 }; /* bytes of one read() */

void ft_csv_init(struct ft_csv *csv, int fd, const char *name, char separator, bool quotes)
{
  *csv = (struct ft_csv){
    .name = name, .fd = fd, .separator = separator, .quotes = quotes, .max_fields = FT_CSV_FIELDS
  };
}

void ft_csv_free(struct ft_csv *csv)
{
  free(csv->data);
  free(csv->field);
  free(csv->at);
  csv->data = NULL;
  csv->field = NULL;
  csv->at = NULL;
  csv->capacity = 0;
  csv->count = 0;
}

/* Fills ERR with TEXT and the line and column, from 1, of the byte at OFFSET of the buffer. Returns
 * -1. */
static int fail_at(const struct ft_csv *csv, size_t offset, struct ft_error *err, const char *text)
{
  uint64_t line = csv->line, column = 1;

  for (size_t i = csv->start; i < offset; i++) {
    column++;
    if (csv->data[i] == '\n') {
      line++;
      column = 1;
    }
  }
  return ft_error_set(err, "%s: line %" PRIu64 ", column %" PRIu64 ": %s", csv->name, line, column,
                      text);
}

int ft_csv_fail(const struct ft_csv *csv, size_t field, const char *what, struct ft_error *err,
                const char *text)
{
  uint64_t column = field < csv->count ? csv->at[field] + 1 : 1;
  char shown[48] = "";
  size_t used = 0;

  for (const char *p = field < csv->count ? csv->field[field] : ""; *p && used < 40; p++)
    shown[used++] = (unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p;
  return ft_error_set(err, "%s: line %" PRIu64 ", column %" PRIu64 ": %s '%s%s': %s", csv->name,
                      csv->line, column, what, shown, used == 40 ? "..." : "", text);
}

/* Reads more bytes after END. Returns 1; 0 at the end of the file; -1 on error and fills ERR. */
static int fill_buffer(struct ft_csv *csv, struct ft_error *err)
{
  size_t kept = csv->end - csv->start;
  ssize_t got;

  if (csv->at_eof)
    return 0;
  if (kept)
    memmove(csv->data, csv->data + csv->start, kept);
  csv->start = 0;
  csv->end = kept;
  if (csv->size - kept < CHUNK + 1) {
    size_t size = csv->size ? 2 * csv->size : 2 * CHUNK;
    char *data = realloc(csv->data, size);

    if (!data) {
      csv->failed = true;
      return ft_error_set(err, "%s: out of memory", csv->name);
    }
    csv->data = data;
    csv->size = size;
  }
  do
    got = read(csv->fd, csv->data + csv->end, CHUNK);
  while (got < 0 && errno == EINTR);
  if (got < 0) {
    csv->failed = true;
    return ft_error_errno(err, "%s", csv->name);
  }
  csv->at_eof = got == 0;
  csv->bytes_read += (uint64_t)got;
  csv->end += (size_t)got;
  return got > 0;
}

/*
 * Finds the length of the record at START: *LENGTH without its line end, *WHOLE with it. Returns 1;
 * 0 at the end of the file; -1 on error and fills ERR.
 */
static int find_record_end(struct ft_csv *csv, size_t *length, size_t *whole, struct ft_error *err)
{
  bool inside = false, may_open = true;
  size_t i = 0;
  int more;

  for (;;) {
    for (; csv->start + i < csv->end; i++) {
      char c = csv->data[csv->start + i];

      if (c == '\n' && !inside)
        goto found;
      /* a quote opens a field only at its first byte; a doubled quote closes and reopens it */
      if (c == '"' && csv->quotes && (inside || may_open)) {
        inside = !inside;
        may_open = true;
      } else {
        may_open = c == csv->separator;
      }
    }
    if (i > FT_LIMIT_LINE)
      break;
    more = fill_buffer(csv, err);
    if (more < 0)
      return -1;
    if (!more && !i)
      return 0;
    if (!more && !inside)
      goto found;
    if (!more)
      return fail_at(csv, csv->start, err, "a quoted field that begins here never ends");
  }
  return fail_at(csv, csv->start, err,
                 inside ? "a quoted field that begins here never ends"
                        : "longer than 1048576 bytes");
found:
  *whole = csv->start + i < csv->end ? i + 1 : i;
  if (i && csv->data[csv->start + i - 1] == '\r')
    i--;
  *length = i;
  return 1;
}

/* Advances *AT from the byte after the opening quote to the byte after the closing quote. Returns
 * 0; -1 if no separator or end of the record follows, and fills ERR. */
static int check_quoted(const struct ft_csv *csv, size_t *at, size_t stop, struct ft_error *err)
{
  size_t i = *at;

  for (;; i++) {
    if (i == stop)
      return fail_at(csv, *at - 1, err, "a quoted field that begins here never ends");
    if (csv->data[i] != '"')
      continue;
    if (i + 1 < stop && csv->data[i + 1] == '"')
      i++;
    else
      break;
  }
  i++;
  if (i < stop && csv->data[i] != csv->separator)
    return fail_at(csv, i, err, "expected a separator behind the closing quote");
  *at = i;
  return 0;
}

static int grow_fields(struct ft_csv *csv, struct ft_error *err)
{
  size_t field_capacity = csv->capacity;
  char **field =
      ft_array_grow(csv->field, &field_capacity, csv->count, sizeof *field, csv->max_fields);
  size_t *at = field
                   ? ft_array_grow(csv->at, &csv->capacity, csv->count, sizeof *at, csv->max_fields)
                   : NULL;

  csv->field = field ? field : csv->field;
  csv->at = at ? at : csv->at;
  if (at)
    return 0;
  csv->failed = true;
  return ft_error_set(err, "%s: out of memory", csv->name);
}

/* Finds the fields in START..STOP. Changes no byte, because the input after a malformed record's
 * first line is parsed again. */
static int split_fields(struct ft_csv *csv, size_t stop, struct ft_error *err)
{
  size_t i = csv->start;

  csv->count = 0;
  for (;;) {
    if (csv->count == csv->max_fields) {
      char text[48];

      (void)snprintf(text, sizeof text, "more than %zu fields", csv->max_fields);
      return fail_at(csv, i, err, text);
    }
    if (grow_fields(csv, err) < 0)
      return -1;
    csv->at[csv->count] = i - csv->start;
    csv->field[csv->count++] = csv->data + i;
    if (csv->quotes && i < stop && csv->data[i] == '"') {
      i++;
      if (check_quoted(csv, &i, stop, err) < 0)
        return -1;
    }
    for (; i < stop && csv->data[i] != csv->separator; i++)
      if (csv->data[i] == '\0' || (csv->quotes && csv->data[i] == '"'))
        return fail_at(csv, i, err,
                       csv->data[i] ? "a quote inside a field that is not quoted"
                                    : "NUL byte; expected text");
    if (i == stop)
      return 0;
    i++;
  }
}

static void unquote_field(char *field, size_t length)
{
  size_t used = 0;

  for (size_t i = 1; i + 1 < length; i++) {
    field[used++] = field[i];
    if (field[i] == '"')
      i++;
  }
  field[used] = '\0';
}

static void terminate_fields(struct ft_csv *csv, size_t length)
{
  for (size_t f = 0; f < csv->count; f++) {
    size_t end = f + 1 < csv->count ? csv->at[f + 1] - 1 : length;

    csv->field[f][end - csv->at[f]] = '\0';
    if (csv->quotes && csv->field[f][0] == '"')
      unquote_field(csv->field[f], end - csv->at[f]);
  }
}

static uint64_t line_ends(const char *data, size_t length)
{
  uint64_t count = 0;

  for (size_t i = 0; i < length; i++)
    count += data[i] == '\n';
  return count;
}

/*
 * Marks the current record as malformed. The next call of ft_csv_next skips its first line: a
 * caller that stops at the first error must not read on, because /dev/zero, for instance, has no
 * line end.
 */
static int reject_record(struct ft_csv *csv)
{
  csv->count = 0;
  csv->skipping = true;
  return -1;
}

/* Skips the first line of a malformed record. Returns 0; -1 and fills ERR if the line is longer
 * than FT_LIMIT_SKIPPED. */
static int skip_line(struct ft_csv *csv, struct ft_error *err)
{
  uint64_t begun = csv->bytes_read;

  csv->skipping = false;
  for (;;) {
    char *at = csv->data + csv->start;
    char *stop = csv->end > csv->start ? memchr(at, '\n', csv->end - csv->start) : NULL;

    if (stop) {
      csv->start = (size_t)(stop - csv->data) + 1;
      csv->lines++;
      return 0;
    }
    csv->start = csv->end;
    if (csv->bytes_read - begun > FT_LIMIT_SKIPPED) {
      csv->failed = true;
      return ft_error_set(err, "%s: line %" PRIu64 ": no end of the line within %d MiB", csv->name,
                          csv->line, FT_LIMIT_SKIPPED >> 20);
    }
    if (fill_buffer(csv, err) < 0)
      return -1;
    if (csv->at_eof)
      return 0;
  }
}

static bool has_nul(const struct ft_csv *csv, size_t length)
{
  return length && memchr(csv->data + csv->start, '\0', length);
}

/* First bytes of common formats that are not UTF-8 text. */
static const struct {
  unsigned char length, bytes[4];
  const char *what;
} binary_formats[] = {
  { 2, { 0xff, 0xfe }, "UTF-16 or UTF-32; expected UTF-8 (iconv -f UTF-16 -t UTF-8)" },
  { 2, { 0xfe, 0xff }, "UTF-16; expected UTF-8 (iconv -f UTF-16 -t UTF-8)" },
  { 2, { 0x1f, 0x8b }, "compressed by gzip; expected text (zcat)" },
  { 4, { 'P', 'K', 3, 4 }, "an archive or a spreadsheet; expected text (save it as CSV)" },
  { 4, { 0x28, 0xb5, 0x2f, 0xfd }, "compressed by zstd; expected text (zstdcat)" },
};

/* Rejects binary formats and skips the byte order mark that spreadsheets write. */
static int read_first_bytes(struct ft_csv *csv, struct ft_error *err)
{
  if (fill_buffer(csv, err) < 0)
    return -1;
  for (size_t i = 0; i < sizeof binary_formats / sizeof *binary_formats; i++)
    if (csv->end >= binary_formats[i].length &&
        memcmp(csv->data, binary_formats[i].bytes, binary_formats[i].length) == 0) {
      csv->failed = true;
      return ft_error_set(err, "%s: %s", csv->name, binary_formats[i].what);
    }
  if (csv->end >= 3 && memcmp(csv->data, "\xef\xbb\xbf", 3) == 0)
    csv->start = 3;
  return 0;
}

/* Returns the byte of LIST that is most frequent in LINE outside quotes; the first byte of LIST if
 * none occurs. */
static char most_frequent(const char *list, const char *line, size_t length)
{
  size_t largest = 0;
  char best = *list;

  for (const char *c = list; *c; c++) {
    size_t count = 0;
    bool inside = false;

    for (size_t i = 0; i < length; i++) {
      inside ^= line[i] == '"';
      count += !inside && line[i] == *c;
    }
    if (count > largest) {
      largest = count;
      best = *c;
    }
  }
  return best;
}

int ft_csv_detect_separator(struct ft_csv *csv, struct ft_error *err)
{
  int more = read_first_bytes(csv, err) < 0 ? -1 : 1;
  size_t at, length;

  for (;; more = fill_buffer(csv, err)) {
    const char *stop;

    at = csv->start;
    while (at < csv->end && (csv->data[at] == '\n' || csv->data[at] == '\r'))
      at++;
    stop = at < csv->end ? memchr(csv->data + at, '\n', csv->end - at) : NULL;
    length = stop ? (size_t)(stop - csv->data) - at : csv->end - at;
    if (more <= 0 || stop || csv->end - csv->start > FT_LIMIT_LINE)
      break;
  }
  if (more >= 0 && length)
    csv->separator = most_frequent(",;\t|", csv->data + at, length);
  return more < 0 ? -1 : 0;
}

int ft_csv_next(struct ft_csv *csv, struct ft_error *err)
{
  size_t length = 0, whole = 0;
  int status;

  csv->count = 0;
  if (csv->failed)
    return 0;
  if (!csv->bytes_read && read_first_bytes(csv, err) < 0)
    return -1;
  if (csv->skipping && skip_line(csv, err) < 0)
    return -1;
  do {
    csv->start += whole;
    csv->lines += whole > 0;
    csv->line = csv->lines + 1;
    status = find_record_end(csv, &length, &whole, err);
    if (status == 0)
      return 0;
    if (status < 0)
      return csv->failed ? -1 : reject_record(csv);
  } while (length == 0);
  if (has_nul(csv, length)) {
    size_t offset = (size_t)((char *)memchr(csv->data + csv->start, '\0', length) - csv->data);

    fail_at(csv, offset, err, "NUL byte; expected text");
    return reject_record(csv);
  }
  if (split_fields(csv, csv->start + length, err) < 0)
    return reject_record(csv);
  csv->lines += line_ends(csv->data + csv->start, whole);
  csv->start += whole;
  terminate_fields(csv, length);
  return 1;
}
