/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/unit.h"

#include "predictor/estimate/gpu/mig.h"

static struct ft_mig_table table;

static int open_table(void **state)
{
  (void)state;
  ft_mig_add_nvidia(&table);
  return 0;
}

static void a_profile_is_found_in_all_spellings(void **state)
{
  static const struct {
    const char *typed, *name;
  } cases[] = { { "1g.5gb", "1g.5gb" },
                { "nvidia_a100_1g.5gb", "1g.5gb" },
                { "a100-3g.20gb:1", "3g.20gb" },
                { "MIG-2g.10gb", "2g.10gb" },
                { "mig_1g_10gb_me", "1g.10gb+me" },
                { "1g.10gb+me", "1g.10gb+me" },
                { "nvidia.com/mig-1g.24gb.me.all", "1g.24gb+me.all" },
                { "1g.24gb-me", "1g.24gb-me" },
                { "1g.24gb+gfx", "1g.24gb+gfx" },
                { "7G.80GB", "7g.80gb" },
                { "4g40gb", "4g.40gb" },
                { "a100.mig.3g20gb", "3g.20gb" },
                { "a100mig1g.5gb", "1g.5gb" },
                { "a100_1g.5g", "1g.5gb" },
                { "MIG 1G.10Gb", "1g.10gb" },
                { "nvidia_h100_80gb_hbm3_1g.10gb", "1g.10gb" },
                { "nvidia_a100-sxm4-40gb_7g.40gb", "7g.40gb" },
                { "nvidia_rtx_pro_6000_blackwell_server_edition_2g.48gb", "2g.48gb" },
                { "1c.3g.20gb", "3g.20gb" },
                { "a100-40gb", NULL },
                { "1g.5ghz", NULL },
                { "a100", NULL },
                { "1g", NULL },
                { "0g.5gb", NULL },
                { "g.5gb", NULL },
                { "", NULL } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char name[FT_MIG_NAME] = "";

    assert_int_equal(ft_mig_name(cases[i].typed, name), cases[i].name != NULL);
    if (cases[i].name)
      assert_string_equal(name, cases[i].name);
  }
}

static void every_gpu_of_the_guide_has_its_slices(void **state)
{
  static const struct {
    const char *gpu, *smallest, *whole;
  } cases[] = {
    { "A30", "1g.6gb", "4g.24gb" },           { "NVIDIA A100-40GB", "1g.5gb", "7g.40gb" },
    { "a100_80gb", "1g.10gb", "7g.80gb" },    { "H100 80GB", "1g.10gb", "7g.80gb" },
    { "h100-94gb", "1g.12gb", "7g.94gb" },    { "h100-96gb", "1g.12gb", "7g.96gb" },
    { "H200", "1g.18gb", "7g.141gb" },        { "B200", "1g.23gb", "7g.180gb" },
    { "RTX PRO 6000", "1g.24gb", "4g.96gb" }, { "GH200", "1g.12gb", "7g.96gb" },
    { "GB200", "1g.23gb", "7g.186gb" },       { "RTX PRO 5000", "1g.12gb", "4g.48gb" },
    { "RTX PRO 5000", "1g.24gb", "2g.48gb" }, { "RTX PRO 4500", "1g.16gb", "2g.32gb" },
    { "B300", "1g.34gb", "7g.269gb" },        { "GB300", "1g.35gb", "7g.278gb" },
    { "H20", "1g.12gb", "7g.96gb" },          { "H20", "1g.18gb", "7g.141gb" },
    { "GH200", "1g.18gb", "7g.144gb" }
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct ft_mig_profile *small = ft_mig_find(&table, cases[i].gpu, cases[i].smallest);
    const struct ft_mig_profile *whole = ft_mig_find(&table, cases[i].gpu, cases[i].whole);

    assert_non_null(small);
    assert_non_null(whole);
    assert_int_equal(whole->instances, 1);
    if (whole->memory_mib > 0)
      assert_true(small->instances * small->memory_mib <= whole->memory_mib * 1.01);
  }
}

static struct ft_estimate estimate_of(double mib)
{
  struct ft_estimate e = { .runs = 0 };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = mib * 1024 * 1024 * (1 + 0.01 * (i - 5));
  return e;
}

