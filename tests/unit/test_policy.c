/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy that applies to a job. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/units.h"
#include "predictor/decide/decide.h"
#include "predictor/record/policy_keys.h"

#define MB FT_MIB
#define GB FT_GIB

static void overrides_hold_in_order_field_by_field(void **state)
{
  static const ft_site site = {
    .has_policy = true,
    .default_partition = "main",
    .policy = { .mode = FT_MODE_CHECK, .has_min_runs = true, .min_runs = 7 },
    .overrides_count = 4,
    .overrides = { { .user = "alice", .has_policy = true,
                     .policy = { .has_quiet = true, .quiet = true } },
                   { .account = "physics", .has_policy = true,
                     .policy = { .mode = FT_MODE_RAISE, .has_min_runs = true, .min_runs = 9 } },
                   { .partition = "main", .has_policy = true,
                     .policy = { .mode = FT_MODE_SET, .has_reject_probability = true,
                                 .reject_probability = 0.9 } },
                   { .partition = "gpu", .has_policy = true, .policy = { .mode = FT_MODE_TRIM } } }
  };
  static const struct {
    const char *partition, *account, *user;
    ft_mode mode;
    unsigned min_runs;
    double reject;
    bool quiet;
  } cases[] = { { "", "", "bob", FT_MODE_SET, 7, 0.9, false },
                { NULL, NULL, NULL, FT_MODE_SET, 7, 0.9, false },
                { "other", NULL, NULL, FT_MODE_CHECK, 7, 0, false },
                { "gpu,main", NULL, NULL, FT_MODE_SET, 7, 0.9, false },
                { "main,gpu", NULL, NULL, FT_MODE_SET, 7, 0.9, false },
                { "gpu", NULL, NULL, FT_MODE_TRIM, 7, 0, false },
                { "other,gpu", NULL, NULL, FT_MODE_CHECK, 7, 0, false },
                { "gpu,main", "physics", NULL, FT_MODE_RAISE, 9, 0.9, false },
                { "main", "physics", NULL, FT_MODE_RAISE, 9, 0.9, false },
                { "gpux", "physics", "alice", FT_MODE_RAISE, 9, 0, true } };
  ft_policy p;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_policy_resolve(&site, cases[i].partition, cases[i].account, cases[i].user, &p);
    if (p.mode != cases[i].mode || p.min_runs != cases[i].min_runs ||
        p.reject_probability != cases[i].reject || p.quiet != cases[i].quiet)
      fail_msg("case %zu: %s %u %g %d", i, ft_mode_name(p.mode), (unsigned)p.min_runs,
               p.reject_probability, p.quiet);
    assert_true(p.has_trim_runs && p.trim_runs == 20 && p.round_bytes == 100 * MB);
  }
}

/* "a" and "b" at opposite extremes of every field; "off" and "late", which set little else. */
static const ft_site site_of_lists = {
  .default_partition = "a",
  .overrides_count = 4,
  .overrides = {
    { .partition = "a", .has_policy = true,
      .policy = { .mode = FT_MODE_TRIM, .has_min_runs = true, .min_runs = 3,
                  .has_trim_runs = true, .trim_runs = 50,
                  .has_oom_probability = true, .oom_probability = 0.001,
                  .has_reject_probability = true, .reject_probability = 0,
                  .has_floor_bytes = true, .floor_bytes = 50 * MB,
                  .has_round_bytes = true, .round_bytes = GB,
                  .has_trim_factor = true, .trim_factor = 1.5, .has_quiet = true, .quiet = true,
                  .has_failure_price = true, .failure_price = 0, .has_borrow = true,
                  .borrow = true } },
    { .partition = "b", .has_policy = true,
      .policy = { .mode = FT_MODE_SET, .has_min_runs = true, .min_runs = 9,
                  .has_trim_runs = true, .trim_runs = 10,
                  .has_oom_probability = true, .oom_probability = 0.1,
                  .has_reject_probability = true, .reject_probability = 0.9,
                  .has_floor_bytes = true, .floor_bytes = 500 * MB,
                  .has_round_bytes = true, .round_bytes = MB,
                  .has_trim_factor = true, .trim_factor = 4, .has_quiet = true, .quiet = false,
                  .has_failure_price = true, .failure_price = 10, .has_borrow = true,
                  .borrow = false } },
    { .partition = "off", .has_policy = true, .policy = { .mode = FT_MODE_OFF } },
    { .partition = "late", .has_policy = true,
      .policy = { .mode = FT_MODE_CHECK, .has_reject_probability = true,
                  .reject_probability = 0.5, .has_quiet = true, .quiet = true } } }
};

