/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "tests/unit/app_edits.h"
#include "tests/unit/unit.h"

#include "predictor/request/describe.h"

static void describe(const struct submitted *s, ft_submission *out)
{
  static const ft_request no_request;
  struct ft_description what = { .user = "1000",
                                 .job_name = s->job_name ? s->job_name : "job.sh",
                                 .directory = s->directory ? s->directory : "/home/ada/project",
                                 .script = s->script,
                                 .script_length = strlen(s->script),
                                 .arguments = s->arguments };
  struct ft_error err;

  while (what.argument_count < COUNT_OF(s->arguments) && s->arguments[what.argument_count])
    what.argument_count++;
  assert_int_equal(ft_describe(&what, &no_request, out, NULL, &err), 0);
}

static enum verdict verdict_of(const ft_submission *a, const ft_submission *b)
{
  if (strcmp(a->app, b->app) != 0)
    return NEW;
  return a->script_hash != b->script_hash && a->directory_hash != b->directory_hash ? VARIANT
                                                                                    : SAME;
}

static void edits_give_the_expected_app(void **state)
{
  static const char *const names[] = { "the same", "a variant", "new" };
  ft_submission *out = calloc(2, sizeof *out);
  unsigned wrong = 0;

  (void)state;
  assert_non_null(out);
  for (size_t i = 0; i < COUNT_OF(edits); i++) {
    const struct edit *e = &edits[i];
    enum verdict found;

    describe(&e->before, &out[0]);
    describe(&e->after, &out[1]);
    found = verdict_of(&out[0], &out[1]);
    if (found == e->verdict)
      continue;
    print_error("%s: %s, expected %s: %s and %s\n", e->what, names[found], names[e->verdict],
                out[0].app, out[1].app);
    wrong++;
  }
  free(out);
  assert_int_equal(wrong, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(edits_give_the_expected_app) };

  return cmocka_run_group_tests_name("app_key", tests, NULL, NULL);
}
