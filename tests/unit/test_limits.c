/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts one byte below, at and above the size of each fixed buffer of a submission. */
#include "config.h"

#include "tests/unit/unit.h"

#include <stdlib.h>

#include "predictor/request/describe.h"
#include "predictor/request/shell/shell.h"

static struct ft_file_queries files;
static ft_submission out;
static struct ft_error err;

/* Returns TEMPLATE with COUNT letters for each '@', to be freed. */
static char *fill(const char *template, size_t count)
{
  size_t size = strlen(template) + 1, used = 0;
  char *text;

  for (const char *p = template; *p; p++)
    size += *p == '@' ? count : 0;
  text = malloc(size);
  assert_non_null(text);
  for (const char *p = template; *p; p++)
    if (*p == '@') {
      memset(text + used, 'b', count);
      used += count;
    } else {
      text[used++] = *p;
    }
  text[used] = '\0';
  return text;
}

/* Describes SCRIPT as a task of an array. */
static void describe(const char *script)
{
  const ft_request request = { .tasks = 1 };
  const struct ft_description what = { .user = "ada",
                                       .job_name = "job.sh",
                                       .directory = "/data",
                                       .script = script,
                                       .script_length = strlen(script),
                                       .array = "1-9" };

  assert_int_equal(ft_describe(&what, &request, &out, &files, &err), 0);
}

static bool has_feature(const char *name)
{
  return ft_feature_find(out.features, out.features_count, name);
}

static void the_words_of_a_command_have_a_limit(void **state)
{
  static const char *const scripts[] = { "./sim @ --n 3\n", "./sim \"@\" --n 3\n" };
  const size_t room = FT_SHELL_TEXT - sizeof "./sim" - 1 - sizeof "--n" - sizeof "3";

  (void)state;
  for (size_t i = 0; i < COUNT_OF(scripts); i++)
    for (size_t n = room - 1; n <= room + 1; n++) {
      char *script = fill(scripts[i], n);

      describe(script);
      if (has_feature("n") != (n <= room))
        fail_msg("%s, %zu bytes: n is %s", scripts[i], n, has_feature("n") ? "kept" : "lost");
      free(script);
    }
}

/* The text after a full buffer, as long as a script may be. */
static void no_text_follows_a_full_buffer(void **state)
{
  static const char *const templates[] = { "./sim $(date)/%s \"\" @\n", "./sim %s \"\" @\n",
                                           "./sim $(cat %s \"\" @ <@)\n",
                                           "./sim \"%s\" '' '' @ @\n" };
  static char script[FT_SHELL_TEXT + 64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(templates); i++)
    for (size_t n = FT_SHELL_TEXT - 32; n <= FT_SHELL_TEXT + 1; n++) {
      char *full = fill("@", n), *text;

      (void)snprintf(script, sizeof script, templates[i], full);
      text = fill(script, FT_LIMIT_ANALYSED / 2);
      describe(text);
      assert_true(strncmp(out.app, "sim", 3) == 0);
      free(text);
      free(full);
    }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_words_of_a_command_have_a_limit),
    cmocka_unit_test(no_text_follows_a_full_buffer),
  };

  return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
