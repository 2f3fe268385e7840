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

/* Returns the job of user 1000's app unet3d with OPTIONS, pairs of name and value, ended by NULL.
 */
static ft_job_request *make_job(const char *const *options)
{
  struct ft_error err;
  ft_job_request *job = ft_job_request_new(1000, &err);

  assert_non_null(job);
  for (; *options; options += 2)
    assert_int_equal(ft_job_request_set(job, options[0], options[1], &err), 0);
  return job;
}

static void a_forecast_has_the_quantities_and_a_decision(void **state)
{
  static const struct {
    const char *options[11], *action, *rule;
    double max_p_oom;
  } cases[] = { { { "app", "unet3d", "params", "batch=32,arch=resnet50", "predict-mem", "set",
                    NULL },
                  "set",
                  "estimate",
                  0.1 },
                { { "app", "unet3d", "params", "batch=32,arch=resnet50", "mem", "1G", NULL },
                  "reject",
                  "estimate",
                  1 },
                { { "app", "unet3d", "params", "batch=32,arch=resnet50", "mem", "64G", NULL },
                  "leave",
                  "none",
                  0.01 },
                { { "app", "unknown", NULL }, "leave", "none", 1 } };
  char published[64];
  struct ft_error err = { "" };
  ft_predictor *predictor;

  (void)state;
  (void)snprintf(published, sizeof published, "%s/state", folder);
  predictor = ft_predictor_open(published, &err);
  assert_non_null(predictor);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ft_job_request *job = make_job(cases[i].options);
    ft_forecast *forecast = ft_forecast_make(predictor, job, &err);
    const struct ft_decided *decided;
    const ft_prediction *memory;

    ft_job_request_free(job);
    assert_non_null(forecast);
    decided = ft_forecast_decision(forecast);
    assert_string_equal(decided->action, cases[i].action);
    assert_string_equal(decided->rule, cases[i].rule);
    assert_false(decided->p_oom > cases[i].max_p_oom);
    memory = ft_forecast_quantity(forecast, "peak_memory_bytes");
    assert_int_equal(memory != NULL, strcmp(cases[i].options[1], "unet3d") == 0);
    if (memory) {
      assert_string_equal(ft_prediction_unit(memory), "bytes");
      assert_int_equal(ft_prediction_runs(memory), 39);
      assert_near(ft_prediction_quantile(memory, 0.5), 0x1p31 * exp(1.15), 0.1);
    }
    assert_null(ft_forecast_quantity(forecast, "energy_joules"));
    assert_null(ft_forecast_quantity(forecast, "peak_memory"));
    ft_forecast_free(forecast);
  }
  ft_predictor_close(predictor);
}

/* A script of FOLDER with LINES after the interpreter's. Returns its path. */
static const char *write_script(const char *lines, char path[96])
{
  FILE *file;

  (void)snprintf(path, 96, "%s/train.sh", folder);
  file = fopen(path, "w");
  assert_non_null(file);
  assert_true(fprintf(file, "%s", lines) > 0);
  assert_int_equal(fclose(file), 0);
  return path;
}

static void a_script_sets_what_its_directives_request(void **state)
{
  static const struct {
    const char *lines, *option, *value, *action;
  } cases[] = { { "#SBATCH --mem=1G\n", NULL, NULL, "reject" },
                { "#SBATCH --mem 1G -N 1-2\n", NULL, NULL, "reject" },
                { "#SBATCH --comment=--mem=1G\n#SBATCH --predict-mem -p main\n", NULL, NULL,
                  "set" },
                { "#SBATCH --mem=1G\n#SBATCH --predict-mem=raise\n", "mem", "12G", "leave" },
                { "true\n#SBATCH --mem=1G\n", "predict-mem", "", "set" } };
  static const char *const arguments[] = { "--arch", "resnet50" };
  struct ft_error err = { "" };
  char published[64], path[96], lines[256];
  ft_predictor *predictor;

  (void)state;
  (void)snprintf(published, sizeof published, "%s/state", folder);
  predictor = ft_predictor_open(published, &err);
  assert_non_null(predictor);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ft_job_request *job = ft_job_request_new(1000, &err);
    ft_forecast *forecast;

    (void)snprintf(lines, sizeof lines,
                   "#!/bin/sh\n#SBATCH --predict-app=unet3d --predict-params=batch=32\n%s"
                   "train \"$@\"\n",
                   cases[i].lines);
    assert_int_equal(ft_job_request_set_script(job, write_script(lines, path), arguments, 2, &err),
                     0);
    if (cases[i].option)
      assert_int_equal(ft_job_request_set(job, cases[i].option, cases[i].value, &err), 0);
    forecast = ft_forecast_make(predictor, job, &err);
    ft_job_request_free(job);
    assert_non_null(forecast);
    assert_string_equal(ft_forecast_app(forecast), "unet3d");
    assert_near(ft_prediction_quantile(ft_forecast_quantity(forecast, "peak_memory_bytes"), 0.5),
                0x1p31 * exp(1.15), 0.1);
    assert_string_equal(ft_forecast_decision(forecast)->action, cases[i].action);
    ft_forecast_free(forecast);
  }
  ft_predictor_close(predictor);
}

