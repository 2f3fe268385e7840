/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-perf and --predict-partition of the built plugin, in a fake SPANK host. */
#include "config.h"

#include "tests/unit/unit.h"

#include <sys/stat.h>

#include "predictor/record/state_files.h"
#include "tests/unit/fake_spank.h"
#include "tests/unit/platforms.h"
#include "tests/unit/play_plugin.h"

static char folder[SCRATCH_SIZE];
static int state_fd = -1;

static void write_record(enum ft_record record, const void *message, const char *where,
                         const char *name)
{
  int fd = openat(state_fd, where, O_RDONLY | O_DIRECTORY);
  struct ft_error err;

  assert_true(fd >= 0);
  if (ft_record_write(record, message, fd, name, 0644, &err) < 0)
    fail_msg("%s", err.text);
  close(fd);
}

static void put_partition(const char *name, const char *platform, uint64_t mib)
{
  ft_partition p = some_partition(name, platform, mib);
  char file[FT_STATE_NAME_SIZE];

  p.updated = 0;
  p.def_mem_bytes = strcmp(name, "fast") == 0 ? UINT64_C(512) << 20 : UINT64_C(7000) << 20;
  ft_state_partition_name(name, file);
  write_record(FT_RECORD_PARTITION, &p, "partitions", file);
}

/* Replaces the app's model file by one with run times and, unless MODEL is NULL, memory. */
static void put_app(const ft_model *model)
{
  static ft_performance p;
  const struct ft_model_sections sections = { &model, model != NULL, .performance = &p };
  int fd = openat(state_fd, "models/site", O_RDONLY | O_DIRECTORY);
  char file[FT_STATE_NAME_SIZE];
  struct ft_error err;

  p = some_performance("sorter");
  ft_state_model_name("sorter", file);
  assert_true(fd >= 0);
  if (ft_model_sections_write(&sections, fd, file, 0644, &err) < 0)
    fail_msg("%s", err.text);
  close(fd);
}

static void put_model(void)
{
  ft_model *m = calloc(1, sizeof *m);

  assert_non_null(m);
  *m = (ft_model){ .schema = FT_SCHEMA,
                   .app = "sorter",
                   .rule = FT_RULE_RSS,
                   .runs = 40,
                   .completed = 40,
                   .has_evaluator = true,
                   .evaluator = { .method = "quantiles",
                                  .log_target = true,
                                  .intercept = log(1e9),
                                  .max_value = 1.1e9,
                                  .residuals_count = 40 } };
  for (int i = 0; i < 40; i++)
    m->evaluator.residuals[i] = (i - 20) * 0.002;
  put_app(m);
  free(m);
}

/* Fast nodes that Slurm hides, for jobs of the account "bio". */
static void put_paid(void)
{
  ft_partition p = some_partition("paid", "new", 16000);
  char file[FT_STATE_NAME_SIZE];

  p.hidden = p.restricted = true;
  p.restrictions_count = 1;
  p.restrictions[0] = (ft_restriction){ .by = FT_RESTRICTS_ACCOUNTS, .names = "bio" };
  ft_state_partition_name("paid", file);
  write_record(FT_RECORD_PARTITION, &p, "partitions", file);
}

static void put_all(void)
{
  const ft_platforms platforms = some_platforms();
  const ft_site site = { .schema = FT_SCHEMA,
                         .cluster = "ours",
                         .rule = FT_RULE_RSS,
                         .memory_is_consumable = true,
                         .default_partition = "main",
                         .has_policy = true,
                         .policy = { .mode = FT_MODE_OFF } };

  write_record(FT_RECORD_SITE, &site, ".", FT_STATE_SITE);
  write_record(FT_RECORD_PLATFORMS, &platforms, ".", FT_STATE_PLATFORMS);
  put_partition("main", "old", 8000);
  put_partition("fast", "new", 16000);
  put_partition("near", "near", 8000);
  put_partition("small", "new", 500);
  put_paid();
  put_app(NULL);
  put_model();
}

static int set_up(void **state)
{
  (void)state;
  state_fd = play_plugin_set_up(folder);
  assert_int_equal(mkdir("partitions", 0755), 0);
  assert_int_equal(mkdir("models", 0755), 0);
  assert_int_equal(mkdir("models/site", 0755), 0);
  put_all();
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return play_plugin_tear_down(folder, state_fd);
}

#define SBATCH "sbatch --predict-app=sorter "

