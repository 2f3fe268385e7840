/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job that names several partitions; Slurm starts it in the first with free nodes. */
#include "config.h"

#include "tests/unit/decided.h"
#include "tests/unit/scratch.h"

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/decide.h"
#include "predictor/decide/sizing.h"
#include "predictor/learn/distribution.h"
#include "predictor/record/state_files.h"

#define MB FT_MIB
#define GB FT_GIB

static const ft_site site = { .schema = FT_SCHEMA,
                              .default_partition = "main",
                              .memory_is_consumable = true,
                              .rule = FT_RULE_RSS };

static const ft_partition partitions[] = {
  { .schema = FT_SCHEMA,
    .name = "main",
    .def_mem_bytes = 10 * MB,
    .def_per_cpu = true,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "roomy",
    .def_mem_bytes = 2000 * MB,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "capped",
    .def_mem_bytes = 10 * MB,
    .def_per_cpu = true,
    .max_mem_bytes = 60 * MB,
    .max_per_cpu = true,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "small",
    .def_mem_bytes = 10 * MB,
    .def_per_cpu = true,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 80 * MB } } },
  { .schema = FT_SCHEMA,
    .name = "near",
    .def_mem_bytes = 10 * MB,
    .max_mem_bytes = 60 * MB,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "near2",
    .def_mem_bytes = 10 * MB,
    .max_mem_bytes = 60 * MB,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "whole",
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "cores",
    .def_mem_bytes = 1024 * MB,
    .def_per_cpu = true,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } },
    .gres_count = 1,
    .gres = { { .name = "gpu", .count = 1 } } },
  { .schema = FT_SCHEMA,
    .name = "gpumem",
    .def_mem_per_gpu_bytes = 4096 * MB,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } },
    .gres_count = 1,
    .gres = { { .name = "gpu", .count = 4 } } },
  { .schema = FT_SCHEMA,
    .name = "gpus2",
    .def_mem_bytes = 10 * MB,
    .def_mem_per_gpu_bytes = 2048 * MB,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } },
    .gres_count = 1,
    .gres = { { .name = "gpu", .count = 4 } } },
  { .schema = FT_SCHEMA,
    .name = "narrow",
    .def_mem_bytes = 10 * MB,
    .def_per_cpu = true,
    .max_cpus = 2,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB } } },
  { .schema = FT_SCHEMA,
    .name = "alone",
    .def_mem_bytes = 20 * MB,
    .def_per_cpu = true,
    .one_task_per_core = true,
    .nodes_count = 1,
    .nodes = { { .cpus = 8, .mem_bytes = 8 * GB, .threads_per_core = 2 } } },
  { .schema = FT_SCHEMA,
    .name = "mig",
    .gres_count = 2,
    .gres = { { .name = "gpu:1g.5gb", .count = 2 }, { .name = "gpu:3g.20gb", .count = 1 } } },
  { .schema = FT_SCHEMA,
    .name = "gpus",
    .gres_count = 2,
    .gres = { { .name = "gpu:a100", .count = 4 }, { .name = "gpu:1g.5gb", .count = 7 } } },
};

static char folder[SCRATCH_SIZE];
static int state_fd;

static int set_up(void **state)
{
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;
  int fd;

  (void)state;
  state_fd = scratch_open(folder);
  assert_int_equal(mkdirat(state_fd, FT_STATE_PARTITIONS, 0755), 0);
  fd = openat(state_fd, FT_STATE_PARTITIONS, O_RDONLY | O_DIRECTORY);
  for (size_t i = 0; i < COUNT_OF(partitions); i++) {
    ft_state_partition_name(partitions[i].name, name);
    assert_int_equal(ft_record_write(FT_RECORD_PARTITION, &partitions[i], fd, name, 0644, &err), 0);
  }
  close(fd);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return scratch_close(folder, state_fd);
}

/* 100 MiB with a small spread. */
static struct ft_estimate estimate_of(unsigned runs)
{
  struct ft_estimate e = { .runs = runs, .method = "quantiles", .max_value = 110 * MB };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = 100 * MB * exp(0.02 * ft_normal_quantile(ft_interval_levels[i]));
  return e;
}

