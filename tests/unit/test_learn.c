/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/learn/distribution.h"
#include "predictor/learn/regression/additive.h"
#include "predictor/learn/residual_quantiles.h"

static void normal_quantiles_and_probabilities_are_inverse(void **state)
{
  static const double p[] = { 1e-12, 1e-4, 0.01, 0.3, 0.5, 0.7, 0.925, 0.95, 0.999, 1 - 1e-9 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(p); i++)
    assert_near(ft_normal_probability(ft_normal_quantile(p[i])), p[i], 1e-12);
  assert_near(ft_normal_quantile(0.975), 1.959963984540054, 1e-14);
  assert_true(isfinite(ft_normal_quantile(0)) && isfinite(ft_normal_quantile(1)));
}

/* A published table of Student's t distribution. */
static void student_quantiles_agree_with_the_table(void **state)
{
  static const struct {
    double p;
    unsigned degrees;
    double t;
  } cases[] = { { 0.95, 1, 6.313752 },   { 0.99, 1, 31.820516 },  { 0.975, 2, 4.302653 },
                { 0.95, 3, 2.353363 },   { 0.999, 3, 10.214532 }, { 0.975, 5, 2.570582 },
                { 0.99, 8, 2.896459 },   { 0.95, 30, 1.697261 },  { 0.75, 4, 0.740697 },
                { 0.05, 10, -1.812461 }, { 0.5, 7, 0 },           { 0.9999, 8, 6.442000 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double t = ft_student_quantile(cases[i].p, cases[i].degrees);

    if (fabs(t - cases[i].t) > 2e-4 * fabs(cases[i].t) + 1e-9)
      fail_msg("t(%g, %u) = %.7g, expected %.7g", cases[i].p, cases[i].degrees, t, cases[i].t);
  }
}

static const double levels[] = { 0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.9999 };

static void few_or_equal_residuals_give_no_narrow_spread(void **state)
{
  double zero[200] = { 0 }, out[COUNT_OF(levels)], last = INFINITY;
  static const unsigned count[] = { 0, 1, 2, 3, 5, 10, 40, 200 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(count); i++) {
    double width;

    ft_residual_quantiles(zero, count[i], count[i], 0.04, 0.005, levels, COUNT_OF(levels), out);
    width = out[5] - out[1];
    assert_true(width >= 2 * 1.6448 * 0.005 - 1e-12);
    if (count[i] > 1)
      assert_true(width < last || width < 0.0165);
    last = width;
  }
}

static void quantiles_of_residuals_never_cross(void **state)
{
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 11);
  for (int turn = 0; turn < 2000; turn++) {
    double e[200], out[COUNT_OF(levels)];
    size_t count = ft_random_below(&random, 201);

    for (size_t i = 0; i < count; i++) {
      double step = ft_random_double(&random);

      e[i] = (i ? e[i - 1] : -1) + (turn % 3 ? step * step : step > 0.9 ? 5 : 0);
    }
    ft_residual_quantiles(e, count, (unsigned)ft_random_below(&random, 201), 0.04, 0.005, levels,
                          COUNT_OF(levels), out);
    for (size_t i = 0; i < COUNT_OF(levels); i++)
      assert_true(isfinite(out[i]) && (!i || out[i] >= out[i - 1]));
  }
}

static struct ft_additive fit_of(const struct ft_additive_data *data)
{
  struct ft_additive fit;
  struct ft_additive_work *work = malloc(ft_additive_work_size());

  assert_non_null(work);
  ft_additive_fit(data, work, &fit);
  free(work);
  return fit;
}

static void a_relevant_feature_is_found_among_noise(void **state)
{
  static struct ft_additive_data data = { .runs = 60, .columns = 12 };
  struct ft_random random;
  struct ft_additive fit;

  (void)state;
  ft_random_seed(&random, 3);
  for (size_t i = 0; i < data.runs; i++) {
    for (size_t j = 0; j < data.columns; j++)
      data.x[j][i] = (float)(1 + 9 * ft_random_double(&random));
    data.y[i] = (5 + 3 * (double)data.x[7][i]) * exp(0.02 * ft_random_normal(&random));
  }
  fit = fit_of(&data);
  assert_int_equal(fit.terms, 1);
  assert_int_equal(fit.term[0].column, 7);
  assert_false(fit.log_target);
  assert_near(fit.term[0].coefficient / fit.term[0].scale, 3, 0.05);
}

/* Twelve and more runs of two modes and seven sizes: both features matter together, neither
 * alone. A third column repeats the mode, as an operand that is also an option. */