static void of_several_partitions_the_strictest_counts(void **state)
{
  static const struct {
    const char *partitions;
    ft_mode mode;
    unsigned min_runs, trim_runs;
    double oom, reject, trim_factor, price;
    uint64_t floor_mib, round_mib;
    bool quiet, borrow;
  } cases[] = {
    { "a", FT_MODE_TRIM, 3, 50, 0.001, 0, 1.5, 0, 50, 1024, true, true },
    { "", FT_MODE_TRIM, 3, 50, 0.001, 0, 1.5, 0, 50, 1024, true, true },
    { "a,a", FT_MODE_TRIM, 3, 50, 0.001, 0, 1.5, 0, 50, 1024, true, true },
    { "a,b", FT_MODE_SET, 9, 50, 0.001, 0.9, 4, 10, 500, 1024, false, false },
    { "b,a", FT_MODE_SET, 9, 50, 0.001, 0.9, 4, 10, 500, 1024, false, false },
    { ",b,,a,", FT_MODE_SET, 9, 50, 0.001, 0.9, 4, 10, 500, 1024, false, false },
    { "b,late", FT_MODE_CHECK, 9, 20, 0.01, 0.5, 4, 10, 500, 100, false, false },
    { "late,a,b", FT_MODE_CHECK, 9, 50, 0.001, 0.5, 4, 10, 500, 1024, false, false },
    { "off", FT_MODE_OFF, 5, 20, 0.01, 0, 2, 1.1, 100, 100, false, true },
    { "off,nowhere", FT_MODE_OFF, 5, 20, 0.01, 0, 2, 1.1, 100, 100, false, true },
    /* an action that one forbids is not done, a rejection by one is a rejection */
    { "off,b", FT_MODE_CHECK, 9, 20, 0.01, 0.9, 4, 10, 500, 100, false, false },
    { "a,off", FT_MODE_CHECK, 5, 50, 0.001, 0, 2, 1.1, 100, 1024, false, true },
    { "b,nowhere", FT_MODE_CHECK, 9, 20, 0.01, 0.9, 4, 10, 500, 100, false, false },
  };
  ft_policy p;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_policy_resolve(&site_of_lists, cases[i].partitions, NULL, NULL, &p);
    if (p.mode != cases[i].mode || p.min_runs != cases[i].min_runs ||
        p.trim_runs != cases[i].trim_runs || p.oom_probability != cases[i].oom ||
        p.reject_probability != cases[i].reject || p.trim_factor != cases[i].trim_factor ||
        p.failure_price != cases[i].price || p.floor_bytes != cases[i].floor_mib * MB ||
        p.round_bytes != cases[i].round_mib * MB || p.quiet != cases[i].quiet ||
        p.borrow != cases[i].borrow)
      fail_msg("%s: %s, %u and %u runs, %g, %g, %g, %g, %u and %u MiB, %d, %d",
               cases[i].partitions, ft_mode_name(p.mode), (unsigned)p.min_runs,
               (unsigned)p.trim_runs, p.oom_probability, p.reject_probability, p.trim_factor,
               p.failure_price, (unsigned)(p.floor_bytes / MB), (unsigned)(p.round_bytes / MB),
               p.quiet, p.borrow);
  }
}

/* Returns what counts of the smallest and the largest value of KEY. */
static double merged_extremes(const struct ft_policy_key *key)
{
  switch ((enum ft_policy_merge)key->merge) {
  case FT_MERGE_LARGEST:
    return key->high;
  case FT_MERGE_SMALLEST_ABOVE_0:
    return key->low > 0 ? key->low : key->high;
  case FT_MERGE_MODE:
    return FT_MODE_CHECK;
  case FT_MERGE_SMALLEST:
  case FT_MERGE_IF_ALL:
    break;
  }
  return key->low;
}

static void every_key_is_overridden_and_merged(void **state)
{
  (void)state;
  for (size_t i = 0; i < FT_POLICY_KEYS; i++) {
    const struct ft_policy_key *key = &ft_policy_keys[i];
    ft_site site = { .overrides_count = 2,
                     .overrides = { { .partition = "low", .has_policy = true },
                                    { .partition = "high", .has_policy = true } } };
    const struct {
      const char *partition;
      double value;
    } cases[] = { { "none", ft_policy_value(&ft_policy_defaults, key) },
                  { "low", key->low },
                  { "high", key->high },
                  { "low,high", merged_extremes(key) },
                  { "high,low", merged_extremes(key) } };

    assert_true(ft_policy_has(&ft_policy_defaults, key) && cases[0].value >= key->low &&
                cases[0].value <= key->high);
    ft_policy_set(&site.overrides[0].policy, key, key->low);
    ft_policy_set(&site.overrides[1].policy, key, key->high);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
      ft_policy p;

      ft_policy_resolve(&site, cases[c].partition, NULL, NULL, &p);
      if (!ft_policy_has(&p, key) || ft_policy_value(&p, key) != cases[c].value)
        fail_msg("%s, %s: %g, not %g", key->name, cases[c].partition, ft_policy_value(&p, key),
                 cases[c].value);
      for (size_t other = 0; other < FT_POLICY_KEYS; other++)
        assert_true(other == i || ft_policy_value(&p, &ft_policy_keys[other]) ==
                                      ft_policy_value(&ft_policy_defaults, &ft_policy_keys[other]));
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(overrides_hold_in_order_field_by_field),
    cmocka_unit_test(of_several_partitions_the_strictest_counts),
    cmocka_unit_test(every_key_is_overridden_and_merged),
  };

  return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
