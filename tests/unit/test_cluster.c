/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "agent/scontrol.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/units.h"

/* What a Slurm 22.05.8 of one node up and two down printed (tests/fixtures/scontrol). */
static struct ft_buf fixture(const char *name)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[4096];
  struct ft_error err;
  struct ft_buf buf;

  ft_buf_init(&buf, FT_LIMIT_COMMAND);
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/scontrol/%s", top ? top : ".", name);
  if (ft_io_read_file(AT_FDCWD, path, &buf, &err) < 0)
    fail_msg("%s", err.text);
  return buf;
}

static struct ft_text text_of(const struct ft_buf *buf)
{
  return ft_text_of(ft_buf_text(buf), buf->length);
}

static void the_rule_is_what_enforces(void **state)
{
  static const struct {
    const char *lines;
    ft_rule rule;
  } cases[] = {
    { "", FT_RULE_NONE },
    { "JobAcctGatherParams = OverMemoryKill\n", FT_RULE_RSS },
    { "JobAcctGatherParams = NoOverMemoryKill\n", FT_RULE_NONE },
    { "JobAcctGatherParams = NoShared,overmemorykill\n", FT_RULE_RSS },
    { "JobAcctGatherParams = UsePss,OverMemoryKill\n", FT_RULE_PSS },
    { "JobAcctGatherParams = UsePss\n", FT_RULE_NONE },
    { "TaskPlugin = task/affinity,task/cgroup\nConstrainRAMSpace = yes\n", FT_RULE_CGROUP },
    { "TaskPlugin = task/cgroup\nConstrainRAMSpace = no\n", FT_RULE_NONE },
    { "TaskPlugin = task/none\nConstrainRAMSpace = yes\n", FT_RULE_NONE },
    { "TaskPlugin = task/cgroup\nConstrainRAMSpace = yes\nJobAcctGatherParams=OverMemoryKill\n",
      FT_RULE_CGROUP },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_slurm_config config;
    struct ft_error err;
    char text[512];

    (void)snprintf(text, sizeof text, "ClusterName = c\n%s", cases[i].lines);
    assert_int_equal(ft_scontrol_config(ft_text_from(text), &config, &err), 0);
    if (config.rule != cases[i].rule)
      fail_msg("%s: %s", cases[i].lines, ft_rule_name(config.rule));
  }
}

static void a_real_configuration_is_read(void **state)
{
  struct ft_buf rss = fixture("rss-config"), cgroup = fixture("cgroup-config");
  struct ft_slurm_config config;
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_scontrol_config(text_of(&rss), &config, &err), 0);
  assert_string_equal(config.cluster, "foretell");
  assert_string_equal(config.version, "22.05.8");
  assert_true(config.memory_is_consumable);
  assert_int_equal(config.rule, FT_RULE_RSS);
  assert_int_equal(config.slurmd_uid, 0);
  assert_int_equal(config.def_mem_bytes, 1000 * FT_MIB);
  assert_false(config.def_per_cpu);
  assert_int_equal(config.max_mem_bytes, 0);
  assert_int_equal(ft_scontrol_config(text_of(&cgroup), &config, &err), 0);
  assert_int_equal(config.rule, FT_RULE_CGROUP);
  assert_int_equal(config.def_mem_bytes, 300 * FT_MIB);
  assert_true(config.def_per_cpu);
  assert_int_equal(config.max_mem_bytes, 7000 * FT_MIB);
  assert_int_equal(ft_scontrol_config(ft_text_from("Slurmctld is DOWN\n"), &config, &err), -1);
  assert_non_null(strstr(err.text, "ClusterName"));
  ft_buf_free(&rss);
  ft_buf_free(&cgroup);
}

