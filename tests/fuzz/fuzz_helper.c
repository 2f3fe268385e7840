/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message to foretell-helper, then the description of the submission that it carries. */
#include "config.h"

#include "predictor/request/describe.h"
#include "predictor/request/helper_protocol.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_FRAME + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct ft_helper_message message;
  static ft_submission submission, again;
  static ft_job_array array;
  static struct ft_file_queries files;
  struct ft_error err = { "" };
  struct ft_buf out;

  if (ft_helper_message_read((const char *)data, size, &message, &err) < 0) {
    fuzz_refused(&err);
    return 0;
  }
  (void)ft_describe(&message.description, &message.request, &submission, &files, &err);
  ft_buf_init(&out, FT_LIMIT_ENVIRONMENT);
  if (ft_submission_to_text(&submission, NULL, &out, &err) == 0)
    fuzz_must(ft_submission_from_text(ft_buf_text(&out), &again, &array, &err) == 0);
  ft_buf_free(&out);
  return 0;
}