static void the_job_may_run_in_any_of_them(void **state)
{
  static const struct {
    const char *names;
    unsigned runs;
    ft_action action;
    uint64_t least_mib, most_mib; /* bounds of the set request */
  } cases[] = {
    { "main", 4, FT_ACTION_SET, 100, 130 },
    { "roomy", 4, FT_ACTION_LEAVE, 0, 0 },
    { "roomy", 40, FT_ACTION_SET, 100, 130 },
    /* with few runs never below the largest default, and enough in the others */
    { "main,roomy", 4, FT_ACTION_SET, 2000, 2000 },
    { "roomy,main", 4, FT_ACTION_SET, 2000, 2000 },
    { "main,roomy", 40, FT_ACTION_SET, 100, 130 },
    { "roomy,roomy", 4, FT_ACTION_LEAVE, 0, 0 },
    { "whole,main", 4, FT_ACTION_SET, 8192, 8192 },
    { "whole,main", 40, FT_ACTION_SET, 100, 130 },
    { "whole,roomy", 4, FT_ACTION_LEAVE, 0, 0 },
    /* the limit is neither the smallest node nor the lowest maximum */
    { "small,main", 4, FT_ACTION_SET, 100, 130 },
    { "capped,main", 4, FT_ACTION_SET, 100, 130 },
    { "main,capped", 4, FT_ACTION_SET, 100, 130 },
    { "capped,capped", 4, FT_ACTION_WARN, 0, 0 }, /* they allow less than the median */
    /* a partition without data or without a name does not count */
    { "main,nowhere,,roomy", 4, FT_ACTION_SET, 2000, 2000 },
    { "main,", 4, FT_ACTION_SET, 100, 130 },
    { "", 4, FT_ACTION_SET, 100, 130 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_estimate estimate = estimate_of(cases[i].runs);
    ft_partition partition;
    ft_request request = { 0 };
    ft_policy policy;
    ft_decision d;
    struct ft_decision_input q =
        question_about(FT_MODE_SET, "x", &request, &estimate, NULL, &policy, &partition);

    q.rule = FT_RULE_RSS;
    (void)ft_string_copy(cases[i].names, request.partition, sizeof request.partition);
    ft_policy_resolve(NULL, NULL, NULL, NULL, &policy);
    policy.min_runs = 3;
    policy.trim_runs = 20;
    policy.floor_bytes = policy.round_bytes = 1 * MB;
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &q.merged, NULL),
                     0);
    decide(&q, &d, NULL);
    if (d.action != cases[i].action || d.mem_bytes < cases[i].least_mib * MB ||
        d.mem_bytes > cases[i].most_mib * MB)
      fail_msg("%s, %u runs: %s, %u MiB: %s", cases[i].names, cases[i].runs,
               ft_action_name(d.action), (unsigned)(d.mem_bytes / MB), d.reason);
  }
}

/* A job that is left to the default requests it, because it may have been lowered since. */
static void a_kept_default_is_requested_in_its_own_unit(void **state)
{
  static const struct {
    const char *names;
    ft_mode mode;
    ft_rule rule;
    ft_request request;
    double need_mib;
    ft_mem_unit unit;
    uint64_t mib; /* 0: nothing is requested */
  } cases[] = {
    { "roomy", FT_MODE_SET, FT_RULE_RSS, { 0 }, 100, FT_MEM_NODE, 2000 },
    { "roomy", FT_MODE_RAISE, FT_RULE_RSS, { 0 }, 100, FT_MEM_NODE, 2000 },
    { "roomy", FT_MODE_FORCE, FT_RULE_CGROUP, { 0 }, 100, FT_MEM_NODE, 2000 },
    { "main", FT_MODE_SET, FT_RULE_RSS, { .cpus_per_task = 4 }, 5, FT_MEM_CPU, 10 },
    { "gpumem", FT_MODE_SET, FT_RULE_RSS, { .gpus_per_node = 1 }, 100, FT_MEM_GPU, 4096 },
    { "roomy,roomy", FT_MODE_SET, FT_RULE_RSS, { 0 }, 100, FT_MEM_NODE, 2000 },
    { "main,narrow", FT_MODE_SET, FT_RULE_RSS, { .cpus_per_task = 2 }, 5, FT_MEM_CPU, 10 },
    /* the defaults differ, or there is none */
    { "main,roomy", FT_MODE_SET, FT_RULE_RSS, { 0 }, 5, 0, 0 },
    { "whole", FT_MODE_SET, FT_RULE_RSS, { 0 }, 100, 0, 0 },
    /* the job is not left to the default, or the default kills none */
    { "main", FT_MODE_SET, FT_RULE_RSS, { 0 }, 100, 0, 0 },
    { "roomy", FT_MODE_CHECK, FT_RULE_RSS, { 0 }, 100, 0, 0 },
    { "roomy", FT_MODE_OFF, FT_RULE_RSS, { 0 }, 100, 0, 0 },
    { "roomy", FT_MODE_SET, FT_RULE_NONE, { 0 }, 100, 0, 0 },
    { "roomy", FT_MODE_SET, FT_RULE_RSS, { .mem_unit = FT_MEM_NODE, .mem_bytes = GB }, 100, 0, 0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double need = cases[i].need_mib * (double)MB;
    struct ft_estimate estimate = estimate_of(4);
    struct ft_facts facts = { .runs = 4,
                              .completed = 4,
                              .peak_value = need,
                              .comparable_runs = 4,
                              .comparable_completed = 4,
                              .comparable_peak_value = need,
                              .comparable_min_value = need };
    ft_policy policy = ft_policy_defaults;
    ft_request request = cases[i].request;
    ft_partition partition;
    struct ft_sizing sizing;
    ft_decision d;
    struct ft_decision_input q =
        question_about(cases[i].mode, "x", &request, &estimate, &facts, &policy, &partition);

    q.rule = cases[i].rule;
    for (size_t l = 0; l < FT_ESTIMATE_LEVELS; l++)
      estimate.quantile[l] *= cases[i].need_mib / 100;
    policy.min_runs = 3;
    policy.floor_bytes = policy.round_bytes = 1 * MB;
    (void)ft_string_copy(cases[i].names, request.partition, sizeof request.partition);
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &q.merged, NULL),
                     0);
    ft_sizing_make(&q, &sizing);
    ft_decide(&q, &sizing, &d);
    if (sizing.kept_default.bytes != cases[i].mib * MB ||
        (cases[i].mib && (sizing.kept_default.unit != cases[i].unit || d.mem_bytes)))
      fail_msg("case %zu, %s: %s, kept %llu MiB, unit %d", i, cases[i].names,
               ft_action_name(d.action), (unsigned long long)(sizing.kept_default.bytes / MB),
               (int)sizing.kept_default.unit);
  }
}

