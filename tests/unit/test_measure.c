/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samplers of memory, cgroups and totals, on recorded nodes. */
#include "config.h"

#include "tests/unit/node.h"

#include "agent/measure/attach.h"
#include "agent/measure/internal.h"
#include "predictor/core/units.h"

#define MIB ((double)FT_MIB)

static void node_make(struct node *node, const char *fixture, ft_rule rule)
{
  memset(node, 0, sizeof *node);
  fixture_make(fixture, node->folder);
  node_open(node, rule);
}

static void node_root(struct node *node, pid_t pid, bool skip)
{
  struct ft_error err = { "" };

  if (ft_tree_add_root(node->tree, pid, 0, skip, &err) < 0)
    fail_msg("%s", err.text);
}

static void node_look(struct node *node)
{
  node_sample(node);
  ft_measure_sample(node->measure);
}

static void node_finish(struct node *node)
{
  node_close(node);
  (void)scratch_remove(node->folder);
}

static void node_put(struct node *node, const char *file, const char *text)
{
  fixture_put(node->folder, file, text, strlen(text));
}

static void node_drop(struct node *node, const char *file)
{
  char path[256];

  snprintf(path, sizeof path, "%s/%s", node->folder, file);
  (void)scratch_remove(path);
}

static double pages(const struct node *node, double count)
{
  return count * node->measure->page_bytes;
}

/* ---- processes ---- */

static void steps_of_a_job_add_up_without_their_slurmstepd(void **state)
{
  struct node node;
  const struct ft_sample *sample;
  double total, page;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node_root(&node, 2101, true);
  node_root(&node, 2201, true);
  node_look(&node);
  page = pages(&node, 1);
  total = 800 + 60000 + 25000;
  sample = ft_tree_latest(node.tree);
  assert_near(sample->rss_bytes, total * page, 0);
  assert_int_equal(sample->processes, 3);
  assert_int_equal(sample->threads, 5);
  assert_true(ft_tree_alive(node.tree));
  assert_null(ft_tree_find(node.tree, 3000));
  node_finish(&node);
  assert_near((double)node.seen.rss_bytes, total * page, 0);
  assert_near((double)node.seen.largest_process_bytes, 60000 * page, 0);
  assert_int_equal(node.seen.processes, 3);
  assert_int_equal(node.seen.samples, 2);
  assert_true(node.seen.has_time_to_peak_seconds);
}

static void memory_before_exec_is_not_counted(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node_root(&node, 2101, true);
  ft_measure_sample(node.measure);
  /* 2110 is a child of the skipped root; 2111 is not */
  assert_near(ft_tree_latest(node.tree)->rss_bytes, pages(&node, 60000), 0);
  ft_measure_sample(node.measure);
  assert_near(ft_tree_latest(node.tree)->rss_bytes, pages(&node, 60800), 0);
  node_finish(&node);
}

static void a_process_without_parent_is_found_by_its_cgroup(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 2101, true);
  node_look(&node);
  assert_non_null(ft_tree_find(node.tree, 2150));
  assert_near(ft_tree_latest(node.tree)->rss_bytes, pages(&node, 40000 + 30000 + 5000), 0);
  assert_null(ft_tree_find(node.tree, 3000));
  node_finish(&node);
}

