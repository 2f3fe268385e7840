/* SPDX-License-Identifier: GPL-3.0-or-later */
/* predictor/cli/plot/axis.c */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/cli/plot/chart.h"

static void ticks_are_round_in_the_axis_unit(void **state)
{
  static const struct {
    struct ft_axis axis;
    const char *unit, *first, *second, *last;
  } cases[] = {
    { { .kind = FT_AXIS_BYTES, .high = 7.3 * 0x1p30 }, "GiB", "0", "2", "8" },
    { { .kind = FT_AXIS_BYTES, .high = 900 * 0x1p20 }, "MiB", "0", "200", "1000" },
    { { .kind = FT_AXIS_BYTES, .high = 100 }, "B", "0", "20", "100" },
    { { .kind = FT_AXIS_SECONDS, .high = 119.9, .tight = true }, "s", "0", "20", "100" },
    { { .kind = FT_AXIS_SECONDS, .high = 7200, .tight = true }, "min", "0", "20", "120" },
    { { .kind = FT_AXIS_NUMBER, .low = 3, .high = 4e6 }, "", "0", "1M", "4M" },
    { { .kind = FT_AXIS_NUMBER, .low = 5, .high = 5 }, "", "4.4", "4.6", "5.6" },
    { { .kind = FT_AXIS_BYTES, .log = true, .low = 0x1p30, .high = 30 * 0x1p30 },
      "GiB",
      "1",
      "2",
      "50" },
    { { .kind = FT_AXIS_NUMBER, .log = true, .low = 3, .high = 3e6 }, "", "10", "100", "1M" },
    { { .kind = FT_AXIS_NUMBER, .log = true, .low = 0, .high = 10 }, "", "0", "2", "10" },
  };
  char label[64];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_axis axis = cases[i].axis;

    ft_axis_fit(&axis);
    assert_string_equal(axis.unit_name, cases[i].unit);
    assert_true(axis.tick_count >= 3 && axis.tick_count <= 12);
    assert_string_equal(ft_axis_label(&axis, 0, label), cases[i].first);
    assert_string_equal(ft_axis_label(&axis, 1, label), cases[i].second);
    assert_string_equal(ft_axis_label(&axis, axis.tick_count - 1, label), cases[i].last);
  }
}

static void the_axis_covers_the_data(void **state)
{
  static const double lows[] = { 0, 1e-9, 1, 3.7, 1e6 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(lows); i++)
    for (double factor = 1; factor < 1e9; factor *= 7.3)
      for (int log = 0; log < 2; log++) {
        struct ft_axis axis = { .log = log, .low = lows[i], .high = (lows[i] + 1) * factor };
        double high = axis.high;

        ft_axis_fit(&axis);
        assert_true(axis.low <= lows[i] && axis.high >= high * (1 - 1e-9));
        assert_true(axis.tick_count > 0 && axis.tick_count <= FT_AXIS_TICKS);
      }
}

static void names_stand_at_whole_numbers(void **state)
{
  static const char *const names[] = { "unet", "vgg" };
  struct ft_axis axis = { .kind = FT_AXIS_NAMES, .names = names, .name_count = 2 };
  char label[64];

  (void)state;
  ft_axis_fit(&axis);
  assert_int_equal(axis.tick_count, 2);
  assert_near(axis.tick[1], 1, 0);
  assert_string_equal(ft_axis_label(&axis, 1, label), "vgg");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ticks_are_round_in_the_axis_unit),
    cmocka_unit_test(the_axis_covers_the_data),
    cmocka_unit_test(names_stand_at_whole_numbers),
  };

  return cmocka_run_group_tests_name("axis", tests, NULL, NULL);
}
