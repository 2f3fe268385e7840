/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/estimate/allocation.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/learn/series/law_search.h"
#include "predictor/online/equation_search.h"
#include "predictor/online/online.h"
#include "tests/unit/simulate.h"

static struct ft_history history, again_runs, found_runs;

static ft_model model, found, again;

/* Peak of a 3D network: batch times the cube of the edge, which no sum of features represents. */
static void teach(ft_model *m, struct ft_random *random, unsigned from, unsigned to, double factor)
{
  static const double edges[] = { 16, 32, 48, 64, 96, 128 };

  for (unsigned i = from; i < to; i++) {
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = i + 1,
                         .end_time = i + 1.0,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true };
    double edge = edges[ft_random_below(random, 6)];
    double batch = 1 + (double)ft_random_below(random, 16);

    feature(&o, "edge", edge);
    feature(&o, "batch", batch);
    category(&o, "optimizer", ft_random_below(random, 2) ? "adam" : "sgd");
    o.rss_bytes = (uint64_t)(factor * (4e8 + 812 * edge * edge * edge * batch) *
                             (1 + 0.02 * ft_random_normal(random)));
    assert_int_equal(ft_online_update(m, &history, &o, NULL), 1);
  }
}

static void make_history(unsigned runs, struct ft_random *random)
{
  ft_random_seed(random, 5);
  ft_online_init(&model, &history, "unet3d", 1000, FT_RULE_RSS);
  teach(&model, random, 0, runs, 1);
}

static void an_equation_is_found_and_used(void **state)
{
  ft_observation o = { 0 };
  struct ft_estimate before, after;
  struct ft_random random;
  struct ft_error err;
  double truth = 4e8 + 812.0 * 128 * 128 * 128 * 16;

  (void)state;
  make_history(60, &random);
  feature(&o, "edge", 128);
  feature(&o, "batch", 16);
  assert_true(ft_equation_search_due(&model, &history));
  assert_int_equal(
      ft_estimate_memory(&model, o.submission.features, o.submission.features_count, &before, &err),
      0);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(found.evaluator.equation.error < 0.03);
  assert_int_equal(found.evaluator.equation.runs, 60);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  assert_false(ft_equation_search_due(&model, &history));
  assert_true(model.evaluator.by_equation);
  assert_int_equal(
      ft_estimate_memory(&model, o.submission.features, o.submission.features_count, &after, &err),
      0);
  assert_string_equal(after.method, "equation");
  assert_near(ft_estimate_quantile(&after, 0.5), truth, 0.05);
  /* narrower than before, and still above the peak */
  assert_true(ft_estimate_quantile(&after, 0.95) > truth * 0.99);
  assert_true(ft_estimate_quantile(&after, 0.95) / ft_estimate_quantile(&after, 0.05) <
              ft_estimate_quantile(&before, 0.95) / ft_estimate_quantile(&before, 0.05));
}

/* What the runs showed does not depend on when an equation is found. */
static void an_equation_keeps_the_facts(void **state)
{
  const ft_evaluator *e = &model.evaluator;
  ft_observation o = { 0 };
  struct ft_random random;
  struct ft_error err;
  struct ft_facts facts;
  float x[sizeof model.columns / sizeof *model.columns];

  (void)state;
  make_history(60, &random);
  model.evaluator.limit_effect = FT_LIMIT_FOLLOWED;
  model.evaluator.completed_limit_bytes = 0x1p30F;
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  assert_true(e->fact_values_count > 0 && e->fact_columns_count > 0);
  assert_int_equal(e->limit_effect, FT_LIMIT_FOLLOWED);
  assert_true(e->completed_limit_bytes == 0x1p30F);
  feature(&o, "edge", 128);
  feature(&o, "batch", 16);
  ft_columns_fill(model.columns, model.columns_count, o.submission.features,
                  o.submission.features_count, x);
  ft_facts_collect(&model, x, model.columns_count, &facts);
  assert_true(facts.comparable_completed > 0);
  assert_near(facts.peak_value, e->max_value, 0.001);
}

