/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/regression/linear.h"
#include "predictor/learn/symbolic/constant_fit.h"
#include "predictor/learn/symbolic/expression_tree.h"
#include "predictor/learn/symbolic/symbolic.h"

enum { EDGES = 6, BATCHES = 5, ROWS = EDGES * BATCHES };

static struct ft_symbolic_result result, again;
static double x[2 * ROWS], y[ROWS];

/* Memory of a 3D network: a constant plus batch times the cube and the square of the edge. */
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
    y[i] = (4e8 + 812 * e * e * e * b + 3e4 * e * e * b) * (1 + noise * ft_random_normal(&random));
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
    assert_int_equal(
        ft_expression_print(&result.front[result.chosen].expression, names, "B", false, 4, &text),
        0);
    assert_string_equal(ft_buf_text(&text), "812*edge^3*batch + 3e+04*edge^2*batch + 4e+08 [B]");
    assert_true(result.front[result.chosen].mape < 1e-6);
  }
  ft_buf_free(&text);
}

static double quotient(double a, double b)
{
  return 3 + 40 * a / b;
}

static double difference(double a, double b)
{
  return 1000 + a * a - 30 * b;
}

static double diagonal(double a, double b)
{
  return 7 * sqrt(a * a + b * b);
}

static double logarithm(double a, double b)
{
  return 5 + b * log1p(a);
}

static double wave(double a, double b)
{
  return b * (2 + sin(a));
}

static double swell(double a, double b)
{
  return b * (2 + cos(a));
}

static double decay(double a, double b)
{
  return b * exp(-a / 8);
}

static void known_functions_are_recovered(void **state)
{
  enum { BASE = 1 << FT_SYMBOL_ADD | 1 << FT_SYMBOL_MULTIPLY | 1 << FT_SYMBOL_SQUARE };
  static const struct {
    double (*f)(double, double);
    unsigned primitives;
  } cases[] = { { quotient, 1 << FT_SYMBOL_DIVIDE },  { difference, 1 << FT_SYMBOL_SUBTRACT },
                { diagonal, 1 << FT_SYMBOL_ROOT },    { logarithm, 1 << FT_SYMBOL_LOG },
                { wave, 1 << FT_SYMBOL_SINE },        { swell, 1 << FT_SYMBOL_COSINE },
                { decay, 1 << FT_SYMBOL_EXPONENTIAL } };
  struct ft_random random;
  struct ft_error err;

  (void)state;
  for (size_t k = 0; k < COUNT_OF(cases); k++) {
    struct ft_symbolic_settings settings;
    double least = 1;

    ft_random_seed(&random, k);
    for (int i = 0; i < ROWS; i++) {
      x[2 * i] = 1 + 5 * ft_random_double(&random);
      x[2 * i + 1] = 1 + 5 * ft_random_double(&random);
      y[i] = cases[k].f(x[2 * i], x[2 * i + 1]);
    }
    ft_symbolic_defaults(&settings);
    settings.primitives = BASE | cases[k].primitives;
    for (settings.seed = 1; settings.seed <= 5 && least > 1e-6; settings.seed++) {
      assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
      least = fmin(least, result.front[result.chosen].mape);
    }
    if (least > 1e-6)
      fail_msg("function %zu: %g off", k, least);
  }
}

static void of_many_rows_some_are_used(void **state)
{
  enum { MANY = 3 * FT_SYMBOLIC_ROWS };
  static double many_x[MANY], many_y[MANY];
  struct ft_symbolic_settings settings;
  struct ft_error err;
  double one = 1e6;

  (void)state;
  for (int i = 0; i < MANY; i++) {
    many_x[i] = 1 + i % 1000;
    many_y[i] = 2 + 3 * many_x[i] * many_x[i];
  }
  ft_symbolic_defaults(&settings);
  settings.generations = 5;
  assert_int_equal(ft_symbolic_fit(many_x, many_y, MANY, 1, &settings, &result, &err), 0);
  assert_int_equal(ft_symbolic_fit(many_x, many_y, MANY, 1, &settings, &again, &err), 0);
  assert_near(ft_expression_evaluate(&result.front[result.chosen].expression, &one), 2 + 3e12,
              1e-6);
  assert_true(result.front[result.chosen].mape == again.front[again.chosen].mape);
  /* all rows are examined */
  many_y[MANY - 1] = 0;
  assert_int_equal(ft_symbolic_fit(many_x, many_y, MANY, 1, &settings, &result, &err), -1);
}

