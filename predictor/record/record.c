/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <pb_common.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/base64.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/utf8.h"
#include "predictor/record/check.h"
#include "predictor/record/file_header.h"
#include "predictor/record/model_decode.h"
#include "predictor/record/record.h"

enum { HEADER_SIZE = 28 }; /* bytes; the layout is in record.h */

static const char magic[8] = { 'f', 'o', 'r', 'e', 't', 'e', 'l', 'l' };

/* By enum ft_record: the name in messages, the fields of nanopb, and the offset of the schema
 * version. */
static const struct record_type {
  const char *name;
  const pb_msgdesc_t *fields;
  size_t schema_offset;
} record_types[] = {
  [FT_RECORD_SUBMISSION] = { "submission", ft_submission_fields, offsetof(ft_submission, schema) },
  [FT_RECORD_OBSERVATION] = { "observation", ft_observation_fields,
                              offsetof(ft_observation, schema) },
  [FT_RECORD_MODEL] = { "model", ft_model_fields, offsetof(ft_model, schema) },
  [FT_RECORD_SITE] = { "site", ft_site_fields, offsetof(ft_site, schema) },
  [FT_RECORD_PARTITION] = { "partition", ft_partition_fields, offsetof(ft_partition, schema) },
  [FT_RECORD_APPS] = { "apps", ft_apps_fields, offsetof(ft_apps, schema) },
  [FT_RECORD_ANNOUNCEMENT] = { "announcement", ft_announcement_fields,
                               offsetof(ft_announcement, schema) },
  [FT_RECORD_ANSWER] = { "answer", ft_answer_fields, offsetof(ft_answer, schema) },
  [FT_RECORD_PERFORMANCE] = { "performance", ft_performance_fields,
                              offsetof(ft_performance, schema) },
  [FT_RECORD_PLATFORMS] = { "platforms", ft_platforms_fields, offsetof(ft_platforms, schema) },
  [FT_RECORD_SIMILAR_APPS] = { "kin", ft_similar_apps_fields, offsetof(ft_similar_apps, schema) },
  [FT_RECORD_PRIOR] = { "prior", ft_prior_fields, offsetof(ft_prior, schema) },
  [FT_RECORD_GPUS] = { "gpus", ft_gpus_fields, offsetof(ft_gpus, schema) },
  [FT_RECORD_QUESTION] = { "question", ft_question_fields, offsetof(ft_question, schema) },
  [FT_RECORD_REPLY] = { "reply", ft_reply_fields, offsetof(ft_reply, schema) },
  [FT_RECORD_VERDICTS] = { "verdicts", ft_verdicts_fields, offsetof(ft_verdicts, schema) },
  [FT_RECORD_JOBS_QUERY] = { "query of jobs", ft_jobs_query_fields,
                             offsetof(ft_jobs_query, schema) },
  [FT_RECORD_JOBS_REPLY] = { "records of jobs", ft_jobs_reply_fields,
                             offsetof(ft_jobs_reply, schema) },
  [FT_RECORD_SETTINGS_QUERY] = { "query of settings", ft_settings_query_fields,
                                 offsetof(ft_settings_query, schema) },
  [FT_RECORD_SETTINGS] = { "settings", ft_settings_fields, offsetof(ft_settings, schema) },
  [FT_RECORD_RUNNING] = { "running jobs", ft_running_fields, offsetof(ft_running, schema) },
  [FT_RECORD_HOST_QUERY] = { "query of the host", ft_host_query_fields,
                             offsetof(ft_host_query, schema) },
  [FT_RECORD_HOST] = { "host", ft_host_fields, offsetof(ft_host, schema) },
  [FT_RECORD_JOB_ARRAY] = { "job array", ft_job_array_fields, offsetof(ft_job_array, schema) },
  [FT_RECORD_CATEGORIES] = { "categories", ft_categories_fields, offsetof(ft_categories, schema) },
  [FT_RECORD_USAGE] = { "usage", ft_usage_fields, offsetof(ft_usage, schema) },
  [FT_RECORD_PROGRAM] = { "program", ft_program_fields, offsetof(ft_program, schema) }
};

static bool write_to_buf(pb_ostream_t *stream, const pb_byte_t *data, size_t length)
{
  return ft_buf_add(stream->state, data, length) == 0;
}

int ft_record_encode(enum ft_record record, const void *message, struct ft_buf *out,
                     struct ft_error *err)
{
  pb_ostream_t stream = { .callback = write_to_buf, .state = out, .max_size = SIZE_MAX };