/* NVIDIA publishes no profile list of the RTX PRO 5000; a site's file can add it. */
static void a_slice_of_unknown_size_is_not_chosen(void **state)
{
  static const char file[] = "rtx-pro-5000 2g.24gb-me 23000 1\nrtx-pro-5000 4g.48gb 47000 1\n";
  struct ft_mig_table own = table;
  struct ft_estimate e = estimate_of(3000);
  const struct ft_mig_profile *slice;
  struct ft_error err;

  (void)state;
  assert_null(ft_mig_choose(&own, "rtx-pro-5000", NULL, &e, 0.95));
  assert_int_equal(ft_mig_read(&own, file, "mig.conf", &err), 0);
  slice = ft_mig_choose(&own, "rtx-pro-5000", NULL, &e, 0.95);
  assert_non_null(slice);
  assert_string_equal(slice->name, "4g.48gb");
}

static void the_smallest_sufficient_slice_is_chosen(void **state)
{
  static const struct {
    double mib;
    const char *name;
  } cases[] = { { 3000, "1g.5gb" },   { 4900, "2g.10gb" },  { 6294, "2g.10gb" },
                { 12000, "3g.20gb" }, { 30996, "7g.40gb" }, { 45000, NULL } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_estimate e = estimate_of(cases[i].mib);
    const struct ft_mig_profile *p = ft_mig_choose(&table, "a100-40gb", NULL, &e, 0.95);

    assert_int_equal(p != NULL, cases[i].name != NULL);
    if (p)
      assert_string_equal(p->name, cases[i].name);
  }
}

static void only_slices_of_the_cluster_are_chosen(void **state)
{
  const char *const some[] = { "1g.10gb", "4g.20gb", NULL };
  struct ft_estimate e = estimate_of(3000);

  (void)state;
  assert_string_equal(ft_mig_choose(&table, "a100-40gb", some, &e, 0.9)->name, "1g.10gb");
  e = estimate_of(10500);
  assert_string_equal(ft_mig_choose(&table, "a100-40gb", some, &e, 0.9)->name, "4g.20gb");
  e = estimate_of(30000);
  assert_null(ft_mig_choose(&table, "a100-40gb", some, &e, 0.9));
}

static void a_site_adds_and_replaces_profiles(void **state)
{
  struct ft_error err;

  (void)state;
  assert_int_equal(ft_mig_read(&table,
                               "# ours\n\nb300 1g.34gb 33000 7\nb300 7g.269gb 270000\n"
                               "a100-40gb 1g.5gb 4800 # measured\n",
                               "mig.conf", &err),
                   0);
  assert_near(ft_mig_find(&table, "B300", "1g.34gb")->memory_mib, 33000, 1e-9);
  assert_near(ft_mig_find(&table, "a100-40gb", "1g.5gb")->memory_mib, 4800, 1e-9);
  assert_int_equal(ft_mig_find(&table, "B300", "1g.34gb")->instances, 7);
  assert_int_equal(ft_mig_find(&table, "a100-40gb", "1g.5gb")->instances, 7);
}

static void a_bad_line_is_named(void **state)
{
  static const char *const lines[] = { "b300\n",
                                       "b300 1g.34gb\n",
                                       "b300 34gb 33000\n",
                                       "b300 1g.34gb many\n",
                                       "b300 1g.34gb -1\n",
                                       "b300 1g.34gb 33000 x\n" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(lines); i++) {
    struct ft_error err;

    assert_int_equal(ft_mig_read(&table, lines[i], "mig.conf", &err), -1);
    assert_non_null(strstr(err.text, "mig.conf: line 1: expected"));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_profile_is_found_in_all_spellings, open_table),
    cmocka_unit_test_setup(every_gpu_of_the_guide_has_its_slices, open_table),
    cmocka_unit_test(a_slice_of_unknown_size_is_not_chosen),
    cmocka_unit_test_setup(the_smallest_sufficient_slice_is_chosen, open_table),
    cmocka_unit_test_setup(only_slices_of_the_cluster_are_chosen, open_table),
    cmocka_unit_test_setup(a_site_adds_and_replaces_profiles, open_table),
    cmocka_unit_test_setup(a_bad_line_is_named, open_table),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
