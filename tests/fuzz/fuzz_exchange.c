/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A list of observations, as an agent sends it to the learner, plain and compressed. */
#include "config.h"

#include "daemon/transfer.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_EXCHANGE_BYTES + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_list(const char *data, size_t size)
{
  static ft_observation o;
  struct ft_error err;
  struct ft_buf again;
  size_t at = 0, before = 0;
  int status;

  while ((status = ft_exchange_next(data, size, &at, &o, &err)) > 0) {
    fuzz_must(at > before && at <= size);
    before = at;
    ft_buf_init(&again, FT_EXCHANGE_BYTES);
    fuzz_must(status == 2 ? err.text[0] != '\0' : ft_exchange_add(&again, &o, &err) == 0);
    ft_buf_free(&again);
  }
  fuzz_must(status == 0 ? at == size : err.text[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_error err;
  struct ft_buf body;

  read_list((const char *)data, size);
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  if (ft_buf_add(&body, data, size) == 0) {
    if (ft_transfer_inflate(&body, &err) == 0)
      read_list(body.data, body.length);
    else
      fuzz_refused(&err);
  }
  ft_buf_free(&body);
  return 0;
}