static ft_partition *partitions_of(const char *kind, size_t *count)
{
  char config_name[64], partition_name[64];
  ft_partition *out = calloc(FT_SCONTROL_PARTITIONS, sizeof *out);
  const struct ft_scontrol_host host = { "vm", "epyc" };
  struct ft_buf config_text, partitions, nodes = fixture("rss-node");
  struct ft_slurm_config config;
  struct ft_error err;

  assert_non_null(out);
  (void)snprintf(config_name, sizeof config_name, "%s-config", kind);
  (void)snprintf(partition_name, sizeof partition_name, "%s-partition", kind);
  config_text = fixture(config_name);
  partitions = fixture(partition_name);
  assert_int_equal(ft_scontrol_config(text_of(&config_text), &config, &err), 0);
  if (ft_scontrol_partitions(text_of(&partitions), text_of(&nodes), &config, &host, out,
                             FT_SCONTROL_PARTITIONS, count, &err) < 0)
    fail_msg("%s", err.text);
  ft_buf_free(&config_text);
  ft_buf_free(&partitions);
  ft_buf_free(&nodes);
  return out;
}

static void partitions_have_their_limits(void **state)
{
  size_t count;
  ft_partition *p = partitions_of("rss", &count);

  (void)state;
  assert_int_equal(count, 4);
  assert_string_equal(p[0].name, "main");
  assert_true(p[0].is_default);
  assert_int_equal(p[0].def_mem_bytes, 512 * FT_MIB);
  assert_true(p[0].def_per_cpu);
  assert_int_equal(p[0].max_mem_bytes, 0);
  assert_false(p[0].exclusive);
  assert_string_equal(p[1].name, "big");
  assert_false(p[1].is_default);
  assert_true(p[1].exclusive);
  assert_int_equal(p[1].def_mem_bytes, 2000 * FT_MIB);
  assert_false(p[1].def_per_cpu);
  assert_int_equal(p[1].max_mem_bytes, 6000 * FT_MIB);
  assert_false(p[1].max_per_cpu);
  assert_int_equal(p[2].max_mem_bytes, 1500 * FT_MIB);
  assert_true(p[2].max_per_cpu);
  free(p);
}

static void global_defaults_are_inherited(void **state)
{
  size_t count;
  ft_partition *p = partitions_of("rss", &count);

  (void)state;
  assert_int_equal(p[2].def_mem_bytes, 1000 * FT_MIB);
  assert_false(p[2].def_per_cpu);
  free(p);
  p = partitions_of("cgroup", &count);
  assert_int_equal(p[2].def_mem_bytes, 300 * FT_MIB);
  assert_true(p[2].def_per_cpu);
  assert_int_equal(p[0].max_mem_bytes, 7000 * FT_MIB);
  assert_int_equal(p[1].max_mem_bytes, 6000 * FT_MIB);
  free(p);
}

static void kinds_of_nodes_are_counted(void **state)
{
  size_t count;
  ft_partition *p = partitions_of("rss", &count);

  (void)state;
  assert_int_equal(p[0].nodes_count, 2);
  assert_int_equal(p[0].nodes[0].mem_bytes, 4000 * FT_MIB);
  assert_string_equal(p[0].nodes[0].gres, "gpu:a100:2,gpu:a100_1g.5gb:7");
  /* MemSpecLimit is Slurm's own */
  assert_int_equal(p[0].nodes[1].mem_bytes, 7500 * FT_MIB);
  assert_int_equal(p[0].nodes[1].cpus, 8);
  assert_int_equal(p[0].nodes[1].threads_per_core, 2);
  assert_string_equal(p[0].nodes[1].gres, "");
  assert_int_equal(p[2].nodes_count, 3);
  assert_int_equal(p[3].nodes_count, 1);
  assert_int_equal(p[3].nodes[0].count, 1);
  assert_string_equal(p[0].nodes[0].platform, "epyc"); /* every node of this cluster is host vm */
  free(p);
}

