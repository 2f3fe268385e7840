/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often the files of a tree's cgroup are read, and the descriptors that they need. */
#include "config.h"

#include "tests/unit/node.h"

#include <time.h>

#define SCOPE "sys/fs/cgroup/system.slice/run-rfe2.scope/"

static void put(const struct node *node, const char *file, const char *text)
{
  fixture_put(node->folder, file, text, strlen(text));
}

/* Returns how many of 20 samples at once read the usage, which changes before each, after it has
 * been constant. */
static unsigned count_reads(struct node *node)
{
  struct timespec pause = { 0, 100000000 };
  unsigned reads = 0;
  char text[32];

  for (int i = 0; i < 35; i++) {
    ft_measure_sample(node->measure);
    nanosleep(&pause, NULL);
  }
  for (unsigned i = 0; i < 20; i++) {
    (void)snprintf(text, sizeof text, "%u\n", 150000000 - 20 + i);
    put(node, SCOPE "memory.current", text);
    ft_measure_sample(node->measure);
    reads += fabs(ft_tree_latest(node->tree)->charge_bytes - (150000000.0 - 20 + i)) < 0.5;
  }
  return reads;
}

static void a_constant_usage_is_read_less_often_and_loses_no_peak(void **state)
{
  struct ft_error err;
  struct node node;
  unsigned reads = 20;

  (void)state;
  memset(&node, 0, sizeof node);
  fixture_make("proc-v2", node.folder);
  node_open(&node, FT_RULE_CGROUP);
  assert_int_equal(ft_tree_add_root(node.tree, 950, 0, false, &err), 0);
  ft_measure_sample(node.measure);
  put(&node, SCOPE "memory.peak", "209715200\n");
  /* the samples take long on a busy machine, and a read is then due among the first of them */
  for (int attempt = 0; attempt < 10 && reads >= 10; attempt++)
    reads = count_reads(&node);
  assert_true(reads < 10);
  put(&node, SCOPE "memory.current", "150000000\n");
  /* at once when a process has changed: an idle one is read at one of 20 samples */
  put(&node, "proc/951/statm", "61000 21000 500 20 0 30500 0\n");
  for (int i = 0; i < 20; i++)
    ft_measure_sample(node.measure);
  assert_near(ft_tree_latest(node.tree)->charge_bytes, 150000000, 0);
  put(&node, SCOPE "memory.peak", "300000000\n");
  node_close(&node);
  assert_int_equal(node.seen.charge_bytes, 300000000);
  (void)scratch_remove(node.folder);
}

static void descriptors_of_processes_leave_room_for_those_of_cgroups(void **state)
{
  struct node node;

  (void)state;
  memset(&node, 0, sizeof node);
  fixture_make("proc-v2", node.folder);
  node_open(&node, FT_RULE_CGROUP);
  node.measure->descriptors_limit = 20;
  assert_true(ft_proc_may_keep_open(node.measure));
  node.measure->descriptors = 11;
  assert_false(ft_proc_may_keep_open(node.measure));
  node.measure->descriptors = 0;
  node_close(&node);
  (void)scratch_remove(node.folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_constant_usage_is_read_less_often_and_loses_no_peak),
    cmocka_unit_test(descriptors_of_processes_leave_room_for_those_of_cgroups),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
