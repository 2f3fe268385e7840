/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "learner/cluster/scontrol.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/units.h"

/* Output of a Slurm 22.05.8 with one node up and two down (tests/fixtures/scontrol). */
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

static void the_accounting_rule_is_that_of_the_enforcing_plugin(void **state)
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
  assert_int_equal(config.slurm_uid, 0);
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
  const struct ft_scontrol_host host = { "vm", "epyc", NULL };
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

/* Parses the partitions and nodes that scontrol of RELEASE printed into P (four partitions). */
static void read_recorded(const char *release, struct ft_slurm_config *config, ft_partition *p)
{
  const struct ft_scontrol_host host = { "vm", "epyc", NULL };
  struct ft_buf text[3];
  char name[64];
  struct ft_error err;
  size_t count;

  for (size_t i = 0; i < COUNT_OF(text); i++) {
    static const char *const shown[] = { "config", "partition", "node" };

    (void)snprintf(name, sizeof name, "%s/%s", release, shown[i]);
    text[i] = fixture(name);
  }
  assert_int_equal(ft_scontrol_config(text_of(&text[0]), config, &err), 0);
  if (ft_scontrol_partitions(text_of(&text[1]), text_of(&text[2]), config, &host, p, 4, &count,
                             &err) < 0)
    fail_msg("%s: %s", release, err.text);
  assert_int_equal(count, 4);
  for (size_t i = 0; i < COUNT_OF(text); i++)
    ft_buf_free(&text[i]);
}

/* The releases in tests/fixtures/scontrol/record, all with the same slurm.conf. */
static const char *const releases[] = { "22.05", "23.11", "24.11", "25.11", "26.05" };

static void each_release_shows_the_same_cluster(void **state)
{
  static ft_partition p[4];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(releases); i++) {
    struct ft_slurm_config config;

    read_recorded(releases[i], &config, p);
    assert_string_equal(config.cluster, "foretell");
    assert_int_equal(strncmp(config.version, releases[i], strlen(releases[i])), 0);
    assert_int_equal(config.rule, FT_RULE_CGROUP);
    assert_true(config.memory_is_consumable);
    assert_int_equal(config.def_mem_bytes, 1000 * FT_MIB);
    assert_true(p[0].is_default && !p[0].exclusive && p[0].def_per_cpu);
    assert_int_equal(p[0].def_mem_bytes, 512 * FT_MIB);
    assert_true(p[0].max_seconds == 3600 && p[0].max_nodes == 2 && !p[0].restricted);
    assert_int_equal(p[0].nodes_count, 2);
    assert_int_equal(p[0].nodes[0].mem_bytes, 4000 * FT_MIB);
    assert_int_equal(p[0].nodes[1].cpus, 8);
    assert_int_equal(p[0].idle_nodes, 1);
    assert_int_equal(p[0].idle_cpus, 11);
    assert_string_equal(p[1].name, "alone");
    assert_true(p[1].exclusive);
    assert_int_equal(p[1].def_mem_bytes, 2000 * FT_MIB);
    assert_int_equal(p[1].max_mem_bytes, 6000 * FT_MIB);
    /* of one user's jobs, but of several at once */
    assert_string_equal(p[2].name, "user");
    assert_false(p[2].exclusive);
    assert_int_equal(p[2].def_mem_bytes, 1000 * FT_MIB);
    assert_true(!p[3].exclusive && p[3].closed && !p[2].closed);
  }
}