  if (!pb_encode(&stream, record_types[record].fields, message))
    return ft_error_set(err, "%s: cannot be encoded: %s", record_types[record].name,
                        PB_GET_ERROR(&stream));
  return 0;
}

/* Fills S with the fields that the previous release wrote into the observation itself, without a
 * submission. Spools and journals may still have its records. */
static bool decode_previous_schema(pb_istream_t *stream, ft_submission *s)
{
  ft_observation_before before;

  if (!pb_decode(stream, ft_observation_before_fields, &before))
    return false;
  if (!before.app[0] && !before.job_name[0] && !before.program[0] && !before.features_count &&
      !before.has_request && !before.has_decision)
    return true;
  memcpy(s->app, before.app, sizeof s->app);
  memcpy(s->job_name, before.job_name, sizeof s->job_name);
  memcpy(s->program, before.program, sizeof s->program);
  memcpy(s->features, before.features, sizeof s->features);
  s->features_count = before.features_count;
  s->has_request = before.has_request;
  s->request = before.request;
  s->has_decision = before.has_decision;
  s->decision = before.decision;
  return true;
}

static bool decode_observation(pb_istream_t *stream, ft_observation *o)
{
  pb_istream_t again = *stream;

  if (!pb_decode(stream, ft_observation_fields, o))
    return false;
  if (o->submission.app[0])
    return true;
  *stream = again;
  return decode_previous_schema(stream, &o->submission);
}

/* Makes all strings of MESSAGE printable: users choose names of jobs, files and partitions, and
 * other users see them. Records that the learner derives from them are then printable, too. */
static void make_strings_printable(const pb_msgdesc_t *fields, void *message)
{
  pb_field_iter_t field;

  if (!pb_field_iter_begin(&field, fields, message))
    return;
  do {
    pb_size_t count = 1;

    if (PB_HTYPE(field.type) == PB_HTYPE_REPEATED)
      count = *(const pb_size_t *)field.pSize;
    else if (PB_HTYPE(field.type) == PB_HTYPE_ONEOF)
      count = *(const pb_size_t *)field.pSize == field.tag;
    for (pb_size_t i = 0; i < count; i++) {
      char *at = (char *)field.pData + (size_t)i * field.data_size;

      if (PB_LTYPE(field.type) == PB_LTYPE_STRING)
        ft_utf8_make_printable(at);
      else if (PB_LTYPE(field.type) == PB_LTYPE_SUBMESSAGE)
        make_strings_printable(field.submsg_desc, at);
    }
  } while (pb_field_iter_next(&field));
}

void ft_record_clean(enum ft_record record, void *message)
{
  make_strings_printable(record_types[record].fields, message);
}

static bool has_user_text(enum ft_record record)
{
  return record == FT_RECORD_SUBMISSION || record == FT_RECORD_OBSERVATION ||
         record == FT_RECORD_ANNOUNCEMENT || record == FT_RECORD_QUESTION ||
         record == FT_RECORD_JOB_ARRAY;
}

int ft_record_decode(enum ft_record record, const void *data, size_t length, void *message,
                     struct ft_error *err)
{
  const struct record_type *type = &record_types[record];
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  struct ft_error why;
  uint32_t schema;
  bool done = record == FT_RECORD_MODEL         ? ft_model_decode(&stream, message)
              : record == FT_RECORD_OBSERVATION ? decode_observation(&stream, message)
                                                : pb_decode(&stream, type->fields, message);

  if (!done) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: byte %zu of %zu: %s", type->name, length - stream.bytes_left,
                        length, PB_GET_ERROR(&stream));
  }
  memcpy(&schema, (const char *)message + type->schema_offset, sizeof schema);
  if (schema < 1 || schema > FT_SCHEMA) {
    errno = EPROTONOSUPPORT;
    return ft_error_set(err, "%s: schema %u; this version of foretell reads 1 to %d", type->name,
                        (unsigned)schema, FT_SCHEMA);
  }
  if (ft_record_check(record, message, &why) < 0) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: %s", type->name, why.text);
  }
  if (has_user_text(record))
    make_strings_printable(type->fields, message);
  return 0;
}

void ft_file_start(enum ft_record record, uint32_t schema, unsigned char *out)
{
  memcpy(out, magic, sizeof magic);
  ft_put32(out + sizeof magic, ((uint32_t)record + 1) | schema << 16);
}

/* Appends MESSAGE in file format to BUF. */
static int encode_file(enum ft_record record, const void *message, struct ft_buf *buf,
                       struct ft_error *err)
{
  unsigned char header[HEADER_SIZE] = { 0 };
  size_t start = buf->length, length;
  char *body;

