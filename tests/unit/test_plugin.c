/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The built plugin in a fake SPANK host. The test executes itself under the name of a Slurm
 * command, with a user's command line; that process loads the plugin, plays Slurm to it and prints
 * the results.
 */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/process.h"
#include "predictor/core/units.h"
#include "predictor/estimate/variant.h"
#include "predictor/record/state_files.h"
#include "predictor/request/describe.h"
#include "tests/unit/fake_spank.h"
#include "tests/unit/play_plugin.h"

static char folder[SCRATCH_SIZE];
static int state_fd = -1;

static ft_model *sample_model(void)
{
  ft_model *m = calloc(1, sizeof *m);

  assert_non_null(m);
  m->schema = FT_SCHEMA;
  (void)ft_string_copy("sorter", m->app, sizeof m->app);
  m->uid = (uint32_t)getuid();
  m->rule = FT_RULE_RSS;
  m->runs = m->completed = 40;
  m->has_evaluator = true;
  (void)ft_string_copy("quantiles", m->evaluator.method, sizeof m->evaluator.method);
  m->evaluator.log_target = true;
  m->evaluator.intercept = log(1e9);
  m->evaluator.max_value = 1.1e9;
  m->evaluator.residuals_count = 40;
  for (int i = 0; i < 40; i++)
    m->evaluator.residuals[i] = (i - 20) * 0.002;
  /* two runs that completed */
  m->evaluator.fact_values_count = m->evaluator.fact_kinds.size = 2;
  m->evaluator.fact_values[0] = m->evaluator.fact_values[1] = 1e9F;
  return m;
}

/* 20 MiB per index: the one --mem of an array fits its largest task. */
static void make_indexed(ft_model *m)
{
  ft_evaluator *e = &m->evaluator;

  (void)ft_string_copy("indexed", m->app, sizeof m->app);
  e->fact_values_count = e->fact_kinds.size = 0;
  m->columns_count = 1;
  (void)ft_string_copy("n", m->columns[0].name, sizeof m->columns[0].name);
  e->log_target = false;
  e->intercept = 105 * 0x1p20;
  e->max_value = 200 * 0x1p20;
  e->terms_count = 1;
  e->terms[0] =
      (ft_term){ .mean = 5.5, .scale = 2.5, .coefficient = 50 * 0x1p20, .low = 1, .high = 10 };
}

static void write_state(void)
{
  static ft_site site;
  static ft_partition partition;
  char name[FT_STATE_NAME_SIZE], path[FT_STATE_NAME_SIZE + 32];
  ft_model *model = sample_model();
  const struct passwd *entry = getpwuid(getuid());
  const char *user = entry ? entry->pw_name : "";
  struct ft_error err;

  site = (ft_site){ .schema = FT_SCHEMA,
                    .user_apps = true,
                    .rule = FT_RULE_RSS,
                    .memory_is_consumable = true,
                    .default_partition = "main",
                    .has_policy = true,
                    .policy = { .has_min_runs = true,
                                .min_runs = 3,
                                .has_trim_runs = true,
                                .trim_runs = 20,
                                .has_oom_probability = true,
                                .oom_probability = 0.01,
                                .has_round_bytes = true,
                                .round_bytes = 100 << 20,
                                .has_floor_bytes = true,
                                .floor_bytes = 1 << 20,
                                .has_trim_factor = true,
                                .trim_factor = 2,
                                .has_reject_probability = true,
                                .reject_probability = 0.9 } };
  partition = (ft_partition){
    .schema = FT_SCHEMA,
    .name = "main",
    .is_default = true,
    .def_mem_bytes = 512 << 20,
    .nodes_count = 1,
    .nodes = { { .count = 1, .cpus = 8, .mem_bytes = UINT64_C(8) << 30, .threads_per_core = 1 } }
  };
  assert_int_equal(ft_record_write(FT_RECORD_SITE, &site, state_fd, "site", 0644, &err), 0);
  (void)mkdirat(state_fd, "partitions", 0755);
  ft_state_partition_name("main", name);
  (void)snprintf(path, sizeof path, "partitions/%s", name);
  int partitions = openat(state_fd, "partitions", O_RDONLY | O_DIRECTORY);
  assert_int_equal(ft_record_write(FT_RECORD_PARTITION, &partition, partitions, name, 0644, &err),
                   0);
  close(partitions);
  (void)mkdirat(state_fd, "models", 0755);
  (void)mkdirat(state_fd, "models/site", 0755);
  int models = openat(state_fd, "models/site", O_RDONLY | O_DIRECTORY);
  ft_state_model_name("sorter", name);
  (void)unlinkat(models, name, 0);
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ model }, 1, NULL, models, name, 0644, &err),
      0);
  make_indexed(model);
  ft_state_model_name("indexed", name);
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ model }, 1, NULL, models, name, 0644, &err),
      0);
  ft_state_imported_app(user, (uint32_t)getuid(), "known", model->app);
  ft_state_model_name(model->app, name);
  model->completed = 25;
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ model }, 1, NULL, models, name, 0644, &err),
      0);
  /* only the script varied */
  (void)ft_string_copy("plain", model->app, sizeof model->app);
  (void)ft_string_copy(FT_VARIANT_FEATURE, model->columns[0].name, sizeof model->columns[0].name);
  model->evaluator.terms_count = 0;
  ft_state_model_name(model->app, name);
  assert_int_equal(
      ft_model_file_write((const ft_model *const[]){ model }, 1, NULL, models, name, 0644, &err),
      0);
  close(models);
  free(model);
}

static void model_path(char *out, size_t size)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name("sorter", name);
  (void)snprintf(out, size, "%s/models/site/%s", folder, name);
}

