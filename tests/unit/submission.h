/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a submission's record has, as text. */
#ifndef FT_TESTS_SUBMISSION_H
#define FT_TESTS_SUBMISSION_H

#include "tests/unit/unit.h"

#include "predictor/core/buf.h"
#include "predictor/record/record.h"

/* Returns the COUNT features F as "name=value ...", in their order; valid until the next call. */
static inline const char *features_text(const ft_feature *f, size_t count)
{
  static char text[2048];
  size_t used = 0;

  text[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    const char *separator = i ? " " : "";
    char *at = text + used;

    used += (size_t)(f[i].has_number ? snprintf(at, sizeof text - used, "%s%s=%.12g", separator,
                                                f[i].name, f[i].number)
                                     : snprintf(at, sizeof text - used, "%s%s=%s", separator,
                                                f[i].name, f[i].category));
    assert_true(used < sizeof text);
  }
  return text;
}

/* The same for the features of SUBMISSION. */
static inline const char *features_of(const ft_submission *submission)
{
  return features_text(submission->features, submission->features_count);
}

/* Returns whether TEXT is anywhere in the encoded SUBMISSION. */
static inline bool is_in_record(const ft_submission *submission, const char *text)
{
  struct ft_buf raw;
  bool found;

  ft_buf_init(&raw, FT_LIMIT_ENVIRONMENT);
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, submission, &raw, NULL), 0);
  found = memmem(raw.data, raw.length, text, strlen(text));
  ft_buf_free(&raw);
  return found;
}

#endif
