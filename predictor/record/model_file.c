/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <pb_decode.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/record/check.h"
#include "predictor/record/file_header.h"
#include "predictor/record/model_file.h"

enum {
  SCHEMA = 2,               /* of the file; its records have their own */
  OLD_HEADER = 28,          /* bytes, of ft_record_write */
  OLD_HISTORY_TAG = 20,     /* of ft_model in files of the previous release */
  HEAD = FT_FILE_START + 8, /* bytes before the table */
  ROW = 12,                 /* bytes of the table */
  MAX_SECTIONS = 64         /* many more than there are quantities */
};

/* ---- writing ---- */

int ft_model_file_encode(const ft_model *const *models, size_t count,
                         const struct ft_history *history, struct ft_buf *out, struct ft_error *err)
{
  unsigned char head[HEAD + ROW * MAX_SECTIONS] = { 0 };
  size_t rows = count + (history ? 1 : 0), table = rows * ROW, start = out->length;

  if (rows > MAX_SECTIONS)
    return ft_error_set(err, "model: more than %d sections", MAX_SECTIONS);
  if (ft_buf_add(out, head, HEAD + table) < 0)
    return ft_error_set(err, "model: longer than %zu bytes, or out of memory", out->limit);
  for (size_t i = 0; i < rows; i++) {
    unsigned char *row = head + HEAD + i * ROW;
    size_t at = out->length;

    if (i < count ? ft_record_encode(FT_RECORD_MODEL, models[i], out, err) < 0
                  : ft_history_encode(history, out, err) < 0)
      return -1;
    ft_put32(row, i < count ? models[i]->quantity : FT_SECTION_HISTORY);
    ft_put32(row + 4, (uint32_t)(out->length - at));
    ft_put32(row + 8, ft_checksum(out->data + at, out->length - at));
  }
  ft_file_start(FT_RECORD_MODEL, SCHEMA, head);
  ft_put32(head + FT_FILE_START, (uint32_t)rows);
  ft_put32(head + FT_FILE_START + 4, ft_checksum(head + HEAD, table));
  memcpy(out->data + start, head, HEAD + table);
  return 0;
}

int ft_model_file_write(const ft_model *const *models, size_t count,
                        const struct ft_history *history, int dirfd, const char *name, mode_t mode,
                        struct ft_error *err)
{
  struct ft_error why;
  struct ft_buf buf;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_model_file_encode(models, count, history, &buf, &why) < 0)
    status = ft_error_set(err, "%s: %s", name, why.text);
  else
    status = ft_io_write_file(dirfd, name, buf.data, buf.length, mode, err);
  ft_buf_free(&buf);
  return status;
}

/* ---- reading ---- */

/* A file, of which the first bytes are in memory. */
struct source {
  int fd; /* -1: all of the file is in memory */
  const char *name;
  const unsigned char *start;
  size_t got;
};

static int reject_model_file(struct ft_error *err, const struct source *file, size_t at,
                             const char *what)
{
  errno = EBADMSG;
  return ft_error_set(err, "%s: byte %zu: %s", file->name, at, what);
}

/* Returns the LENGTH bytes at offset AT of FILE, whose checksum is SUM, in the first bytes or in
 * *MEMORY, which the caller frees. NULL on error; sets errno and fills ERR. */
static const unsigned char *read_part(const struct source *file, size_t at, size_t length,
                                      uint32_t sum, unsigned char **memory, struct ft_error *err)
{
  const unsigned char *part;
  ssize_t got;

  *memory = NULL;
  if (at > file->got || length > file->got - at) {
    if (length > FT_LIMIT_RECORD) {
      reject_model_file(err, file, at, "section longer than 1048576 bytes");
      return NULL;
    }
    if (file->fd < 0) {
      reject_model_file(err, file, at, "truncated");
      return NULL;
    }
    *memory = malloc(length ? length : 1);
    got = *memory ? pread(file->fd, *memory, length, (off_t)at) : -1;
    if (got < 0) {
      ft_error_errno(err, "%s", file->name);
      return NULL;
    }
    if (got != (ssize_t)length) {
      reject_model_file(err, file, at, "truncated");
      return NULL;
    }
    part = *memory;
  } else {
    part = file->start + at;
  }
  if (ft_checksum(part, length) == sum)
    return part;
  reject_model_file(err, file, at, "checksum does not match");
  return NULL;
}