static void two_jointly_relevant_features_are_found(void **state)
{
  static const double sizes[] = { 1.2, 1.5, 2, 2.5, 3, 3.5, 4.5 };
  static struct ft_additive_data data = { .levels = { 2, 0, 2 } };
  struct ft_random random;
  int missed = 0;

  (void)state;
  for (unsigned seed = 0; seed < 40; seed++) {
    struct ft_additive fit;
    double error = 0;

    ft_random_seed(&random, seed);
    data.runs = 12 + seed % 9;
    data.columns = 2 + seed % 2;
    for (size_t i = 0; i < data.runs; i++) {
      double size = sizes[ft_random_below(&random, 7)];

      data.x[0][i] = data.x[2][i] = (float)ft_random_below(&random, 2);
      data.x[1][i] = (float)(size * 1e6);
      data.y[i] =
          (6 + size * (data.x[0][i] > 0 ? 80 : 40)) * exp(0.003 * ft_random_normal(&random));
    }
    fit = fit_of(&data);
    for (size_t i = 0; i < data.runs; i++)
      error += fabs(fit.residual[i]) / (double)data.runs;
    missed += error > 0.03;
  }
  if (missed > 4)
    fail_msg("%d of 40 are missed", missed);
}

static void noise_alone_gives_no_term(void **state)
{
  static struct ft_additive_data data = { .columns = 24 };
  struct ft_random random;
  int found = 0;

  (void)state;
  ft_random_seed(&random, 5);
  for (int turn = 0; turn < 200; turn++) {
    data.runs = 4 + ft_random_below(&random, turn % 2 ? 60 : 4);
    for (size_t i = 0; i < data.runs; i++) {
      for (size_t j = 0; j < data.columns; j++)
        data.x[j][i] = (float)ft_random_below(&random, 8);
      data.y[i] = exp(0.1 * ft_random_normal(&random));
    }
    for (size_t j = 0; j < data.columns; j++)
      data.levels[j] = j % 3 ? 0 : 8;
    found += fit_of(&data).terms > 0;
  }
  if (found > 10)
    fail_msg("a term in %d of 200 data sets of noise", found);
}

static void one_absurd_value_has_little_influence(void **state)
{
  static struct ft_additive_data data = { .runs = 50, .columns = 1 };
  struct ft_random random;
  struct ft_additive fit;

  (void)state;
  ft_random_seed(&random, 7);
  for (size_t i = 0; i < data.runs; i++) {
    data.x[0][i] = (float)i;
    data.y[i] = (100 + (double)i) * exp(0.02 * ft_random_normal(&random));
  }
  data.y[20] = 1e15;
  fit = fit_of(&data);
  if (fit.log_target)
    assert_near(exp(fit.intercept), 124, 0.05);
  else
    assert_near(fit.intercept, 124, 0.05);
}

static void columns_of_any_shape_give_finite_fits(void **state)
{
  static struct ft_additive_data data;
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 13);
  for (int turn = 0; turn < 300; turn++) {
    struct ft_additive fit;

    memset(&data, 0, sizeof data);
    data.runs = 1 + ft_random_below(&random, FT_ADDITIVE_RUNS);
    data.columns = ft_random_below(&random, FT_ADDITIVE_COLUMNS + 1);
    for (size_t j = 0; j < data.columns; j++) {
      uint64_t kind = ft_random_below(&random, 6);

      data.levels[j] = kind == 0 ? 1 + (unsigned)ft_random_below(&random, 16) : 0;
      for (size_t i = 0; i < data.runs; i++) {
        double u = ft_random_double(&random);

        data.x[j][i] = kind == 0   ? (float)ft_random_below(&random, data.levels[j])
                       : kind == 1 ? (u < 0.7 ? NAN : 1)
                       : kind == 2 ? (u < 0.5 ? -1e30f : 1e30f)
                       : kind == 3 ? (float)i
                       : kind == 4 ? (i == 0 ? 1e30f : 0)
                                   : (float)u;
      }
    }
    for (size_t i = 0; i < data.runs; i++)
      data.y[i] = exp(34 * ft_random_double(&random));
    fit = fit_of(&data);
    assert_true(isfinite(fit.intercept) && fit.terms <= FT_ADDITIVE_TERMS);
    for (size_t t = 0; t < fit.terms; t++)
      assert_true(isfinite(fit.term[t].coefficient) && isfinite(fit.term[t].level_scale));
    for (size_t i = 0; i < data.runs; i++)
      assert_true(isfinite(fit.residual[i]));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(normal_quantiles_and_probabilities_are_inverse),
    cmocka_unit_test(student_quantiles_agree_with_the_table),
    cmocka_unit_test(few_or_equal_residuals_give_no_narrow_spread),
    cmocka_unit_test(quantiles_of_residuals_never_cross),
    cmocka_unit_test(a_relevant_feature_is_found_among_noise),
    cmocka_unit_test(two_jointly_relevant_features_are_found),
    cmocka_unit_test(noise_alone_gives_no_term),
    cmocka_unit_test(one_absurd_value_has_little_influence),
    cmocka_unit_test(columns_of_any_shape_give_finite_fits),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