/* A number of threads above the number of blocks adds nothing, as in xz. */
static void a_minimum_of_threads_and_blocks_is_found(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  ft_random_seed(&random, 5);
  ft_online_init(&model, &history, "xz", 1000, FT_RULE_RSS);
  for (unsigned i = 0; i < 60; i++) {
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = i + 1,
                         .end_time = i + 1.0,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true };
    double blocks = 1 + (double)ft_random_below(&random, 20);
    double threads = 1 + (double)ft_random_below(&random, 16);

    feature(&o, "blocks", blocks);
    feature(&o, "threads", threads);
    o.rss_bytes =
        (uint64_t)((2e7 + 7e7 * fmin(blocks, threads)) * (1 + 0.01 * ft_random_normal(&random)));
    assert_int_equal(ft_online_update(&model, &history, &o, NULL), 1);
  }
  assert_true(ft_equation_search_due(&model, &history));
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(found.evaluator.equation.error < 0.02);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  assert_true(model.evaluator.by_equation);
}

/* After a kill above the equation's value, the estimate and the next request are above the kill. */
static void no_equation_goes_below_the_latest_censored_peak(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  make_history(60, &random);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  for (unsigned turn = 0; turn < 1000; turn++) {
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = 1000,
                         .end_time = 1000,
                         .runtime_seconds = 60,
                         .outcome = FT_OUTCOME_OUT_OF_MEMORY,
                         .censored = true,
                         .has_rss_bytes = true };
    double edge = 8 * (double)(2 + ft_random_below(&random, 20)), bytes;
    double batch = 1 + (double)ft_random_below(&random, 24);
    double price = pow(10, (double)ft_random_below(&random, 4) - 1);
    struct ft_estimate estimate;

    feature(&o, "edge", edge);
    feature(&o, "batch", batch);
    category(&o, "optimizer", "adam");
    o.rss_bytes = (uint64_t)((4e8 + 812 * edge * edge * edge * batch) *
                             (0.5 + 4 * ft_random_double(&random)));
    again = model;
    again_runs = history;
    assert_int_equal(ft_online_update(&again, &again_runs, &o, NULL), 1);
    if (ft_allocate_memory(&again, o.submission.features, o.submission.features_count, 0, price,
                           &estimate, &bytes, &err) < 0)
      fail_msg("%s", err.text);
    if (!(bytes > (double)o.rss_bytes))
      fail_msg("turn %u: killed at %g, price %g: %g", turn, (double)o.rss_bytes, price, bytes);
    if (!(ft_estimate_quantile(&estimate, 0.95) > (double)o.rss_bytes))
      fail_msg("turn %u: killed at %g, estimate %g", turn, (double)o.rss_bytes,
               ft_estimate_quantile(&estimate, 0.95));
  }
}

static void the_same_runs_give_the_same_equation(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  make_history(30, &random);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &again, &again_runs, &err), 0);
  assert_memory_equal(&found, &again, sizeof found);
}

static void runs_during_the_search_are_kept_and_scored(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  make_history(40, &random);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  teach(&model, &random, 40, 50, 1);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  assert_int_equal(history.count, 50);
  for (size_t i = 0; i < 50; i++)
    assert_near((double)history.run[i].equation_log, log(history.run[i].bytes), 0.02);
  /* the next run is scored before the model learns it */
  teach(&model, &random, 50, 51, 1);
  assert_true(history.run[50].equation_log > 0);
}

static void an_equation_of_another_model_is_discarded(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  make_history(40, &random);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  again = model;
  again_runs = history;
  strcpy(again.app, "other");
  assert_false(ft_equation_search_adopt(&again, &again_runs, &found, &found_runs));
  again = model;
  again_runs = history;
  again.rule = FT_RULE_PSS;
  assert_false(ft_equation_search_adopt(&again, &again_runs, &found, &found_runs));
  again = model;
  again_runs = history;
  for (size_t i = 0; i < 25; i++)
    again_runs.run[i].key++;
  assert_false(ft_equation_search_adopt(&again, &again_runs, &found, &found_runs));
  again = model;
  again_runs = history;
  strcpy(again.columns[0].name, "depth");
  strcpy(again.columns[1].name, "width");
  assert_false(ft_equation_search_adopt(&again, &again_runs, &found, &found_runs));
  again = model;
  again_runs = history;
  again_runs.count = 0;
  assert_false(ft_equation_search_adopt(&again, &again_runs, &found, &found_runs));
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
}

static bool three(void *data)
{
  return ++*(int *)data < 3;
}