static void processes_stay_in_the_tree_when_reparented(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node_root(&node, 2101, true);
  ft_measure_sample(node.measure);
  node_drop(&node, "proc/2110");
  node_put(&node, "proc/2111/stat",
           "2111 (python3 (worker) x) S 1 2110 2110 0 -1 4194560 70000 0 12 0 800 200 0 0 20 0 3 0 "
           "9050 0 60000 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
  ft_measure_sample(node.measure);
  assert_non_null(ft_tree_find(node.tree, 2111));
  assert_null(ft_tree_find(node.tree, 2110));
  node_drop(&node, "proc/2111");
  node_drop(&node, "proc/2101");
  ft_measure_sample(node.measure);
  assert_false(ft_tree_alive(node.tree));
  node_finish(&node);
}

static void a_thread_is_no_process(void **state)
{
  struct ft_stat stat;
  static const char text[] =
      "77 (a ) b) R 1 2 3 0 -1 0 5 6 7 8 100 50 30 20 20 0 9 0 4711 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
      "-1 3 0 0 0 0 0\n";

  (void)state;
  assert_int_equal(ft_stat_parse(text, strlen(text), 0.01, &stat), 0);
  assert_true(stat.thread);
  assert_int_equal(stat.parent, 1);
  assert_int_equal(stat.start, 4711);
  assert_int_equal(stat.threads, 9);
  assert_near(stat.own[FT_TOTAL_CPU_SECONDS], 1.5, 1e-9);
  assert_near(stat.children[FT_TOTAL_CPU_SECONDS], 0.5, 1e-9);
  assert_int_equal(ft_stat_parse(text, 40, 0.01, &stat), -1);
}

static void a_missing_root_is_rejected(void **state)
{
  struct node node;
  struct ft_error err;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  assert_int_equal(ft_tree_add_root(node.tree, 4321, 0, false, &err), -1);
  assert_int_equal(ft_tree_add_root(node.tree, -1, 0, false, &err), -1);
  assert_int_equal(ft_tree_add_root(node.tree, INT32_MAX, 0, false, &err), -1);
  node_finish(&node);
  assert_false(node.seen.has_rss_bytes);
}

/* ---- between two instants ---- */

static void a_high_water_mark_adds_to_the_other_processes_memory(void **state)
{
  struct node node;
  double expected;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_RSS);
  node_root(&node, 2101, true);
  node_look(&node);
  expected = pages(&node, 52000 * 4096.0 / node.measure->page_bytes + 30000 + 5000);
  node_finish(&node);
  assert_near((double)node.seen.rss_bytes, expected, 1e-9);
}

static void figures_known_only_at_the_end_are_in_the_peaks(void **state)
{
  struct node node;
  ft_task_end end = ft_task_end_init_zero;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 2101, true);
  node_look(&node);
  end.pid = 2101;
  end.has_largest_process_bytes = end.has_cpu_seconds = end.has_charge_bytes = true;
  end.largest_process_bytes = 900 * FT_MIB;
  end.charge_bytes = 980 * FT_MIB;
  end.cpu_seconds = 50;
  ft_tree_add_end(node.tree, &end);
  end.cpu_seconds = 70; /* the same slurmstepd's children, later */
  ft_tree_add_end(node.tree, &end);
  node_finish(&node);
  assert_near((double)node.seen.rss_bytes, 900 * MIB, 0);
  assert_near((double)node.seen.largest_process_bytes, 900 * MIB, 0);
  assert_near((double)node.seen.charge_bytes, 980 * MIB, 0);
  assert_near((double)node.seen.charge_less_cache_bytes, 780 * MIB, 0);
  assert_near(node.seen.cpu_seconds, 70, 0);
}