static void each_release_shows_the_same_jobs(void **state)
{
  (void)state;
  for (size_t i = 0; i < COUNT_OF(releases); i++) {
    struct ft_text nodes;
    ft_slurm_job job;
    struct ft_error err;
    struct ft_buf text;
    char name[64];

    (void)snprintf(name, sizeof name, "%s/job", releases[i]);
    text = fixture(name);
    assert_int_equal(ft_scontrol_job(text_of(&text), 1, &job, &nodes, &err), 0);
    assert_true(job.final && job.outcome == FT_OUTCOME_COMPLETED && job.time_limit_seconds == 420);
    assert_true(job.submit_time > 0 && job.end_time > job.submit_time);
    assert_int_equal(job.nodes, 1);
    assert_true(ft_text_left(&nodes) && !ft_text_equals(nodes, "(null)"));
    assert_int_equal(ft_scontrol_job(text_of(&text), 2, &job, &nodes, &err), 0);
    assert_true(job.final && job.outcome == FT_OUTCOME_FAILED && job.restart_count == 0);
    assert_string_equal(job.partition, "main");
    assert_int_equal(ft_scontrol_job(text_of(&text), 3, &job, &nodes, &err), 0);
    assert_false(job.final);
    assert_string_equal(job.partition, "alone");
    /* its comment and command line contain false fields */
    assert_int_equal(ft_scontrol_job(text_of(&text), 4, &job, &nodes, &err), 0);
    assert_true(!job.final && job.uid == 0);
    assert_string_equal(job.user, "root");
    ft_buf_free(&text);
  }
}

static void a_partition_of_whole_nodes_is_exclusive(void **state)
{
  static const struct {
    const char *shown;
    bool exclusive;
  } cases[] = {
    { "OverSubscribe=EXCLUSIVE", true },
    { "ExclusiveUser=NO OverSubscribe=EXCLUSIVE", true },
    { "ExclusiveUser=YES OverSubscribe=NO", false },
    { "OverSubscribe=FORCE:4", false },
    /* since 26.05; an exclusive partition has OverSubscribe=NO */
    { "Exclusive=NODE OverSubscribe=NO", true },
    { "Exclusive=TOPO OverSubscribe=NO", true },
    { "Exclusive=USER OverSubscribe=NO", false },
    { "Exclusive=NO OverSubscribe=YES:4", false },
  };
  const struct ft_slurm_config config = { .cluster = "c" };
  const struct ft_scontrol_host host = { "vm", "", NULL };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    static ft_partition p;
    char line[128];
    struct ft_error err;
    size_t count;

    (void)snprintf(line, sizeof line, "PartitionName=a %s State=UP\n", cases[i].shown);
    assert_int_equal(ft_scontrol_partitions(ft_text_from(line), ft_text_from(""), &config, &host,
                                            &p, 1, &count, &err),
                     0);
    if (p.exclusive != cases[i].exclusive)
      fail_msg("%s", cases[i].shown);
  }
}