static void typed_gres_of_all_nodes_are_the_partitions(void **state)
{
  const struct ft_slurm_config config = { .cluster = "c" };
  const struct ft_scontrol_host host = { "vm", "" };
  struct ft_error err;
  ft_partition p[1];
  struct ft_buf nodes;
  size_t count;

  (void)state;
  ft_buf_init(&nodes, FT_LIMIT_COMMAND);
  assert_int_equal(
      ft_buf_printf(&nodes,
                    "NodeName=a RealMemory=1 Gres=gpu:a100_1g.5gb:2(S:0,2),nic:4 Partitions=a\n"
                    "NodeName=b RealMemory=2 Gres=gpu:a100_1g.5gb:7(S:0),gpu:x Partitions=a\n"
                    "NodeName=c RealMemory=3 Gres=(null) Partitions=a\n"
                    "NodeName=d RealMemory=4 Gres=gpu:%0100d:1 Partitions=a\n",
                    7),
      0);
  for (int i = 0; i < 40; i++)
    assert_int_equal(
        ft_buf_printf(&nodes, "NodeName=n RealMemory=9 Gres=gpu:t%d:1 Partitions=a\n", i), 0);
  assert_int_equal(ft_scontrol_partitions(ft_text_from("PartitionName=a\n"), text_of(&nodes),
                                          &config, &host, p, 1, &count, &err),
                   0);
  assert_int_equal(p[0].gres_count, 24);
  assert_string_equal(p[0].gres[0].name, "gpu:a100_1g.5gb");
  assert_int_equal(p[0].gres[0].count, 7);
  assert_string_equal(p[0].gres[1].name, "gpu:x");
  assert_string_equal(p[0].gres[2].name, "gpu:t0");
  ft_buf_free(&nodes);
}

static void of_many_kinds_the_extremes_stay(void **state)
{
  const struct ft_slurm_config config = { .cluster = "c" };
  const struct ft_scontrol_host host = { "vm", "" };
  struct ft_error err;
  ft_partition p[1];
  struct ft_buf nodes;
  size_t count;

  (void)state;
  ft_buf_init(&nodes, FT_LIMIT_COMMAND);
  for (int i = 0; i < 40; i++)
    assert_int_equal(ft_buf_printf(&nodes,
                                   "NodeName=n%d CPUTot=4 RealMemory=%d ThreadsPerCore=1 "
                                   "Gres=gpu:t:1(S:0-1,3),nic:2 Partitions=a,b\n",
                                   i, 1000 + 37 * i % 40),
                     0);
  assert_int_equal(ft_scontrol_partitions(ft_text_from("PartitionName=a Default=NO\n"),
                                          text_of(&nodes), &config, &host, p, 1, &count, &err),
                   0);
  assert_int_equal(p[0].nodes_count, 8);
  for (int i = 0; i < 7; i++)
    assert_int_equal(p[0].nodes[i].mem_bytes, (uint64_t)(1000 + i) * FT_MIB);
  assert_int_equal(p[0].nodes[7].mem_bytes, 1039 * FT_MIB);
  assert_string_equal(p[0].nodes[0].gres, "gpu:t:1,nic:2");
  assert_int_equal(p[0].gres_count, 1);
  assert_string_equal(p[0].gres[0].name, "gpu:t");
  assert_int_equal(p[0].gres[0].count, 1);
  assert_int_equal(ft_scontrol_partitions(ft_text_from("PartitionName=a\nPartitionName=b\n"),
                                          text_of(&nodes), &config, &host, p, 1, &count, &err),
                   -1);
  assert_non_null(strstr(err.text, "more than 1"));
  assert_int_equal(ft_scontrol_partitions(ft_text_from("nothing\n"), text_of(&nodes), &config,
                                          &host, p, 1, &count, &err),
                   -1);
  ft_buf_free(&nodes);
}

