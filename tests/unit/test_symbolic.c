/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/linear.h"
#include "predictor/learn/symbolic.h"

enum { EDGES = 6, BATCHES = 5, ROWS = EDGES * BATCHES };

static struct ft_symbolic_result result, again;
static double x[2 * ROWS], y[ROWS];

/* Memory of a 3D network: a constant, and batch times edge cubed and squared. */
static void make_data(double noise, uint64_t seed)
{
  static const double edge[EDGES] = { 16, 32, 48, 64, 96, 128 };
  static const double batch[BATCHES] = { 1, 2, 4, 8, 16 };
  struct ft_random random;

  ft_random_seed(&random, seed);
  for (int i = 0; i < ROWS; i++) {
    double e = edge[i / BATCHES], b = batch[i % BATCHES];

    x[2 * i] = e;
    x[2 * i + 1] = b;
    y[i] = (4e8 + 812 * e * e * e * b + 3e4 * e * e * b) *
           (1 + noise * ft_random_normal(&random));
  }
}

static void a_known_equation_is_recovered(void **state)
{
  static const char *const names[] = { "edge", "batch" };
  struct ft_symbolic_settings settings;
  struct ft_error err;
  struct ft_buf text;

  (void)state;
  make_data(0, 1);
  ft_buf_init(&text, 4096);
  for (uint64_t seed = 1; seed <= 3; seed++) {
    ft_symbolic_defaults(&settings);
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    ft_buf_free(&text);
    assert_int_equal(ft_expression_print(&result.front[result.chosen].expression, names, "B",
                                         false, 4, &text), 0);
    assert_string_equal(ft_buf_text(&text),
                        "812*edge^3*batch + 3e+04*edge^2*batch + 4e+08 [B]");
    assert_true(result.front[result.chosen].mape < 1e-6);
  }
  ft_buf_free(&text);
}

static void noise_is_not_learnt(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;
  double error = 0, at[2];

  (void)state;
  make_data(0.02, 7);
  ft_symbolic_defaults(&settings);
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
  make_data(0, 7);
  for (int i = 0; i < ROWS; i++) {
    at[0] = x[2 * i];
    at[1] = x[2 * i + 1];
    error += fabs(ft_expression_evaluate(&result.front[result.chosen].expression, at) / y[i] - 1);
  }
  assert_true(error / ROWS < 0.02);
}

static void the_same_seed_gives_the_same_equation(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  make_data(0.02, 3);
  ft_symbolic_defaults(&settings);
  settings.generations = 10;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &again, &err), 0);
  assert_int_equal(result.count, again.count);
  for (unsigned i = 0; i < result.count; i++)
    assert_true(result.front[i].mape == again.front[i].mape);
}

static void the_front_falls_and_every_point_is_valid(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  make_data(0.05, 4);
  ft_symbolic_defaults(&settings);
  settings.primitives = (1u << FT_SYMBOLS) - 1 - (1u << FT_SYMBOL_CONSTANT) -
                        (1u << FT_SYMBOL_VARIABLE);
  settings.generations = 30;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
  for (unsigned i = 0; i < result.count; i++) {
    assert_true(ft_expression_valid(&result.front[i].expression, 2));
    if (i) {
      assert_true(result.front[i].mape < result.front[i - 1].mape);
      assert_true(result.front[i].expression.length > result.front[i - 1].expression.length);
    }
  }
}

/* A constant alone leaves slope and intercept one parameter: two that cancel fit by rounding. */
static void errors_are_what_the_equations_do(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    make_data(0.05, seed);
    ft_symbolic_defaults(&settings);
    settings.generations = 5;
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    for (unsigned i = 0; i < result.count; i++) {
      double error = 0;

      for (int r = 0; r < ROWS; r++)
        error += fabs(ft_expression_evaluate(&result.front[i].expression, &x[2 * r]) / y[r] - 1);
      assert_near(error / ROWS, result.front[i].mape, 1e-9);
    }
  }
}

/* Threads, of which no more work than there are blocks. */
static void a_minimum_is_found_where_it_is_switched_on(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  make_data(0, 1);
  for (int i = 0; i < ROWS; i++)
    y[i] = 20 + 8 * fmin(2 * x[2 * i + 1], x[2 * i] / 8);
  for (int with = 0; with < 2; with++) {
    ft_symbolic_defaults(&settings);
    if (with)
      settings.primitives |= 1u << FT_SYMBOL_MINIMUM;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    assert_int_equal(result.front[result.chosen].mape < 1e-6, with);
  }
}