static int set_up(void **state)
{
  FILE *script;

  (void)state;
  state_fd = play_plugin_set_up(folder);
  script = fopen("job.sh", "w");
  assert_non_null(script);
  fputs("#!/bin/sh\n#SBATCH --container-image=x\nsrun -n2 ./sorter --size $1 --arch a\n", script);
  fclose(script);
  assert_int_equal(mkdir("other", 0755), 0);
  script = fopen("other/job.sh", "w");
  assert_non_null(script);
  fputs("#!/bin/sh\n./sorter --other $1\n", script);
  fclose(script);
  script = fopen("array.sh", "w");
  assert_non_null(script);
  fputs("#!/bin/sh\n./sorter --n $SLURM_ARRAY_TASK_ID\n", script);
  fclose(script);
  script = fopen("other/train.py", "w");
  assert_non_null(script);
  fputs("#!/usr/bin/env python3\nimport numpy\nn = 3\n", script);
  fclose(script);
  write_state();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return play_plugin_tear_down(folder, state_fd);
}

static void app_and_features_are_carried_without_a_request(void **state)
{
  static const struct {
    const char *line, *carried;
  } cases[] = {
    { "sbatch job.sh 7", ": sorter-" },
    { "sbatch job.sh 7", " het=0 size=7 arch=a\n" },
    { "sbatch --predict-app=mine --predict-params=a=1 job.sh 7", "mine het=0 a=1 size=7 arch=a\n" },
    { "sbatch --ntasks=4 --container-image=img.sqsh job.sh 7", " tasks=4 container=img.sqsh\n" },
    { "sbatch --wrap ./x", ": x-" },
    { "sbatch job.sh -- 7", ": sorter-" },
    { "sbatch --mem 4G -p x -n3 --chdir . job.sh 7", " het=0 size=7 arch=a" },
    { "sbatch --chdir=other job.sh 7", " het=0 other=7\n" },
    { "sbatch --chdir other job.sh 7", " het=0 other=7\n" },
    { "sbatch --mem 4G -p x -- job.sh 7", " het=0 size=7 arch=a" },
    { "sbatch other/train.py 10 --epochs 5", ": train.py-" },
    { "sbatch other/train.py 10 --epochs 5", " het=0 arg1=10 epochs=5\n" },
    { "srun ./x --n 5", " het=0 n=5\n" },
    { "salloc ./x --n 5", " het=0 n=5\n" },
    { "salloc", ": job.sh-" },
    { "sbatch nowhere.sh --n 5", " het=0 n=5\n" }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, NULL);

    assert_has(output, "carried FORETELL: ");
    assert_has(output, cases[i].carried);
    assert_has(output, "post_opt 0\n");
    assert_int_equal(lines_said(output), 0);
    if (strstr(output, "mem") && !strstr(cases[i].line, "mem"))
      fail_msg("%s: %s", cases[i].line, output);
  }
}

/* sbatch finds its script before it reads a --chdir in it. */
static void the_scripts_chdir_is_not_where_the_script_is(void **state)
{
  (void)state;
  assert_has(submit("sbatch job.sh 7", "FAKE_CHDIR=other"), " het=0 size=7 arch=a\n");
}

static void options_carried_by_slurm_are_unset(void **state)
{
  const char *output = submit("sbatch --predict-app=mine --predict-mem=check job.sh 7", NULL);

  (void)state;
  assert_has(output, "taken back _SLURM_SPANK_OPTION_foretell_predict_mem\n");
  assert_has(output, "taken back _SLURM_SPANK_OPTION_foretell_predict_app\n");
  assert_null(strstr(output, "predict_params"));
  output = submit("sbatch job.sh 7", NULL);
  assert_null(strstr(output, "taken back"));
  output = submit("sbatch job.sh 7", "SLURM_SPANK__SLURM_SPANK_OPTION_foretell_predict_app=outer");
  assert_has(output, "taken back _SLURM_SPANK_OPTION_foretell_predict_app\n");
}

/* The helper estimates networks; without a network, or for any invalid answer, one line is
 * printed. */
static void a_model_file_costs_a_line_at_most(void **state)
{
  static const struct {
    const char *line, *environment, *said;
    size_t lines;
  } cases[] = {
    { "sbatch --predict-model=net.onnx job.sh 7", NULL, "ended without an answer", 1 },
    { "sbatch --predict-mem --predict-model=net.onnx job.sh 7", NULL, "ended without", 1 },
    { "sbatch --predict-mig job.sh 7", NULL, "ended without an answer", 1 },
    { "sbatch --predict-mig=a100 --predict-model=net.onnx --gres=gpu:1 job.sh 7", NULL, "ended",
      1 },
    { "sbatch job.sh 7", "FORETELL_PREDICT_MODEL=net.onnx", "ended without an answer", 1 },
    { "sbatch job.sh 7", "FORETELL_PREDICT_MIG=a100", "ended without an answer", 1 },
    { "sbatch job.sh 7", "FORETELL_PREDICT_MIG=yes", "ended without an answer", 1 },
    { "sbatch job.sh 7", "FORETELL_PREDICT_MIG=no", "post_opt 0", 0 },
    { "sbatch job.sh 7", "FORETELL_PREDICT_MIG=", "post_opt 0", 0 },
    { "sbatch --predict-mem=off --predict-model=net.onnx job.sh 7", NULL, "post_opt 0", 0 },
    { "sbatch --predict-mem --predict-app=sorter --predict-model=net.onnx job.sh 7", NULL,
      "\nmem=1", 2 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, cases[i].environment);

    assert_has(output, cases[i].said);
    assert_has(output, "carried FORETELL: ");
    assert_has(output, "post_opt 0\n");
    if (lines_said(output) != cases[i].lines)
      fail_msg("%s: %s", cases[i].line, output);
    assert_null(strstr(output, "gres=gpu:a"));
  }
}