/* root(a / 2) / (1 + 3 * sin(b)), and its parts that are no polynomials */
static void equations_print_as_text_latex_and_code(void **state)
{
  static const char *const names[] = { "input_bytes", "b" };
  struct ft_expression e = { .length = 10,
                             .symbol = { FT_SYMBOL_VARIABLE, FT_SYMBOL_ROOT, FT_SYMBOL_CONSTANT,
                                         FT_SYMBOL_CONSTANT, FT_SYMBOL_VARIABLE, FT_SYMBOL_SINE,
                                         FT_SYMBOL_MULTIPLY, FT_SYMBOL_ADD, FT_SYMBOL_DIVIDE,
                                         FT_SYMBOL_LOG },
                             .variable = { [0] = 0, [4] = 1 },
                             .constant = { [2] = 1, [3] = 1.0 / 3 },
                             .slope = -4e9,
                             .intercept = 0.5,
                             .scale = { [0] = 2, [4] = 1 } };
  struct ft_buf text;

  (void)state;
  assert_true(ft_expression_valid(&e, 2));
  ft_buf_init(&text, 4096);
  assert_int_equal(ft_expression_print(&e, names, "", false, 4, &text), 0);
  assert_string_equal(text.data,
                      "0.5 - 4e+09*log(1 + abs((sqrt(abs((input_bytes/2)))/(1 + 0.3333*sin(b)))))");
  ft_buf_free(&text);
  assert_int_equal(ft_expression_print(&e, names, "GiB", true, 2, &text), 0);
  assert_string_equal(text.data,
                      "0.5 - 4 \\times 10^{9} \\cdot \\log\\left(1 + \\left|\\frac{\\sqrt{\\left|"
                      "\\frac{\\mathrm{input\\_bytes}}{2}\\right|}}{\\left(1 + 0.33 \\cdot "
                      "\\sin\\left(\\mathrm{b}\\right)\\right)}\\right|\\right)\\;\\mathrm{GiB}");
  ft_buf_free(&text);
  text.limit = 20;
  assert_int_equal(ft_expression_print(&e, names, "GiB", false, 4, &text), -1);
  ft_buf_free(&text);
}

/* Divisors that are products, and divided products. */
static void a_divisor_keeps_its_brackets(void **state)
{
  static const struct {
    uint8_t symbol[5];
    const char *text, *latex;
  } cases[] = { { { FT_SYMBOL_VARIABLE, FT_SYMBOL_VARIABLE, FT_SYMBOL_VARIABLE, FT_SYMBOL_MULTIPLY,
                    FT_SYMBOL_DIVIDE },
                  "(a/(b*c))",
                  "\\frac{\\mathrm{a}}{\\mathrm{b} \\cdot \\mathrm{c}}" },
                { { FT_SYMBOL_VARIABLE, FT_SYMBOL_VARIABLE, FT_SYMBOL_MULTIPLY, FT_SYMBOL_VARIABLE,
                    FT_SYMBOL_DIVIDE },
                  "(a*b/c)",
                  "\\frac{\\mathrm{a} \\cdot \\mathrm{b}}{\\mathrm{c}}" },
                { { FT_SYMBOL_VARIABLE, FT_SYMBOL_VARIABLE, FT_SYMBOL_VARIABLE, FT_SYMBOL_DIVIDE,
                    FT_SYMBOL_DIVIDE },
                  "(a/(b/c))",
                  "\\frac{\\mathrm{a}}{\\frac{\\mathrm{b}}{\\mathrm{c}}}" } };
  static const char *const names[] = { "a", "b", "c" };

  (void)state;
  for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
    struct ft_expression e = { .length = 5, .slope = 1, .scale = { 1, 1, 1, 1, 1 } };
    bool latex = i % 2;
    struct ft_buf text;
    uint8_t variable = 0;

    memcpy(e.symbol, cases[i / 2].symbol, sizeof cases[0].symbol);
    for (int k = 0; k < e.length; k++)
      if (e.symbol[k] == FT_SYMBOL_VARIABLE)
        e.variable[k] = variable++;
    ft_buf_init(&text, 4096);
    assert_int_equal(ft_expression_print(&e, names, "", latex, 4, &text), 0);
    assert_string_equal(text.data, latex ? cases[i / 2].latex : cases[i / 2].text);
    ft_buf_free(&text);
  }
}

