/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/record/check.h"
#include "predictor/record/file_header.h"
#include "predictor/record/model_file.h"
#include "predictor/record/model_file_before.h"

enum {
  SCHEMA = 2,               /* of the file; its records have their own */
  OLD_HEADER = 28,          /* bytes, of ft_record_write */
  HEAD = FT_FILE_START + 8, /* bytes before the table */
  ROW = 12,                 /* bytes of the table */
  MAX_SECTIONS = 64,        /* many more than there are quantities */
  FIRST_BYTES = 16384       /* enough for what a submission reads */
};

/* ---- writing ---- */

static bool has_categories(const struct ft_model_sections *s)
{
  return s->categories && s->categories->columns_count;
}

/* Appends section I of SECTIONS to OUT and sets *NUMBER; a section that is left out appends
 * nothing. Returns 1; 0 if it is left out; -1 and fills ERR. */
static int add_section(const struct ft_model_sections *s, size_t i, struct ft_buf *out,
                       uint32_t *number, struct ft_error *err)
{
  int status;

  if (i < s->count) {
    *number = s->models[i]->quantity;
    status = ft_record_encode(FT_RECORD_MODEL, s->models[i], out, err);
  } else if (i == s->count) {
    *number = FT_SECTION_RUNTIME;
    if (!s->performance)
      return 0;
    status = ft_record_encode(FT_RECORD_PERFORMANCE, s->performance, out, err);
  } else if (i == s->count + 1) {
    *number = FT_SECTION_CATEGORIES;
    if (!has_categories(s))
      return 0;
    status = ft_record_encode(FT_RECORD_CATEGORIES, s->categories, out, err);
  } else if (i == s->count + 2) {
    *number = FT_SECTION_HISTORY;
    if (!s->history)
      return 0;
    status = ft_history_encode(s->history, out, err);
  } else {
    *number = FT_SECTION_RUNTIMES;
    if (!s->runtimes)
      return 0;
    status = ft_runtimes_encode(s->runtimes, out, err);
  }
  return status < 0 ? -1 : 1;
}

int ft_model_sections_encode(const struct ft_model_sections *s, struct ft_buf *out,
                             struct ft_error *err)
{
  unsigned char head[HEAD + ROW * MAX_SECTIONS] = { 0 };
  size_t rows = s->count + (s->performance != NULL) + has_categories(s) + (s->history != NULL) +
                (s->runtimes != NULL);
  size_t table = rows * ROW, start = out->length, at = 0;

  if (rows > MAX_SECTIONS)
    return ft_error_set(err, "model: more than %d sections", MAX_SECTIONS);
  if (ft_buf_add(out, head, HEAD + table) < 0)
    return ft_error_set(err, "model: longer than %zu bytes, or out of memory", out->limit);
  for (size_t i = 0; at < rows; i++) {
    unsigned char *row = head + HEAD + at * ROW;
    size_t begin = out->length;
    uint32_t number;
    int added = add_section(s, i, out, &number, err);

    if (added < 0)
      return -1;
    if (!added)
      continue;
    ft_put32(row, number);
    ft_put32(row + 4, (uint32_t)(out->length - begin));
    ft_put32(row + 8, ft_checksum(out->data + begin, out->length - begin));
    at++;
  }
  ft_file_start(FT_RECORD_MODEL, SCHEMA, head);
  ft_put32(head + FT_FILE_START, (uint32_t)rows);
  ft_put32(head + FT_FILE_START + 4, ft_checksum(head + HEAD, table));
  memcpy(out->data + start, head, HEAD + table);
  return 0;
}

int ft_model_sections_write(const struct ft_model_sections *sections, int dirfd, const char *name,
                            mode_t mode, struct ft_error *err)
{
  struct ft_error why;
  struct ft_buf buf;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_model_sections_encode(sections, &buf, &why) < 0)
    status = ft_error_set(err, "%s: %s", name, why.text);
  else
    status = ft_io_write_file(dirfd, name, buf.data, buf.length, mode, err);
  ft_buf_free(&buf);
  return status;
}

