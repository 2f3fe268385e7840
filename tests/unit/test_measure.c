/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samplers of memory, cgroups and totals, on gathered nodes. */
#include "config.h"

#include "tests/unit/fixture.h"

#include "agent/measure/internal.h"
#include "predictor/core/units.h"

#define MIB ((double)FT_MIB)

struct node {
  char folder[64];
  int root_fd;
  struct ft_measure *measure;
  struct ft_tree *tree;
  ft_observation seen;
};

static void node_open_folder(struct node *node, ft_rule rule)
{
  struct ft_measure_settings settings = { .seconds = 0.1, .rule = rule };
  struct ft_error err;

  node->root_fd = settings.root_fd = open(node->folder, O_RDONLY | O_DIRECTORY);
  assert_true(node->root_fd >= 0);
  node->measure = ft_measure_open(&settings, &err);
  assert_non_null(node->measure);
  assert_false(node->measure->own_proc);
  /* the files of a fixture that were removed are not to live on in descriptors */
  node->measure->descriptors_limit = 0;
  node->tree = ft_tree_open(node->measure, &err);
  assert_non_null(node->tree);
}

static void node_open(struct node *node, const char *fixture, ft_rule rule)
{
  memset(node, 0, sizeof *node);
  fixture_make(fixture, node->folder);
  node_open_folder(node, rule);
}

static void node_root(struct node *node, pid_t pid, bool skip)
{
  struct ft_error err = { "" };

  if (ft_tree_add_root(node->tree, pid, skip, &err) < 0)
    fail_msg("%s", err.text);
}

/* A sample at which every costly file is due. */
static void node_look(struct node *node)
{
  ft_measure_sample(node->measure);
  for (size_t i = 0; i < node->tree->count; i++) {
    node->tree->members[i].next_look = 0;
    node->tree->members[i].changed = true;
    node->tree->members[i].still = 0;
  }
  ft_measure_sample(node->measure);
}

static void node_finish(struct node *node)
{
  ft_tree_close(node->tree, &node->seen);
  ft_measure_close(node->measure);
  close(node->root_fd);
  fixture_remove(node->folder);
}

static void node_put(struct node *node, const char *file, const char *text)
{
  fixture_put(node->folder, file, text, strlen(text));
}

