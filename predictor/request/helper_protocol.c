/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "predictor/request/helper_protocol.h"

enum { FIELD_HEADER = 1 + FT_HELPER_HEADER }; /* bytes: letter and length */

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void put_length(size_t length, char out[FT_HELPER_HEADER])
{
  for (int i = 0; i < FT_HELPER_HEADER; i++)
    out[i] = (char)(unsigned char)(length >> 8 * i);
}

size_t ft_helper_length(const char *header)
{
  size_t length = 0;

  for (int i = 0; i < FT_HELPER_HEADER; i++)
    length |= (size_t)(unsigned char)header[i] << 8 * i;
  return length;
}

/* Appends space for the header of a question or an answer. Returns its offset in OUT. */
static size_t begin_message(struct ft_buf *out)
{
  const char header[FT_HELPER_HEADER] = { 0 };
  size_t at = out->length;

  (void)ft_buf_add(out, header, sizeof header);
  return at;
}

/* Completes the header at the offset AT. Returns 0; -1 over OUT's limit and fills ERR. */
static int end_message(struct ft_buf *out, size_t at, struct ft_error *err)
{
  if (out->failed)
    return ft_error_set(err, "helper message: longer than %zu bytes", out->limit);
  put_length(out->length - at - FT_HELPER_HEADER, out->data + at);
  return 0;
}

static void add_field(struct ft_buf *out, char letter, const void *data, size_t length)
{
  char header[FIELD_HEADER] = { letter };

  put_length(length, header + 1);
  (void)ft_buf_add(out, header, sizeof header);
  (void)ft_buf_add(out, data, length);
}

/* Strings include the NUL, so that the reader can borrow them. */
static void add_string(struct ft_buf *out, char letter, const char *string)
{
  if (string)
    add_field(out, letter, string, strlen(string) + 1);
}

/* Adds MESSAGE and, unless it is NULL, the job array TASKS. */
static void add_record_field(struct ft_buf *out, char letter, enum ft_record record,
                             const void *message, const ft_job_array *tasks)
{
  struct ft_buf raw;

  ft_buf_init(&raw, FT_LIMIT_FRAME);
  if (ft_record_encode(record, message, &raw, NULL) == 0 &&
      (!tasks || ft_record_encode(FT_RECORD_JOB_ARRAY, tasks, &raw, NULL) == 0))
    add_field(out, letter, ft_buf_text(&raw), raw.length);
  else
    out->failed = true;
  ft_buf_free(&raw);
}

/* The string fields of a question by their letters. */
static const struct string_field {
  char letter;
  size_t offset; /* in a question */
} strings[] = { { 'd', offsetof(struct ft_helper_question, directory) },
                { 't', offsetof(struct ft_helper_question, path) },
                { 'y', offsetof(struct ft_helper_question, array) },
                { 'f', offsetof(struct ft_helper_question, network.file) },
                { 'g', offsetof(struct ft_helper_question, network.mig) },
                { 'm', offsetof(struct ft_helper_question, network.mode) },
                { 'n', offsetof(struct ft_helper_question, network.advisory) },
                { 'o', offsetof(struct ft_helper_question, network.option) },
                { 'v', offsetof(struct ft_helper_question, network.value) },
                { 'p', offsetof(struct ft_helper_question, network.params) },
                { 'Y', offsetof(struct ft_helper_question, network.array) },
                { 'U', offsetof(struct ft_helper_question, network.user_name) } };

/* The letters that say what is asked, in the order of enum ft_helper_asked; files and submission
 * have them as well. */
static const char asked_letters[] = "atqs";

int ft_helper_ask_apps(struct ft_buf *out, struct ft_error *err)
{
  size_t at = begin_message(out);

  add_string(out, 'a', "");
  return end_message(out, at, err);
}

int ft_helper_ask_text(const char *path, const char *directory, struct ft_buf *out,
                       struct ft_error *err)
{
  size_t at = begin_message(out);

  add_string(out, 't', path);
  add_string(out, 'd', directory);
  return end_message(out, at, err);
}

/* A file: a byte that is 1 if its path is a pattern, then three strings. */
static void add_file(struct ft_buf *out, const struct ft_file_query *file)
{
  const char *const parts[] = { file->counts, file->feature, file->path };
  char data[sizeof *file];
  size_t used = 0;

  data[used++] = (char)file->pattern;
  for (size_t i = 0; i < COUNT(parts); i++) {
    size_t length = strlen(parts[i]) + 1;

    memcpy(data + used, parts[i], length);
    used += length;
  }
  add_field(out, 'q', data, used);
}

int ft_helper_ask_files(const struct ft_file_queries *files, const char *directory,
                        const char *array, struct ft_buf *out, struct ft_error *err)
{
  size_t at = begin_message(out);

  for (size_t i = 0; i < files->count; i++)
    add_file(out, &files->query[i]);
  add_string(out, 'd', directory);
  add_string(out, 'y', array);
  return end_message(out, at, err);
}