  if (ft_buf_add(buf, header, sizeof header) < 0)
    return ft_error_set(err, "%s: longer than %zu bytes, or out of memory",
                        record_types[record].name, buf->limit);
  if (ft_record_encode(record, message, buf, err) < 0)
    return -1;
  body = buf->data + start + HEADER_SIZE;
  length = buf->length - start - HEADER_SIZE;
  ft_file_start(record, FT_SCHEMA, header);
  ft_put32(header + 12, (uint32_t)length);
  ft_put32(header + 16, ft_checksum(body, length));
  ft_put32(header + 24, ft_checksum(body, 0));
  memcpy(buf->data + start, header, sizeof header);
  return 0;
}

typedef int file_writer(int dirfd, const char *name, const void *data, size_t length, mode_t mode,
                        struct ft_error *err);

static int encode_and_write_file(enum ft_record record, const void *message, file_writer *write,
                                 int dirfd, const char *name, mode_t mode, struct ft_error *err)
{
  struct ft_error why;
  struct ft_buf buf;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (encode_file(record, message, &buf, &why) < 0)
    status = ft_error_set(err, "%s: %s", name, why.text);
  else
    status = write(dirfd, name, buf.data, buf.length, mode, err);
  ft_buf_free(&buf);
  return status;
}

int ft_record_write_list(enum ft_record record, const void *messages, size_t size, size_t count,
                         int dirfd, const char *name, mode_t mode, struct ft_error *err)
{
  struct ft_error why;
  struct ft_buf buf;
  int status = 0;

  ft_buf_init(&buf, FT_LIMIT_RECORDS);
  for (size_t i = 0; i < count && status == 0; i++)
    if (encode_file(record, (const char *)messages + i * size, &buf, &why) < 0)
      status = ft_error_set(err, "%s: %s", name, why.text);
  if (status == 0)
    status = ft_io_write_file(dirfd, name, buf.data, buf.length, mode, err);
  ft_buf_free(&buf);
  return status;
}

int ft_record_write(enum ft_record record, const void *message, int dirfd, const char *name,
                    mode_t mode, struct ft_error *err)
{
  return encode_and_write_file(record, message, ft_io_write_file, dirfd, name, mode, err);
}

int ft_record_write_unsynced(enum ft_record record, const void *message, int dirfd,
                             const char *name, mode_t mode, struct ft_error *err)
{
  return encode_and_write_file(record, message, ft_io_write_file_unsynced, dirfd, name, mode, err);
}

static int reject_file(struct ft_error *err, const char *name, const char *what)
{
  errno = EBADMSG;
  return ft_error_set(err, "%s: %s", name, what);
}

/* Checks BODY against the length and the checksum of HEADER, and decodes it. */
static int decode_body(const unsigned char *header, const unsigned char *body,
                       enum ft_record record, const char *name, void *message, struct ft_error *err)
{
  uint32_t length = ft_get32(header + 12);
  struct ft_error why;

  if (ft_checksum(body, length) != ft_get32(header + 16))
    return reject_file(err, name, "byte 16: checksum does not match");
  if (ft_get32(header + 20) || ft_get32(header + 24) != ft_checksum(body, 0))
    return reject_file(err, name, "byte 20: a tail, which no record of this version has");
  if (ft_record_decode(record, body, length, message, &why) < 0)
    return ft_error_set(err, "%s: %s", name, why.text);
  return 0;
}

/* Decodes the body after HEADER. Reads it again from FD if it is longer than the AVAILABLE
 * bytes. */
static int read_long_body(int fd, const unsigned char *header, size_t available,
                          enum ft_record record, const char *name, void *message,
                          struct ft_error *err)
{
  uint32_t length = ft_get32(header + 12);
  unsigned char *body;
  ssize_t got;
  int status;

  if (length > FT_LIMIT_RECORD)
    return reject_file(err, name, "byte 12: record longer than 1048576 bytes");
  if (length <= available)
    return decode_body(header, header + HEADER_SIZE, record, name, message, err);
  body = malloc(length);
  if (!body)
    return ft_error_errno(err, "%s", name);
  got = pread(fd, body, length, HEADER_SIZE);
  if (got < 0)
    status = ft_error_errno(err, "%s", name);
  else if (got != (ssize_t)length)
    status = reject_file(err, name, "truncated");
  else
    status = decode_body(header, body, record, name, message, err);
  free(body);
  return status;
}

