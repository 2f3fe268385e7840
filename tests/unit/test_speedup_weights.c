/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights of learners by their held-out residuals. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/learn/relative/speedup_weights.h"

enum { ROWS = 30, MANY_ROWS = 500, FOLDS = 10 };

static double said[FT_LEARNERS][MANY_ROWS], y[MANY_ROWS];
static size_t fold[MANY_ROWS];
static double *const place[FT_LEARNERS] = { said[0],  said[1],  said[2], said[3], said[4],
                                            said[5],  said[6],  said[7], said[8], said[9],
                                            said[10], said[11], said[12] };

/* Y is 0; learner L has residuals of +-MISSED[L] in alternation; NAN: not tried. */
static void weigh(size_t rows, const double *missed, double wild, enum ft_learner_kind who,
                  double *weight, double *error)
{
  struct ft_speedup_table t = { NULL, y, NULL, rows, 1, 1 };
  struct ft_speedup_held_out held = { &t, fold, FOLDS, place, 0 };
  struct ft_error err;

  for (int l = 0; l < FT_LEARNERS; l++)
    held.mask |= isnan(missed[l]) ? 0 : 1u << l;
  for (size_t r = 0; r < rows; r++) {
    fold[r] = r % FOLDS;
    y[r] = 0;
    for (int l = 0; l < FT_LEARNERS; l++)
      said[l][r] = (r + (size_t)l) % 2 ? missed[l] : -missed[l];
  }
  said[who][0] += wild;
  assert_int_equal(ft_speedup_choose_weights(&held, weight, error, &err), 0);
}

static void none(double *missed)
{
  for (int l = 0; l < FT_LEARNERS; l++)
    missed[l] = NAN;
}

static void one_outlier_does_not_choose_the_learner(void **state)
{
  double missed[FT_LEARNERS], weight[FT_LEARNERS], error[FT_LEARNERS];

  (void)state;
  none(missed);
  missed[FT_LEARNER_CONSTANT] = 0.5;
  missed[FT_LEARNER_TREES] = 0.01;
  missed[FT_LEARNER_RIDGE] = 0.3;
  weigh(ROWS, missed, 3, FT_LEARNER_TREES, weight, error);
  assert_true(error[FT_LEARNER_TREES] >
              error[FT_LEARNER_RIDGE]); /* squared errors would decide otherwise */
  assert_true(weight[FT_LEARNER_TREES] > 0.8);
  assert_float_equal(weight[FT_LEARNER_CONSTANT], 0, 0);
}

static void equal_errors_weigh_equally_and_half_the_error_four_times(void **state)
{
  double missed[FT_LEARNERS], weight[FT_LEARNERS], error[FT_LEARNERS];

  (void)state;
  none(missed);
  missed[FT_LEARNER_CONSTANT] = 1;
  missed[FT_LEARNER_RIDGE] = missed[FT_LEARNER_GAUSSIAN_PROCESS] = 0.1;
  missed[FT_LEARNER_RIDGE_TREES] = 0.2;
  weigh(ROWS, missed, 0, FT_LEARNER_RIDGE, weight, error);
  assert_float_equal(weight[FT_LEARNER_RIDGE], 4.0 / 9, 1e-9);
  assert_float_equal(weight[FT_LEARNER_GAUSSIAN_PROCESS], 4.0 / 9, 1e-9);
  assert_float_equal(weight[FT_LEARNER_RIDGE_TREES], 1.0 / 9, 1e-9);
}

/* Rows that only forests predict, and rows that only linear learners predict. */
static void the_set_with_least_error_on_other_folds_is_chosen(void **state)
{
  double missed[FT_LEARNERS], weight[FT_LEARNERS], error[FT_LEARNERS];

  (void)state;
  for (int forests = 0; forests < 2; forests++) {
    none(missed);
    missed[FT_LEARNER_CONSTANT] = 1;
    missed[FT_LEARNER_TREES] = missed[FT_LEARNER_BOOSTING] = forests ? 0.1 : 0.4;
    missed[FT_LEARNER_RIDGE] = forests ? 0.4 : 0.1;
    weigh(ROWS, missed, 0, FT_LEARNER_RIDGE, weight, error);
    assert_int_equal(weight[FT_LEARNER_RIDGE] > 0.5, !forests);
  }
}

static void a_slow_learner_counts_only_where_it_is_the_best(void **state)
{
  double missed[FT_LEARNERS], weight[FT_LEARNERS], error[FT_LEARNERS];

  (void)state;
  for (int best = 0; best < 2; best++) {
    none(missed);
    missed[FT_LEARNER_CONSTANT] = 1;
    missed[FT_LEARNER_RIDGE] = 0.2;
    missed[FT_LEARNER_AUTOENCODER] = best ? 0.19 : 0.21;
    weigh(ROWS, missed, 0, FT_LEARNER_RIDGE, weight, error);
    assert_int_equal(weight[FT_LEARNER_AUTOENCODER] > 0, best);
  }
}

/* Two learners with opposite residuals, one three times the other: with many rows the mixture
 * cancels them. */
static void many_rows_determine_the_weights(void **state)
{
  double missed[FT_LEARNERS], weight[FT_LEARNERS], error[FT_LEARNERS], sum = 0;

  (void)state;
  none(missed);
  missed[FT_LEARNER_CONSTANT] = 2;
  missed[FT_LEARNER_TREES] = 0.3;
  missed[FT_LEARNER_RIDGE] = 0.1;
  assert_true((FT_LEARNER_TREES + FT_LEARNER_RIDGE) % 2);
  weigh(MANY_ROWS, missed, 0, FT_LEARNER_RIDGE, weight, error);
  assert_float_equal(weight[FT_LEARNER_RIDGE], 0.75, 0.051);
  for (int l = 0; l < FT_LEARNERS; l++)
    sum += weight[l];
  assert_float_equal(sum, 1, 1e-9);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(one_outlier_does_not_choose_the_learner),
    cmocka_unit_test(equal_errors_weigh_equally_and_half_the_error_four_times),
    cmocka_unit_test(the_set_with_least_error_on_other_folds_is_chosen),
    cmocka_unit_test(a_slow_learner_counts_only_where_it_is_the_best),
    cmocka_unit_test(many_rows_determine_the_weights),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