/* A pid is used again within a job: the totals of both steps count. */
static void ends_of_two_processes_with_one_pid_add_up(void **state)
{
  static const struct {
    double seconds[3]; /* 0: no further end */
    bool last[3];
    double sum;
  } cases[] = {
    { { 50, 70 }, { false, true }, 70 },
    { { 50, 70 }, { true, true }, 120 },
    { { 50, 20 }, { false, true }, 70 },
    { { 50, 60, 30 }, { false, true, true }, 90 },
    { { 50, 20, 25 }, { false, false, true }, 75 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;

    node_make(&node, "proc-v2", FT_RULE_CGROUP);
    node_root(&node, 2101, true);
    node_look(&node);
    for (int k = 0; k < 3 && cases[i].seconds[k] > 0; k++) {
      ft_task_end end = { .pid = 2101,
                          .has_cpu_seconds = true,
                          .cpu_seconds = cases[i].seconds[k],
                          .last = cases[i].last[k] };

      ft_tree_add_end(node.tree, &end);
    }
    node_finish(&node);
    assert_near(node.seen.cpu_seconds, cases[i].sum, 0);
  }
}

/* ---- cgroups ---- */

/* MiB of a field; -1: absent. */
#define MIB_OF(seen, field) ((seen).has_##field ? (double)(seen).field / MIB : -1)

static void each_layout_gives_the_charge_of_the_right_level(void **state)
{
  static const struct {
    const char *fixture;
    pid_t roots[3]; /* roots that are skipped are negative */
    bool command;
    double charge, less_cache, swap, hugetlb, shmem, limit; /* MiB; negative: none */
  } cases[] = {
    { "proc-v1", { -2101, -2201 }, false, 1000, 750, 3, 4, 5, 2048 },
    { "proc-v1", { -2101 }, false, 1000, 750, 3, 0, 5, 2048 },
    { "proc-v2", { -2101 }, false, 900, 700, 2, 8, 7, 1024 },
    /* no memory.peak before Linux 5.19 */
    { "proc-v2-5.10", { -2101 }, false, 600, 400, 2, 0, 7, 1024 },
    /* a login session, shared with its shell */
    { "proc-v2", { 500 }, false, -1, -1, 0, 0, -1, -1 },
    /* its own scope; the peak may be older than the command */
    { "proc-v2", { 950 }, false, 100, 80, 0, 0, 0, -1 },
    /* a command in a step of a job: the charge of its own task, not of the job */
    { "proc-v2", { 2111 }, true, 200, 200, 0, 0, 0, 1024 },
    { "proc-v2", { 2110 }, true, -1, -1, 0, 0, -1, -1 },
    { "proc-hybrid", { -6954, -6955 }, false, 336003072 / MIB, 237424640 / MIB, 0, 0, 0, 1024 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;
    double found[6], expected[6] = { cases[i].charge,  cases[i].less_cache, cases[i].swap,
                                     cases[i].hugetlb, cases[i].shmem,      cases[i].limit };

    node_make(&node, cases[i].fixture, FT_RULE_CGROUP);
    for (size_t k = 0; cases[i].roots[k]; k++)
      node_root(&node, abs(cases[i].roots[k]), cases[i].roots[k] < 0);
    node.tree->includes_self = cases[i].command;
    node_look(&node);
    node_finish(&node);
    found[0] = MIB_OF(node.seen, charge_bytes);
    found[1] = MIB_OF(node.seen, charge_less_cache_bytes);
    found[2] = MIB_OF(node.seen, swap_bytes);
    found[3] = MIB_OF(node.seen, hugetlb_bytes);
    found[4] = MIB_OF(node.seen, shmem_bytes);
    found[5] = MIB_OF(node.seen, limit_bytes);
    for (size_t k = 0; k < 6; k++)
      if (fabs(found[k] - expected[k]) > 1e-6)
        fail_msg("case %zu, column %zu: %g MiB, expected %g", i, k, found[k], expected[k]);
  }
}

/* A job of a script and a step with 60 MiB, recorded on a guest with that release of Slurm
 * (tests/guest/x86/run.sh): the job's own charge, whichever step comes first. */
static void each_release_gives_the_charge_of_the_job(void **state)
{
  static const struct {
    const char *fixture;
    pid_t script, step;
    double peak; /* bytes, of the job's own memory.peak */
  } cases[] = { { "proc-slurm-22.05", 888, 911, 68947968 },
                { "proc-slurm-26.05", 830, 863, 71446528 },
                { "proc-slurm-26.05-job", 3670, 3698, 69406720 } };

  (void)state;
  for (size_t i = 0; i < 3 * COUNT_OF(cases); i++) {
    size_t k = i / 3;
    struct node node;

    node_make(&node, cases[k].fixture, FT_RULE_CGROUP);
    if (i % 3 != 1)
      node_root(&node, cases[k].script, false);
    if (i % 3 != 0)
      node_root(&node, cases[k].step, false);
    node_look(&node);
    node_finish(&node);
    if ((double)node.seen.charge_bytes != cases[k].peak ||
        node.seen.limit_bytes != 300 * UINT64_C(1048576))
      fail_msg("%s, case %zu: %llu bytes, limit %llu", cases[k].fixture, i,
               (unsigned long long)node.seen.charge_bytes,
               (unsigned long long)node.seen.limit_bytes);
  }
}

static void a_peak_counts_if_it_grew_during_sampling(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 950, false);
  node_look(&node);
  node_put(&node, "sys/fs/cgroup/system.slice/run-rfe2.scope/memory.peak", "209715200\n");
  ft_measure_sample(node.measure);
  node_finish(&node);
  assert_near(MIB_OF(node.seen, charge_bytes), 200, 0);
  assert_near(MIB_OF(node.seen, charge_less_cache_bytes), 180, 0);
}

/* recorded on Linux 6.18 beside other work: 0.8 s after 64 MiB were written to a file */
static void a_lagging_account_gives_no_peak(void **state)
{
#define SCOPE "sys/fs/cgroup/system.slice/run-rfe2.scope/"
#define STAT(file)                                                                                 \
  "anon 7969177\nfile " file "\nkernel 2097152\nsock 0\nshmem 0\n"                                 \
  "inactive_file " file "\nactive_file 0\nunevictable 0\n"
  struct node node;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 950, false);
  node_put(&node, SCOPE "memory.current", "77175193\n");
  node_put(&node, SCOPE "memory.stat", STAT("0"));
  node_look(&node);
  node_put(&node, SCOPE "memory.stat", STAT("67108864"));
  ft_measure_sample(node.measure);
  node_finish(&node);
  assert_near((double)node.seen.charge_bytes, 77175193, 0);
  assert_near((double)node.seen.charge_less_cache_bytes, 77175193 - 67108864, 0);
#undef STAT
#undef SCOPE
}

