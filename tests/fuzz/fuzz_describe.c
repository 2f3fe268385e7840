/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The script parser. Input: one argument per line, the first also as the script's name, a NUL, the
 * script. REPEAT, a count in two bytes and a byte stand for that number of the byte: a short input
 * fills a buffer. Every file that the script lists commands in, or is a workflow task's script, is
 * the script itself. The result must be a valid record without the password, which is passed in two
 * more arguments.
 */
#include "config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/request/describe.h"
#include "tests/fuzz/limit.h"

enum { ARGUMENTS = 16, LINES = 4096, REPEAT = 0x11 };

static const char password[] = "hunterpass";

static const ft_declared_app apps[] = { { .name = "declared",
                                          .command = "declared*x",
                                          .arguments_count = 2,
                                          .arguments = { { .name = "--n" }, { .name = "1" } },
                                          .files_count = 1,
                                          .files = { { .argument = "2", .counts = "lines" } } } };

static void must(int condition)
{
  if (!condition)
    abort();
}

/* PASSWORD occurs in the submission only where it is not used as one. */
static void must_not_hold(const ft_submission *submission)
{
  struct ft_buf raw;

  ft_buf_init(&raw, FT_LIMIT_ENVIRONMENT);
  must(ft_record_encode(FT_RECORD_SUBMISSION, submission, &raw, NULL) == 0);
  must(!memmem(raw.data, raw.length, password, strlen(password)));
  ft_buf_free(&raw);
}

/* Encodes and decodes the submission. */
static void check(const ft_submission *submission)
{
  static ft_submission again;
  static ft_job_array array;
  struct ft_error err;
  struct ft_buf buf;

  must(submission->app[0] != '\0');
  ft_buf_init(&buf, FT_LIMIT_ENVIRONMENT);
  must(ft_submission_to_text(submission, NULL, &buf, &err) == 0);
  must(ft_submission_from_text(ft_buf_text(&buf), &again, &array, &err) == 0);
  ft_buf_free(&buf);
}

static bool read_same_script(void *data, const char *path, struct ft_text *text)
{
  const struct ft_description *what = data;

  (void)path;
  *text = ft_text_of(what->script, what->script_length);
  return true;
}

static void describe(const uint8_t *data, size_t size)
{
  static ft_submission submission;
  static struct ft_file_queries files;
  static const char *const environment[] = { "N=3", "DB_PASSWORD=hunterpass", "X=--a b", NULL };
  const ft_request request = { .tasks = 1 };
  const uint8_t *nul = size ? memchr(data, '\0', size) : NULL;
  size_t length = nul ? (size_t)(nul - data) : 0;
  struct ft_file_reader reader = { read_same_script, NULL };
  const char *arguments[ARGUMENTS + 2];
  char lines[LINES];
  struct ft_description what = { .user = "u",
                                 .job_name = "j1",
                                 .script = nul ? (const char *)nul + 1 : (const char *)data,
                                 .script_length = nul ? size - length - 1 : size,
                                 .arguments = arguments,
                                 .exported = { NULL, environment },
                                 .apps = apps,
                                 .app_count = 1 };

  if (length >= LINES)
    length = LINES - 1;
  if (length)
    memcpy(lines, data, length);
  lines[length] = '\0';
  for (char *p = lines; *p && what.argument_count < ARGUMENTS;) {
    arguments[what.argument_count++] = p;
    p += strcspn(p, "\n");
    if (*p)
      *p++ = '\0';
  }
  what.script_name = what.argument_count ? arguments[0] : NULL;
  reader.data = &what;
  what.reader = &reader;
  if (!size || !memmem(data, size, password, strlen(password))) {
    arguments[what.argument_count] = "--password";
    arguments[what.argument_count + 1] = password;
    what.argument_count += 2;
    (void)ft_describe(&what, &request, &submission, &files, NULL);
    must_not_hold(&submission);
    what.argument_count -= 2;
  }
  (void)ft_describe(&what, &request, &submission, &files, NULL);
  check(&submission);
  if (what.argument_count) {
    what.params = arguments[0];
    what.app = arguments[0];
    (void)ft_describe(&what, &request, &submission, NULL, NULL);
    check(&submission);
  }
  ft_describe_script(ft_text_of(what.script, what.script_length), NULL, &what.secrets, &submission,
                     &files);
  check(&submission);
  what.array = what.argument_count ? arguments[what.argument_count - 1] : "1-9";
  (void)ft_describe(&what, &request, &submission, &files, NULL);
  check(&submission);
  what.script = NULL;
  what.app = NULL;
  (void)ft_describe(&what, &request, &submission, &files, NULL);
  check(&submission);
}

const size_t fuzz_limit = FT_LIMIT_ANALYSED + LINES;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes DATA to OUT with its repetitions, at most fuzz_limit bytes. Returns their number. */
static size_t expand(const uint8_t *data, size_t size, uint8_t *out)
{
  size_t used = 0;

  for (size_t i = 0; i < size && used < fuzz_limit; i++) {
    size_t count = 1;

    if (data[i] == REPEAT && size - i > 3) {
      count = data[i + 1] | (size_t)data[i + 2] << 8;
      i += 3;
    }
    if (count > fuzz_limit - used)
      count = fuzz_limit - used;
    memset(out + used, data[i], count);
    used += count;
  }
  return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  uint8_t *expanded = malloc(fuzz_limit);

  must(expanded != NULL);
  describe(expanded, expand(data, size, expanded));
  free(expanded);
  return 0;
}