static void a_script_that_sbatch_rejects_is_an_error(void **state)
{
  static const struct {
    const char *lines, *error;
  } cases[] = { { "\n", "train.sh: the script has only blanks" },
                { "echo\n", "train.sh: not a script" },
                { "#!/bin/sh\n#SBATCH --time=soon\n", "train.sh: time: expected minutes" },
                { "#!/bin/sh\n#SBATCH -a 0-x\n", "train.sh: array: expected a list" },
                { "#!/bin/sh\n#SBATCH --ntasks=-1\n", "train.sh: ntasks: expected a number" } };
  ft_job_request *job = ft_job_request_new(1000, NULL);
  struct ft_error err;
  char path[96];

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(
        ft_job_request_set_script(job, write_script(cases[i].lines, path), NULL, 0, &err), -1);
    assert_non_null(strstr(err.text, cases[i].error));
  }
  assert_int_equal(ft_job_request_set_script(job, "/nonexistent/job.sh", NULL, 0, &err), -1);
  assert_non_null(strstr(err.text, "/nonexistent/job.sh: No such file"));
  ft_job_request_free(job);
}

static void each_quantity_has_a_name_that_ends_in_its_unit(void **state)
{
  static const char *const names[] = { "peak_memory_bytes", "gpu_memory_bytes", "runtime_seconds",
                                       "energy_joules" };

  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    assert_string_equal(ft_quantity_name(i), names[i]);
  assert_null(ft_quantity_name(sizeof names / sizeof *names));
}

static void a_job_names_its_wrong_option(void **state)
{
  static const struct {
    const char *option, *value, *error;
  } cases[] = { { "memory", "1G", "memory: no such option" },
                { "mem", "lots", "mem: expected a memory size" },
                { "mem", "", "mem: expected a memory size" },
                { "nodes", "2-4", "nodes: expected a number" },
                { "nodes", "-1", "nodes: expected a number" },
                { "time", "soon", "time: expected minutes" },
                { "predict-mem", "maybe", "predict-mem: expected check" },
                { "user", "a name that is longer than the sixty-three bytes that a user's has",
                  "63 bytes" } };
  ft_predictor *predictor = ft_predictor_open(folder, NULL);
  ft_job_request *job = ft_job_request_new(1000, NULL);
  struct ft_error err;

  (void)state;
  assert_non_null(job);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(ft_job_request_set(job, cases[i].option, cases[i].value, &err), -1);
    assert_non_null(strstr(err.text, cases[i].error));
  }
  assert_null(ft_forecast_make(predictor, job, &err));
  assert_non_null(strstr(err.text, "no app"));
  assert_int_equal(ft_job_request_set(job, "app", "unet3d", NULL), 0);
  assert_int_equal(ft_job_request_set(job, "params", "batch", NULL), 0);
  assert_null(ft_forecast_make(predictor, job, &err));
  assert_non_null(strstr(err.text, "params"));
  ft_job_request_free(job);
  ft_job_request_free(NULL);
  ft_forecast_free(NULL);
  ft_predictor_close(predictor);
}

static bool stop_search(void *data, unsigned generation)
{
  (void)data;
  return generation < 2;
}