int ft_file_start_check(const unsigned char *header, size_t got, size_t size, enum ft_record record,
                        uint32_t newest, const char *name, size_t at, struct ft_error *err)
{
  if (got < size || memcmp(header, magic, sizeof magic) != 0) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: byte %zu: expected the magic of a foretell record", name, at);
  }
  if ((ft_get32(header + 8) & 0xffff) != (uint32_t)record + 1) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: byte %zu: unexpected type of record", name, at + 8);
  }
  if (ft_get32(header + 8) >> 16 > newest) {
    errno = EPROTONOSUPPORT;
    return ft_error_set(err, "%s: byte %zu: schema %u; this version of foretell reads 1 to %u",
                        name, at + 10, (unsigned)(ft_get32(header + 8) >> 16), (unsigned)newest);
  }
  return 0;
}

int ft_record_read_open(enum ft_record record, int fd, const char *name, void *message,
                        struct ft_error *err)
{
  unsigned char start[16384]; /* enough for every record that a submission reads */
  ssize_t got = pread(fd, start, sizeof start, 0);

  if (got < 0)
    return ft_error_errno(err, "%s", name);
  if (ft_file_start_check(start, (size_t)got, HEADER_SIZE, record, FT_SCHEMA, name, 0, err) < 0)
    return -1;
  return read_long_body(fd, start, (size_t)got - HEADER_SIZE, record, name, message, err);
}

int ft_record_read(enum ft_record record, int dirfd, const char *name, void *message,
                   struct ft_error *err)
{
  int fd = ft_io_open_regular(dirfd, name, err), status, saved;

  if (fd < 0)
    return -1;
  status = ft_record_read_open(record, fd, name, message, err);
  saved = errno;
  close(fd);
  errno = saved;
  return status;
}

int ft_record_list_open(int dirfd, const char *name, struct ft_buf *list, struct ft_error *err)
{
  ft_buf_init(list, FT_LIMIT_RECORDS);
  return ft_io_read_file(dirfd, name, list, err);
}

int ft_record_list_next(enum ft_record record, const struct ft_buf *list, const char *name,
                        size_t *at, void *message, struct ft_error *err)
{
  size_t left = list->length - *at;
  const unsigned char *header;
  uint32_t length;

  if (!left)
    return 0;
  header = (const unsigned char *)list->data + *at;
  if (ft_file_start_check(header, left, HEADER_SIZE, record, FT_SCHEMA, name, *at, err) < 0)
    return -1;
  length = ft_get32(header + 12);
  left -= HEADER_SIZE;
  if (length > left) {
    errno = EBADMSG;
    return ft_error_set(err, "%s: byte %zu: truncated", name, *at + 12);
  }
  if (decode_body(header, header + HEADER_SIZE, record, name, message, err) < 0)
    return -1;
  *at += (size_t)HEADER_SIZE + length;
  return 1;
}

/* Largest encoded submission record. */
enum { SUBMISSION_SIZE = ft_submission_size + ft_job_array_size };

int ft_submission_to_text(const ft_submission *submission, const ft_job_array *array,
                          struct ft_buf *out, struct ft_error *err)
{
  uint8_t raw[SUBMISSION_SIZE];
  char text[FT_BASE64_SIZE(sizeof raw)];
  pb_ostream_t stream = pb_ostream_from_buffer(raw, sizeof raw);

  if (!pb_encode(&stream, ft_submission_fields, submission) ||
      (array && !pb_encode(&stream, ft_job_array_fields, array)))
    return ft_error_set(err, "submission: cannot be encoded: %s", PB_GET_ERROR(&stream));
  ft_base64_encode(raw, stream.bytes_written, text);
  if (ft_buf_add(out, text, strlen(text)) < 0)
    return ft_error_set(err, "submission: longer than %zu bytes, or out of memory", out->limit);
  return 0;
}

int ft_submission_decode(const void *data, size_t length, ft_submission *submission,
                         ft_job_array *array, struct ft_error *err)
{
  if (ft_record_decode(FT_RECORD_SUBMISSION, data, length, submission, err) < 0)
    return -1;
  return ft_record_decode(FT_RECORD_JOB_ARRAY, data, length, array, err);
}

int ft_submission_from_text(const char *text, ft_submission *submission, ft_job_array *array,
                            struct ft_error *err)
{
  uint8_t raw[SUBMISSION_SIZE];
  ssize_t length = ft_base64_decode(text, raw, sizeof raw);

  if (length < 0)
    return ft_error_set(err, "submission: not base64, or longer than %zu bytes", sizeof raw);
  return ft_submission_decode(raw, (size_t)length, submission, array, err);
}