/* Returns the sections of COUNT MODELS and HISTORY. */
static struct ft_model_sections sections_of(const ft_model *const *models, size_t count,
                                            const struct ft_history *history)
{
  return (struct ft_model_sections){ models, count,
                                     .categories = history ? &history->categories : NULL,
                                     .history = history };
}

int ft_model_file_encode(const ft_model *const *models, size_t count,
                         const struct ft_history *history, struct ft_buf *out, struct ft_error *err)
{
  const struct ft_model_sections sections = sections_of(models, count, history);

  return ft_model_sections_encode(&sections, out, err);
}

int ft_model_file_write(const ft_model *const *models, size_t count,
                        const struct ft_history *history, int dirfd, const char *name, mode_t mode,
                        struct ft_error *err)
{
  const struct ft_model_sections sections = sections_of(models, count, history);

  return ft_model_sections_write(&sections, dirfd, name, mode, err);
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

/* ---- sections ---- */

/* Decodes LENGTH bytes of DATA to a part of PARTS, and checks it. Returns 0; -1 on error. */
typedef int section_decoder(const unsigned char *data, size_t length, struct ft_model_parts *parts,
                            struct ft_error *err);

static int decode_model(const unsigned char *data, size_t length, struct ft_model_parts *parts,
                        struct ft_error *err)
{
  if (ft_record_decode(FT_RECORD_MODEL, data, length, parts->model, err) < 0)
    return -1;
  if (parts->model->quantity != parts->quantity) {
    errno = EBADMSG;
    return ft_error_set(err, "section of another quantity");
  }
  if (!ft_lacks_category_hashes(parts->model->columns, parts->model->columns_count))
    return 0;
  return ft_decode_names_before(data, length, ft_model_columns_tag, parts->model->columns,
                                parts->model->columns_count,
                                parts->history ? &parts->history->categories : NULL, err);
}

static int decode_performance(const unsigned char *data, size_t length,
                              struct ft_model_parts *parts, struct ft_error *err)
{
  ft_performance *p = parts->performance;

  if (ft_record_decode(FT_RECORD_PERFORMANCE, data, length, p, err) < 0)
    return -1;
  if (!ft_lacks_category_hashes(p->columns, p->columns_count))
    return 0;
  return ft_decode_names_before(data, length, ft_performance_columns_tag, p->columns,
                                p->columns_count, NULL, err);
}

static int decode_categories(const unsigned char *data, size_t length, struct ft_model_parts *parts,
                             struct ft_error *err)
{
  return ft_record_decode(FT_RECORD_CATEGORIES, data, length, &parts->history->categories, err);
}

/* Returns STATUS of a check; sets errno if it failed. */
static int check_status(int status)
{
  if (status < 0)
    errno = EBADMSG;
  return status;
}

static int decode_history(const unsigned char *data, size_t length, struct ft_model_parts *parts,
                          struct ft_error *err)
{
  if (ft_history_decode(data, length, parts->history, err) < 0)
    return -1;
  return check_status(ft_record_check_history(parts->history, parts->model, err));
}

static int decode_runtimes(const unsigned char *data, size_t length, struct ft_model_parts *parts,
                           struct ft_error *err)
{
  if (ft_runtimes_decode(data, length, parts->runtimes, err) < 0)
    return -1;
  return check_status(ft_record_check_runtimes(parts->runtimes, parts->performance, err));
}

static int decode_history_before(const unsigned char *data, size_t length,
                                 struct ft_model_parts *parts, struct ft_error *err)
{
  if (ft_decode_history_before(data, length, parts->history, err) < 0)
    return -1;
  return check_status(ft_record_check_history(parts->history, parts->model, err));
}

static int decode_runtimes_before(const unsigned char *data, size_t length,
                                  struct ft_model_parts *parts, struct ft_error *err)
{
  if (ft_decode_runtimes_before(data, length, parts->runtimes, err) < 0)
    return -1;
  return check_status(ft_record_check_runtimes(parts->runtimes, parts->performance, err));
}

/* ---- files ---- */

/* The place of a section in its file. */
struct place {
  size_t at;
  const unsigned char *row; /* length and checksum; NULL: there is no such section */
};

static int read_model_section(const struct source *file, const struct place *place,
                              section_decoder *decode, struct ft_model_parts *parts,
                              struct ft_error *err)
{
  size_t length = ft_get32(place->row);
  unsigned char *memory;
  const unsigned char *part =
      read_part(file, place->at, length, ft_get32(place->row + 4), &memory, err);
  struct ft_error why;
  int status = part ? decode(part, length, parts, &why) : -1;