static void memory_is_set_in_the_users_unit(void **state)
{
  static const struct {
    const char *line, *environment, *wanted;
    size_t lines;
  } cases[] = {
    { "sbatch --predict-app=sorter --predict-mem job.sh 7", NULL, "\nmem=", 1 },
    { "sbatch --predict-app=sorter --predict-mem=check --mem=4G job.sh 7", NULL, "post_opt 0\n",
      1 },
    { "sbatch --predict-app=sorter --predict-mem=off --mem=4G job.sh 7", NULL, "post_opt 0\n", 0 },
    { "sbatch --predict-app=sorter --predict-mem=set --mem=4G job.sh 7", NULL, "\nmem=4G\n", 1 },
    { "sbatch --predict-app=sorter --predict-mem=raise --mem=900M job.sh 7", NULL, "\nmem=1", 1 },
    { "sbatch --predict-app=sorter --predict-mem=trim --mem=6G job.sh 7", NULL, "\nmem=1", 1 },
    { "sbatch --predict-app=sorter --predict-mem=raise --mem-per-cpu=900M job.sh 7", NULL,
      "\nmem-per-cpu=1", 1 },
    { "sbatch --predict-app=sorter job.sh 7", "FORETELL_PREDICT_MEM=set", "\nmem=1", 1 },
    { "sbatch --predict-app=sorter --predict-mem=off --mem=4G job.sh 7", "FORETELL_PREDICT_MEM=set",
      "post_opt 0\n", 0 },
    { "sbatch --predict-mem job.sh 7", "FORETELL_PREDICT_APP=sorter", "\nmem=1", 1 },
    { "srun --predict-app=sorter --predict-mem ./x", NULL, "\nmem=1", 1 },
    { "srun --predict-app=sorter --predict-mem ./x", "SLURM_JOB_ID=5", "post_opt 0\n", 0 },
    { "sbatch --predict-app=sorter --mem=4G job.sh 7", "FORETELL_PREDICT_MEM=nonsense",
      "post_opt 0\n", 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, cases[i].environment);

    assert_has(output, cases[i].wanted);
    assert_has(output, "post_opt 0\n");
    if (lines_said(output) != cases[i].lines)
      fail_msg("%s: %s", cases[i].line, output);
  }
}

static void a_value_that_slurm_rejects_leaves_the_users(void **state)
{
  static const struct {
    const char *line, *rejected, *wanted;
  } cases[] = {
    { "sbatch --predict-app=sorter --predict-mem=raise --mem=900M job.sh 7", "FAKE_REJECTED=mem",
      "\nmem=900M\n" },
    { "srun --predict-app=sorter --predict-mem=raise --mem-per-cpu=900M ./x",
      "FAKE_REJECTED=mem-per-cpu", "\nmem-per-cpu=900M\n" },
    { "sbatch --predict-app=sorter --predict-mem job.sh 7", "FAKE_REJECTED=mem", "post_opt 0\n" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, cases[i].rejected);

    assert_has(output, cases[i].wanted);
    assert_has(output, "Slurm rejected the memory request");
    assert_null(strstr(output, "=lost"));
    assert_null(strstr(output, "set to"));
  }
}

/* The default of partition main is 512 MiB. */
static void a_job_that_is_left_to_the_default_requests_it(void **state)
{
  static const struct {
    const char *options, *rejected;
    bool requested;
  } cases[] = {
    { "--predict-app=indexed --predict-mem", NULL, true },
    { "--predict-app=indexed --predict-mem", "FAKE_REJECTED=mem", false },
    { "--predict-app=indexed --predict-mem=check", NULL, false },
    { "--predict-app=unknown --predict-mem", NULL, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char line[128];
    const char *output;

    (void)snprintf(line, sizeof line, "sbatch %s --exclusive --array=1-4 array.sh",
                   cases[i].options);
    output = submit(line, cases[i].rejected);
    assert_has(output, "post_opt 0\n");
    if ((strstr(output, "\nmem=512M\n") != NULL) != cases[i].requested)
      fail_msg("%s: %s", cases[i].options, output);
  }
}

static void an_arrays_request_fits_its_largest_task(void **state)
{
  static const struct {
    const char *line, *wanted, *said;
  } cases[] = {
    { "sbatch --predict-app=indexed --predict-mem --array=1-10%2 array.sh", "\nmem=300M\n",
      "(task 10)" },
    { "sbatch --predict-app=indexed --predict-mem --array=10,2 array.sh", "\nmem=300M\n",
      "(task 10)" },
    { "sbatch --predict-app=indexed --predict-mem --array=1-4 array.sh", "\nmem=100M\n",
      "for any of 4" },
    { "sbatch --predict-app=indexed --predict-mem --array=4 array.sh", "\nmem=100M\n",
      "needs 74.9 MiB" },
    { "sbatch --predict-app=indexed --predict-mem=check --mem=100M --array=1-70 array.sh",
      "post_opt 0\n", "for any of 70, estimated from 64 tasks" },
    { "sbatch --predict-app=indexed --predict-mem=check --mem=100M --array=1-4000000:4 array.sh",
      "post_opt 0\n", "the estimate does not fit the recorded runs and is not used" }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, NULL);

    assert_has(output, cases[i].wanted);
    assert_has(output, cases[i].said);
    assert_has(output, "carried FORETELL: indexed het=0 n=%a\n");
    assert_int_equal(lines_said(output), 1);
  }
  assert_has(submit("sbatch --predict-app=indexed --array=1-x array.sh", NULL),
             "carried FORETELL: indexed het=0\n");
}