/* Reads the runs of MODEL from LENGTH bytes of DATA. */
typedef int history_decoder(const unsigned char *data, size_t length, struct ft_history *history,
                            struct ft_error *err);

static int decode_old_run(pb_istream_t *stream, ft_run *run)
{
  ft_run_before old = ft_run_before_init_zero;

  if (!pb_decode_delimited(stream, ft_run_before_fields, &old))
    return -1;
  *run = (ft_run){ .key = old.key,
                   .time = old.time,
                   .bytes = old.bytes,
                   .runtime_seconds = old.runtime_seconds,
                   .censored = old.censored,
                   .sampled = old.sampled,
                   .killed_by = old.killed_by,
                   .x_count = old.x_count,
                   .predicted_log = old.predicted_log,
                   .equation_log = old.equation_log,
                   .residual = old.residual,
                   .gpu_bytes = old.gpu_bytes,
                   .network_bytes = old.network_bytes,
                   .gpu = old.gpu,
                   .gpu_limit_bytes = old.gpu_limit_bytes };
  memcpy(run->x, old.x, old.x_count * sizeof *old.x);
  return 0;
}

/* A history_decoder of the previous release's files. */
static int decode_old_history(const unsigned char *data, size_t length, struct ft_history *history,
                              struct ft_error *err)
{
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  pb_wire_type_t wire;
  uint32_t tag;
  bool eof, good = true;

  history->count = 0;
  while (good && stream.bytes_left) {
    good = pb_decode_tag(&stream, &wire, &tag, &eof);
    if (good && (tag != OLD_HISTORY_TAG || wire != PB_WT_STRING))
      good = pb_skip_field(&stream, wire);
    else if (good)
      good = history->count < FT_HISTORY_RUNS &&
             decode_old_run(&stream, &history->run[history->count++]) == 0;
  }
  if (good)
    return 0;
  errno = EBADMSG;
  return ft_error_set(err, "history: byte %zu: malformed run", length - stream.bytes_left);
}

/* The place of a section in its file. */
struct place {
  size_t at;
  const unsigned char *row; /* length and checksum; NULL: there is no such section */
};

static int read_model_section(const struct source *file, const struct place *place,
                              uint32_t quantity, ft_model *model, struct ft_error *err)
{
  size_t length = ft_get32(place->row);
  unsigned char *memory;
  const unsigned char *part =
      read_part(file, place->at, length, ft_get32(place->row + 4), &memory, err);
  struct ft_error why;
  int status = -1;

  if (part) {
    status = ft_record_decode(FT_RECORD_MODEL, part, length, model, &why);
    if (status < 0)
      ft_error_set(err, "%s: %s", file->name, why.text);
    else if (model->quantity != quantity)
      status = reject_model_file(err, file, place->at, "section of another quantity");
  }
  free(memory);
  return status;
}

static int read_history_section(const struct source *file, const struct place *place,
                                history_decoder *decode, const ft_model *model,
                                struct ft_history *history, struct ft_error *err)
{
  size_t length = ft_get32(place->row);
  unsigned char *memory;
  const unsigned char *part =
      read_part(file, place->at, length, ft_get32(place->row + 4), &memory, err);
  struct ft_error why;
  int status = -1;

  if (part) {
    status = decode(part, length, history, &why);
    if (status == 0 && ft_record_check_history(history, model, &why) < 0) {
      errno = EBADMSG;
      status = -1;
    }
    if (status < 0)
      ft_error_set(err, "%s: %s", file->name, why.text);
  }
  free(memory);
  return status;
}