int ft_helper_ask_network(const struct ft_network_request *network, const ft_submission *submission,
                          const ft_job_array *tasks, struct ft_buf *out, struct ft_error *err)
{
  const size_t base = offsetof(struct ft_helper_question, network);
  size_t at = begin_message(out);

  add_record_field(out, 's', FT_RECORD_SUBMISSION, submission, tasks);
  for (size_t i = 0; i < COUNT(strings); i++)
    if (strings[i].offset >= base && strings[i].offset < base + sizeof *network)
      add_string(out, strings[i].letter,
                 *(const char *const *)((const char *)network + (strings[i].offset - base)));
  return end_message(out, at, err);
}

/* Copies the string at *DATA, which ends before END, to OUT, of SIZE bytes. Moves *DATA after it.
 */
static bool take_part(const char **data, const char *end_of_data, char *out, size_t size)
{
  size_t left = (size_t)(end_of_data - *data), length = strnlen(*data, left);

  if (length == left || length >= size)
    return false;
  memcpy(out, *data, length + 1);
  *data += length + 1;
  return true;
}

static int store_file(struct ft_file_queries *files, const char *data, size_t length)
{
  const char *stop = data + length;
  struct ft_file_query *file;

  if (files->count == FT_FILE_QUERIES || !length)
    return -1;
  file = &files->query[files->count++];
  file->pattern = *data++;
  return take_part(&data, stop, file->counts, sizeof file->counts) &&
                 take_part(&data, stop, file->feature, sizeof file->feature) &&
                 take_part(&data, stop, file->path, sizeof file->path) && data == stop
             ? 0
             : -1;
}

static int store_field(void *question, char letter, const char *data, size_t length)
{
  struct ft_helper_question *q = question;
  const char *asked = memchr(asked_letters, letter, sizeof asked_letters - 1);

  if (asked)
    q->asked = (enum ft_helper_asked)(asked - asked_letters);
  if (letter == 's')
    return ft_submission_decode(data, length, &q->submission, &q->tasks, NULL);
  if (letter == 'q')
    return store_file(&q->files, data, length);
  if (!length || data[length - 1] != '\0')
    return -1;
  for (size_t i = 0; i < COUNT(strings); i++)
    if (strings[i].letter == letter) {
      *(const char **)((char *)q + strings[i].offset) = data;
      return 0;
    }
  return asked ? 0 : -1;
}

/* Passes each field of DATA to STORE with INTO. Returns 0; -1 on error and fills ERR. */
static int read_message_fields(const char *data, size_t length,
                               int (*store)(void *into, char letter, const char *data,
                                            size_t length),
                               void *into, struct ft_error *err)
{
  size_t at = 0;

  while (at < length) {
    const char *field = data + at;
    size_t size;

    if (length - at < FIELD_HEADER)
      return ft_error_set(err, "helper message: byte %zu: truncated", at);
    size = ft_helper_length(field + 1);
    if (size > length - at - FIELD_HEADER)
      return ft_error_set(err, "helper message: byte %zu: truncated", at);
    if (store(into, *field, field + FIELD_HEADER, size) < 0)
      return ft_error_set(err, "helper message: byte %zu: unknown or malformed field", at);
    at += FIELD_HEADER + size;
  }
  return 0;
}

int ft_helper_question_read(const char *data, size_t length, struct ft_helper_question *out,
                            struct ft_error *err)
{
  *out = (struct ft_helper_question){ 0 };
  return read_message_fields(data, length, store_field, out, err);
}

int ft_helper_answer_write(const ft_answer *answer, const ft_apps *apps, const struct ft_text *text,
                           struct ft_buf *out, struct ft_error *err)
{
  size_t at = begin_message(out);

  add_record_field(out, 'A', FT_RECORD_ANSWER, answer, NULL);
  if (apps)
    add_record_field(out, 'a', FT_RECORD_APPS, apps, NULL);
  if (text)
    add_field(out, 't', text->at, ft_text_left(text));
  return end_message(out, at, err);
}

/* Where the parts of an answer go. */
struct answer_parts {
  ft_answer *answer;
  ft_apps *apps;
  struct ft_text *text;
};

static int store_part(void *parts, char letter, const char *data, size_t length)
{
  struct answer_parts *p = parts;

  if (letter == 'A')
    return p->answer ? ft_record_decode(FT_RECORD_ANSWER, data, length, p->answer, NULL) : 0;
  if (letter == 'a')
    return p->apps ? ft_record_decode(FT_RECORD_APPS, data, length, p->apps, NULL) : 0;
  if (letter == 't' && p->text)
    *p->text = ft_text_of(data, length);
  return letter == 't' ? 0 : -1;
}

int ft_helper_answer_read(const char *data, size_t length, ft_answer *answer, ft_apps *apps,
                          struct ft_text *text, struct ft_error *err)
{
  if (answer)
    *answer = (ft_answer){ 0 };
  if (apps)
    apps->apps_count = 0;
  if (text)
    *text = (struct ft_text){ NULL, NULL };
  if (read_message_fields(data, length, store_part, &(struct answer_parts){ answer, apps, text },
                          err) < 0)
    return -1;
  return answer && !answer->schema ? ft_error_set(err, "helper message: no answer") : 0;
}

void ft_helper_add_features(const ft_answer *answer, ft_submission *submission)
{
  enum { LIMIT = sizeof submission->features / sizeof *submission->features };

  for (size_t i = 0; i < answer->features_count; i++)
    (void)ft_feature_number(submission->features, &submission->features_count, LIMIT,
                            answer->features[i].name, answer->features[i].number);
}
