/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "predictor/request/helper_protocol.h"

enum { FIELD_HEADER = 5 }; /* bytes: letter and length */

/* Appends a field. Strings include the NUL, so that the reader can borrow them. */
static int add_field(struct ft_buf *out, char letter, const void *data, size_t length)
{
  unsigned char header[FIELD_HEADER] = { (unsigned char)letter, (unsigned char)length,
                                         (unsigned char)(length >> 8),
                                         (unsigned char)(length >> 16),
                                         (unsigned char)(length >> 24) };

  if (ft_buf_add(out, header, sizeof header) < 0)
    return -1;
  return ft_buf_add(out, data, length);
}

static int add_string_field(struct ft_buf *out, char letter, const char *string)
{
  return string ? add_field(out, letter, string, strlen(string) + 1) : 0;
}

static int add_request_field(struct ft_buf *out, const ft_request *request, struct ft_error *err)
{
  ft_submission carrier = { .schema = FT_SCHEMA, .has_request = true, .request = *request };
  struct ft_buf raw;
  int status;

  ft_buf_init(&raw, FT_LIMIT_ENVIRONMENT);
  status = ft_record_encode(FT_RECORD_SUBMISSION, &carrier, &raw, err);
  if (status == 0)
    status = add_field(out, 'r', ft_buf_text(&raw), raw.length);
  ft_buf_free(&raw);
  return status;
}

/* The string fields of a description and of a network request, by their letters. */
static const struct string_field {
  char letter;
  size_t offset;
} description_strings[] = { { 'a', offsetof(struct ft_description, app) },
                            { 'p', offsetof(struct ft_description, params) },
                            { 'u', offsetof(struct ft_description, user) },
                            { 'U', offsetof(struct ft_description, user_name) },
                            { 'j', offsetof(struct ft_description, job_name) },
                            { 'N', offsetof(struct ft_description, script_name) },
                            { 'y', offsetof(struct ft_description, array) },
                            { 'K', offsetof(struct ft_description, secrets.keep) },
                            { 'D', offsetof(struct ft_description, secrets.drop) },
                            { 'd', offsetof(struct ft_description, directory) } },
  network_strings[] = { { 'f', offsetof(struct ft_network_request, file) },
                        { 'g', offsetof(struct ft_network_request, mig) },
                        { 'm', offsetof(struct ft_network_request, mode) },
                        { 'n', offsetof(struct ft_network_request, advisory) },
                        { 'o', offsetof(struct ft_network_request, option) },
                        { 'v', offsetof(struct ft_network_request, value) } };

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Adds the COUNT string FIELDS of the struct FROM. */
static int add_string_fields(struct ft_buf *out, const void *from,
                             const struct string_field *fields, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (add_string_field(out, fields[i].letter,
                         *(const char *const *)((const char *)from + fields[i].offset)) < 0)
      return -1;
  return 0;
}

int ft_helper_message_write(const struct ft_description *what, const ft_request *request,
                            const struct ft_network_request *network, struct ft_buf *out,
                            struct ft_error *err)
{
  if (add_request_field(out, request, err) < 0 ||
      add_string_fields(out, what, description_strings, COUNT(description_strings)) < 0 ||
      (what->exported.environment &&
       add_string_field(out, 'e', what->exported.list ? what->exported.list : "ALL") < 0) ||
      (network && add_string_fields(out, network, network_strings, COUNT(network_strings)) < 0) ||
      (what->script && add_field(out, 's', what->script, what->script_length) < 0))
    goto full;
  for (size_t i = 0; i < what->argument_count && i < FT_HELPER_MESSAGE_ARGUMENTS; i++)
    if (add_string_field(out, 'w', what->arguments[i]) < 0)
      goto full;
  return 0;
full:
  return ft_error_set(err, "helper message: longer than %zu bytes", out->limit);
}

static int decode_request(const char *data, size_t length, ft_request *out)
{
  ft_submission carrier;

  if (ft_record_decode(FT_RECORD_SUBMISSION, data, length, &carrier, NULL) < 0)
    return -1;
  *out = carrier.request;
  return 0;
}

/* Returns the address of the string in OUT that has LETTER; NULL if there is none. */
static const char **string_of_letter(struct ft_helper_message *out, char letter)
{
  for (size_t i = 0; i < COUNT(description_strings); i++)
    if (description_strings[i].letter == letter)
      return (const char **)((char *)&out->description + description_strings[i].offset);
  for (size_t i = 0; i < COUNT(network_strings); i++)
    if (network_strings[i].letter == letter)
      return (const char **)((char *)&out->network + network_strings[i].offset);
  return letter == 'e' ? &out->description.exported.list : NULL;
}

static int store_field(struct ft_helper_message *out, char letter, const char *data, size_t length)
{
  struct ft_description *d = &out->description;
  const char **string = string_of_letter(out, letter);

  if (letter == 'r')
    return decode_request(data, length, &out->request);
  if (letter == 's') {
    d->script = data;
    d->script_length = length;
    return 0;
  }
  if (!length || data[length - 1] != '\0')
    return -1;
  if (string)
    *string = data;
  else if (letter != 'w' || d->argument_count == FT_HELPER_MESSAGE_ARGUMENTS)
    return -1;
  else
    out->words[d->argument_count++] = data;
  return 0;
}

int ft_helper_message_read(const char *data, size_t length, struct ft_helper_message *out,
                           struct ft_error *err)
{
  size_t at = 0;

  *out = (struct ft_helper_message){ 0 };
  while (at < length) {
    const unsigned char *header = (const unsigned char *)data + at;
    size_t size;

    if (length - at < FIELD_HEADER)
      return ft_error_set(err, "helper message: byte %zu: truncated", at);
    size = header[1] | (size_t)header[2] << 8 | (size_t)header[3] << 16 | (size_t)header[4] << 24;
    if (size > length - at - FIELD_HEADER)
      return ft_error_set(err, "helper message: byte %zu: truncated", at);
    if (store_field(out, (char)header[0], data + at + FIELD_HEADER, size) < 0)
      return ft_error_set(err, "helper message: byte %zu: unknown or malformed field", at);
    at += FIELD_HEADER + size;
  }
  out->description.arguments = out->words;
  return 0;
}