  if (part && status < 0)
    ft_error_set(err, "%s: byte %zu: %s", file->name, place->at, why.text);
  free(memory);
  return status;
}

/* Clears what a file may lack. */
static void clear_parts(struct ft_model_parts *parts)
{
  parts->has_model = parts->has_performance = false;
  if (parts->history) {
    parts->history->count = 0;
    parts->history->categories.schema = FT_SCHEMA;
    parts->history->categories.columns_count = 0;
  }
  if (parts->runtimes)
    parts->runtimes->count = 0;
}

/* Reads a file of the previous release: a model, or run times. */
static int read_old_file(const struct source *file, bool runtimes, struct ft_model_parts *parts,
                         struct ft_error *err)
{
  size_t head = ft_get32(file->start + FT_FILE_START);
  const struct place first = { OLD_HEADER, file->start + FT_FILE_START };
  const struct place tail = { OLD_HEADER + head, file->start + FT_FILE_START + 8 };
  bool *has = runtimes ? &parts->has_performance : &parts->has_model;

  if (head > FT_LIMIT_RECORD)
    return reject_model_file(err, file, FT_FILE_START, "record longer than 1048576 bytes");
  if (runtimes ? !parts->performance : !parts->model || parts->quantity)
    return 0;
  if (read_model_section(file, &first, runtimes ? decode_performance : decode_model, parts, err) <
      0)
    return -1;
  *has = true;
  if (runtimes ? !parts->runtimes : !parts->history)
    return 0;
  return read_model_section(file, &tail, runtimes ? decode_runtimes_before : decode_history_before,
                            parts, err);
}

/* Reads the sections that PARTS want of FILE, whose TABLE has ROWS. */
static int read_sections(const struct source *file, const unsigned char *table, size_t rows,
                         struct ft_model_parts *parts, struct ft_error *err)
{
  const struct {
    uint32_t number;
    bool wanted;
    section_decoder *decode;
    bool *needs; /* is true if the section before it was read; NULL: none */
    bool *has;   /* becomes true; NULL: nothing */
  } section[] = {
    { parts->quantity, parts->model, decode_model, NULL, &parts->has_model },
    { FT_SECTION_CATEGORIES, parts->history, decode_categories, &parts->has_model, NULL },
    { FT_SECTION_HISTORY, parts->history, decode_history, &parts->has_model, NULL },
    { FT_SECTION_RUNTIME, parts->performance, decode_performance, NULL, &parts->has_performance },
    { FT_SECTION_RUNTIMES, parts->runtimes, decode_runtimes, &parts->has_performance, NULL },
  };
  enum { SECTIONS = sizeof section / sizeof *section };
  struct place place[SECTIONS] = { { 0, NULL } };
  size_t at = HEAD + rows * ROW;