static void a_search_starts_when_it_may_help(void **state)
{
  struct ft_random random;
  struct ft_error err;
  int asked = 0;

  (void)state;
  make_history(19, &random);
  assert_false(ft_equation_search_due(&model, &history));
  teach(&model, &random, 19, 20, 1);
  assert_true(ft_equation_search_due(&model, &history));
  assert_int_equal(ft_equation_search(&model, &history, three, &asked, &found, &found_runs, &err),
                   -1);
  assert_int_equal(asked, 3);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  teach(&model, &random, 20, 29, 1);
  assert_false(ft_equation_search_due(&model, &history));
  teach(&model, &random, 29, 30, 1);
  assert_true(ft_equation_search_due(&model, &history));
  /* its predictions are wrong: sooner */
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), 0);
  assert_true(ft_equation_search_adopt(&model, &history, &found, &found_runs));
  /* in alternation; a change of all runs would be another app */
  for (unsigned i = 30; i < 37; i++)
    teach(&model, &random, i, i + 1, i % 3 ? 3 : 1);
  assert_false(ft_equation_search_due(&model, &history));
  teach(&model, &random, 37, 38, 3);
  assert_true(ft_equation_search_due(&model, &history));
}

static void an_app_without_numbers_has_none(void **state)
{
  struct ft_random random;
  struct ft_error err;

  (void)state;
  ft_random_seed(&random, 1);
  ft_online_init(&model, &history, "constant", 1000, FT_RULE_RSS);
  for (unsigned i = 0; i < 40; i++) {
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = i + 1,
                         .end_time = i + 1.0,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true };

    feature(&o, "nodes", 1);
    category(&o, "arch", i % 2 ? "a" : "b");
    o.rss_bytes = (uint64_t)(GIB * exp(0.1 * ft_random_normal(&random)));
    assert_int_equal(ft_online_update(&model, &history, &o, NULL), 1);
  }
  assert_false(ft_equation_search_due(&model, &history));
  make_history(0, &random);
  assert_int_equal(ft_equation_search(&model, &history, NULL, NULL, &found, &found_runs, &err), -1);
}

/* The search knows no memory: joules of a step, of which some runs give only a bound. */
static void a_law_is_found_in_a_series_of_any_number(void **state)
{
  struct ft_series *series = calloc(1, sizeof *series);
  struct ft_law_found *law = calloc(1, sizeof *law);
  struct ft_random random;
  struct ft_error err;

  (void)state;
  ft_random_seed(&random, 3);
  series->columns = 3;
  series->levels[2] = 2; /* a category of no effect */
  series->runs = 40;
  for (size_t i = 0; i < series->runs; i++) {
    struct ft_series_run *run = &series->run[i];
    double side = 16 * (1 + ft_random_below(&random, 8)), batch = 1 + ft_random_below(&random, 16);

    run->x[0] = (float)side;
    run->x[1] = (float)batch;
    run->x[2] = (float)(i % 2);
    run->censored = i % 9 == 4;
    run->value = (20 + 0.003 * side * side * batch) / (run->censored ? 3 : 1);
  }
  assert_true(ft_law_search_possible(series));
  assert_int_equal(ft_law_search_runs(series), 36);
  assert_int_equal(ft_law_search(series, 1, NULL, NULL, law, &err), 0);
  assert_int_equal(law->runs, 36);
  assert_true(law->law.code.length && law->error < 0.01);
  for (size_t i = 0; i < series->runs; i++) {
    const struct ft_series_run *run = &series->run[i];

    if (run->censored)
      assert_true(law->predicted_log[i] == 0);
    else
      assert_near(exp((double)law->predicted_log[i]), run->value, 0.05);
  }
  series->runs = 4;
  assert_int_equal(ft_law_search(series, 1, NULL, NULL, law, &err), -1);
  free(series);
  free(law);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(an_equation_is_found_and_used),
                                      cmocka_unit_test(an_equation_keeps_the_facts),
                                      cmocka_unit_test(a_minimum_of_threads_and_blocks_is_found),
                                      cmocka_unit_test(
                                          no_equation_goes_below_the_latest_censored_peak),
                                      cmocka_unit_test(the_same_runs_give_the_same_equation),
                                      cmocka_unit_test(runs_during_the_search_are_kept_and_scored),
                                      cmocka_unit_test(an_equation_of_another_model_is_discarded),
                                      cmocka_unit_test(a_search_starts_when_it_may_help),
                                      cmocka_unit_test(an_app_without_numbers_has_none),
                                      cmocka_unit_test(a_law_is_found_in_a_series_of_any_number) };

  return cmocka_run_group_tests_name("discover", tests, NULL, NULL);
}