static void whole_cores_and_sockets_are_read(void **state)
{
  static const struct {
    const char *cluster, *partition, *node;
    ft_cpu_unit unit;
    bool one_task;
    unsigned threads;
  } cases[] = {
    { "CR_CPU_MEMORY", "NONE", "CPUTot=32", FT_CPU_UNIT_CPU, false, 2 },
    { "NONE", "NONE", "CPUTot=32", FT_CPU_UNIT_CPU, false, 2 },
    { "CR_CORE_MEMORY", "NONE", "CPUTot=32", FT_CPU_UNIT_CORE, false, 2 },
    { "CR_CORE", "NONE", "CPUTot=32", FT_CPU_UNIT_CORE, false, 2 },
    { "CR_SOCKET_MEMORY,CR_LLN", "NONE", "CPUTot=32", FT_CPU_UNIT_SOCKET, false, 2 },
    { "CR_CORE_MEMORY,CR_ONE_TASK_PER_CORE", "NONE", "CPUTot=32", FT_CPU_UNIT_CORE, true, 2 },
    /* a word that contains another one */
    { "CR_CPU_MEMORY,CR_CORE_DEFAULT_DIST_BLOCK", "NONE", "CPUTot=32", FT_CPU_UNIT_CPU, false, 2 },
    /* a partition's own setting, where Slurm uses it */
    { "CR_CORE_MEMORY", "CR_SOCKET_MEMORY", "CPUTot=32", FT_CPU_UNIT_SOCKET, false, 2 },
    { "CR_SOCKET_MEMORY", "CR_CORE", "CPUTot=32", FT_CPU_UNIT_CORE, false, 2 },
    { "CR_CPU_MEMORY", "CR_CORE_MEMORY", "CPUTot=32", FT_CPU_UNIT_CPU, false, 2 },
    /* its cores are the node's CPUs */
    { "CR_CORE_MEMORY", "NONE", "CPUTot=16", FT_CPU_UNIT_CORE, false, 1 },
    { "CR_CORE_MEMORY", "NONE", "", FT_CPU_UNIT_CORE, false, 2 },
  };
  const struct ft_scontrol_host host = { "vm", "epyc", NULL };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char config_text[128], partition[128], node[192];
    struct ft_slurm_config config;
    struct ft_error err;
    static ft_partition out;
    size_t count;

    (void)snprintf(config_text, sizeof config_text,
                   "ClusterName = c\nSelectTypeParameters    = %s\n", cases[i].cluster);
    (void)snprintf(partition, sizeof partition, "PartitionName=main SelectTypeParameters=%s\n",
                   cases[i].partition);
    (void)snprintf(node, sizeof node,
                   "NodeName=a CoresPerSocket=8 %s RealMemory=1000 Sockets=2 ThreadsPerCore=2 "
                   "Partitions=main\n",
                   cases[i].node);
    assert_int_equal(ft_scontrol_config(ft_text_from(config_text), &config, &err), 0);
    assert_int_equal(ft_scontrol_partitions(ft_text_from(partition), ft_text_from(node), &config,
                                            &host, &out, 1, &count, &err),
                     0);
    assert_int_equal(out.cpu_unit, cases[i].unit);
    assert_int_equal(out.one_task_per_core, cases[i].one_task);
    assert_int_equal(out.nodes_count, 1);
    assert_int_equal(out.nodes[0].sockets, 2);
    assert_int_equal(out.nodes[0].threads_per_core, cases[i].threads);
  }
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

static void node_types_are_counted(void **state)
{
  size_t count;
  ft_partition *p = partitions_of("rss", &count);

  (void)state;
  assert_int_equal(p[0].nodes_count, 2);
  assert_int_equal(p[0].nodes[0].mem_bytes, 4000 * FT_MIB);
  assert_string_equal(p[0].nodes[0].gres, "gpu:a100:2,gpu:a100_1g.5gb:7");
  assert_false(p[0].nodes[0].gres_truncated);
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
  const struct ft_scontrol_host host = { "vm", "", NULL };
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
  assert_int_equal(
      ft_buf_printf(&nodes, "NodeName=e RealMemory=0 Gres=gpu:%0300d:1,x:1 Partitions=a\n", 7), 0);
  for (int i = 0; i < 40; i++)
    assert_int_equal(
        ft_buf_printf(&nodes, "NodeName=n RealMemory=9 Gres=gpu:t%d:1 Partitions=a\n", i), 0);
  assert_int_equal(ft_scontrol_partitions(ft_text_from("PartitionName=a\n"), text_of(&nodes),
                                          &config, &host, p, 1, &count, &err),
                   0);
  /* only the existence of the surplus is recorded */
  assert_string_equal(p[0].nodes[0].gres, "x:1");
  assert_true(p[0].nodes[0].gres_truncated && !p[0].nodes[1].gres_truncated);
  assert_int_equal(p[0].gres_count, 24);
  assert_string_equal(p[0].gres[0].name, "gpu:a100_1g.5gb");
  assert_int_equal(p[0].gres[0].count, 7);
  assert_string_equal(p[0].gres[1].name, "gpu:x");
  assert_string_equal(p[0].gres[2].name, "gpu:t0");
  ft_buf_free(&nodes);
}

