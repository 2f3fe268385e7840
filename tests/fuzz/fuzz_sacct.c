/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The importers. Bits of the first byte: 1 a CSV table, else output of sacct; 2 keep going after
 * errors; 4 a time zone is given.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/history/import.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_LINE + 2;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* each run must be valid for the store and for other processes */
static int put(const ft_observation *o, void *data, struct ft_error *err)
{
  ft_observation *copy = data;
  struct ft_buf buf;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, &buf, err) < 0 ||
      ft_record_decode(FT_RECORD_OBSERVATION, buf.data, buf.length, copy, err) < 0) {
    fprintf(stderr, "%s\n", err->text);
    abort();
  }
  ft_buf_free(&buf);
  return 0;
}

static int find_uid(const char *user, uint32_t *uid, void *data)
{
  (void)data;
  *uid = 1000;
  return user[0] == '!' ? -1 : 0;
}

static void skipped(const struct ft_error *why, void *data)
{
  (void)data;
  if (!why->text[0] || strchr(why->text, '\n'))
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ft_observation copy;
  struct ft_import import = { .name = "fuzz",
                              .find_uid = find_uid,
                              .put = put,
                              .skipped = skipped,
                              .data = &copy,
                              .features = "*" };
  struct ft_error err = { "" };
  int status;

  if (size < 2)
    return 0;
  import.fd = fuzz_fd(data + 1, size - 1);
  import.keep_going = data[0] & 2;
  import.zone = data[0] & 4 ? ft_timezone_open("+01:00", NULL, &err) : NULL;
  status = data[0] & 1 ? ft_import_csv(&import, &err) : ft_import_sacct(&import, &err);
  if (status < 0)
    skipped(&err, NULL);
  ft_timezone_close((struct ft_timezone *)import.zone);
  return 0;
}