static void imported_runs_of_the_job_name_count_until_the_app_has_runs(void **state)
{
  const char *output = submit("sbatch --predict-mem --job-name known job.sh 7", NULL);

  (void)state;
  assert_has(output, "(25 imported runs of jobs named known)");
  assert_int_equal(lines_said(output), 1);
  /* imported runs never lower a request and never reject a job */
  assert_null(strstr(output, "\nmem="));
  output = submit("sbatch --predict-mem=trim --mem=6G --job-name known job.sh 7", NULL);
  assert_has(output, "\nmem=6G\n");
  output = submit("sbatch --predict-mem=set --mem=10M --job-name known job.sh 7", NULL);
  assert_has(output, "post_opt 0\n");
  assert_has(output, "(25 imported runs of jobs named known); with --mem=10M it would run");
  output = submit("sbatch --predict-mem=raise --mem=10M --job-name known job.sh 7", NULL);
  assert_has(output, "raised from 10M to ");
  /* a named app does not use runs of other apps */
  output = submit("sbatch --predict-mem --predict-app=x --job-name known job.sh 7", NULL);
  assert_has(output, "x: no recorded run yet");
  output = submit("sbatch --predict-mem --job-name unknown job.sh 7", NULL);
  assert_has(output, "no recorded run yet");
}

static void unknown_modes_are_rejected_with_a_list_of_modes(void **state)
{
  const char *output = submit("sbatch --predict-mem=sets job.sh", NULL);

  (void)state;
  assert_has(output, "options -1\n");
  assert_has(output, "check, set, raise, trim, off or force");
  assert_int_equal(lines_said(output), 1);
}

static void a_job_that_would_run_out_of_memory_is_rejected(void **state)
{
  const char *output =
      submit("sbatch --predict-app=sorter --predict-mem --mem=100M job.sh 7", NULL);

  (void)state;
  assert_has(output, "post_opt -1\n");
  assert_has(output, "error: foretell: job rejected");
  assert_has(output, "--predict-mem=force");
  assert_null(strstr(output, "carried"));
  output = submit("sbatch --predict-app=sorter --predict-mem=force --mem=100M job.sh 7", NULL);
  assert_has(output, "post_opt 0\n");
  assert_has(output, "carried");
}

/* The mode decides about changes, the site's policy about rejections. */
static void no_mode_and_no_job_id_avoids_a_rejection(void **state)
{
  static const struct {
    const char *line, *environment;
  } refused[] = {
    { "sbatch --predict-app=sorter --mem=100M job.sh 7", NULL },
    { "sbatch --predict-app=sorter --predict-mem=off --mem=100M job.sh 7", NULL },
    { "sbatch --predict-app=sorter --predict-mem=check --mem=100M job.sh 7", NULL },
    { "sbatch --predict-app=sorter --mem=100M job.sh 7", "FORETELL_PREDICT_MEM=off" },
    { "srun --predict-app=sorter --mem=100M ./x", NULL },
    { "srun --predict-app=sorter --mem=100M ./x", "SLURM_JOBID=" },
    { "srun --predict-app=sorter --mem=100M ./x", "SLURM_JOBID=5" },
    { "srun --predict-app=sorter --mem=100M ./x", "SLURM_JOB_ID=4294967294" },
    { "srun --predict-app=sorter --jobid=4294967294 --mem=100M ./x", NULL },
    { "srun --predict-app=sorter --jobid=5 --debugger-test x --mem=100M ./x", NULL },
  };
  const char *output;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(refused); i++) {
    output = submit(refused[i].line, refused[i].environment);
    if (!strstr(output, "post_opt -1\n") || !strstr(output, "job rejected") ||
        lines_said(output) != 2)
      fail_msg("%s: %s", refused[i].line, output);
  }
  output = submit("srun --predict-app=sorter --jobid=5 --mem=100M ./x", NULL);
  assert_has(output, "post_opt 0\n");
  assert_int_equal(lines_said(output), 0);
}

/* 200 MiB per CPU are too little for one CPU, and enough for all eight of a node. */
static void a_job_with_whole_nodes_is_not_rejected(void **state)
{
  static const struct {
    const char *exclusive;
    int status;
  } cases[] = { { "", -1 },
                { "--exclusive", 0 },
                { "--exclusive=exclusive", 0 },
                { "--exclusive=allocation", 0 },
                { "--exclusive=user", -1 },
                { "--exclusive=mcs", -1 },
                { "--exclusive=topo", -1 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char line[128], expected[32];

    (void)snprintf(line, sizeof line,
                   "sbatch --predict-app=sorter --predict-mem --mem-per-cpu=200M %s job.sh 7",
                   cases[i].exclusive);
    (void)snprintf(expected, sizeof expected, "post_opt %d\n", cases[i].status);
    assert_has(submit(line, NULL), expected);
  }
}

static void an_external_job_has_no_message(void **state)
{
  const char *output =
      submit("sbatch --external --predict-app=sorter --predict-mem --mem=100M", NULL);

  (void)state;
  assert_has(output, "post_opt 0\n");
  assert_int_equal(lines_said(output), 0);
  assert_null(strstr(output, "carried"));
}

static void break_site(const char *how)
{
  if (strcmp(how, "absent") == 0) {
    assert_int_equal(unlinkat(state_fd, "site", 0), 0);
  } else if (strcmp(how, "truncated") == 0) {
    assert_int_equal(truncate("site", 30), 0);
  } else if (strcmp(how, "fifo") == 0) {
    assert_int_equal(unlinkat(state_fd, "site", 0), 0);
    assert_int_equal(mkfifoat(state_fd, "site", 0644), 0);
  }
}

static void break_model(const char *how)
{
  char path[400];
  int fd;

  model_path(path, sizeof path);
  if (strcmp(how, "model fifo") == 0) {
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
  } else if (strcmp(how, "model truncated") == 0) {
    assert_int_equal(truncate(path, 60), 0);
  } else if (strcmp(how, "model newer") == 0) {
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "\x09", 1, 10), 1);
    close(fd);
  } else if (strcmp(how, "model corrupt") == 0) {
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "\x09\x55", 2, 30), 2);
    close(fd);
  }
}

