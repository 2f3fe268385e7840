/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes of a partition on which a job may run, and the reasons against others. */
#include "config.h"

#include "tests/unit/unit.h"

#include <inttypes.h>

#include "predictor/decide/placement_nodes.h"
#include "tests/unit/platforms.h"

struct scene {
  ft_submission s;
  struct ft_placement_query q;
};

static struct scene *make_scene(void)
{
  struct scene *c = calloc(1, sizeof *c);

  assert_non_null(c);
  c->q.submission = &c->s;
  return c;
}

static ft_partition with_gres(const char *gres)
{
  ft_partition p = some_partition("p", "old", 8000);

  (void)snprintf(p.nodes[0].gres, sizeof p.nodes[0].gres, "%s", gres);
  return p;
}

static const char *blocking_reason(const struct scene *c, const ft_partition *p)
{
  struct ft_row_nodes n = ft_placement_nodes(&c->q, p, "old");

  return ft_placement_blocking_reason(&c->q, p, &n);
}

/* For partitions of two nodes each. */
static void gpus_have_a_type_and_a_count(void **state)
{
  static const struct {
    const char *gres, *gpus, *node, *task;
    uint32_t tasks_per_node;
    const char *blocking_reason; /* part of the reason; NULL: none */
  } cases[] = {
    { "gpu:a100:2", NULL, "2", NULL, 0, NULL },
    { "gpu:a100:2", NULL, "3", NULL, 0, "no node has the requested GPUs" },
    { "gpu:a100:2", NULL, "a100:2", NULL, 0, NULL },
    { "gpu:a100:2", NULL, "a100", NULL, 0, NULL },
    { "gpu:a100:2", NULL, "gpu:a100:1", NULL, 0, NULL },
    { "gpu:a100:2", NULL, "a100:3", NULL, 0, "no node has the requested GPUs" },
    { "gpu:a100:2", NULL, "h100:1", NULL, 0, "no node has the requested GPUs" },
    { "gpu:a100:2,gpu:h100:1", NULL, "a100:1,h100:1", NULL, 0, NULL },
    { "gpu:a100:2", NULL, "a100:1,h100:1", NULL, 0, "no node has the requested GPUs" },
    { "gpu:2", NULL, "a100:1", NULL, 0, "no node has the requested GPUs" },
    /* GPUs of the whole job may be on several nodes */
    { "gpu:a100:2", "a100:4", NULL, NULL, 0, NULL },
    { "gpu:a100:2", "a100:5", NULL, NULL, 0, "too few GPUs" },
    { "gpu:a100:2", "4", NULL, NULL, 0, NULL },
    { "gpu:a100:2", "5", NULL, NULL, 0, "too few GPUs" },
    { "gpu:a100:2", "v100:1", NULL, NULL, 0, "too few GPUs" },
    { "gpu:a100:2", NULL, NULL, "a100:1", 2, NULL },
    { "gpu:a100:2", NULL, NULL, "a100:1", 3, "no node has the requested GPUs" },
    { "gpu:a100:2", NULL, NULL, "v100:1", 0, "no node has the requested GPUs" },
    { "gpu:a100:2", NULL, NULL, "cpu=4,gres/gpu:a100=1", 2, NULL },
    { "gpu:a100:2", NULL, NULL, "cpu=4,gres/gpu:a100=1", 3, "no node has the requested GPUs" },
    { "gpu:a100:2", NULL, NULL, "gres/gpu=1,gres/nic=7", 2, NULL },
    /* Slurm itself rejects these */
    { "gpu:a100:2", ":", "a100:x", "a100:1:1", 0, NULL },
  };
  struct scene *c = make_scene();

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_partition p = with_gres(cases[i].gres);
    const char *found, *task = cases[i].task;
    bool tres = task && strchr(task, '=');

    c->q.requested.gpus =
        (struct ft_gpu_request){ .value = { [FT_GPU_OPTION_JOB] = cases[i].gpus,
                                            [FT_GPU_OPTION_NODE] = cases[i].node,
                                            [FT_GPU_OPTION_TASK] = tres ? NULL : task,
                                            [FT_GPU_OPTION_TRES] = tres ? task : NULL } };
    c->s.request = (ft_request){ .gpus_per_node = 1, .tasks_per_node = cases[i].tasks_per_node };
    found = blocking_reason(c, &p);
    if (!found != !cases[i].blocking_reason || (found && !strstr(found, cases[i].blocking_reason)))
      fail_msg("case %zu: %s", i, found ? found : "none");
  }
  free(c);
}

/* Larger and idle nodes without a GPU do not matter to a job with GPUs. */
static void nodes_without_the_gpus_do_not_count(void **state)
{
  struct scene *c = make_scene();
  ft_partition p = with_gres("gpu:a100:2");
  struct ft_row_nodes n;

  (void)state;
  p.nodes_count = 2;
  p.nodes[1] = some_partition("p", "old", 64000).nodes[0];
  p.nodes[1].cpus = 64;
  p.nodes[1].idle_nodes = 2;
  p.nodes[0].idle_nodes = p.nodes[0].idle_cpus = 0;
  n = ft_placement_nodes(&c->q, &p, "old");
  assert_true(n.memory_bytes == UINT64_C(64000) << 20 && n.max_cpus == 64 && n.idle_nodes == 2);
  c->s.request.gpus_per_node = 1;
  c->q.requested.gpus.value[FT_GPU_OPTION_NODE] = "a100:1";
  n = ft_placement_nodes(&c->q, &p, "old");
  assert_true(n.memory_bytes == UINT64_C(8000) << 20 && n.max_cpus == 8 && n.idle_nodes == 0);
  assert_null(ft_placement_blocking_reason(&c->q, &p, &n));
  c->q.requested.gpus.value[FT_GPU_OPTION_NODE] = NULL;
  c->q.requested.gpus.value[FT_GPU_OPTION_GRES] = "gpu:a100:1";
  n = ft_placement_nodes(&c->q, &p, "old");
  assert_true(n.max_cpus == 8 && n.idle_nodes == 0);
  /* nor does it matter that they are up */
  p.nodes[0].has_down_nodes = true;
  p.nodes[0].down_nodes = 2;
  assert_string_equal(blocking_reason(c, &p), "all its nodes are down or drained");
  free(c);
}