static void of_many_node_types_the_extremes_are_kept(void **state)
{
  const struct ft_slurm_config config = { .cluster = "c" };
  const struct ft_scontrol_host host = { "vm", "", NULL };
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

/* Five nodes in two partitions; n3 and n4 have the hardware of n2. */
static const char some_partitions[] =
    "PartitionName=a AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL "
    "DefaultTime=NONE "
    "MaxTime=1-00:00:00 MaxNodes=UNLIMITED RootOnly=NO ReqResv=NO State=UP TotalNodes=4\n"
    "PartitionName=b AllowGroups=ALL DenyAccounts=guests DefaultTime=00:30:00 MaxTime=UNLIMITED "
    "MaxNodes=1 State=DOWN TotalNodes=2\n";
static const char some_nodes[] =
    "NodeName=n1 CPUTot=8 CPUEfctv=6 CPUAlloc=2 RealMemory=100 ThreadsPerCore=2 NodeHostName=vm "
    "AvailableFeatures=ib,milan,hbm ActiveFeatures=ib,milan State=MIXED Partitions=a,b\n"
    "NodeName=n2 CPUTot=4 CPUAlloc=0 RealMemory=200 ThreadsPerCore=1 NodeHostName=vm2 "
    "AvailableFeatures=rome State=IDLE+CLOUD Partitions=a\n"
    "NodeName=n3 CPUTot=4 CPUAlloc=0 RealMemory=200 ThreadsPerCore=1 AvailableFeatures=rome,ib "
    "State=IDLE+DRAIN Partitions=a\n"
    "NodeName=n4 CPUTot=4 CPUAlloc=4 RealMemory=200 ThreadsPerCore=1 AvailableFeatures=(null) "
    "State=ALLOCATED Partitions=a\n"
    "NodeName=n5 CPUTot=4 CPUAlloc=0 RealMemory=300 ThreadsPerCore=1 State=IDLE* Partitions=b\n";

static void read_some(const struct ft_scontrol_host *host, ft_partition out[2])
{
  const struct ft_slurm_config config = { .cluster = "c" };
  struct ft_error err;
  size_t count;

  if (ft_scontrol_partitions(ft_text_from(some_partitions), ft_text_from(some_nodes), &config, host,
                             out, 2, &count, &err) < 0)
    fail_msg("%s", err.text);
  assert_int_equal(count, 2);
}

static void free_cpus_and_memory_are_counted(void **state)
{
  const struct ft_scontrol_host host = { "vm", "", NULL };
  ft_partition p[2];

  (void)state;
  read_some(&host, p);
  assert_true(p[0].max_seconds == 86400 && p[1].max_seconds == 0);
  assert_true(!p[0].closed && p[1].closed);
  assert_true(p[0].default_seconds == 0 && p[1].default_seconds == 1800);
  assert_true(!p[0].restricted && p[1].restricted && !p[0].restrictions_count);
  assert_true(p[1].restrictions[0].by > FT_RESTRICTS_OTHER && p[1].restrictions[0].names[0]);
  assert_true(p[0].max_nodes == 4 && p[1].max_nodes == 1);
  assert_true(p[0].has_idle_nodes && p[0].has_idle_cpus);
  assert_int_equal(p[0].idle_nodes, 1);
  /* 4 of n1 (of 6 usable by jobs) and those of n2; none of the drained and the silent node */
  assert_int_equal(p[0].idle_cpus, 8);
  assert_int_equal(p[1].idle_nodes, 0);
  assert_int_equal(p[1].idle_cpus, 4);
  assert_true(p[0].nodes[0].has_idle_cpus && p[0].nodes[1].has_idle_nodes);
  assert_int_equal(p[0].nodes[0].idle_cpus, 4);
  assert_int_equal(p[0].nodes[1].idle_cpus, 4);
  assert_int_equal(p[0].nodes[1].idle_nodes, 1);
  assert_true(p[0].nodes[1].has_max_idle_cpus && p[0].nodes[1].max_idle_cpus == 4);
  /* one of three is drained; a silent one may return at any time */
  assert_true(p[0].nodes[1].has_down_nodes && p[0].nodes[1].down_nodes == 1);
  assert_true(p[1].nodes[1].has_down_nodes && p[1].nodes[1].down_nodes == 0);
}

static void a_node_type_has_the_features_of_all_its_nodes(void **state)
{
  const struct ft_scontrol_host host = { "vm", "", NULL };
  const struct ft_slurm_config config = { .cluster = "c" };
  struct ft_error err;
  struct ft_buf nodes;
  ft_partition p[2];
  size_t count;

  (void)state;
  read_some(&host, p);
  assert_true(p[0].nodes[0].has_features && p[0].nodes[1].has_features);
  assert_string_equal(p[0].nodes[0].features, "ib,milan,hbm");
  assert_string_equal(p[0].nodes[1].features, "rome,ib");
  /* n5 has no feature list */
  assert_false(p[1].nodes[1].has_features);
  /* a list above the limit is unknown, whichever node has it */
  ft_buf_init(&nodes, FT_LIMIT_COMMAND);
  for (int i = 0; i < 40; i++)
    assert_int_equal(ft_buf_printf(&nodes,
                                   "NodeName=n%d CPUTot=4 RealMemory=1 Partitions=b "
                                   "AvailableFeatures=rack%d\n",
                                   i, i),
                     0);
  assert_int_equal(ft_scontrol_partitions(ft_text_from(some_partitions), text_of(&nodes), &config,
                                          &host, p, 2, &count, &err),
                   0);
  assert_int_equal(p[1].nodes[0].count, 40);
  assert_false(p[1].nodes[0].has_features);
  assert_string_equal(p[1].nodes[0].features, "");
  ft_buf_free(&nodes);
}

static void set_sections(struct ft_platform_map *map)
{
  static const struct ft_config_platform sections[] = {
    { .name = "listed", .nodes = "n[2-3],x1" },
    { .name = "second", .nodes = "x[1-2]" },
    { .name = "featured", .feature = "milan" },
    { .name = "pattern", .nodes = "y?,*5" },
  };
  char question[FT_PLATFORM_LISTS_SIZE];
  struct ft_error err;

  ft_platform_map_set(map, sections, COUNT_OF(sections));
  assert_true(ft_platform_map_host_lists(map, question));
  assert_string_equal(question, "n[2-3],x1,foretell.section.0,x[1-2],foretell.section.1");
  if (ft_platform_map_set_hosts(map,
                                ft_text_from("n2\nn3\nx1\nforetell.section.0\nx1\nx2\n"
                                             "foretell.section.1\n"),
                                &err) < 0)
    fail_msg("%s", err.text);
  assert_false(ft_platform_map_host_lists(map, question));
}

static void a_section_gives_the_platform_of_its_nodes(void **state)
{
  static const struct {
    const char *node, *features, *platform;
  } cases[] = {
    { "n2", "", "listed" },
    { "n3", "milan", "listed" },
    { "n4", "ib,milan", "featured" },
    { "x1", "", "listed" },
    { "x2", "", "second" },
    { "y7", "", "pattern" },
    { "y77", "", NULL },
    { "n5", "milanx", "pattern" },
    { "n", "", NULL },
    { "n22", "(null)", NULL },
    { "foretell.section.0", "", NULL },
  };
  struct ft_platform_map *map = ft_platform_map_open();

  (void)state;
  assert_non_null(map);
  set_sections(map);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *got =
        ft_platform_map_declared(map, ft_text_from(cases[i].node), ft_text_from(cases[i].features));

    if (!got || !cases[i].platform ? got != cases[i].platform : strcmp(got, cases[i].platform) != 0)
      fail_msg("%s: %s", cases[i].node, got ? got : "none");
  }
  ft_platform_map_close(map);
}

