/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/symbolic/expression_tree.h"
#include "predictor/learn/symbolic/interval_arithmetic.h"
#include "predictor/learn/symbolic/symbolic.h"

enum { ALL = (1 << FT_SYMBOLS) - 1 - (1 << FT_SYMBOL_CONSTANT) - (1 << FT_SYMBOL_VARIABLE) };

static void ranges_extend_beyond_the_data(void **state)
{
  static const struct {
    double value[8];
    size_t count;
    double low, high;
  } cases[] = {
    /* linear: 10 % beyond both ends, across 0 */
    { { 0.5, 1.5, 2.5, 3.5, 4.5, 5.5 }, 6, 0, 6 },
    { { -3, -2, -1, 0 }, 4, -3.3, 0.3 },
    { { 7, 7, 7 }, 3, 7, 7 },
    /* by factors: 10 % of the logarithm, never to 0 */
    { { 0.1, 1, 10, 100, 1000 }, 5, 0.1 / 2.51188643150958, 2511.88643150958 },
    /* nodes and threads are at least 1 */
    { { 1, 9, 17, 25, 33, 41 }, 6, 0.5, 45 },
    { { 64, 1, 2, 4, 16, 8, 32 }, 7, 1 / 1.51571656651040, 64 * 1.51571656651040 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double room[8];
    struct ft_interval r = ft_interval_of(cases[i].value, cases[i].count, room);

    if (!(fabs(r.low - cases[i].low) < 1e-9 && fabs(r.high - cases[i].high) < 1e-9))
      fail_msg("case %zu: %g to %g", i, r.low, r.high);
  }
}

/* Parses postfix with one letter per symbol: the variables a and b, the constant 1, and the
 * number c. */
static struct ft_expression parse(const char *code, double c)
{
  static const char letters[FT_SYMBOLS + 1] = "c.+*su-/qlioem";
  struct ft_expression e = { .slope = 1 };

  for (const char *p = code; *p; p++) {
    const char *letter = strchr(letters, *p == '1' ? 'c' : *p);

    e.symbol[e.length] = letter ? (uint8_t)(letter - letters) : FT_SYMBOL_VARIABLE;
    e.variable[e.length] = *p == 'b';
    e.constant[e.length] = *p == '1' ? 1 : c;
    e.scale[e.length++] = 1;
  }
  assert_true(ft_expression_valid(&e, 2));
  return e;
}

/* a is in [-1, 2], b in [1, 3]. */
static void divisors_are_kept_from_zero(void **state)
{
  static const struct ft_interval range[] = { { -1, 2 }, { 1, 3 } };
  static const struct {
    const char *divisor;
    double c;
    bool sound;
  } cases[] = {
    { "a", 0, false },      { "b", 0, true },        { "c", 0, false },      { "c", -3, true },
    { "ac+", 1, false },    { "ac+", 1.1, true },    { "as", 0, false },     { "asc+", 0.1, true },
    { "au", 0, false },     { "auc+", 1.1, true },   { "bc-", 3, false },    { "bc-", 3.1, true },
    { "cb-", 0.9, true },   { "ab*", 0, false },     { "ab*c+", 3.1, true }, { "ab*c+", 3, false },
    { "bs", 0, true },      { "aq", 0, false },      { "bq", 0, true },      { "al", 0, false },
    { "bl", 0, true },      { "ae", 0, true },       { "ai", 0, false },     { "bi", 0, true },
    { "bc*i", 1.1, false }, { "ao", 0, false },      { "ac*o", 0.5, true },  { "bc*o", 0.5, true },
    { "bc*o", 1, false },   { "aoc+", 0.5, true },   { "aoc+", 0.4, false }, { "abm", 0, false },
    { "bcm", 0.5, true },   { "bcm", 0, false },     { "ab/c+", 1, false },  { "ab/c+", 1.1, true },
    { "ae1+b/", 0, true },  { "ac*ee", 100, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_expression e;
    char code[16];

    (void)snprintf(code, sizeof code, "1%s/", cases[i].divisor);
    e = parse(code, cases[i].c);
    if (ft_interval_divisors_nonzero(&e, range) != cases[i].sound)
      fail_msg("1 / %s with %g", cases[i].divisor, cases[i].c);
  }
}

/* e^e^e^c: 20 for 0.1; for 3 it overflows, and the result is rejected. */
static void overflowing_expressions_are_rejected(void **state)
{
  static const struct ft_interval range[] = { { -1, 2 }, { 1, 3 } };
  static const char *const codes[] = { "bceeeceee-m1b/+", "bceeeceee-+b/", "1bceee1-m/",
                                       "1ceeeo1+1+/",     "1ceeei1+1+/",   "aceee*b/",
                                       "ceeeb/",          "bceeemb/",      "aceee*aceee*-b/" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(codes); i++) {
    struct ft_expression finite = parse(codes[i], 0.1), infinite = parse(codes[i], 3);

    if (!ft_interval_divisors_nonzero(&finite, range) ||
        ft_interval_divisors_nonzero(&infinite, range))
      fail_msg("%s", codes[i]);
  }
}

/* Random expressions: a sound one is finite for all values of its variables. */
static void sound_equations_are_defined(void **state)
{
  enum { TREES = 20000, POINTS = 30 };
  static const struct ft_interval range[] = { { -2, 3 }, { 0.01, 40 } };
  unsigned divides = 1u << FT_SYMBOL_DIVIDE, sound = 0;
  struct ft_grower g;

  (void)state;
  ft_grower_init(&g, 1, 2, ALL & ~(1u << FT_SYMBOL_EXPONENTIAL));
  for (int t = 0; t < TREES; t++) {
    struct ft_expression e = { .slope = 1 };
    unsigned reads = 0;

    ft_expression_tree_grow(&g, &e, 4);
    for (int i = 0; i < e.length; i++) {
      e.scale[i] = 1;
      reads |= 1u << e.symbol[i];
    }
    if (!(reads & divides) || !ft_interval_divisors_nonzero(&e, range))
      continue;
    sound++;
    for (int k = 0; k < POINTS; k++) {
      double x[2];

      for (int v = 0; v < 2; v++)
        x[v] = range[v].low +
               (range[v].high - range[v].low) * (k < 4 ? k >> v & 1 : ft_random_double(&g.random));
      if (!isfinite(ft_expression_evaluate(&e, x)))
        fail_msg("tree %d at %g, %g", t, x[0], x[1]);
    }
  }
  assert_in_range(sound, TREES / 20, TREES);
}

static double bent(const double *x)
{
  return 2 + 9 * fmin(x[0], 0.4 * x[1] + 0.1);
}

/* No division bends like this, and a pole between the rows often fits best. */
static void no_equation_has_a_pole_between_the_rows(void **state)
{
  enum { ROWS = 30, OTHERS = 300 };
  static struct ft_symbolic_result result;
  static double x[2 * ROWS], y[ROWS];

  (void)state;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    struct ft_symbolic_settings settings;
    struct ft_random random;
    struct ft_error err;
    double error = 0;

    ft_random_seed(&random, seed);
    for (int i = 0; i < ROWS; i++) {
      x[2 * i] = ft_random_double(&random);
      x[2 * i + 1] = ft_random_double(&random);
      y[i] = bent(&x[2 * i]) * (1 + 0.005 * ft_random_normal(&random));
    }
    ft_symbolic_defaults(&settings);
    settings.primitives |= 1u << FT_SYMBOL_DIVIDE;
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    for (int i = 0; i < OTHERS; i++) {
      double at[2] = { ft_random_double(&random), ft_random_double(&random) };

      error +=
          fabs(ft_expression_evaluate(&result.front[result.chosen].expression, at) / bent(at) - 1) /
          OTHERS;
    }
    if (!(error < 0.1))
      fail_msg("seed %d: %g off", (int)seed, error);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(ranges_extend_beyond_the_data),
                                      cmocka_unit_test(divisors_are_kept_from_zero),
                                      cmocka_unit_test(overflowing_expressions_are_rejected),
                                      cmocka_unit_test(sound_equations_are_defined),
                                      cmocka_unit_test(no_equation_has_a_pole_between_the_rows) };

  return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