static void a_partition_must_have_cpus_enough(void **state)
{
  struct scene *c = make_scene();
  ft_partition p = with_gres("");

  (void)state;
  c->s.request.tasks = 16;
  assert_null(blocking_reason(c, &p));
  c->s.request.tasks = 17;
  assert_string_equal(blocking_reason(c, &p), "too few CPUs");
  /* the others have another platform in the same partition */
  p.nodes_count = 2;
  p.nodes[1] = some_partition("p", "new", 8000).nodes[0];
  assert_null(blocking_reason(c, &p));
  /* if some node types are unknown, more CPUs may exist */
  for (size_t i = 1; i < 8; i++)
    p.nodes[i] = p.nodes[1];
  p.nodes_count = 8;
  c->s.request.tasks = 1000;
  assert_null(blocking_reason(c, &p));
  free(c);
}

static void options_to_be_set_are_checked(void **state)
{
  static const char *const options[] = { "gres", "gpus", "gpus-per-node" };
  struct scene *c = make_scene();
  const ft_partition p = with_gres("gpu:a100:2");

  (void)state;
  ft_placement_apply(NULL, &c->q.requested);
  for (size_t i = 0; i < COUNT_OF(options); i++) {
    ft_network *said = calloc(1, sizeof *said);

    assert_non_null(said);
    c->s.request = (ft_request){ .gpus_per_node = 1 };
    c->q.requested = (struct ft_placement_requested){ 0 };
    (void)snprintf(said->option, sizeof said->option, "%s", options[i]);
    (void)snprintf(said->value, sizeof said->value, "%sa100_1g.5gb:1", i ? "" : "gpu:");
    ft_placement_apply(said, &c->q.requested);
    assert_non_null(blocking_reason(c, &p));
    (void)snprintf(said->value, sizeof said->value, "%sa100:1", i ? "" : "gpu:");
    ft_placement_apply(said, &c->q.requested);
    assert_null(blocking_reason(c, &p));
    free(said);
  }
  free(c);
}

static void hosts_are_counted(void **state)
{
  static const struct {
    const char *list;
    uint64_t hosts;
  } cases[] = {
    { NULL, 0 },
    { "", 0 },
    { "./bad-nodes", UINT32_MAX }, /* a file of names */
    { "a", 1 },
    { "a,b", 2 },
    { "a[1-3]", 3 },
    { "a[1-3,7],b", 5 },
    { "a[01-10]-[1,2]", 20 },
    { "a[3-1]", 1 },
    { "a[", 1 },
    { "a[]", 1 },
    { "a[1-4294967295]b[1-4294967295]c[1-9]", UINT32_MAX },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_placement_hosts(cases[i].list) != cases[i].hosts)
      fail_msg("%s: %" PRIu64, cases[i].list, ft_placement_hosts(cases[i].list));
}

static void all_nodes_may_be_excluded(void **state)
{
  static struct ft_placement_evidence v;
  struct scene *c = make_scene();

  (void)state;
  v.partition[0] = some_partition("p", "old", 8000);
  c->q.evidence = &v;
  c->q.requested.exclude = "a";
  assert_null(ft_placement_unknown_condition(&c->q, 0));
  c->q.requested.exclude = "a[1-2]";
  assert_non_null(ft_placement_unknown_condition(&c->q, 0));
  c->q.requested.exclude = "a";
  c->s.request.nodes = 2;
  assert_non_null(ft_placement_unknown_condition(&c->q, 0));
  assert_null(blocking_reason(c, &v.partition[0]));
  free(c);
}

static void a_partition_limits_the_cpus_per_node(void **state)
{
  struct scene *c = make_scene();
  ft_partition p = with_gres("");

  (void)state;
  p.max_cpus = 4;
  c->s.request.cpus_per_task = 4;
  assert_null(blocking_reason(c, &p));
  c->s.request.cpus_per_task = 5;
  assert_string_equal(blocking_reason(c, &p), "too few CPUs");
  c->s.request = (ft_request){ .tasks = 9 };
  assert_string_equal(blocking_reason(c, &p), "too few CPUs");
  free(c);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(gpus_have_a_type_and_a_count),
                                      cmocka_unit_test(nodes_without_the_gpus_do_not_count),
                                      cmocka_unit_test(a_partition_must_have_cpus_enough),
                                      cmocka_unit_test(a_partition_limits_the_cpus_per_node),
                                      cmocka_unit_test(hosts_are_counted),
                                      cmocka_unit_test(all_nodes_may_be_excluded),
                                      cmocka_unit_test(options_to_be_set_are_checked) };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