static void an_invalid_host_list_is_an_error(void **state)
{
  static const char *const answers[] = { "", "Invalid hostlist\n", "n2\nn3\n",
                                         "n2\nforetell.section.99\n" };
  const struct ft_config_platform section = { .name = "p", .nodes = "n[2-3]" };
  struct ft_platform_map *map = ft_platform_map_open();
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(answers); i++) {
    ft_platform_map_set(map, &section, 1);
    assert_int_equal(ft_platform_map_set_hosts(map, ft_text_from(answers[i]), &err), -1);
    assert_null(ft_platform_map_declared(map, ft_text_from("n2"), ft_text_from("")));
  }
  ft_platform_map_close(map);
}

static void the_latest_run_on_a_node_gives_its_platform(void **state)
{
  struct ft_platform_map *map = ft_platform_map_open();
  char name[16];

  (void)state;
  for (int i = 0; i < 100; i++) {
    (void)snprintf(name, sizeof name, "c%d", i * 37 % 100);
    ft_platform_map_observe(map, name, i % 2 ? "odd" : "even", 5);
  }
  ft_platform_map_observe(map, "c3", "new", 6);
  ft_platform_map_observe(map, "c3", "old", 4);
  ft_platform_map_observe(map, "", "none", 9);
  ft_platform_map_observe(map, "c4", "", 9);
  for (int i = 0; i < 100; i++) {
    int n = i * 37 % 100;

    (void)snprintf(name, sizeof name, "c%d", n);
    assert_string_equal(ft_platform_map_observed(map, ft_text_from(name)), n == 3  ? "new"
                                                                           : i % 2 ? "odd"
                                                                                   : "even");
  }
  assert_null(ft_platform_map_observed(map, ft_text_from("c100")));
  ft_platform_map_close(map);
}

