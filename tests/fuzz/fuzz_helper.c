/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A question to foretell-helper, and an answer of it. */
#include "config.h"

#include "predictor/request/helper_protocol.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_FRAME + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_question(const char *data, size_t size)
{
  static struct ft_helper_question question, again;
  struct ft_error err = { "" };
  struct ft_buf out;

  if (ft_helper_question_read(data, size, &question, &err) < 0) {
    fuzz_refused(&err);
    return;
  }
  ft_buf_init(&out, FT_LIMIT_FRAME);
  if (question.asked == FT_HELPER_FILES &&
      ft_helper_ask_files(&question.files, question.directory, question.array, &out, &err) == 0)
    fuzz_must(ft_helper_question_read(out.data + FT_HELPER_HEADER, out.length - FT_HELPER_HEADER,
                                      &again, &err) == 0);
  ft_buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ft_answer answer;
  static ft_apps apps;
  struct ft_error err = { "" };
  struct ft_text text;

  read_question((const char *)data, size);
  if (ft_helper_answer_read((const char *)data, size, &answer, &apps, &text, &err) < 0)
    fuzz_refused(&err);
  return 0;
}