/* Without evidence of less, a job keeps the larger default of the partitions that can start it. */
static void each_partition_counts_its_own_default(void **state)
{
  static const struct {
    const char *names;
    ft_request request;
    uint64_t default_mib, max_mib; /* 0: unlimited */
  } cases[] = {
    { "cores,gpumem", { .gpus_per_node = 1 }, 4096, 0 },
    { "gpumem,cores", { .gpus_per_node = 1 }, 4096, 0 },
    { "gpumem,gpus2", { .gpus_per_node = 2 }, 8192, 0 },
    { "gpus2,gpumem", { .gpus_per_node = 2 }, 8192, 0 },
    { "gpus2,gpumem", { 0 }, 8192, 0 }, /* without GPUs their default does not apply */
    { "whole,gpumem", { .gpus_per_node = 1 }, 4096, 0 }, /* no GPU: not a partition of the job */
    { "gpumem,whole", { .gpus_per_node = 1 }, 4096, 0 },
    { "whole,main", { 0 }, 8192, 0 },
    { "main,narrow", { .tasks = 8 }, 80, 0 }, /* 8 CPUs of one node, 2 of each of 4 */
    { "narrow,main", { .tasks = 8 }, 80, 0 },
    { "main,alone", { .tasks = 4, .cpus_per_task = 1 }, 160, 0 }, /* a core for each task */
    { "alone,main", { .tasks = 4, .cpus_per_task = 1 }, 160, 0 },
    { "capped,near", { .tasks = 2 }, 20, 120 },
    { "near,capped", { .tasks = 2 }, 20, 120 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_merged_partitions merged;
    ft_request request = cases[i].request;
    ft_partition partition;

    (void)ft_string_copy(cases[i].names, request.partition, sizeof request.partition);
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &merged, NULL), 0);
    if (ft_sizing_default(&request, &partition, true) != cases[i].default_mib * MB ||
        ft_sizing_partition_max(&request, &partition) != cases[i].max_mib * MB)
      fail_msg("%s: default %llu MiB, at most %llu MiB", cases[i].names,
               (unsigned long long)(ft_sizing_default(&request, &partition, true) / MB),
               (unsigned long long)(ft_sizing_partition_max(&request, &partition) / MB));
  }
}