static void partitions_have_their_platforms(void **state)
{
  struct ft_platform_map *map = ft_platform_map_open();
  struct ft_scontrol_host host = { "vm", "mine", map };
  ft_partition p[2];

  (void)state;
  /* only this host's platform is known */
  read_some(&host, p);
  assert_int_equal(p[0].nodes_count, 2);
  assert_string_equal(p[0].nodes[0].platform, "mine");
  assert_string_equal(p[0].nodes[1].platform, "");
  assert_int_equal(p[0].nodes[1].count, 3);
  /* a run on one node gives the platform of all nodes of its type */
  ft_platform_map_observe(map, "n3", "rome", 1);
  read_some(&host, p);
  assert_int_equal(p[0].nodes_count, 2);
  assert_string_equal(p[0].nodes[1].platform, "rome");
  assert_int_equal(p[0].nodes[1].count, 3);
  assert_string_equal(p[1].nodes[1].platform, "");
  /* unless their hardware differs */
  ft_platform_map_observe(map, "n4", "naples", 1);
  read_some(&host, p);
  assert_int_equal(p[0].nodes_count, 4);
  /* a section applies to the nodes that it lists */
  set_sections(map);
  host.platform = "";
  read_some(&host, p);
  assert_int_equal(p[0].nodes_count, 3);
  assert_string_equal(p[0].nodes[0].platform, "featured");
  assert_int_equal(p[0].nodes[1].count + p[0].nodes[2].count, 3);
  assert_string_equal(p[1].nodes[1].platform, "pattern");
  ft_platform_map_close(map);
}