/* A search may square a constant; the printed equation has the value instead. */
static void a_part_without_variables_prints_as_a_number(void **state)
{
  static const struct {
    uint8_t symbol[6];
    const char *text;
  } cases[] = { { { FT_SYMBOL_VARIABLE, FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT, FT_SYMBOL_ADD,
                    FT_SYMBOL_CUBE, FT_SYMBOL_MINIMUM },
                  "min(a, 64)" },
                { { FT_SYMBOL_VARIABLE, FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT, FT_SYMBOL_MULTIPLY,
                    FT_SYMBOL_DIVIDE, FT_SYMBOL_SINE },
                  "sin((a/4))" },
                { { FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT, FT_SYMBOL_SUBTRACT, FT_SYMBOL_VARIABLE,
                    FT_SYMBOL_DIVIDE, FT_SYMBOL_ROOT },
                  "sqrt(abs((0/a)))" } };
  static const char *const names[] = { "a" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_expression e = {
      .length = 6, .slope = 1, .constant = { 2, 2, 2, 2, 2, 2 }, .scale = { 1, 1, 1, 1, 1, 1 }
    };
    struct ft_buf text;

    memcpy(e.symbol, cases[i].symbol, sizeof cases[0].symbol);
    assert_true(ft_expression_valid(&e, 1));
    ft_buf_init(&text, 4096);
    assert_int_equal(ft_expression_print(&e, names, "", false, 4, &text), 0);
    assert_string_equal(text.data, cases[i].text);
    ft_buf_free(&text);
  }
}

/* Numbers that C writes with an exponent, and names with characters special to TeX. */
static void latex_is_valid_tex(void **state)
{
  static const struct {
    double slope;
    int digits;
    const char *name, *latex;
  } cases[] = { { 123456, 4, "b", "1.235 \\times 10^{5} \\cdot \\mathrm{b}" },
                { 999999, 4, "b", "1 \\times 10^{6} \\cdot \\mathrm{b}" },
                { 123456, 6, "b", "123456 \\cdot \\mathrm{b}" },
                { 2e-5, 4, "b", "2 \\times 10^{-5} \\cdot \\mathrm{b}" },
                { 1e-300, 4, "b", "1 \\times 10^{-300} \\cdot \\mathrm{b}" },
                { 0.0002, 4, "b", "0.0002 \\cdot \\mathrm{b}" },
                { 2, 4, "a_b %&#$", "2 \\cdot \\mathrm{a\\_b\\ \\%\\&\\#\\$}" },
                { 2, 4, "{a\\}", "2 \\cdot \\mathrm{\\{a{\\backslash}\\}}" },
                { 2, 4, "a^~", "2 \\cdot \\mathrm{a{\\wedge}{\\sim}}" } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_expression e = {
      .length = 1, .symbol = { FT_SYMBOL_VARIABLE }, .slope = cases[i].slope, .scale = { 1 }
    };
    struct ft_buf text;

    ft_buf_init(&text, 4096);
    assert_int_equal(ft_expression_print(&e, &cases[i].name, "", true, cases[i].digits, &text), 0);
    assert_string_equal(text.data, cases[i].latex);
    ft_buf_free(&text);
  }
}

/* Over many seeds: a search always finds a long expression that fits noise by chance. */
static void noise_gives_no_equation(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    double noise = seed % 2 ? 0.02 : 0.1, error = 0;
    const struct ft_expression *e;

    make_data(noise, seed);
    ft_symbolic_defaults(&settings);
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    e = &result.front[result.chosen].expression;
    make_data(0, seed);
    for (int i = 0; i < ROWS; i++)
      error += fabs(ft_expression_evaluate(e, &x[2 * i]) / y[i] - 1) / ROWS;
    if (!(error < noise) || e->length > 20)
      fail_msg("seed %u, noise %g: %g off, length %u", (unsigned)seed, noise, error, e->length);
  }
}

/* Postfix TEXT: x and z are variables, "1" the first of CONSTANTS and so on. */
static struct ft_expression expression_of(const char *text, const double *constants)
{
  struct ft_expression e = { .slope = 1 };

  for (; *text; text++, e.length++) {
    e.scale[e.length] = 1;
    e.symbol[e.length] = *text == '+'                   ? FT_SYMBOL_ADD
                         : *text == '*'                 ? FT_SYMBOL_MULTIPLY
                         : *text == 'm'                 ? FT_SYMBOL_MINIMUM
                         : *text == 'x' || *text == 'z' ? FT_SYMBOL_VARIABLE
                                                        : FT_SYMBOL_CONSTANT;
    e.variable[e.length] = *text == 'z';
    if (*text >= '1' && *text <= '9')
      e.constant[e.length] = constants[*text - '1'];
  }
  return e;
}