static void the_declared_command_is_found_among_the_processes(void **state)
{
  static const struct {
    const char *cmdline;
    size_t length;
    const char *pattern, *other;
    bool ran;
  } cases[] = {
#define WORDS(text) text, sizeof text
    { WORDS("blastp\0-n\0003"), "blastp *", NULL, true },
    { WORDS("/opt/bin/blastp\0-n\0003"), "blastp *", NULL, true },
    { WORDS("/opt/bin/blastp"), "blastp*", NULL, true },
    { WORDS("python3\0-u\0/home/u/train.py\0--batch\0008"), "train.py *", NULL, true },
    { WORDS("python3\0/home/u/train.py"), "python3 */train.py", NULL, true },
    { WORDS("blastn\0-n\0003"), "blastp *", "blastn *", true },
    { WORDS("blastn\0-n\0003"), "blastp *", NULL, false },
    { WORDS("sleep\00010"), "blastp *", NULL, false },
    { WORDS("bash\0-c\0sleep 10\0blastp\0x"), "blastp *", NULL, false },
    { "", 0, "*", NULL, false }, /* a kernel thread, or an ended process */
#undef WORDS
  };

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct node node;

    node_make(&node, "proc-v2", FT_RULE_RSS);
    fixture_put(node.folder, "proc/950/cmdline", cases[i].cmdline, cases[i].length);
    ft_tree_expect_command(node.tree, cases[i].pattern);
    if (cases[i].other)
      ft_tree_expect_command(node.tree, cases[i].other);
    node_root(&node, 950, false);
    node_look(&node);
    node_finish(&node);
    assert_true(node.seen.has_command_ran);
    if (node.seen.command_ran != cases[i].ran)
      fail_msg("%s for %s", cases[i].cmdline, cases[i].pattern);
  }
}