static void the_nodes_of_all_hosts_have_the_platform_of_their_section(void **state)
{
  struct ft_platform_map *map = ft_platform_map_open();
  /* the platform of the learner's own host is not that of other hosts */
  const struct ft_scontrol_host host = { "vm", "mine", map };
  struct ft_buf many;

  (void)state;
  assert_null(ft_platform_map_assigned(map, "n1"));
  set_sections(map);
  ft_scontrol_assign_platforms(ft_text_from(some_nodes), &host);
  assert_string_equal(ft_platform_map_assigned(map, "n1"), "featured");
  assert_string_equal(ft_platform_map_assigned(map, "n2"), "listed");
  assert_string_equal(ft_platform_map_assigned(map, "n3"), "listed");
  assert_null(ft_platform_map_assigned(map, "n4"));
  assert_string_equal(ft_platform_map_assigned(map, "n5"), "pattern");
  assert_null(ft_platform_map_assigned(map, "x1"));
  /* the next poll replaces them, also if there are many */
  ft_buf_init(&many, FT_LIMIT_COMMAND);
  for (int i = 0; i < 10000; i++)
    (void)ft_buf_printf(&many, "NodeName=c%d CPUTot=4 RealMemory=9 State=IDLE Partitions=a%s\n",
                        i * 37 % 10000, i % 2 ? "" : " ActiveFeatures=milan");
  ft_scontrol_assign_platforms(text_of(&many), &host);
  assert_null(ft_platform_map_assigned(map, "n1"));
  assert_string_equal(ft_platform_map_assigned(map, "c0"), "featured");
  assert_null(ft_platform_map_assigned(map, "c37"));
  assert_string_equal(ft_platform_map_assigned(map, "c74"), "featured");
  assert_string_equal(ft_platform_map_assigned(map, "c35"), "pattern");
  ft_buf_free(&many);
  ft_platform_map_close(map);
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
    uint32_t array, task, het;
  } cases[] = {
    { 1, true, FT_OUTCOME_CANCELLED, 0, 1795213436, 3600, "two", 0, 0, 0 },
    { 2, true, FT_OUTCOME_FAILED, 0, 1795213436, 3600, "wrap", 0, 0, 0 },
    /* scontrol prints the array's id as its last task's id, too */
    { 3, true, FT_OUTCOME_COMPLETED, 0, 1795213436, 3600, "wrap", 3, 2, 0 },
    { 5, false, FT_OUTCOME_UNKNOWN, 0, 1795213436, 3600, "wrap", 0, 0, 1 },
    /* a job name that imitates a record */
    { 6, false, FT_OUTCOME_UNKNOWN, 0, 1795213436, 0, "x", 0, 0, 0 },
    { 8, false, FT_OUTCOME_UNKNOWN, 1, 1795213440, 3600, "wrap", 3, 0, 0 },
  };
  struct ft_buf jobs = fixture("jobs"), none = fixture("job-none");
  struct ft_text nodes;
  ft_slurm_job job;
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    if (ft_scontrol_job(text_of(&jobs), cases[i].id, &job, &nodes, &err) < 0)
      fail_msg("%s", err.text);
    assert_int_equal(job.final, cases[i].over);
    if (job.final)
      assert_int_equal(job.outcome, cases[i].outcome);
    assert_int_equal(job.restart_count, cases[i].restarts);
    assert_true(job.submit_time == cases[i].submit);
    assert_true(job.time_limit_seconds == cases[i].limit);
    assert_string_equal(job.name, cases[i].name);
    assert_string_equal(job.user, "root");
    assert_int_equal(job.uid, 0);
    assert_string_equal(job.account, "");
    assert_string_equal(job.partition, "main");
    assert_true(job.identified);
    assert_int_equal(job.array_job_id, cases[i].array);
    assert_int_equal(job.array_task_id, cases[i].task);
    assert_int_equal(job.het_offset, cases[i].het);
  }
  /* tasks that wait, in one record; a name that imitates IDs */
  assert_int_equal(ft_scontrol_job(ft_text_from("JobId=9 ArrayJobId=9 ArrayTaskId=1-5%2 "
                                                "JobName=x UserId=root(0) JobState=PENDING\n"),
                                   9, &job, &nodes, &err),
                   0);
  assert_false(job.identified);
  assert_int_equal(ft_scontrol_job(ft_text_from("JobId=9 JobName=x ArrayJobId=7 ArrayTaskId=1 "
                                                "HetJobOffset=3 UserId=root(0) JobState=RUNNING\n"),
                                   9, &job, &nodes, &err),
                   0);
  assert_true(job.identified && !job.array_job_id && !job.array_task_id && !job.het_offset);
  /* a name that ends the record before its user */
  assert_int_equal(ft_scontrol_job(ft_text_from("JobId=9 JobName=x Command=y UserId=a(7) "
                                                "NodeList=n[1-2] Command=z UserId=a(7)\n"),
                                   9, &job, &nodes, &err),
                   0);
  assert_int_equal(job.uid, 7);
  assert_true(ft_text_equals(nodes, "n[1-2]"));
  assert_int_equal(ft_scontrol_job(ft_text_from("JobId=9 JobName=x UserId=b(8) NodeList=n9 "
                                                "Command=y UserId=a(7) NodeList=n1 Command=z\n"),
                                   9, &job, &nodes, &err),
                   0);
  assert_true(ft_text_equals(nodes, "(null)"));
  /* as 24.11 prints a job that was suspended for 7 s */
  assert_int_equal(ft_scontrol_job(ft_text_from("JobId=9 JobName=x UserId=root(0) GroupId=root(0) "
                                                "JobState=COMPLETED Restarts=0 RunTime=00:00:01 "
                                                "StartTime=2026-11-20T22:23:57 "
                                                "EndTime=2026-11-20T22:24:05 "
                                                "SuspendTime=2026-11-20T22:24:04 SecsPreSuspend=0 "
                                                "Partition=main\n"),
                                   9, &job, &nodes, &err),
                   0);
  assert_true(job.suspended_seconds == 7);
  assert_int_equal(ft_scontrol_job(text_of(&jobs), 1, &job, &nodes, &err), 0);
  assert_true(job.suspended_seconds == 0);
  assert_int_equal(ft_scontrol_job(text_of(&jobs), 7777, &job, &nodes, &err), -1);
  assert_int_equal(ft_scontrol_job(text_of(&none), 999, &job, &nodes, &err), -1);
  ft_buf_free(&jobs);
  ft_buf_free(&none);
}