/* Five rows of noise and an equation of five constants: it fits all rows exactly, and no held-
 * out row. */
static void validation_does_not_use_held_out_rows(void **state)
{
  enum { FIVE = 5 };
  static double five_x[FT_ROW_BLOCKS_BLOCK], five_y[FT_ROW_BLOCKS_BLOCK],
      weight[FT_ROW_BLOCKS_BLOCK];
  static double room[3 * FT_ROW_BLOCKS_BLOCK], missed[FIVE];
  static const double one[] = { 1, 1, 1 };
  struct ft_row_blocks rows = { five_x, five_y, weight, FIVE, FT_ROW_BLOCKS_BLOCK, 1 };
  struct ft_expression e = expression_of("x1+x*2+x*3+x*", one);
  struct ft_sweep *sweep = ft_sweep_new();
  double held, sum = 0;

  (void)state;
  assert_non_null(sweep);
  for (int i = 0; i < FIVE; i++) {
    five_x[i] = 0.4 + 0.3 * i;
    five_y[i] = i % 2 ? 1.3 : 0.7;
    weight[i] = 1 / five_y[i];
  }
  ft_row_blocks_fill(five_x, five_y, weight, &rows);
  assert_true(ft_constant_fit(&rows, &e, sweep, 1000) < 1e-3);
  held = ft_constant_fit_validate(&rows, &e, sweep, true, 1, room, missed);
  if (!(held > 0.2))
    fail_msg("an error of %g on rows held out", held);
  for (int i = 0; i < FIVE; i++)
    sum += missed[i] / FIVE;
  assert_near(sum, held, 1e-12);
  free(sweep);
}

static void few_rows_choose_no_long_equation(void **state)
{
  static const double few_x[] = { 16, 1, 32, 4, 48, 2, 64, 8, 96, 16 };
  static const double few_y[] = { 4.1e8, 5.3e8, 5.9e8, 1.9e9, 7.2e9 };
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    const struct ft_symbolic_point *p;

    ft_symbolic_defaults(&settings);
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(few_x, few_y, 5, 2, &settings, &result, &err), 0);
    p = &result.front[result.chosen];
    if (p->parameters > 2 || p->expression.length > 6 || p->validated < 0.01)
      fail_msg("seed %u: %u parameters, length %u, %g when held out", (unsigned)seed, p->parameters,
               p->expression.length, p->validated);
  }
}

/* Rows whose x is 1 to 3 and whose z is 4 to 6. */
static void parts_without_effect_are_pruned(void **state)
{
  static const double constants[9] = { -0.0047, 5, 2, [6] = 7 };
  static const struct {
    const char *whole, *pruned;
  } cases[] = { { "1xm", "1" },     { "x1m", "1" },         { "xzm", "x" },
                { "zxm", "x" },     { "x2m", "x" },         { "z2m", "z2m" },
                { "x3m", "x3m" },   { "zx1m*z+", "z1*z+" }, { "xzm2zm+", "x2zm+" },
                { "23+x*", "7x*" }, { "2xzmm", "x" },       { "xx1m+", "x1+" } };
  static double table[2 * FT_ROW_BLOCKS_BLOCK];
  struct ft_row_blocks rows = {
    .x = table, .rows = 9, .padded = FT_ROW_BLOCKS_BLOCK, .columns = 2
  };

  (void)state;
  for (int i = 0; i < 9; i++) {
    table[i] = 1 + i % 3;
    table[FT_ROW_BLOCKS_BLOCK + i] = 4 + (double)(i / 3);
  }
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_expression e = expression_of(cases[i].whole, constants);
    struct ft_expression wanted = expression_of(cases[i].pruned, constants);
    bool shorter = strlen(cases[i].pruned) < strlen(cases[i].whole);

    if (ft_expression_tree_prune(&e, &rows) != shorter || e.length != wanted.length ||
        memcmp(e.symbol, wanted.symbol, e.length) != 0 ||
        memcmp(e.variable, wanted.variable, e.length) != 0)
      fail_msg("%s: not %s", cases[i].whole, cases[i].pruned);
    assert_true(ft_expression_valid(&e, 2));
  }
}

