/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/decide/gpu_request.h"

static void gpus_are_counted_in_every_option(void **state)
{
  static const struct {
    const char *option, *value;
    unsigned count;
    bool understood;
  } cases[] = {
    { "gres", "gpu", 1, true },
    { "gres", "gpu:2", 2, true },
    { "gres", "gpu=2", 2, true },
    { "gres", "gpu:a100", 1, true },
    { "gres", "gpu:a100:2", 2, true },
    { "gres", "gpu:1g.5gb", 1, true },
    { "gres", "gpu:1g.5gb:3,nic:4,gpu:2g.10gb:2", 5, true },
    { "gres", "gres:gpu:a100_1g.5gb:2", 2, true },
    { "gres", "gres/gpu:2", 2, true },
    { "gres", "gpux:2", 0, true },
    { "gres", "nic:2", 0, true },
    { "gres", "none", 0, true },
    { "gpus", "4", 4, true },
    { "gpus", "a100:2", 2, true },
    { "gpus", "a100:2,1g.5gb:1", 3, true },
    { "gpus", "a100", 0, false },
    { "gpus", "", 0, true },
    { "gpus-per-node", "1g.5gb:2", 2, true },
    { "gpus-per-task", "1g.10gb+me:1", 1, true },
    { "gpus-per-socket", "2", 2, true },
    { "tres-per-task", "cpu=4,gres/gpu:a100_1g.5gb=2", 2, true },
    { "tres-per-task", "gres/gpu=1,license/ansys=1", 1, true },
    { "tres-per-task", "gres:gpu:1", 1, true },
    { "tres-per-task", "cpu=4", 0, true },
    { "gpus", "99999999999999999999", 0, false },
    { "gres", "gpu:100000,gpu:100000", 100000, true },
    { "gres", ",,:,=,gpu:,gres:,gres/", 1, true },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint64_t count;
    bool understood =
        ft_gpu_request_count(ft_gpu_option_from_name(cases[i].option), cases[i].value, &count);

    if (understood != cases[i].understood || count != cases[i].count)
      fail_msg("--%s=%s: %u", cases[i].option, cases[i].value, (unsigned)count);
  }
  assert_int_equal(ft_gpu_option_from_name("gpu"), FT_GPU_OPTIONS);
}

static void the_option_that_requests_gpus_counts(void **state)
{
  static const struct {
    struct ft_gpu_request asked;
    unsigned nodes, tasks, tasks_per_node;
    enum ft_gpu_option which;
    unsigned per_node;
  } cases[] = {
    { { .value = { NULL } }, 1, 1, 0, FT_GPU_OPTIONS, 0 },
    { { .value = { [FT_GPU_OPTION_GRES] = "nic:1" } }, 1, 1, 0, FT_GPU_OPTION_GRES, 0 },
    { { .value = { [FT_GPU_OPTION_GRES] = "gpu:2" } }, 2, 1, 0, FT_GPU_OPTION_GRES, 2 },
    { { .value = { [FT_GPU_OPTION_GRES] = "nic:1", [FT_GPU_OPTION_TASK] = "2" } },
      2,
      8,
      0,
      FT_GPU_OPTION_TASK,
      8 },
    { { .value = { [FT_GPU_OPTION_TASK] = "1g.5gb:1" } }, 0, 0, 0, FT_GPU_OPTION_TASK, 1 },
    { { .value = { [FT_GPU_OPTION_TASK] = "1" } }, 1, 0, 4, FT_GPU_OPTION_TASK, 4 },
    { { .value = { [FT_GPU_OPTION_TRES] = "cpu=2,gres/gpu=2" } }, 1, 3, 0, FT_GPU_OPTION_TRES, 6 },
    { { .value = { [FT_GPU_OPTION_TRES] = "cpu=2" } }, 1, 3, 0, FT_GPU_OPTIONS, 0 },
    { { .value = { [FT_GPU_OPTION_JOB] = "5" } }, 2, 1, 0, FT_GPU_OPTION_JOB, 3 },
    { { .value = { [FT_GPU_OPTION_JOB] = "5", [FT_GPU_OPTION_NODE] = "4" } },
      2,
      1,
      0,
      FT_GPU_OPTION_NODE,
      4 },
    { { .value = { [FT_GPU_OPTION_SOCKET] = "2" } }, 1, 1, 0, FT_GPU_OPTION_SOCKET, 2 },
    { { .value = { [FT_GPU_OPTION_TASK] = "100000" } },
      1,
      4000000000,
      0,
      FT_GPU_OPTION_TASK,
      100000 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_request r = { .nodes = cases[i].nodes,
                     .tasks = cases[i].tasks,
                     .tasks_per_node = cases[i].tasks_per_node };

    if (ft_gpu_request_find(&cases[i].asked) != cases[i].which ||
        ft_gpu_request_per_node(&cases[i].asked, &r) != cases[i].per_node)
      fail_msg("row %zu: %u on a node", i, (unsigned)ft_gpu_request_per_node(&cases[i].asked, &r));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(gpus_are_counted_in_every_option),
    cmocka_unit_test(the_option_that_requests_gpus_counts),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
