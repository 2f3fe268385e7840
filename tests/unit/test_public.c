/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The installed header and the shared library alone, as a user's program uses them. */
#include "config.h"

#include "tests/unit/scratch.h"

#include "predictor/foretell.h"

static char folder[SCRATCH_SIZE];
static int folder_fd;

static void an_empty_state_directory_has_no_estimate(void **state)
{
  const struct ft_value values[] = { { "batch", 32, NULL }, { "arch", 0, "resnet50" } };
  struct ft_error err = { "" };
  ft_predictor *predictor = ft_predictor_open(folder, &err);

  (void)state;
  assert_non_null(predictor);
  assert_null(ft_predict_memory(predictor, 1000, "unet3d", values, 2, &err));
  assert_true(err.text[0] != '\0');
  assert_null(ft_predict_memory(predictor, 1000, "unet3d", NULL, 0, NULL));
  ft_predictor_close(predictor);
}

static void missing_files_are_reported(void **state)
{
  struct ft_error err = { "" };

  (void)state;
  assert_null(ft_predictor_open("/nonexistent/foretell", &err));
  assert_non_null(strstr(err.text, "/nonexistent/foretell"));
  ft_predictor_close(NULL);
  ft_prediction_free(NULL);
}

static void a_value_that_is_not_finite_is_rejected(void **state)
{
  const struct ft_value bad = { "batch", NAN, NULL };
  struct ft_error err = { "" };
  ft_predictor *predictor = ft_predictor_open(folder, &err);

  (void)state;
  assert_null(ft_predict_memory(predictor, 1000, "unet3d", &bad, 1, &err));
  assert_non_null(strstr(err.text, "batch"));
  ft_predictor_close(predictor);
}

/* A state directory like the agent's, made by another program, with 39 completed runs. */
static void the_library_gives_the_estimate_of_the_command(void **state)
{
  const struct ft_value values[] = { { "batch", 32, NULL }, { "arch", 0, "resnet50" } };
  const char *build = getenv("FT_TOP_BUILDDIR");
  struct ft_error err = { "" };
  ft_predictor *predictor;
  ft_prediction *p;
  char command[4200], published[64];

  (void)state;
  (void)snprintf(published, sizeof published, "%s/state", folder);
  (void)snprintf(command, sizeof command, "'%s/tests/cli/make_state' %s 1000", build ? build : ".",
                 published);
  assert_int_equal(system(command), 0);
  predictor = ft_predictor_open(published, &err);
  assert_non_null(predictor);
  p = ft_predict_memory(predictor, 1000, "unet3d", values, 2, &err);
  ft_predictor_close(predictor);
  assert_non_null(p);
  assert_int_equal(ft_prediction_runs(p), 39);
  assert_string_equal(ft_prediction_method(p), "regression");
  /* the simulated law gives 2 GiB * exp(0.9 + 0.25) */
  assert_near(ft_prediction_quantile(p, 0.5), 0x1p31 * exp(1.15), 0.1);
  assert_near(ft_prediction_exceeds(p, ft_prediction_quantile(p, 0.9)), 0.1, 1e-6);
  assert_true(ft_prediction_exceeds(p, 0) > 0.99 && ft_prediction_exceeds(p, 1e18) < 0.01);
  ft_prediction_free(p);
}

static int set_up(void **state)
{
  (void)state;
  folder_fd = scratch_open(folder);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return scratch_close(folder, folder_fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(an_empty_state_directory_has_no_estimate),
                                      cmocka_unit_test(missing_files_are_reported),
                                      cmocka_unit_test(a_value_that_is_not_finite_is_rejected),
                                      cmocka_unit_test(
                                          the_library_gives_the_estimate_of_the_command) };

  return cmocka_run_group_tests_name("public", tests, set_up, tear_down);
}