/* Reads the sections at WANTED and, if HISTORY is not NULL, RUNS. */
static int read_sections(const struct source *file, const struct place *wanted,
                         const struct place *runs, history_decoder *decode, uint32_t quantity,
                         ft_model *model, struct ft_history *history, struct ft_error *err)
{
  if (!wanted->row) {
    errno = ENOENT;
    return ft_error_set(err, "%s: no run with this quantity", file->name);
  }
  if (read_model_section(file, wanted, quantity, model, err) < 0)
    return -1;
  if (!history)
    return 0;
  history->count = 0;
  return runs->row ? read_history_section(file, runs, decode, model, history, err) : 0;
}

static int read_old_file(const struct source *file, uint32_t quantity, ft_model *model,
                         struct ft_history *history, struct ft_error *err)
{
  struct place wanted = { OLD_HEADER, quantity ? NULL : file->start + FT_FILE_START }, runs;
  size_t head = ft_get32(file->start + FT_FILE_START);

  if (head > FT_LIMIT_RECORD)
    return reject_model_file(err, file, FT_FILE_START, "record longer than 1048576 bytes");
  runs = (struct place){ OLD_HEADER + head, file->start + FT_FILE_START + 8 };
  return read_sections(file, &wanted, &runs, decode_old_history, quantity, model, history, err);
}

static int read_source(const struct source *file, uint32_t quantity, ft_model *model,
                       struct ft_history *history, struct ft_error *err)
{
  struct place wanted = { 0, NULL }, runs = { 0, NULL };
  const unsigned char *table;
  unsigned char *memory;
  size_t rows, at;
  int status;

  if (ft_file_start_check(file->start, file->got, OLD_HEADER, FT_RECORD_MODEL, SCHEMA, file->name,
                          0, err) < 0)
    return -1;
  if (ft_get32(file->start + 8) >> 16 < SCHEMA)
    return read_old_file(file, quantity, model, history, err);
  rows = ft_get32(file->start + FT_FILE_START);
  if (rows > MAX_SECTIONS)
    return reject_model_file(err, file, FT_FILE_START, "more sections than a model file has");
  table =
      read_part(file, HEAD, rows * ROW, ft_get32(file->start + FT_FILE_START + 4), &memory, err);
  if (!table) {
    free(memory);
    return -1;
  }
  at = HEAD + rows * ROW;
  for (size_t i = 0; i < rows; i++) {
    const unsigned char *row = table + i * ROW;

    if (ft_get32(row) == quantity)
      wanted = (struct place){ at, row + 4 };
    else if (ft_get32(row) == FT_SECTION_HISTORY)
      runs = (struct place){ at, row + 4 };
    at += ft_get32(row + 4);
  }
  status = read_sections(file, &wanted, &runs, ft_history_decode, quantity, model, history, err);
  free(memory);
  return status;
}

int ft_model_file_read_open(int fd, const char *name, uint32_t quantity, ft_model *model,
                            struct ft_history *history, struct ft_error *err)
{
  unsigned char start[16384]; /* enough for what a submission reads */
  ssize_t got = pread(fd, start, sizeof start, 0);
  struct source file = { fd, name, start, got < 0 ? 0 : (size_t)got };

  if (got < 0)
    return ft_error_errno(err, "%s", name);
  return read_source(&file, quantity, model, history, err);
}

int ft_model_file_read(int dirfd, const char *name, uint32_t quantity, ft_model *model,
                       struct ft_history *history, struct ft_error *err)
{
  int fd = ft_io_open_regular(dirfd, name, err), status, saved;

  if (fd < 0)
    return -1;
  status = ft_model_file_read_open(fd, name, quantity, model, history, err);
  saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int ft_model_file_decode(const void *data, size_t length, const char *name, uint32_t quantity,
                         ft_model *model, struct ft_history *history, struct ft_error *err)
{
  struct source file = { -1, name, data, length };

  return read_source(&file, quantity, model, history, err);
}
