/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdint.h>

#include "daemon/exchange.h"

enum { LENGTH_BYTES = 4 };
_Static_assert(ft_observation_size + LENGTH_BYTES < FT_EXCHANGE_BYTES, "every observation fits");

const char *const ft_exchange_paths[FT_EXCHANGE_COUNT] = {
  "/runs", "/forgotten", "/jobs", "/settings", "/running", "/host"
};

int ft_exchange_add(struct ft_buf *list, const ft_observation *o, struct ft_error *err)
{
  static const unsigned char no_length[LENGTH_BYTES];
  size_t before = list->length, length;

  if (ft_buf_add(list, no_length, sizeof no_length) < 0 ||
      ft_record_encode(FT_RECORD_OBSERVATION, o, list, err) < 0) {
    list->length = before;
    list->failed = false;
    return ft_error_set(err, "job %u: does not fit into the request", (unsigned)o->job_id);
  }
  length = list->length - before - LENGTH_BYTES;
  for (int i = 0; i < LENGTH_BYTES; i++)
    list->data[before + (size_t)i] = (char)(length >> 8 * i);
  return 0;
}

int ft_exchange_next(const void *list, size_t length, size_t *at, ft_observation *out,
                     struct ft_error *err)
{
  const unsigned char *bytes = list;
  size_t record = 0;

  if (*at == length)
    return 0;
  if (length - *at < LENGTH_BYTES)
    return ft_error_set(err, "byte %zu: expected the length of an observation", *at);
  for (int i = 0; i < LENGTH_BYTES; i++)
    record |= (size_t)bytes[*at + (size_t)i] << 8 * i;
  *at += LENGTH_BYTES;
  if (record > length - *at)
    return ft_error_set(err, "byte %zu: expected an observation of %zu bytes", *at, record);
  *at += record;
  return ft_record_decode(FT_RECORD_OBSERVATION, bytes + *at - record, record, out, err) < 0 ? 2
                                                                                             : 1;
}