/* If nothing is set, the job may start where its default is smallest. */
static void messages_are_about_the_partition_with_the_smallest_default(void **state)
{
  static const struct {
    const char *names;
    ft_mode mode;
    double reject;
    ft_action action;
    const char *says;
  } cases[] = {
    { "main", FT_MODE_CHECK, 0, FT_ACTION_WARN, "the default of partition main, 10 MiB" },
    { "roomy", FT_MODE_CHECK, 0, FT_ACTION_LEAVE, "the default of partition roomy, 1.95 GiB, is" },
    { "main,roomy", FT_MODE_CHECK, 0, FT_ACTION_WARN,
      "with the default of partition main, 10 MiB, it would run out of memory (over 99.9 %); "
      "use --mem=2" },
    { "roomy,main", FT_MODE_CHECK, 0, FT_ACTION_WARN, "the default of partition main, 10 MiB" },
    { "whole,roomy", FT_MODE_CHECK, 0, FT_ACTION_LEAVE,
      "the default of partition roomy, 1.95 GiB, is enough" },
    { "roomy,main", FT_MODE_UNSET, 0.5, FT_ACTION_REJECT,
      "job rejected: the default of partition main, 10 MiB, is too small; x needs" },
    { "roomy,main", FT_MODE_CHECK, 0.5, FT_ACTION_REJECT,
      "job rejected: the default of partition main, 10 MiB, is too small; x needs" },
    { "roomy,main", FT_MODE_OFF, 0.5, FT_ACTION_REJECT,
      "job rejected: the default of partition main, 10 MiB, is too small; x needs" },
    { "roomy,main", FT_MODE_SET, 0.5, FT_ACTION_SET, "--mem set to 2000M" },
    { "main,near", FT_MODE_CHECK, 0, FT_ACTION_WARN,
      "the default of partitions main,near, 10 MiB" },
    { "near", FT_MODE_CHECK, 0, FT_ACTION_WARN,
      "(over 99.9 %); partition near allows no more than 60 MiB" },
    { "near,near2", FT_MODE_SET, 0, FT_ACTION_WARN,
      "(over 99.9 %); partitions near,near2 allow no more than 60 MiB" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_estimate estimate = estimate_of(4);
    struct ft_explanation said;
    ft_partition partition;
    ft_request request = { 0 };
    ft_policy policy = ft_policy_defaults;
    ft_decision d;
    struct ft_facts facts = { .runs = 4,
                              .completed = 4,
                              .peak_value = 100 * MB,
                              .comparable_runs = 4,
                              .comparable_completed = 4,
                              .comparable_peak_value = 100 * MB,
                              .comparable_min_value = 95 * MB };
    struct ft_decision_input q =
        question_about(cases[i].mode, "x", &request, &estimate, &facts, &policy, &partition);

    q.rule = FT_RULE_RSS;
    (void)ft_string_copy(cases[i].names, request.partition, sizeof request.partition);
    policy.mode = FT_MODE_CHECK;
    policy.min_runs = 3;
    policy.reject_probability = cases[i].reject;
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &q.merged, NULL),
                     0);
    decide(&q, &d, &said);
    if (d.action != cases[i].action || !said.count || !strstr(said.line[0], cases[i].says))
      fail_msg("%s: %s, %s", cases[i].names, ft_action_name(d.action),
               said.count ? said.line[0] : "nothing");
  }
}

static void resources_are_merged_and_partitions_counted(void **state)
{
  static const struct {
    const char *names, *gres;
    unsigned count;
  } cases[] = {
    { "mig", "gpu:1g.5gb x2 in 1, gpu:3g.20gb x1 in 1, ", 1 },
    { "mig,gpus", "gpu:1g.5gb x7 in 2, gpu:3g.20gb x1 in 1, gpu:a100 x4 in 1, ", 2 },
    { "gpus,main,mig", "gpu:a100 x4 in 1, gpu:1g.5gb x7 in 2, gpu:3g.20gb x1 in 1, ", 3 },
    { "main,nowhere,mig", "gpu:1g.5gb x2 in 1, gpu:3g.20gb x1 in 1, ", 2 },
    /* a partition named twice counts once */
    { "mig,mig,gpus,mig", "gpu:1g.5gb x7 in 2, gpu:3g.20gb x1 in 1, gpu:a100 x4 in 1, ", 2 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_merged_partitions merged;
    ft_request request = { 0 };
    ft_partition partition;
    char text[300] = "";

    (void)ft_string_copy(cases[i].names, request.partition, sizeof request.partition);
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &merged, NULL), 0);
    for (size_t k = 0; k < partition.gres_count; k++)
      (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s x%u in %u, ",
                     partition.gres[k].name, (unsigned)partition.gres[k].count,
                     (unsigned)merged.gres_count[k]);
    assert_string_equal(text, cases[i].gres);
    assert_int_equal(merged.count, cases[i].count);
  }
}

static void without_the_first_partition_nothing_is_known(void **state)
{
  static const char *const names[] = { "nowhere", "nowhere,main", ",main" };
  ft_request request = { 0 };
  ft_partition partition;
  struct ft_error err;
  struct ft_merged_partitions merged;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    (void)ft_string_copy(names[i], request.partition, sizeof request.partition);
    assert_int_equal(ft_decide_partition(state_fd, &site, &request, &partition, &merged, &err), -1);
    assert_true(err.text[0]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_job_may_run_in_any_of_them),
    cmocka_unit_test(each_partition_counts_its_own_default),
    cmocka_unit_test(a_kept_default_is_requested_in_its_own_unit),
    cmocka_unit_test(messages_are_about_the_partition_with_the_smallest_default),
    cmocka_unit_test(resources_are_merged_and_partitions_counted),
    cmocka_unit_test(without_the_first_partition_nothing_is_known)
  };

  return cmocka_run_group_tests_name("partitions", tests, set_up, tear_down);
}