static void a_charge_without_hierarchy_is_not_the_jobs(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_CGROUP);
  node_put(&node, "sys/fs/cgroup/memory/slurm/uid_1000/job_57/memory.use_hierarchy", "0\n");
  node_root(&node, 2101, true);
  node_look(&node);
  node_finish(&node);
  assert_false(node.seen.has_charge_bytes);
  assert_true(node.seen.has_rss_bytes);
}

/* ---- proportional set size ---- */

static void pss_is_read_where_it_may_change_the_result(void **state)
{
  static const struct {
    ft_rule rule;
    pid_t root;
    double kib; /* negative: not read */
  } cases[] = { { FT_RULE_PSS, 2101, 1200 + 234000 },
                { FT_RULE_PSS, 2201, 97000 },
                { FT_RULE_RSS, 2101, -1 }, /* 500 of 60800 pages are counted twice */
                { FT_RULE_RSS, 2201, -1 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;

    node_make(&node, "proc-v1", cases[i].rule);
    node_root(&node, cases[i].root, true);
    node_ran_an_hour(&node);
    ft_measure_sample(node.measure);
    node_look(&node);
    node_finish(&node);
    if (node.seen.has_pss_bytes != (cases[i].kib >= 0) ||
        (node.seen.has_pss_bytes && (double)node.seen.pss_bytes != cases[i].kib * FT_KIB))
      fail_msg("case %zu: %d %llu", i, node.seen.has_pss_bytes,
               (unsigned long long)node.seen.pss_bytes);
  }
}

static void pss_is_read_for_shared_pages_of_several_processes(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v2", FT_RULE_RSS);
  node_put(&node, "proc/2110/statm", "100000 40000 30000 20 0 50000 0\n");
  node_put(&node, "proc/2111/statm", "100000 30000 30000 20 0 50000 0\n");
  node_root(&node, 2101, true);
  node_ran_an_hour(&node);
  ft_measure_sample(node.measure);
  node_look(&node);
  node_finish(&node);
  assert_true(node.seen.has_pss_bytes);
  assert_near((double)node.seen.pss_bytes, (40000 + 30000 + 5000) * 4096.0, 0);
}

static void pss_is_read_for_a_fork_with_its_parents_pages(void **state)
{
  static const struct {
    const char *flags; /* of 2111: PF_FORKNOEXEC is 64 */
    const char *statm;
    bool read;
  } cases[] = {
    { "4194624", "100000 30000 0 20 0 50000 0\n", true },
    { "4194560", "100000 30000 0 20 0 50000 0\n", false },
    /* less than a tenth of its parent's 40000 pages can be shared */
    { "4194624", "100000 4000 0 20 0 50000 0\n", false },
    { "4194624", "18446744073709551615 0 18446744073709551615 0 0 0 0\n", false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;
    char stat[512];

    node_make(&node, "proc-v2", FT_RULE_RSS);
    node_put(&node, "proc/2110/statm", "100000 40000 0 20 0 50000 0\n");
    node_put(&node, "proc/2111/statm", cases[i].statm);
    snprintf(stat, sizeof stat,
             "2111 (python3) S 2110 2110 2110 0 -1 %s 70000 0 12 0 800 200 0 0 20 0 3 0 9050 0 "
             "60000 0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
             cases[i].flags);
    node_put(&node, "proc/2111/stat", stat);
    node_root(&node, 2101, true);
    node_ran_an_hour(&node);
    ft_measure_sample(node.measure);
    node_look(&node);
    node_finish(&node);
    if (node.seen.has_pss_bytes != cases[i].read)
      fail_msg("case %zu: %d", i, node.seen.has_pss_bytes);
  }
}

/* ---- totals ---- */

static const double tick = 0.01;

static void totals_of_living_processes_add_up(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node.measure->tick_seconds = tick;
  node_root(&node, 2101, true);
  node_root(&node, 2201, true);
  node_look(&node);
  node_finish(&node);
  /* of a slurmstepd, only the usage of its ended children */
  assert_near(node.seen.cpu_seconds, tick * (120 + 15 + 1000 + 305), 1e-9);
  assert_int_equal(node.seen.minor_faults, 5000 + 100 + 70000 + 100);
  assert_int_equal(node.seen.major_faults, 9 + 2 + 12 + 2);
  assert_int_equal(node.seen.read_bytes, 4096 + 1048576);
  assert_int_equal(node.seen.write_bytes, 65536);
  assert_int_equal(node.seen.open_files, 4 + 7);
}

static void ended_processes_count_once_whichever_parent_waited(void **state)
{
  static const struct {
    int waited;      /* ticks of the children for which 2110 has waited */
    double expected; /* ticks in all: 120 of 2101, 15 of 2110, 1000 of 2111 */
  } cases[] = { { 0, 120 + 15 + 1000 },
                { 1000, 120 + 15 + 1000 },
                { 1007, 120 + 15 + 1007 },
                { 400, 120 + 15 + 1000 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;
    char text[512];

    node_make(&node, "proc-v1", FT_RULE_RSS);
    node.measure->tick_seconds = tick;
    node_root(&node, 2101, true);
    node_look(&node);
    node_drop(&node, "proc/2111");
    snprintf(text, sizeof text,
             "2110 (slurm_script) S 2101 2110 2110 0 -1 0 100 0 2 0 10 5 %d 0 20 0 1 0 9010 0 800 "
             "0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n",
             cases[i].waited);
    node_put(&node, "proc/2110/stat", text);
    ft_measure_sample(node.measure);
    node_look(&node);
    node_finish(&node);
    if (fabs(node.seen.cpu_seconds - tick * cases[i].expected) > 1e-9)
      fail_msg("case %zu: %g s", i, node.seen.cpu_seconds);
    assert_int_equal(node.seen.read_bytes, 4096 + 1048576);
  }
}

static void a_parent_that_ended_unnoticed_inherits_nothing(void **state)
{
  struct node node;
  struct ft_poll_state *poll;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node.measure->tick_seconds = tick;
  node_root(&node, 2101, true);
  node_look(&node);
  node_drop(&node, "proc/2111");
  node_drop(&node, "proc/2110");
  node_put(
      &node, "proc/2101/stat",
      "2101 (slurmstepd) S 1 2101 2101 0 -1 0 100 175100 2 23 10 5 820 315 20 0 1 0 9000 0 800 "
      "0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n");
  /* 2110 is unchanged and not read at this time */
  poll = &node.tree->polls[ft_tree_find(node.tree, 2110) - node.tree->members];
  poll->unchanged_reads = 1000;
  poll->details_due = 1e9F;
  poll->next_read = node.measure->sample_count + 10;
  ft_measure_sample(node.measure);
  node_look(&node);
  node_finish(&node);
  assert_near(node.seen.cpu_seconds, tick * (820 + 315), 1e-9);
}

static void a_reused_pid_is_another_process(void **state)
{
  struct node node;

  (void)state;
  node_make(&node, "proc-v1", FT_RULE_RSS);
  node.measure->tick_seconds = tick;
  node_root(&node, 2101, true);
  node_look(&node);
  node_put(&node, "proc/2111/stat",
           "2111 (other) S 1 2111 2111 0 -1 0 9 0 9 0 99999 0 0 0 20 0 1 0 777777 0 800 "
           "0 0 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n");
  node_put(&node, "proc/2111/cgroup", "8:memory:/system.slice/cron.service\n");
  node_look(&node);
  assert_null(ft_tree_find(node.tree, 2111));
  node_finish(&node);
  assert_near(node.seen.cpu_seconds, tick * (120 + 15 + 1000), 1e-9);
}

static void a_node_without_proc_is_rejected(void **state)
{
  char folder[SCRATCH_SIZE];
  struct ft_measure_settings settings = { .seconds = 0.1 };
  struct ft_error err;

  (void)state;
  settings.root_fd = scratch_open(folder);
  assert_null(ft_measure_open(&settings, &err));
  assert_non_null(strstr(err.text, "/proc"));
  (void)scratch_close(folder, settings.root_fd);
}

/* Two multiplexed events, over long-lived and short-lived threads. */
static void a_multiplexed_counter_is_scaled_or_missing(void **state)
{
  static const struct {
    uint64_t part[3][3]; /* value, enabled, running of each thread; enabled 0: not read */
    double whole;
  } cases[] = {
    { { { 100, 10, 10 }, { 50, 10, 10 } }, 150 },
    { { { 100, 10, 5 }, { 50, 10, 10 } }, 250 },
    /* a thread whose event never ran counts like the others */
    { { { 100, 10, 10 }, { 0, 10, 0 } }, 200 },
    { { { 100, 90, 90 }, { 0, 10, 0 } }, 1000 / 9.0 },
    /* below half of the time the counter is missing, not 0 */
    { { { 100, 10, 10 }, { 0, 90, 0 } }, -1 },
    { { { 0, 10, 0 } }, -1 },
    { { { 0, 0, 0 } }, -1 },
    { { { 0, 10, 10 } }, 0 },
  };
  struct ft_counter_sum idle = { 0 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_counter_sum sum = { 0 };

    for (int t = 0; t < 3; t++)
      if (cases[i].part[t][1])
        ft_counter_sum_add(&sum, cases[i].part[t][0], cases[i].part[t][1], cases[i].part[t][2]);
    if (fabs(ft_counter_sum_whole(&sum) - cases[i].whole) > 1e-9)
      fail_msg("case %zu: %g", i, ft_counter_sum_whole(&sum));
  }
  /* an event that never ran was nevertheless enabled */
  ft_counter_sum_add(&idle, 0, 0, 0);
  assert_true(ft_counter_sum_whole(&idle) == 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_of_a_job_add_up_without_their_slurmstepd),
    cmocka_unit_test(memory_before_exec_is_not_counted),
    cmocka_unit_test(a_process_without_parent_is_found_by_its_cgroup),
    cmocka_unit_test(processes_stay_in_the_tree_when_reparented),
    cmocka_unit_test(a_thread_is_no_process),
    cmocka_unit_test(a_missing_root_is_rejected),
    cmocka_unit_test(a_high_water_mark_adds_to_the_other_processes_memory),
    cmocka_unit_test(figures_known_only_at_the_end_are_in_the_peaks),
    cmocka_unit_test(ends_of_two_processes_with_one_pid_add_up),
    cmocka_unit_test(each_layout_gives_the_charge_of_the_right_level),
    cmocka_unit_test(each_release_gives_the_charge_of_the_job),
    cmocka_unit_test(a_peak_counts_if_it_grew_during_sampling),
    cmocka_unit_test(a_lagging_account_gives_no_peak),
    cmocka_unit_test(the_declared_command_is_found_among_the_processes),
    cmocka_unit_test(a_charge_without_hierarchy_is_not_the_jobs),
    cmocka_unit_test(pss_is_read_where_it_may_change_the_result),
    cmocka_unit_test(pss_is_read_for_shared_pages_of_several_processes),
    cmocka_unit_test(pss_is_read_for_a_fork_with_its_parents_pages),
    cmocka_unit_test(totals_of_living_processes_add_up),
    cmocka_unit_test(ended_processes_count_once_whichever_parent_waited),
    cmocka_unit_test(a_parent_that_ended_unnoticed_inherits_nothing),
    cmocka_unit_test(a_reused_pid_is_another_process),
    cmocka_unit_test(a_node_without_proc_is_rejected),
    cmocka_unit_test(a_multiplexed_counter_is_scaled_or_missing),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