  for (size_t i = 0; i < rows; i++) {
    const unsigned char *row = table + i * ROW;

    for (size_t k = 0; k < SECTIONS; k++)
      if (ft_get32(row) == section[k].number)
        place[k] = (struct place){ at, row + 4 };
    at += ft_get32(row + 4);
  }
  for (size_t k = 0; k < SECTIONS; k++) {
    if (!section[k].wanted || !place[k].row || (section[k].needs && !*section[k].needs))
      continue;
    if (read_model_section(file, &place[k], section[k].decode, parts, err) < 0)
      return -1;
    if (section[k].has)
      *section[k].has = true;
  }
  return 0;
}

static int read_source(const struct source *file, struct ft_model_parts *parts,
                       struct ft_error *err)
{
  const unsigned char *table;
  unsigned char *memory;
  size_t rows;
  int status = -1;

  clear_parts(parts);
  if (ft_file_start_check(file->start, file->got, OLD_HEADER, FT_RECORD_MODEL, SCHEMA, file->name,
                          0, err) < 0)
    return -1;
  if (ft_get32(file->start + 8) >> 16 < SCHEMA)
    return read_old_file(file, false, parts, err);
  rows = ft_get32(file->start + FT_FILE_START);
  if (rows > MAX_SECTIONS)
    return reject_model_file(err, file, FT_FILE_START, "more sections than a model file has");
  table =
      read_part(file, HEAD, rows * ROW, ft_get32(file->start + FT_FILE_START + 4), &memory, err);
  if (table)
    status = read_sections(file, table, rows, parts, err);
  free(memory);
  return status;
}

static int open_source(int fd, const char *name, unsigned char *start, size_t size,
                       struct source *file, struct ft_error *err)
{
  ssize_t got = pread(fd, start, size, 0);

  *file = (struct source){ fd, name, start, got < 0 ? 0 : (size_t)got };
  return got < 0 ? ft_error_errno(err, "%s", name) : 0;
}

int ft_model_parts_read(int fd, const char *name, struct ft_model_parts *parts,
                        struct ft_error *err)
{
  unsigned char start[FIRST_BYTES];
  struct source file;

  return open_source(fd, name, start, sizeof start, &file, err) < 0
             ? -1
             : read_source(&file, parts, err);
}

int ft_model_parts_read_before(int fd, const char *name, struct ft_model_parts *parts,
                               struct ft_error *err)
{
  unsigned char start[FIRST_BYTES];
  struct source file;

  if (open_source(fd, name, start, sizeof start, &file, err) < 0 ||
      ft_file_start_check(start, file.got, OLD_HEADER, FT_RECORD_PERFORMANCE, FT_SCHEMA, name, 0,
                          err) < 0)
    return -1;
  return read_old_file(&file, true, parts, err);
}

int ft_model_parts_decode(const void *data, size_t length, const char *name,
                          struct ft_model_parts *parts, struct ft_error *err)
{
  const struct source file = { -1, name, data, length };

  return read_source(&file, parts, err);
}

/* Returns STATUS of reading PARTS of the file NAME; -1 if they lack the model. */
static int need_model(int status, const char *name, const struct ft_model_parts *parts,
                      struct ft_error *err)
{
  if (status < 0 || parts->has_model)
    return status;
  errno = ENOENT;
  return ft_error_set(err, "%s: no run with this quantity", name);
}

int ft_model_file_read(int dirfd, const char *name, uint32_t quantity, ft_model *model,
                       struct ft_history *history, struct ft_error *err)
{
  struct ft_model_parts parts = { .quantity = quantity, .model = model, .history = history };
  int fd = ft_io_open_regular(dirfd, name, err), status, saved;

  if (fd < 0)
    return -1;
  status = need_model(ft_model_parts_read(fd, name, &parts, err), name, &parts, err);
  saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int ft_model_file_decode(const void *data, size_t length, const char *name, uint32_t quantity,
                         ft_model *model, struct ft_history *history, struct ft_error *err)
{
  struct ft_model_parts parts = { .quantity = quantity, .model = model, .history = history };

  return need_model(ft_model_parts_decode(data, length, name, &parts, err), name, &parts, err);
}