static void a_jobs_record_is_read(void **state)
{
  static const struct {
    uint32_t id;
    bool over;
    ft_outcome outcome;
    uint32_t restarts;
    double submit, limit;
    const char *name;
  } cases[] = {
    { 1, true, FT_OUTCOME_CANCELLED, 0, 1795213436, 3600, "two" },
    { 2, true, FT_OUTCOME_FAILED, 0, 1795213436, 3600, "wrap" },
    /* the master's id of an array is its last element, too */
    { 3, true, FT_OUTCOME_COMPLETED, 0, 1795213436, 3600, "wrap" },
    { 5, false, FT_OUTCOME_UNKNOWN, 0, 1795213436, 3600, "wrap" },
    /* a name that pretends to be a record */
    { 6, false, FT_OUTCOME_UNKNOWN, 0, 1795213436, 0, "x" },
    { 8, false, FT_OUTCOME_UNKNOWN, 1, 1795213440, 3600, "wrap" },
  };
  struct ft_buf jobs = fixture("jobs"), none = fixture("job-none");
  struct ft_slurm_job job;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    if (ft_scontrol_job(text_of(&jobs), cases[i].id, &job, &err) < 0)
      fail_msg("%s", err.text);
    assert_int_equal(job.over, cases[i].over);
    if (job.over)
      assert_int_equal(job.outcome, cases[i].outcome);
    assert_int_equal(job.restart_count, cases[i].restarts);
    assert_true(job.submit_time == cases[i].submit);
    assert_true(job.time_limit_seconds == cases[i].limit);
    assert_string_equal(job.name, cases[i].name);
    assert_string_equal(job.user, "root");
    assert_int_equal(job.uid, 0);
    assert_string_equal(job.account, "");
    assert_string_equal(job.partition, "main");
  }
  assert_int_equal(ft_scontrol_job(text_of(&jobs), 7777, &job, &err), -1);
  assert_int_equal(ft_scontrol_job(text_of(&none), 999, &job, &err), -1);
  ft_buf_free(&jobs);
  ft_buf_free(&none);
}

/* Cut and changed anywhere: nothing is read past the end (the sanitizers look). */
static void damage_is_survived(void **state)
{
  static const char *const names[] = { "jobs", "rss-config", "rss-partition", "rss-node" };
  const struct ft_scontrol_host host = { "vm", "p" };
  ft_partition *p = calloc(FT_SCONTROL_PARTITIONS, sizeof *p);
  struct ft_slurm_config config = { .cluster = "c" };
  struct ft_random random;
  struct ft_slurm_job job;
  size_t count;

  (void)state;
  assert_non_null(p);
  ft_random_seed(&random, 1);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    struct ft_buf whole = fixture(names[i]);

    for (int turn = 0; turn < 300; turn++) {
      size_t length = ft_random_below(&random, whole.length) + 1;
      char *copy = malloc(length);
      struct ft_text text = ft_text_of(copy, length);

      assert_non_null(copy);
      memcpy(copy, whole.data, length);
      copy[ft_random_below(&random, length)] = (char)ft_random_u64(&random);
      (void)ft_scontrol_job(text, (uint32_t)ft_random_below(&random, 10), &job, NULL);
      (void)ft_scontrol_config(text, &config, NULL);
      (void)ft_scontrol_partitions(ft_text_from("PartitionName=main\nPartitionName=big\n"), text,
                                   &config, &host, p, FT_SCONTROL_PARTITIONS, &count, NULL);
      (void)ft_scontrol_partitions(text, text, &config, &host, p, FT_SCONTROL_PARTITIONS, &count,
                                   NULL);
      free(copy);
    }
    ft_buf_free(&whole);
  }
  free(p);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(the_rule_is_what_enforces),
                                      cmocka_unit_test(a_real_configuration_is_read),
                                      cmocka_unit_test(partitions_have_their_limits),
                                      cmocka_unit_test(global_defaults_are_inherited),
                                      cmocka_unit_test(kinds_of_nodes_are_counted),
                                      cmocka_unit_test(typed_gres_of_all_nodes_are_the_partitions),
                                      cmocka_unit_test(of_many_kinds_the_extremes_stay),
                                      cmocka_unit_test(a_jobs_record_is_read),
                                      cmocka_unit_test(damage_is_survived) };

  return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