static void requested_placement_is_reported_and_set(void **state)
{
  static const struct {
    const char *line, *environment, *has;
    size_t lines;
  } cases[] = {
    { SBATCH "--predict-perf --wrap x", NULL, "info: foretell: main       old       1  ", 6 },
    { SBATCH "--predict-perf --wrap x", NULL,
      "info: foretell: speed is relative to main; fastest: fast; cheapest: near (", 6 },
    { SBATCH "--predict-perf --partition near --wrap x", NULL, "relative to near; fastest: fast",
      6 },
    { SBATCH "--predict-perf --partition near,main --wrap x", NULL, "fastest: near", 4 },
    { SBATCH "--wrap x", "FORETELL_PREDICT_PERF=1", "fastest: fast", 6 },
    { SBATCH "--wrap x", "FORETELL_PREDICT_PERF=no", "post_opt 0", 0 },
    { "salloc --predict-app=sorter --predict-perf", NULL, "fastest: fast", 6 },
    { "srun --predict-app=sorter --predict-perf ./x", NULL, "fastest: fast", 6 },
    { SBATCH "--predict-partition=fastest:main,fast --wrap x", NULL, "\npartition=fast\n", 1 },
    { SBATCH "--predict-partition fastest:main,fast --wrap x", NULL, "\npartition=fast\n", 1 },
    { SBATCH "--predict-partition=fastest:main,fast --partition main --wrap x", NULL,
      "\npartition=fast\n", 1 },
    { SBATCH "--predict-partition=fastest --partition main,small,fast --wrap x", NULL,
      "\npartition=fast\n", 1 },
    { SBATCH "--predict-partition=fastest --partition main --wrap x", NULL, "\npartition=main\n",
      1 },
    { SBATCH "--predict-partition=fastest --wrap x", NULL, "needs partitions to choose from", 1 },
    { SBATCH "--predict-partition=cheapest:fast,near --partition fast --wrap x", NULL,
      "\npartition=near\n", 1 },
    { SBATCH "--wrap x", "FORETELL_PREDICT_PARTITION=fastest:main,fast", "\npartition=fast\n", 1 },
    { SBATCH "--partition main --wrap x", "FORETELL_PREDICT_PARTITION=fastest:main,fast",
      "\npartition=main\n", 1 },
    { SBATCH "--wrap x", "FORETELL_PREDICT_PARTITION=slowest", ": FORETELL_PREDICT_PARTITION", 1 },
    { SBATCH "--predict-partition=slowest --wrap x", NULL, "options -1", 1 },
    { SBATCH "--predict-perf --predict-partition=fastest:main,fast --wrap x", NULL,
      "--partition set to fast", 5 },
    /* the memory message is then about the chosen partition: the default of fast is too small,
     * that of main is not */
    { SBATCH "--predict-partition=fastest:main,fast --predict-mem=check --wrap x", NULL,
      "the default of partition fast, 512 MiB", 2 },
    { "srun --predict-app=sorter --predict-partition=fastest:main,fast ./x", NULL,
      "\npartition=fast\n", 1 },
    { "salloc --predict-app=sorter --predict-partition=fastest:main,fast", NULL,
      "\npartition=fast\n", 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output = submit(cases[i].line, cases[i].environment);

    if (!strstr(output, cases[i].has) || lines_said(output) != cases[i].lines)
      fail_msg("case %zu: %s (%s): %s", i, cases[i].line,
               cases[i].environment ? cases[i].environment : "", output);
  }
}

/* Nodes and policies of another cluster are unknown here. */
static void jobs_for_another_cluster_are_unchanged(void **state)
{
  static const struct {
    const char *clusters, *options, *has;
  } cases[] = {
    { "ours", "--predict-mem", "\nmem=1" },
    { "theirs", "--predict-mem", "no prediction: --clusters=theirs: only ours is known here" },
    { "ours,theirs", "--predict-mem", "no prediction: --clusters=ours,theirs: only ours" },
    { "theirs", "--predict-perf", "no prediction: --clusters=theirs: only ours" },
    { "theirs", "--predict-partition=fastest:main,fast", "no prediction: --clusters=theirs" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output;
    char line[512];

    (void)snprintf(line, sizeof line, SBATCH "%s --clusters %s --partition fast --wrap x",
                   cases[i].options, cases[i].clusters);
    output = submit(line, NULL);
    if (!strstr(output, cases[i].has) || !strstr(output, "post_opt 0") || lines_said(output) != 1)
      fail_msg("%s: %s", line, output);
    if (i && (strstr(output, "\nmem=") || strstr(output, "\npartition=main")))
      fail_msg("%s: %s", line, output);
  }
  assert_int_equal(lines_said(submit(SBATCH "--clusters theirs --wrap x", NULL)), 0);
}

/* Slurm rejects a job in a partition closed to its user, and one that needs nodes outside the
 * partition. */
static void no_job_is_moved_where_it_may_not_start(void **state)
{
  static const struct {
    const char *line, *has;
    bool moved;
  } cases[] = {
    { "--predict-partition=fastest:main,paid --account bio", "\npartition=paid\n", true },
    { "--predict-partition=fastest:main,paid --account chem",
      "main, the current partition, is the fastest (", false },
    { "--predict-partition=fastest:paid --account chem",
      "it fits none of paid; --partition unchanged\n", false },
    { "--predict-partition=fastest:main,paid",
      "; paid is not considered (for some accounts, see --account)\n", false },
    { "--predict-partition=fastest:paid",
      "sorter: paid is not considered (for some accounts, see --account); --partition unchanged\n",
      false },
    { "--predict-partition=fastest:main,fast,paid", "\npartition=fast\n", true },
    /* the user's list is used as Slurm does: a part of it remains */
    { "--predict-partition=fastest --partition main,paid",
      "is not considered (for some accounts, see --account)\n", false },
    { "--predict-partition=fastest:main,near --partition paid", "--partition unchanged", false },
    { "--predict-partition=fastest:main,fast --nodelist n1",
      "sorter: --nodelist fixes the nodes; --partition unchanged\n", false },
    { "--predict-partition=fastest:main,fast --reservation r",
      "sorter: --reservation fixes the nodes; --partition unchanged\n", false },
    { "--predict-partition=fastest:main,fast --exclude n1", "\npartition=fast\n", true },
    { "--predict-partition=fastest:main,fast --exclude n[1-2]",
      "sorter: fast is not considered (--exclude may leave no node)", false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *output;
    char line[512];

    (void)snprintf(line, sizeof line, "%s%s --wrap x", SBATCH, cases[i].line);
    output = submit(line, NULL);
    if (!strstr(output, cases[i].has) || lines_said(output) != 1 ||
        (!strstr(output, "foretell: sorter: --partition set") == cases[i].moved))
      fail_msg("case %zu: %s: %s", i, line, output);
  }
}

static void one_file_lists_all_partitions_unless_it_is_broken(void **state)
{
  const char *line = SBATCH "--predict-perf --partition main --wrap x", *output;
  ft_partition list[] = { some_partition("main", "old", 8000), some_partition("main", "old", 1),
                          some_partition("extra", "new", 16000),
                          some_partition("secret", "new", 16000) };
  int fd = openat(state_fd, "partitions", O_RDONLY | O_DIRECTORY);
  struct ft_error err;

  (void)state;
  assert_true(fd >= 0);
  list[3].hidden = true;
  assert_int_equal(ft_record_write_list(FT_RECORD_PARTITION, list, sizeof *list, COUNT_OF(list), fd,
                                        FT_STATE_PARTITION_LIST, 0644, &err),
                   0);
  output = submit(line, NULL);
  assert_has(output, "foretell: extra ");
  assert_null(strstr(output, "secret"));
  assert_int_equal(lines_said(output), 4);
  assert_int_equal(truncate("partitions/" FT_STATE_PARTITION_LIST, 100), 0);
  output = submit(line, NULL);
  assert_has(output, "foretell: near ");
  assert_int_equal(lines_said(output), 6);
  assert_int_equal(unlinkat(fd, FT_STATE_PARTITION_LIST, 0), 0);
  close(fd);
}

static void without_a_site_or_runs_the_job_stays(void **state)
{
  char name[FT_STATE_NAME_SIZE], path[FT_STATE_NAME_SIZE + 16];
  const char *output;

  (void)state;
  output =
      submit("sbatch --predict-app=other --predict-partition=fastest:main,fast --wrap x", NULL);
  assert_has(output, "other: no recorded run time yet; --partition unchanged\n");
  assert_null(strstr(output, "partition="));
  output = submit("sbatch --predict-app=other --predict-perf --wrap x", NULL);
  assert_has(output, "other: no recorded run time yet\n");
  ft_state_model_name("sorter", name);
  (void)snprintf(path, sizeof path, "models/site/%s", name);
  assert_int_equal(truncate(path, 100), 0);
  output = submit(SBATCH "--predict-partition=fastest:main,fast --wrap x", NULL);
  assert_has(output, "info: foretell: no prediction: ");
  assert_int_equal(lines_said(output), 1);
  assert_has(output, "post_opt 0\n");
  assert_int_equal(unlink("site"), 0);
  output = submit(SBATCH "--predict-perf --wrap x", NULL);
  assert_has(output, "info: foretell: no prediction: ");
  assert_int_equal(lines_said(output), 1);
  put_all();
}

#ifndef SANITIZED
static void every_allocation_may_fail(void **state)
{
  int n;

  (void)state;
  for (n = 1; n < 500; n++) {
    char failing[32];
    const char *output;

    (void)snprintf(failing, sizeof failing, "FAKE_FAILING=%d", n);
    output = submit(SBATCH "--predict-partition=fastest:main,fast --wrap x", failing);
    assert_has(output, "post_opt 0\n");
    assert_true(lines_said(output) <= 2);
    if (strstr(output, "all done"))
      break;
  }
  assert_true(n > 3 && n < 500);
}
#endif

/* Invalid values in the environment or in plugstack.conf. */
static void ignored_settings_are_reported_in_the_one_line(void **state)
{
  static const struct {
    const char *line, *name, *has;
    size_t length; /* of the value */
  } cases[] = {
    { "sbatch job.sh 7", "FORETELL_PREDICT_APP",
      "foretell: no prediction: FORETELL_PREDICT_APP: expected at most 1023 characters\n", 1024 },
    { "sbatch --predict-mem job.sh 7", "FORETELL_PREDICT_APP",
      "; but FORETELL_PREDICT_APP: expected at most 1023 characters\n", 1024 },
    { "sbatch --predict-mem --predict-app=sorter job.sh 7", "FORETELL_PREDICT_APP",
      "; --mem set to 1", 1024 },
    { "sbatch --predict-mem --predict-app=sorter job.sh 7", "FORETELL_PREDICT_MIG",
      "; but FORETELL_PREDICT_MIG: expected at most 63 characters\n", 64 },
    { "sbatch --predict-app=sorter job.sh 7", "FORETELL_PREDICT_MEM",
      "foretell: no prediction: FORETELL_PREDICT_MEM=xxx", 100 },
    { "sbatch --predict-mem=check job.sh 7", "FORETELL_PREDICT_PARTITION",
      "; but FORETELL_PREDICT_PARTITION=xx: expected fastest, cheapest", 2 },
    { "sbatch --predict-model=net.onnx job.sh 7", "FORETELL_PREDICT_MEM",
      "foretell: no prediction: FORETELL_PREDICT_MEM=x: expected", 1 },
    { "sbatch --predict-mem --predict-app=sorter job.sh 7", "FAKE_HELPER",
      "; but plugstack.conf: \"xxx\": expected state=DIR, socket=PATH", 3 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char variable[1200];
    const char *output;
    int length = snprintf(variable, sizeof variable, "%s=", cases[i].name);

    memset(variable + length, 'x', cases[i].length);
    variable[(size_t)length + cases[i].length] = '\0';
    output = submit(cases[i].line, variable);
    assert_has(output, cases[i].has);
    assert_has(output, "post_opt 0\n");
    if (lines_said(output) != 1)
      fail_msg("%s: %s", cases[i].line, output);
  }
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(requested_placement_is_reported_and_set),
    cmocka_unit_test(ignored_settings_are_reported_in_the_one_line),
#ifndef SANITIZED
    cmocka_unit_test(every_allocation_may_fail),
#endif
    cmocka_unit_test(jobs_for_another_cluster_are_unchanged),
    cmocka_unit_test(no_job_is_moved_where_it_may_not_start),
    cmocka_unit_test(one_file_lists_all_partitions_unless_it_is_broken),
    cmocka_unit_test(without_a_site_or_runs_the_job_stays)
  };
  int failed;

  if (getenv("FAKE_HOST"))
    return fake_spank_play(argc, argv);
  play_plugin_self = realpath(argv[0], NULL);
  failed = cmocka_run_group_tests_name("plugin placement", tests, set_up, tear_down);
  free(play_plugin_self);
  return failed;
}
