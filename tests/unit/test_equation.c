/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/random.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/point_prediction.h"

/* 1e9 + 2e6 * (batch / 4) * (edge / 32)^3 + 5e8 where arch is the second category */
static const struct ft_expression code = {
  .length = 9,
  .symbol = { FT_SYMBOL_VARIABLE, FT_SYMBOL_CUBE, FT_SYMBOL_VARIABLE, FT_SYMBOL_MULTIPLY,
              FT_SYMBOL_VARIABLE, FT_SYMBOL_CONSTANT, FT_SYMBOL_MULTIPLY, FT_SYMBOL_ADD,
              FT_SYMBOL_SQUARE },
  .variable = { 2, 0, 5, 0, 7 },
  .constant = { [5] = 250 },
  .intercept = 1e9,
  .slope = 2e6,
  .scale = { 32, [2] = 4, [4] = 1 }
};
static const struct ft_variable variables[8] = {
  [2] = { .column = 3 }, [5] = { .column = 1 }, [7] = { .column = 0, .level = 2 }
};

static ft_equation packed(void)
{
  ft_equation q = { 0 };
  struct ft_law law;

  assert_true(ft_law_make(&code, variables, &law));
  ft_equation_pack(&law, &q);
  return q;
}

static double bytes_at(const ft_equation *q, const float *x, size_t count)
{
  struct ft_law law;

  assert_true(ft_equation_open(q, &law));
  return exp(ft_law_log(&law, x, count));
}

static void a_packed_equation_evaluates_equally(void **state)
{
  ft_equation q = packed();
  const float x[] = { 1, 16, NAN, 64 }, other[] = { 0, 16, 5, 64 }, unseen[] = { -1, 16, 5, 64 };

  (void)state;
  assert_int_equal(q.columns_count, 3);
  assert_int_equal(q.code.size, 9);
  assert_near(bytes_at(&q, x, 4), 1e9 + 2e6 * (4 * 8 + 250.0) * (4 * 8 + 250.0), 1e-12);
  assert_near(bytes_at(&q, other, 4), 1e9 + 2e6 * 32 * 32, 1e-12);
  assert_near(bytes_at(&q, unseen, 4), 1e9 + 2e6 * 32 * 32, 1e-12);
}

static void a_missing_feature_gives_no_value(void **state)
{
  ft_equation q = packed();
  struct ft_law law;
  const float x[] = { 1, NAN, 3, 64 }, huge[] = { 1, 16, 0, 1e20F };

  (void)state;
  assert_true(ft_equation_open(&q, &law));
  assert_true(isnan(ft_law_log(&law, x, 4)));
  assert_true(isnan(ft_law_log(&law, x, 1)));
  assert_true(isnan(ft_law_log(&law, NULL, 0)));
  assert_true(isnan(ft_law_log(&law, huge, 4)));
}

static void an_equation_survives_the_model_file(void **state)
{
  ft_model *m = calloc(2, sizeof *m);
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  assert_non_null(m);
  m->schema = FT_SCHEMA;
  m->columns_count = 4;
  m->has_evaluator = m->evaluator.has_equation = true;
  m->evaluator.equation = packed();
  m->evaluator.equation.runs = 40;
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_MODEL, m, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_MODEL, buf.data, buf.length, &m[1], &err), 0);
  assert_memory_equal(&m[0].evaluator.equation, &m[1].evaluator.equation, sizeof(ft_equation));
  /* a column unknown to the model */
  m->evaluator.equation.columns[1] = 4;
  buf.length = 0;
  assert_int_equal(ft_record_encode(FT_RECORD_MODEL, m, &buf, &err), 0);
  assert_int_equal(ft_record_decode(FT_RECORD_MODEL, buf.data, buf.length, &m[1], &err), -1);
  ft_buf_free(&buf);
  free(m);
}

static void invalid_code_is_never_evaluated(void **state)
{
  struct ft_random random;
  unsigned opened = 0;

  (void)state;
  ft_random_seed(&random, 1);
  for (int i = 0; i < 200000; i++) {
    ft_equation q = packed();
    struct ft_law law;
    const float x[] = { 1, 16, 3, 64 };
    double value;

    for (uint64_t k = ft_random_below(&random, 4); k < 5; k++) {
      uint64_t at = ft_random_below(&random, 10);

      if (at == 9)
        q.code.size = (pb_size_t)ft_random_below(&random, 60);
      else
        q.code.bytes[at] = (uint8_t)ft_random_below(&random, 40);
    }
    if (!ft_equation_open(&q, &law))
      continue;
    opened++;
    value = ft_law_log(&law, x, 4);
    assert_true(isnan(value) || (value >= 0 && value < 40));
  }
  assert_true(opened > 0);
}

static void the_point_prediction_is_the_equations_value(void **state)
{
  ft_evaluator e = { .log_target = true, .intercept = 15, .terms_count = 2, .has_equation = true };
  const float within[] = { 1, 16, NAN, 64 }, missing[] = { 1, NAN, NAN, 64 },
              beyond[] = { 1, 16, NAN, 128 };
  struct ft_point_prediction c;

  (void)state;
  e.equation = packed();
  e.terms[0] = (ft_term){ .column = 3, .low = 16, .high = 64, .scale = 1 };
  e.terms[1] = (ft_term){ .column = 1, .low = 1, .high = 16, .scale = 1 };
  ft_predict_point(&e, within, 4, &c);
  assert_near(c.log, 15, 1e-12);
  e.by_equation = true;
  ft_predict_point(&e, within, 4, &c);
  assert_near(exp(c.log), bytes_at(&e.equation, within, 4), 1e-9);
  assert_false(c.extrapolated);
  assert_true(c.added_variance == 0);
  ft_predict_point(&e, missing, 4, &c);
  assert_near(c.log, 15, 1e-12);
  /* beyond the runs an equation is believed only in what a term uses, too */
  ft_predict_point(&e, beyond, 4, &c);
  assert_near(exp(c.log), bytes_at(&e.equation, within, 4), 1e-9);
  assert_false(c.extrapolated);
  e.terms[0].coefficient = 0.01;
  ft_predict_point(&e, beyond, 4, &c);
  assert_near(exp(c.log), bytes_at(&e.equation, beyond, 4), 1e-9);
  assert_true(c.extrapolated);
  assert_true(c.added_variance > 0.01);
  e.terms[0].coefficient = 0;
  e.equation.code.bytes[0] = 31; /* a later code version: treated as no equation */
  ft_predict_point(&e, within, 4, &c);
  assert_near(c.log, 15, 1e-12);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(a_packed_equation_evaluates_equally),
                                      cmocka_unit_test(a_missing_feature_gives_no_value),
                                      cmocka_unit_test(an_equation_survives_the_model_file),
                                      cmocka_unit_test(invalid_code_is_never_evaluated),
                                      cmocka_unit_test(
                                          the_point_prediction_is_the_equations_value) };

  return cmocka_run_group_tests_name("equation", tests, NULL, NULL);
}