/* The value at row R of E's subtree that ends with the node LAST. */
static double side(const struct ft_expression *e, int last, int r)
{
  int first = ft_expression_start(e, last);
  struct ft_expression part = { .length = (uint8_t)(last + 1 - first), .slope = 1 };

  memcpy(part.symbol, e->symbol + first, part.length);
  memcpy(part.variable, e->variable + first, part.length);
  memcpy(part.constant, e->constant + first, part.length * sizeof *part.constant);
  memcpy(part.scale, e->scale + first, part.length * sizeof *part.scale);
  return ft_expression_evaluate(&part, &x[2 * r]);
}

static void both_operands_of_a_minimum_have_an_effect(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;
  int minima = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    make_data(0.05, seed);
    ft_symbolic_defaults(&settings);
    settings.primitives |= 1u << FT_SYMBOL_MINIMUM;
    settings.generations = 40;
    settings.seed = seed;
    assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
    for (unsigned i = 0; i < result.count; i++)
      for (int node = 0; node < result.front[i].expression.length; node++) {
        const struct ft_expression *e = &result.front[i].expression;
        int left = 0, right = 0;

        if (e->symbol[node] != FT_SYMBOL_MINIMUM)
          continue;
        minima++;
        for (int r = 0; r < ROWS; r++) {
          double a = side(e, ft_expression_start(e, node - 1) - 1, r), b = side(e, node - 1, r);

          left += a < b;
          right += b < a;
        }
        if (!left || !right)
          fail_msg("seed %u, length %u: one side never acts", (unsigned)seed, e->length);
      }
  }
  assert_true(minima > 10);
}