/* y = 3 + 2 a b on a grid */
static void a_table_is_fitted_by_each_method(void **state)
{
  static const char *const names[] = { "a", "b" };
  static const struct {
    enum ft_fit_method method;
    double within; /* relative, at a point outside */
    const char *equation;
  } cases[] = { { FT_FIT_SYMBOLIC, 1e-6, "a*b" },
                { FT_FIT_LINEAR, 0.9, "*a" },
                { FT_FIT_LOGLINEAR, 0.3, "a^" } };
  const struct ft_fit_format format = { "s", false, 4 };
  double x[2 * 36], y[36], outside[] = { 10, 20 };
  struct ft_fit_rows rows = { x, y, 36, 2, names, "y" };
  struct ft_fit_settings settings;
  struct ft_fit_point point;
  struct ft_error err;
  size_t chosen[1];
  ft_fit *fit;

  (void)state;
  for (size_t i = 0; i < 36; i++) {
    x[2 * i] = 1 + (double)(i % 6);
    x[2 * i + 1] = 1 + (double)(i / 6);
    y[i] = 3 + 2 * x[2 * i] * x[2 * i + 1];
  }
  ft_fit_defaults(&settings);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text;

    fit = ft_fit_make(cases[i].method, &rows, &settings, &err);
    assert_non_null(fit);
    assert_near(ft_fit_value(fit, outside), 403, 403 * cases[i].within);
    text = ft_fit_equation(fit, SIZE_MAX, &format, &err);
    assert_non_null(text);
    assert_non_null(strstr(text, cases[i].equation));
    assert_non_null(strstr(text, "[s]"));
    assert_int_equal(ft_fit_front(fit, 0, &point), cases[i].method == FT_FIT_SYMBOLIC);
    assert_false(ft_fit_cancelled(fit));
    free(text);
    ft_fit_free(fit);
  }
  settings.progress = stop_search;
  fit = ft_fit_make(FT_FIT_SYMBOLIC, &rows, &settings, &err);
  assert_true(fit && ft_fit_cancelled(fit));
  ft_fit_free(fit);
  ft_fit_free(NULL);
  assert_int_equal(ft_fit_choose(&rows, 1, chosen, &err), 0);
  assert_true(chosen[0] < 2);
  settings.primitives = "add,tan";
  assert_null(ft_fit_make(FT_FIT_SYMBOLIC, &rows, &settings, &err));
  assert_non_null(strstr(err.text, "add,tan: expected names of add"));
  x[0] = -1;
  assert_null(ft_fit_make(FT_FIT_LOGLINEAR, &rows, NULL, &err));
  assert_non_null(strstr(err.text, "not above 0"));
  rows.features = FT_FIT_FEATURES + 1;
  assert_null(ft_fit_make(FT_FIT_LINEAR, &rows, NULL, &err));
  assert_non_null(strstr(err.text, "at most 255 features"));
}

/* Platform b is twice as fast as a. */
static void a_model_of_several_platforms_is_stored_and_predicts(void **state)
{
  ft_relative_name feature[] = { "n" }, platform[] = { "a", "b" }, label[40] = { { 0 } };
  double x[40], seconds[80], times[] = { 10, NAN };
  size_t group[40];
  struct ft_relative_table t = { .rows = 40,
                                 .features = 1,
                                 .platforms = 2,
                                 .feature = feature,
                                 .platform = platform,
                                 .label = label,
                                 .x = x,
                                 .seconds = seconds,
                                 .group = group };
  struct ft_relative_settings settings = { .trees = 20, .seed = 1 };
  struct ft_relative_prediction answer;
  struct ft_relative_facts facts;
  struct ft_relative_part part;
  size_t which[2], share[2], parts = 0;
  ft_relative_model *m;
  struct ft_error err;
  char path[96];

  (void)state;
  for (size_t r = 0; r < 40; r++) {
    x[r] = (double)r + 1;
    seconds[2 * r] = 2 * x[r];
    seconds[2 * r + 1] = x[r];
    group[r] = r;
  }
  settings.from = ft_relative_source(&t, "a", &err);
  settings.learners = ft_relative_learners("ridge,forest");
  assert_true(settings.from == 0 && settings.learners);
  assert_int_equal(ft_relative_learners("oracle"), 0);
  m = ft_relative_train(&t, NULL, &settings, &err);
  assert_non_null(m);
  (void)snprintf(path, sizeof path, "%s/speed.model", folder);
  assert_int_equal(ft_relative_save(m, path, 0600, &err), 0);
  ft_relative_close(m);
  m = ft_relative_open(path, &err);
  assert_non_null(m);
  ft_relative_describe(m, &facts);
  assert_true(facts.features == 1 && facts.platforms == 2 && facts.rows == 40);
  assert_string_equal(facts.platform[1], "b");
  assert_int_equal(ft_relative_predict(m, (double[]){ 5 }, times, &answer, &err), 0);
  assert_near(answer.speed[1], 2, 0.05);
  while (ft_relative_part(m, parts, &part))
    parts++;
  assert_true(parts > 2);
  ft_relative_close(m);
  ft_relative_close(NULL);
  assert_int_equal(ft_relative_which(&t, 0, 2, 1, which, share, &err), 0);
  assert_int_equal(share[0] + share[1], 40);
  assert_null(ft_relative_open("/nonexistent/model", &err));
  assert_non_null(strstr(err.text, "/nonexistent/model"));
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
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_empty_state_directory_has_no_estimate),
    cmocka_unit_test(missing_files_are_reported),
    cmocka_unit_test(a_value_that_is_not_finite_is_rejected),
    cmocka_unit_test(the_library_gives_the_estimate_of_the_command),
    cmocka_unit_test(a_forecast_has_the_quantities_and_a_decision),
    cmocka_unit_test(a_script_sets_what_its_directives_request),
    cmocka_unit_test(a_script_that_sbatch_rejects_is_an_error),
    cmocka_unit_test(each_quantity_has_a_name_that_ends_in_its_unit),
    cmocka_unit_test(a_job_names_its_wrong_option),
    cmocka_unit_test(a_table_is_fitted_by_each_method),
    cmocka_unit_test(a_model_of_several_platforms_is_stored_and_predicts)
  };

  return cmocka_run_group_tests_name("public", tests, set_up, tear_down);
}