/* Cut or changed anywhere: no read past the end (sanitizers check). */
static void damage_is_survived(void **state)
{
  static const char *const names[] = { "jobs", "rss-config", "rss-partition", "rss-node" };
  const struct ft_scontrol_host host = { "vm", "p", NULL };
  ft_partition *p = calloc(FT_SCONTROL_PARTITIONS, sizeof *p);
  struct ft_slurm_config config = { .cluster = "c" };
  struct ft_random random;
  struct ft_text nodes;
  ft_slurm_job job;
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
      (void)ft_scontrol_job(text, (uint32_t)ft_random_below(&random, 10), &job, &nodes, NULL);
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
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_accounting_rule_is_that_of_the_enforcing_plugin),
    cmocka_unit_test(a_real_configuration_is_read),
    cmocka_unit_test(each_release_shows_the_same_cluster),
    cmocka_unit_test(each_release_shows_the_same_jobs),
    cmocka_unit_test(a_partition_of_whole_nodes_is_exclusive),
    cmocka_unit_test(whole_cores_and_sockets_are_read),
    cmocka_unit_test(partitions_have_their_limits),
    cmocka_unit_test(global_defaults_are_inherited),
    cmocka_unit_test(node_types_are_counted),
    cmocka_unit_test(typed_gres_of_all_nodes_are_the_partitions),
    cmocka_unit_test(of_many_node_types_the_extremes_are_kept),
    cmocka_unit_test(free_cpus_and_memory_are_counted),
    cmocka_unit_test(a_node_type_has_the_features_of_all_its_nodes),
    cmocka_unit_test(a_section_gives_the_platform_of_its_nodes),
    cmocka_unit_test(an_invalid_host_list_is_an_error),
    cmocka_unit_test(the_latest_run_on_a_node_gives_its_platform),
    cmocka_unit_test(partitions_have_their_platforms),
    cmocka_unit_test(the_nodes_of_all_hosts_have_the_platform_of_their_section),
    cmocka_unit_test(a_jobs_record_is_read),
    cmocka_unit_test(damage_is_survived)
  };

  return cmocka_run_group_tests_name("cluster", tests, NULL, NULL);
}