static bool stop_at_three(void *data, unsigned generation, double best)
{
  (void)best;
  *(unsigned *)data = generation;
  return generation < 3;
}

static void a_search_can_be_cancelled(void **state)
{
  struct ft_symbolic_settings settings;
  unsigned generations = 0;
  struct ft_error err;

  (void)state;
  make_data(0, 1);
  ft_symbolic_defaults(&settings);
  settings.progress = stop_at_three;
  settings.data = &generations;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
  assert_int_equal(generations, 3);
  assert_true(result.cancelled);
}

static void what_cannot_be_fitted_is_said(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  make_data(0, 1);
  ft_symbolic_defaults(&settings);
  assert_int_equal(ft_symbolic_fit(x, y, 1, 2, &settings, &result, &err), -1);
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 25, &settings, &result, &err), -1);
  y[4] = 0;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), -1);
  assert_non_null(strstr(err.text, "row 5"));
  assert_non_null(strstr(err.text, "from 1e-100 to 1e+100"));
  y[4] = 1e101;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), -1);
  y[4] = NAN;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), -1);
  y[4] = INFINITY;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), -1);
  y[4] = 1;
  settings.primitives = 0;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), -1);
}

static void hostile_bytecode_is_refused(void **state)
{
  static const struct {
    uint8_t length;
    uint8_t symbol[4];
  } cases[] = { { 0, { 0 } },
                { 1, { FT_SYMBOL_ADD } },
                { 2, { FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT } },
                { 1, { FT_SYMBOLS } },
                { 1, { 255 } },
                { 200, { FT_SYMBOL_CONSTANT } },
                { 3, { FT_SYMBOL_CONSTANT, FT_SYMBOL_ADD, FT_SYMBOL_CONSTANT } } };
  struct ft_expression e;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    e = (struct ft_expression){ .length = cases[i].length, .slope = 1, .scale = { 1 } };
    memcpy(e.symbol, cases[i].symbol, sizeof cases[i].symbol);
    assert_false(ft_expression_valid(&e, 1));
  }
  e = (struct ft_expression){ .length = 1, .slope = 1, .scale = { 1 } };
  e.symbol[0] = FT_SYMBOL_VARIABLE;
  assert_true(ft_expression_valid(&e, 1));
  e.variable[0] = 1;
  assert_false(ft_expression_valid(&e, 1));
  e.variable[0] = 0;
  e.scale[0] = 0;
  assert_false(ft_expression_valid(&e, 1));
}

static void linear_coefficients_are_recovered(void **state)
{
  double design[40], target[20], weight[20], c[3];
  struct ft_error err;

  (void)state;
  for (int i = 0; i < 20; i++) {
    design[2 * i] = 1e9 * i;
    design[2 * i + 1] = i % 3;
    target[i] = 5 + 2e-9 * design[2 * i] - 3 * design[2 * i + 1];
    weight[i] = 1 + i;
  }
  assert_int_equal(ft_linear_fit(design, target, weight, 20, 2, c, &err), 0);
  assert_near(c[0], 5, 1e-9);
  assert_near(c[1], 2e-9, 1e-9);
  assert_near(c[2], -3, 1e-9);
  /* fewer rows than coefficients, and columns that depend: the shortest solution */
  assert_int_equal(ft_linear_fit(design, target, weight, 2, 2, c, &err), 0);
  assert_true(isfinite(c[0]) && isfinite(c[1]) && isfinite(c[2]));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_known_equation_is_recovered),
    cmocka_unit_test(noise_is_not_learnt),
    cmocka_unit_test(the_same_seed_gives_the_same_equation),
    cmocka_unit_test(the_front_falls_and_every_point_is_valid),
    cmocka_unit_test(errors_are_what_the_equations_do),
    cmocka_unit_test(a_minimum_is_found_where_it_is_switched_on),
    cmocka_unit_test(a_search_can_be_cancelled),
    cmocka_unit_test(what_cannot_be_fitted_is_said),
    cmocka_unit_test(hostile_bytecode_is_refused),
    cmocka_unit_test(linear_coefficients_are_recovered)
  };

  return cmocka_run_group_tests_name("symbolic", tests, NULL, NULL);
}
