/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/decide/constraint.h"

static void unsatisfiable_constraints_are_excluded(void **state)
{
  static const struct {
    const char *constraint;
    bool allowed; /* on nodes with a, b and c-1 */
  } cases[] = {
    { "", true },
    { "a", true },
    { "A", false },
    { "d", false },
    { "c-1", true },
    { "c", false },
    { "a&b", true },
    { "a&d", false },
    { "a,d", false },
    { "a|d", true },
    { "d|e", false },
    { "d|a&b", true },
    { "d&a|b", true },
    { "a|b&d", false }, /* from left to right */
    { "a|(b&d)", true },
    { "(a|d)&(b|e)", true },
    { "(a|d)&(e|f)", false },
    { "a&(d|e)", false },
    /* different nodes may satisfy one part each */
    { "[a|d]", true },
    { "[d|e]", false },
    { "[a*2&d*4]", true },
    { "[d*2&e*4]", false },
    { "a*2&d*3", true },
    { "[(a&d)*2|(b&e)*2]", true },
    { "[a&b]&d", false },
    /* Slurm itself rejects these */
    { "d&", true },
    { "&d", true },
    { "(d", true },
    { "d)", true },
    { "d*x", true },
    { "((((((((((((d))))))))))))", true },
    { "[", true },
    { "*", true },
  };
  ft_node_type kind = { .has_features = true, .features = "a,b,c-1" };
  char longest[4096];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_constraint_allows(cases[i].constraint, &kind) != cases[i].allowed)
      fail_msg("\"%s\"", cases[i].constraint);
  memset(longest, 'd', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  assert_true(ft_constraint_allows(longest, &kind));
  memset(longest, '(', sizeof longest - 1);
  assert_true(ft_constraint_allows(longest, &kind));
}

static void unknown_features_are_not_excluded(void **state)
{
  ft_node_type kind = { .has_features = false };

  (void)state;
  assert_true(ft_constraint_allows("d", &kind));
  kind.has_features = true;
  assert_false(ft_constraint_allows("d", &kind));
}

static void resources_have_a_name_a_type_and_a_count(void **state)
{
  static const struct {
    const char *gres;
    bool allowed; /* on nodes with gpu:a100:2,gpu:a100_1g.5gb:7,shard:4,nvme */
  } cases[] = {
    { "", true },
    { "gpu", true },
    { "gpu:9", true },
    { "gpu:10", false },
    { "gpu:a100", true },
    { "gpu:a100:2", true },
    { "gpu:a100:3", false },
    { "gres:gpu:a100:2", true },
    { "gres/gpu:a100:3", false },
    { "gpu:h100", false },
    { "gpu:h100:0", true },
    { "gpu:a100_1g.5gb:7", true },
    { "gpu:a100_2g.10gb:1", false },
    { "shard:4,nvme", true },
    { "shard:5", false },
    { "nvme,fpga", false },
    { "none", true },
    /* Slurm itself rejects these */
    { ":", true },
    { ",,", true },
    { "gpu:a100:h100:1", true },
    { "gpu:a100:2:1", true },
  };
  ft_node_type kind = { .gres = "gpu:a100:2,gpu:a100_1g.5gb:7,shard:4,nvme" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (ft_gres_allows(cases[i].gres, &kind) != cases[i].allowed)
      fail_msg("\"%s\"", cases[i].gres);
  /* in a truncated list nothing is certainly missing */
  kind.gres_truncated = true;
  assert_true(ft_gres_allows("gpu:h100", &kind));
  assert_true(ft_gpu_request_fits_node(
      &(struct ft_gpu_request){ .value = { [FT_GPU_OPTION_NODE] = "h100:1" } }, 1, &kind));
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(unsatisfiable_constraints_are_excluded),
                                      cmocka_unit_test(resources_have_a_name_a_type_and_a_count),
                                      cmocka_unit_test(unknown_features_are_not_excluded) };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