static void the_job_is_submitted_whatever_is_broken(void **state)
{
  static const char *const ways[] = { "absent",          "truncated",   "fifo",
                                      "model truncated", "model newer", "model corrupt",
                                      "model fifo" };
  char text[64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(ways); i++) {
    const char *output;

    write_state();
    break_site(ways[i]);
    break_model(ways[i]);
    output = submit("sbatch --predict-app=sorter --mem=4G job.sh 7", NULL);
    assert_has(output, "carried FORETELL: sorter");
    assert_has(output, "post_opt 0\nmem=4G\n");
    assert_int_equal(lines_said(output), 0);
    output = submit("sbatch --predict-app=sorter --predict-mem=raise --mem=900M job.sh 7", NULL);
    assert_has(output, "carried FORETELL: sorter");
    assert_has(output, "post_opt 0\nmem=900M\n");
    if (lines_said(output) != 1)
      fail_msg("%s: %s", ways[i], output);
    (void)unlinkat(state_fd, "site", 0);
  }
  write_state();
  setenv("FAKE_STATE", "state=/nonexistent/folder", 1);
  assert_has(submit("sbatch --predict-mem job.sh 7", NULL), "post_opt 0\n");
  (void)snprintf(text, sizeof text, "state=%s", folder);
  setenv("FAKE_STATE", text, 1);
}

static void make_helper(const char *text)
{
  int fd = openat(state_fd, "helper", O_WRONLY | O_CREAT | O_TRUNC, 0755);
  static char path[400];

  assert_true(fd >= 0);
  assert_int_equal(ft_io_write_all(fd, text, strlen(text)), 0);
  close(fd);
  (void)snprintf(path, sizeof path, "helper=%s/helper", folder);
  setenv("FAKE_HELPER", path, 1);
}

static void a_late_or_broken_child_is_abandoned(void **state)
{
  static const char *const helpers[] = { "#!/bin/sh\nexec sleep 30\n", "#!/bin/sh\nexit 0\n",
                                         "#!/bin/sh\nkill -9 $$\n",    "#!/bin/sh\ncat /dev/zero\n",
                                         "#!/bin/sh\necho nonsense\n", "no program\n" };
  double begun, took = 0;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(helpers); i++) {
    const char *output = NULL;

    make_helper(helpers[i]);
    /* other load delays some submissions, the plugin's waiting each */
    for (int attempt = 0; attempt < 10; attempt++) {
      begun = ft_io_monotonic();
      output = submit("sbatch job.sh ./job.sh", NULL);
      took = ft_io_monotonic() - begun;
      if (took < 5)
        break;
    }
    assert_true(took < 5);
    assert_has(output, "carried FORETELL: sorter-");
    assert_has(output, "post_opt 0\n");
    assert_int_equal(lines_said(output), 0);
  }
}

/* Returns the path of DIRECTORY with LENGTH characters; the caller frees it. */
static char *padded_folder(const char *directory, size_t length)
{
  char *path = malloc(length + 1);

  assert_non_null(path);
  memset(path, '/', length);
  memcpy(path, directory, strlen(directory));
  path[length] = '\0';
  return path;
}