static void node_drop(struct node *node, const char *file)
{
  char path[256];

  snprintf(path, sizeof path, "%s/%s", node->folder, file);
  fixture_remove(path);
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
  node_open(&node, "proc-v1", FT_RULE_RSS);
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

static void an_image_before_its_exec_is_not_counted(void **state)
{
  struct node node;

  (void)state;
  node_open(&node, "proc-v1", FT_RULE_RSS);
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
  node_open(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 2101, true);
  node_look(&node);
  assert_non_null(ft_tree_find(node.tree, 2150));
  assert_near(ft_tree_latest(node.tree)->rss_bytes, pages(&node, 40000 + 30000 + 5000), 0);
  assert_null(ft_tree_find(node.tree, 3000));
  node_finish(&node);
}

static void members_stay_when_they_are_re_parented(void **state)
{
  struct node node;

  (void)state;
  node_open(&node, "proc-v1", FT_RULE_RSS);
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
      "0 -1 3 0 0 0 0 0\n";

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

static void no_such_root_is_refused(void **state)
{
  struct node node;
  struct ft_error err;

  (void)state;
  node_open(&node, "proc-v1", FT_RULE_RSS);
  assert_int_equal(ft_tree_add_root(node.tree, 4321, false, &err), -1);
  assert_int_equal(ft_tree_add_root(node.tree, -1, false, &err), -1);
  assert_int_equal(ft_tree_add_root(node.tree, INT32_MAX, false, &err), -1);
  node_finish(&node);
  assert_false(node.seen.has_rss_bytes);
}

/* ---- between two instants ---- */

static void a_high_water_mark_adds_to_what_the_others_held(void **state)
{
  struct node node;
  double expected;

  (void)state;
  node_open(&node, "proc-v2", FT_RULE_RSS);
  node_root(&node, 2101, true);
  node_look(&node);
  expected = pages(&node, 52000 * 4096.0 / node.measure->page_bytes + 30000 + 5000);
  node_finish(&node);
  assert_near((double)node.seen.rss_bytes, expected, 1e-9);
}

static void what_only_the_end_tells_is_in_the_peaks(void **state)
{
  struct node node;
  ft_task_end end = ft_task_end_init_zero;

  (void)state;
  node_open(&node, "proc-v2", FT_RULE_CGROUP);
  node_root(&node, 2101, true);
  node_look(&node);
  end.pid = 2101;
  end.has_largest_process_bytes = end.has_cpu_seconds = end.has_charge_bytes = true;
  end.largest_process_bytes = 900 * FT_MIB;
  end.charge_bytes = 980 * FT_MIB;
  end.cpu_seconds = 50;
  ft_tree_note_end(node.tree, &end);
  end.cpu_seconds = 70; /* the same slurmstepd's children, later */
  ft_tree_note_end(node.tree, &end);
  node_finish(&node);
  assert_near((double)node.seen.rss_bytes, 900 * MIB, 0);
  assert_near((double)node.seen.largest_process_bytes, 900 * MIB, 0);
  assert_near((double)node.seen.charge_bytes, 980 * MIB, 0);
  assert_near((double)node.seen.charge_less_cache_bytes, 780 * MIB, 0);
  assert_near(node.seen.cpu_seconds, 70, 0);
}

/* ---- cgroups ---- */

static void each_layout_gives_the_charge_of_the_right_level(void **state)
{
  static const struct {
    const char *fixture;
    pid_t roots[3]; /* the skipped ones negative */
    bool command;
    double charge, less_cache, swap, hugetlb, shmem, limit; /* MiB; negative: none */
  } cases[] = {
    { "proc-v1", { -2101, -2201 }, false, 1000, 750, 3, 16, 5, 2048 },
    { "proc-v1", { -2101 }, false, 1000, 750, 3, 16, 5, 2048 },
    { "proc-v2", { -2101 }, false, 900, 700, 2, 8, 7, 1024 },
    { "proc-v2-5.10", { -2101 }, false, 600, 400, 2, 0, 7, 1024 },
    /* a login session, shared with its shell */
    { "proc-v2", { 500 }, false, -1, -1, 0, 0, -1, -1 },
    /* a scope of its own; its peak may be someone's before */
    { "proc-v2", { 950 }, false, 100, 130, 0, -1, 0, -1 },
    /* a command within a job's step: not the job's charge, but its task's */
    { "proc-v2", { 2111 }, true, 200, 200, 0, -1, 0, 1024 },
    { "proc-v2", { 2110 }, true, -1, -1, 0, 0, -1, -1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct node node;

    node_open(&node, cases[i].fixture, FT_RULE_CGROUP);
    for (size_t k = 0; cases[i].roots[k]; k++)
      node_root(&node, abs(cases[i].roots[k]), cases[i].roots[k] < 0);
    node.tree->command = cases[i].command;
    node_look(&node);
    node_finish(&node);
#define CHECK(field, expected)                                                           \
  if (node.seen.has_##field != ((expected) >= 0) ||                                      \
      (node.seen.has_##field && (double)node.seen.field != (expected) * MIB))            \
    fail_msg("case %zu: " #field " is %d %.1f MiB, expected %g", i, node.seen.has_##field, \
             (double)node.seen.field / MIB, (double)(expected))
    CHECK(charge_bytes, cases[i].charge);
    CHECK(shmem_bytes, cases[i].shmem);
    CHECK(limit_bytes, cases[i].limit);
    printf("# %zu less %.0f swap %.0f hugetlb %.0f\n", i,
           node.seen.has_charge_less_cache_bytes ? (double)node.seen.charge_less_cache_bytes / MIB : -1,
           node.seen.has_swap_bytes ? (double)node.seen.swap_bytes / MIB : -1,
           node.seen.has_hugetlb_bytes ? (double)node.seen.hugetlb_bytes / MIB : -1);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(steps_of_a_job_add_up_without_their_slurmstepd),
    cmocka_unit_test(an_image_before_its_exec_is_not_counted),
    cmocka_unit_test(a_process_without_parent_is_found_by_its_cgroup),
    cmocka_unit_test(members_stay_when_they_are_re_parented),
    cmocka_unit_test(a_thread_is_no_process),
    cmocka_unit_test(no_such_root_is_refused),
    cmocka_unit_test(a_high_water_mark_adds_to_what_the_others_held),
    cmocka_unit_test(what_only_the_end_tells_is_in_the_peaks),
    cmocka_unit_test(each_layout_gives_the_charge_of_the_right_level),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