static void an_intercept_is_added_if_the_rows_support_one(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  for (uint64_t seed = 1; seed <= 4; seed++) {
    for (int wanted = 0; wanted < 2; wanted++) {
      const struct ft_symbolic_point *p;

      make_data(0.01, seed);
      for (int i = 0; !wanted && i < ROWS; i++)
        y[i] *= 812 * x[2 * i] * x[2 * i + 1] /
                (4e8 + 812 * pow(x[2 * i], 3) * x[2 * i + 1] +
                 3e4 * x[2 * i] * x[2 * i] * x[2 * i + 1]);
      ft_symbolic_defaults(&settings);
      settings.seed = seed;
      assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
      p = &result.front[result.chosen];
      if ((p->expression.intercept != 0) != wanted)
        fail_msg("seed %d: the intercept is %g", (int)seed, p->expression.intercept);
      assert_true(p->mape < 0.012);
    }
  }
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
  settings.primitives =
      (1u << FT_SYMBOLS) - 1 - (1u << FT_SYMBOL_CONSTANT) - (1u << FT_SYMBOL_VARIABLE);
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

/* With a constant alone, slope and intercept are one parameter: two that cancel would fit only
 * rounding errors. */
static void reported_errors_are_those_of_the_equations(void **state)
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

/* A number of threads above the number of blocks adds nothing. */
static void a_minimum_is_found_if_it_is_enabled(void **state)
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

static bool reads_minimum(const struct ft_expression *e)
{
  for (int i = 0; i < e->length; i++)
    if (e->symbol[i] == FT_SYMBOL_MINIMUM)
      return true;
  return false;
}

/* No feature shows whether the app uses threads; the rows decide. */
static void more_primitives_are_used_if_the_rows_support_them(void **state)
{
  static const struct {
    bool minimum;
    double noise;
  } cases[] = { { true, 0 }, { true, 0.01 }, { false, 0 }, { false, 0.01 }, { false, 0.1 } };
  struct ft_symbolic_settings settings;
  struct ft_random random;
  struct ft_error err;

  (void)state;
  for (size_t k = 0; k < COUNT_OF(cases); k++) {
    make_data(cases[k].noise, 2);
    ft_random_seed(&random, 2);
    for (int i = 0; i < ROWS && cases[k].minimum; i++)
      y[i] = (20 + 8 * fmin(2 * x[2 * i + 1], x[2 * i] / 8)) *
             (1 + cases[k].noise * ft_random_normal(&random));
    ft_symbolic_defaults(&settings);
    assert_int_equal(
        ft_symbolic_fit_more(x, y, ROWS, 2, &settings, 1u << FT_SYMBOL_MINIMUM, &result, &err), 0);
    if (reads_minimum(&result.front[result.chosen].expression) != cases[k].minimum)
      fail_msg("case %zu", k);
    assert_false(result.cancelled);
  }
}

static bool stop_at_three(void *data, unsigned generation, double best)
{
  (void)best;
  *(unsigned *)data = generation;
  return generation < 3;
}

static bool never(void *data, unsigned generation, double best)
{
  (void)best;
  *(unsigned *)data = generation + 1;
  return false;
}

static void a_large_population_is_cancelled_promptly(void **state)
{
  struct ft_symbolic_settings settings;
  unsigned told = 0;
  struct ft_error err;

  (void)state;
  make_data(0.02, 1);
  ft_symbolic_defaults(&settings);
  settings.population = FT_SYMBOLIC_POPULATION;
  settings.progress = never;
  settings.data = &told;
  assert_int_equal(ft_symbolic_fit(x, y, ROWS, 2, &settings, &result, &err), 0);
  assert_int_equal(told, 1);
  assert_true(result.cancelled && result.count > 0);
}

/* In the second search; the first one has its result. */
static bool stop_at_two_hundred(void *data, unsigned generation, double best)
{
  (void)best;
  *(unsigned *)data = generation;
  return generation < 200;
}

static void the_extended_search_can_be_cancelled(void **state)
{
  struct ft_symbolic_settings settings;
  unsigned generations = 0;
  struct ft_error err;

  (void)state;
  make_data(0, 1);
  for (int i = 0; i < ROWS; i++)
    y[i] = 20 + 8 * fmin(2 * x[2 * i + 1], x[2 * i] / 8);
  ft_symbolic_defaults(&settings);
  settings.progress = stop_at_two_hundred;
  settings.data = &generations;
  assert_int_equal(
      ft_symbolic_fit_more(x, y, ROWS, 2, &settings, 1u << FT_SYMBOL_MINIMUM, &result, &err), 0);
  assert_int_equal(generations, 200);
  assert_true(result.cancelled);
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

static void data_that_cannot_be_fitted_is_an_error(void **state)
{
  struct ft_symbolic_settings settings;
  struct ft_error err;

  (void)state;
  make_data(0, 1);
  ft_symbolic_defaults(&settings);
  assert_int_equal(ft_symbolic_fit(x, y, 1, 2, &settings, &result, &err), -1);
  assert_int_equal(
      ft_symbolic_fit(x, y, ROWS, FT_EXPRESSION_VARIABLES + 1, &settings, &result, &err), -1);
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

static void hostile_bytecode_is_rejected(void **state)
{
  static const struct {
    uint8_t length;
    uint8_t symbol[4];
  } cases[] = { { 0, { 0 } },
                { 1, { FT_SYMBOL_ADD } },
                { 2, { FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT } },
                { 1, { FT_SYMBOLS } },
                { 1, { 255 } },
                { 4, { FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT, FT_SYMBOL_CONSTANT, FT_SYMBOLS } },
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
  /* fewer rows than coefficients, and dependent columns: the shortest solution */
  assert_int_equal(ft_linear_fit(design, target, weight, 2, 2, c, &err), 0);
  assert_true(isfinite(c[0]) && isfinite(c[1]) && isfinite(c[2]));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_known_equation_is_recovered),
    cmocka_unit_test(known_functions_are_recovered),
    cmocka_unit_test(of_many_rows_some_are_used),
    cmocka_unit_test(equations_print_as_text_latex_and_code),
    cmocka_unit_test(a_divisor_keeps_its_brackets),
    cmocka_unit_test(a_part_without_variables_prints_as_a_number),
    cmocka_unit_test(latex_is_valid_tex),
    cmocka_unit_test(noise_gives_no_equation),
    cmocka_unit_test(validation_does_not_use_held_out_rows),
    cmocka_unit_test(few_rows_choose_no_long_equation),
    cmocka_unit_test(parts_without_effect_are_pruned),
    cmocka_unit_test(both_operands_of_a_minimum_have_an_effect),
    cmocka_unit_test(an_intercept_is_added_if_the_rows_support_one),
    cmocka_unit_test(the_same_seed_gives_the_same_equation),
    cmocka_unit_test(the_front_falls_and_every_point_is_valid),
    cmocka_unit_test(reported_errors_are_those_of_the_equations),
    cmocka_unit_test(a_minimum_is_found_if_it_is_enabled),
    cmocka_unit_test(more_primitives_are_used_if_the_rows_support_them),
    cmocka_unit_test(a_search_can_be_cancelled),
    cmocka_unit_test(a_large_population_is_cancelled_promptly),
    cmocka_unit_test(the_extended_search_can_be_cancelled),
    cmocka_unit_test(data_that_cannot_be_fitted_is_an_error),
    cmocka_unit_test(hostile_bytecode_is_rejected),
    cmocka_unit_test(linear_coefficients_are_recovered)
  };

  return cmocka_run_group_tests_name("symbolic", tests, NULL, NULL);
}