/* Ignored settings are reported at the end of the same line. */
static void ignored_settings_are_reported(void **state)
{
  static char path[600];
  const char *top = getenv("FT_TOP_BUILDDIR"), *output;
  static const char apps[] = "app \"x\" {\n  comand = \"y\"\n}\n";
  int fd;

  (void)state;
  write_state();
  output = submit("sbatch --predict-app=sorter --predict-mem --predict-params=n=,= job.sh 7", NULL);
  assert_has(output, "(40 runs)");
  assert_has(output, "; but params: \"n=,=\": expected name=value");
  assert_has(output, "\nmem=1");
  assert_int_equal(lines_said(output), 1);
  output = submit("sbatch --predict-app=sorter --predict-params=n=,= --mem=4G job.sh 7", NULL);
  assert_int_equal(lines_said(output), 0); /* without a request there is no message */
  output = submit("sbatch --predict-app=indexed --predict-mem --predict-params=nn=3 job.sh", NULL);
  assert_has(output, "nn: not a feature of this app; known: n\n");
  output = submit("sbatch --predict-app=plain --predict-mem --predict-params=nn=3 job.sh", NULL);
  assert_has(output, "plain needs");
  assert_null(strstr(output, "not a feature"));

  (void)snprintf(path, sizeof path, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", path, 1);
  setenv("HOME", folder, 1);
  assert_int_equal(mkdirat(state_fd, ".config", 0700), 0);
  assert_int_equal(mkdirat(state_fd, ".config/foretell", 0700), 0);
  fd = openat(state_fd, ".config/foretell/apps.conf", O_WRONLY | O_CREAT, 0600);
  assert_int_equal(ft_io_write_all(fd, apps, sizeof apps - 1), 0);
  close(fd);
  output = submit("sbatch --predict-mem job.sh 7", NULL);
  assert_has(output, "no recorded run yet; but apps.conf: line 2: ");
  assert_int_equal(lines_said(output), 1);
  assert_has(output, "carried FORETELL: sorter-");
  assert_has(output, " size=7 arch=a");
  assert_int_equal(lines_said(submit("sbatch job.sh 7", NULL)), 0);
  assert_int_equal(unlinkat(state_fd, ".config/foretell/apps.conf", 0), 0);
  assert_int_equal(mkfifoat(state_fd, ".config/foretell/apps.conf", 0600), 0);
  output = submit("sbatch --predict-mem job.sh 7", NULL);
  assert_has(output, "; but apps.conf: not a regular file");
  assert_int_equal(lines_said(output), 1);
  for (size_t n = FT_FILE_PATH - 2; n <= FT_FILE_PATH; n++) {
    char *home = padded_folder(folder, n - strlen("/.config/foretell/apps.conf"));

    setenv("HOME", home, 1);
    output = submit("sbatch --predict-mem job.sh 7", NULL);
    /* the error is cut in the path */
    if ((strstr(output, "no recorded run yet; but ") != NULL) != (n < FT_FILE_PATH))
      fail_msg("%zu: %s", n, output);
    free(home);
  }
  setenv("HOME", "/nonexistent", 1);
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

/* A name in --predict-params that is no setting of the network is reported, once, unless runs of
 * the app have had it. */
static void names_that_are_no_settings_are_reported(void **state)
{
  static const struct {
    const char *params, *said; /* "": nothing is said */
  } cases[] = {
    { "batch=8,optimizer=adam,device=cpu", "" },
    { "bacth=8", "bacth: a feature of the app, not a setting of the network; did you mean batch?" },
    { "batch_size=8", "not a setting of the network; did you mean batch?" },
    { "optimiser=adam,epochs=2", "optimiser: a feature of the app, not a setting of the network; "
                                 "did you mean optimizer?" },
    { "lora_layer=all", "did you mean lora_layers?" },
    { "arch=vgg", "arch: a feature of the app, not of the network, whose settings are device, " },
    { "epochs=2,lr=0.1",
      "epochs, lr: features of the app, not of the network, whose settings are " },
    { "n=7", "" }, /* a feature of sorter */
  };
  static const char *const commands[] = { "sbatch", "salloc", "srun" };
  const char *top = getenv("FT_TOP_BUILDDIR"), *source = getenv("FT_TOP_SRCDIR"), *output;
  char helper[600], line[600];

  (void)state;
  write_state();
  (void)snprintf(helper, sizeof helper, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", helper, 1);
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (size_t k = 0; k < COUNT_OF(commands); k++) {
      (void)snprintf(line, sizeof line,
                     "%s --predict-app=%s --predict-mem --predict-params=input=3x64x64,%s "
                     "--predict-model=%s/tests/fuzz/corpus/onnx/net-resnet.onnx job.sh",
                     commands[k], *cases[i].params == 'n' ? "indexed" : "fresh", cases[i].params,
                     source ? source : ".");
      output = submit(line, NULL);
      assert_has(output, cases[i].said);
      assert_int_equal(strstr(output, "of the network") != NULL, cases[i].said[0] != '\0');
    }
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

/* A script in a directory of PATH is found if its path fits. */
static void a_long_path_of_a_script_is_passed_over(void **state)
{
  char *path = strdup(getenv("PATH")), *other = realpath("other", NULL);
  FILE *script = fopen("other/far.sh", "w");

  (void)state;
  assert_non_null(path);
  assert_non_null(other);
  assert_non_null(script);
  fputs("#!/bin/sh\n./sorter --far $1\n", script);
  fclose(script);
  for (size_t n = FT_FILE_PATH - 2; n <= FT_FILE_PATH; n++) {
    char *directory = padded_folder(other, n - strlen("/far.sh"));

    setenv("PATH", directory, 1);
    assert_int_equal(strstr(submit("sbatch far.sh 7", NULL), " far=7\n") != NULL, n < FT_FILE_PATH);
    setenv("PATH", path, 1);
    free(directory);
  }
  free(path);
  free(other);
}

static void the_helper_adds_features_of_files(void **state)
{
  static char path[600];
  const char *top = getenv("FT_TOP_BUILDDIR");

  (void)state;
  (void)snprintf(path, sizeof path, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", path, 1);
  assert_has(submit("sbatch job.sh ./job.sh", NULL), " input_bytes=75");
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

/* Fails if a file of the watched directories was opened more than once for LINE. Returns how many
 * were opened. */
static int check_opened_once(int watch, const char *line)
{
  char events[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
  ssize_t length = read(watch, events, sizeof events);
  const struct inotify_event *a, *b;
  int opened = 0;

  for (ssize_t at = 0; at < length; at += (ssize_t)(sizeof *a + a->len)) {
    a = (const struct inotify_event *)(events + at);
    opened += a->len > 0;
    for (ssize_t other = 0; a->len && other < at; other += (ssize_t)(sizeof *b + b->len)) {
      b = (const struct inotify_event *)(events + other);
      if (b->len && a->wd == b->wd && strcmp(a->name, b->name) == 0)
        fail_msg("%s: %s is opened again", line, a->name);
    }
  }
  return opened;
}

/* The plugin and its helper together decode each model once. */
static void a_submission_reads_each_model_once(void **state)
{
  static const char *const lines[] = {
    "sbatch --predict-mem --predict-app=sorter job.sh ./job.sh",
    "sbatch --predict-mem --job-name known job.sh ./job.sh",
    "sbatch --predict-mem --predict-app=indexed --array=1-9 array.sh",
    "sbatch --predict-mem --predict-perf --predict-app=sorter job.sh 7",
    "sbatch --predict-mem --predict-partition=fastest --predict-app=sorter job.sh 7",
  };
  static char path[600];
  const char *top = getenv("FT_TOP_BUILDDIR");
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

  (void)state;
  (void)snprintf(path, sizeof path, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", path, 1);
  (void)snprintf(path, sizeof path, "%s/models/site", folder);
  assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
  for (size_t i = 0; i < COUNT_OF(lines); i++) {
    (void)submit(lines[i], NULL);
    if (!check_opened_once(watch, lines[i]))
      fail_msg("%s: no model is read", lines[i]);
  }
  close(watch);
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

enum { TURNS = 8 };

/* Holds this user's helper slots, by sockets of TYPE that listen if LISTENS. The helper of another
 * test may hold one for a moment. */
static void hold_turns(int type, bool listens, int held[TURNS])
{
  struct sockaddr_un name = { .sun_family = AF_UNIX };
  double deadline = ft_io_monotonic() + 30;

  for (unsigned i = 0; i < TURNS; i++) {
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "foretell-helper/%u/%u",
                          (unsigned)geteuid(), i);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);

    held[i] = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    while (bind(held[i], (struct sockaddr *)&name, size) != 0) {
      if (errno != EADDRINUSE || ft_io_monotonic() > deadline)
        fail_msg("helper slot %u: %s", i, strerror(errno));
      usleep(1000);
    }
    if (listens)
      assert_int_equal(listen(held[i], 100), 0);
  }
}

static void helpers_of_one_user_run_one_at_a_time(void **state)
{
  static char path[600];
  const char *top = getenv("FT_TOP_BUILDDIR"), *output;
  int held[TURNS];

  (void)state;
  (void)snprintf(path, sizeof path, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", path, 1);
  hold_turns(SOCK_STREAM, true, held);
  output = submit("sbatch --predict-mem job.sh ./job.sh", NULL);
  assert_null(strstr(output, " input_bytes"));
  assert_has(output,
             "no file was read: 8 submissions of this user are reading files at the same time");
  close(held[3]);
  assert_has(submit("sbatch job.sh ./job.sh", NULL), " input_bytes=75");
  for (unsigned i = 0; i < TURNS; i++)
    if (i != 3)
      close(held[i]);
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

/* Any user can bind the names of another user's slots. */
static void another_users_sockets_take_no_turn(void **state)
{
  static const struct {
    int type;
    bool listens, own; /* own: without credentials of another user to be had */
  } cases[] = { { SOCK_DGRAM, false, true },
                { SOCK_SEQPACKET, true, true },
                { SOCK_STREAM, false, true },
                { SOCK_STREAM, true, false } };
  static char path[600];
  const char *top = getenv("FT_TOP_BUILDDIR");
  int held[TURNS];

  (void)state;
  (void)snprintf(path, sizeof path, "helper=%s/predictor/cli/foretell-helper", top ? top : ".");
  setenv("FAKE_HELPER", path, 1);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uid_t uid = geteuid();

    if (!cases[i].own && uid)
      continue;
    /* the name has the uid of the victim, the credentials that of whoever called listen */
    hold_turns(cases[i].type, cases[i].own && cases[i].listens, held);
    if (!cases[i].own) {
      assert_int_equal(seteuid(65534), 0);
      for (unsigned turn = 0; turn < TURNS; turn++)
        assert_int_equal(listen(held[turn], 0), 0);
      assert_int_equal(seteuid(uid), 0);
    }
    assert_has(submit("sbatch job.sh ./job.sh", NULL), " input_bytes=75");
    for (unsigned turn = 0; turn < TURNS; turn++)
      close(held[turn]);
  }
  setenv("FAKE_HELPER", "helper=/nonexistent", 1);
}

#ifndef SANITIZED /* the sanitizer has replaced malloc there */
/* Options and names around the sizes of the plugin's buffers, up to the longest that it accepts. */
static void long_options_do_not_matter(void **state)
{
  static const size_t sizes[] = { 12, 20, 32, 48, 64, 96, 108, 128, 256, 1022 };
  static const char *const names[] = { "sbatch", "salloc", "srun" };
  static char text[1026], line[16384];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(names); i++)
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
      for (size_t n = sizes[k] - 1; n <= sizes[k] + 1; n++) {
        memset(text, 'w', n);
        text[n] = '\0';
        (void)snprintf(line, sizeof line,
                       "%s --predict-app=%s --predict-params=%s=1,x=%s --predict-model=%s "
                       "--job-name=%s --partition=%s --account=%s --qos=%s "
                       "--gres=%s job.sh %s /%s",
                       names[i], text, text, text, text, text, text, text, text, text, text, text);
        assert_has(submit(line, NULL), "post_opt 0\n");
      }
}

static void every_allocation_may_fail(void **state)
{
  int n = 1;

  (void)state;
  for (; n < 500; n++) {
    char failing[32];
    const char *output;

    (void)snprintf(failing, sizeof failing, "FAKE_FAILING=%d", n);
    output = submit("sbatch --predict-app=sorter --predict-mem job.sh 7", failing);
    assert_has(output, "post_opt 0\n");
    assert_true(lines_said(output) <= 1);
    if (strstr(output, "all done"))
      break;
  }
  assert_true(n > 3 && n < 500);
}
#endif

/* Receives the next announcement at LISTENER. */
static void take(int listener, ft_announcement *a)
{
  static char packet[65536];
  struct pollfd p = { .fd = listener, .events = POLLIN };
  struct ft_error err;
  ssize_t length;
  int fd;

  assert_int_equal(poll(&p, 1, 5000), 1);
  fd = accept(listener, NULL, NULL);
  assert_true(fd >= 0);
  length = recv(fd, packet, sizeof packet, 0);
  close(fd);
  assert_true(length > 0);
  assert_int_equal(ft_record_decode(FT_RECORD_ANNOUNCEMENT, packet, (size_t)length, a, &err), 0);
}

static void the_agent_receives_tasks_and_jobs(void **state)
{
  static ft_announcement a;
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const char *output;

  (void)state;
  (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  output = submit("slurmstepd", NULL);
  assert_has(output, "prolog 0\nepilog 0\n");
  assert_int_equal(lines_said(output), 0);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 16), 0);
  (void)submit("slurmstepd", "SPANK_FORETELL=Zm9v");
  take(listener, &a);
  assert_int_equal(a.which_event, ft_announcement_job_start_tag);
  assert_int_equal(a.event.job_start.submission.size, 3);
  assert_memory_equal(a.event.job_start.submission.bytes, "foo", 3);
  take(listener, &a);
  assert_int_equal(a.which_event, ft_announcement_task_start_tag);
  assert_int_equal(a.job_id, 77);
  assert_int_equal(a.step_id, 3);
  assert_int_equal(a.uid, 1000);
  assert_int_equal(a.cpus, 4);
  assert_int_equal(a.array_job_id, 0);
  assert_true(a.alloc_mem_bytes == 2000 * FT_MIB);
  assert_true(a.event.task_start.limit_bytes == 1000 * FT_MIB);
  assert_true(a.event.task_start.pid > 0);
  assert_true(a.event.task_start.start_ticks >= ft_process_start_ticks((uint32_t)getpid()));
  take(listener, &a);
  assert_int_equal(a.which_event, ft_announcement_task_end_tag);
  assert_int_equal(a.event.task_end.status, 256);
  assert_true(a.event.task_end.last);
  assert_true(a.event.task_end.has_largest_process_bytes);
  assert_false(a.event.task_end.has_charge_bytes);
  take(listener, &a);
  assert_int_equal(a.which_event, ft_announcement_job_end_tag);
  close(listener);
}

/* A job's record is as long as its field in an announcement, its text as the plugin's buffer. */
static void records_of_any_length_are_announced(void **state)
{
  enum { FIELD = sizeof((ft_job_start *)NULL)->submission.bytes, BUFFER = 12 << 10 };
  static const struct {
    size_t characters, bytes; /* of Base64, and of the record that the agent receives */
  } rows[] = { { FIELD / 3 * 4 - 4, FIELD / 3 * 3 - 3 },
               { FIELD / 3 * 4, FIELD / 3 * 3 },
               { FIELD / 3 * 4 + 4, 0 },
               { BUFFER - 4, 0 },
               { BUFFER - 1, 0 },
               { BUFFER, 0 },
               { BUFFER + 1, 0 } };
  static ft_announcement a;
  static char text[BUFFER + 2];
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

  (void)state;
  (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
  (void)unlink(address.sun_path);
  assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(listener, 16), 0);
  for (size_t i = 0; i < COUNT_OF(rows); i++) {
    memset(text, 'A', rows[i].characters);
    text[rows[i].characters] = '\0';
    setenv("SPANK_FORETELL", text, 1);
    (void)submit("slurmstepd", NULL);
    take(listener, &a);
    assert_int_equal(a.which_event, ft_announcement_job_start_tag);
    assert_int_equal(a.event.job_start.submission.size, rows[i].bytes);
    for (int rest = 0; rest < 3; rest++)
      take(listener, &a);
  }
  unsetenv("SPANK_FORETELL");
  close(listener);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(app_and_features_are_carried_without_a_request),
    cmocka_unit_test(the_scripts_chdir_is_not_where_the_script_is),
    cmocka_unit_test(options_carried_by_slurm_are_unset),
    cmocka_unit_test(a_model_file_costs_a_line_at_most),
    cmocka_unit_test(memory_is_set_in_the_users_unit),
    cmocka_unit_test(a_value_that_slurm_rejects_leaves_the_users),
    cmocka_unit_test(a_job_that_is_left_to_the_default_requests_it),
    cmocka_unit_test(an_arrays_request_fits_its_largest_task),
    cmocka_unit_test(imported_runs_of_the_job_name_count_until_the_app_has_runs),
    cmocka_unit_test(unknown_modes_are_rejected_with_a_list_of_modes),
    cmocka_unit_test(a_job_that_would_run_out_of_memory_is_rejected),
    cmocka_unit_test(no_mode_and_no_job_id_avoids_a_rejection),
    cmocka_unit_test(a_job_with_whole_nodes_is_not_rejected),
    cmocka_unit_test(an_external_job_has_no_message),
    cmocka_unit_test(a_late_or_broken_child_is_abandoned),
    cmocka_unit_test(a_long_path_of_a_script_is_passed_over),
    cmocka_unit_test(the_helper_adds_features_of_files),
    cmocka_unit_test(a_submission_reads_each_model_once),
    cmocka_unit_test(helpers_of_one_user_run_one_at_a_time),
    cmocka_unit_test(another_users_sockets_take_no_turn),
    cmocka_unit_test(ignored_settings_are_reported),
    cmocka_unit_test(names_that_are_no_settings_are_reported),
#ifndef SANITIZED
    cmocka_unit_test(long_options_do_not_matter),
    cmocka_unit_test(every_allocation_may_fail),
#endif
    cmocka_unit_test(the_agent_receives_tasks_and_jobs),
    cmocka_unit_test(records_of_any_length_are_announced),
    cmocka_unit_test(the_job_is_submitted_whatever_is_broken)
  };
  int failed;

  if (getenv("FAKE_HOST"))
    return fake_spank_play(argc, argv);
  play_plugin_self = realpath(argv[0], NULL);
  failed = cmocka_run_group_tests_name("plugin", tests, set_up, tear_down);
  free(play_plugin_self);
  return failed;
}
