/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates for a shared app from all users' runs, whatever runs one user adds. */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "predictor/core/units.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/online/pool.h"
#include "predictor/record/state_files.h"

static struct ft_history history;

enum { FORGED = 104, EACH = 12 };

static ft_model pooled, before, told;
static ft_performance performance;
static struct ft_runtimes runtimes;
static uint32_t next_job;
static size_t quantity; /* that is shared: each run has the same of both */

/* A run of UID with BATCH that used BYTES. */
static void learn_run(uint32_t uid, double batch, double bytes, const char *extra)
{
  const uint32_t job = ++next_job;
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = job,
                       .uid = uid,
                       .end_time = job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .runtime_seconds = 10,
                       .platform = "epyc",
                       .has_rss_bytes = true,
                       .rss_bytes = (uint64_t)bytes,
                       .has_gpu_memory_bytes = true,
                       .gpu_memory_bytes = (uint64_t)bytes };
  struct ft_error err = { "" };

  (void)ft_feature_number(o.submission.features, &o.submission.features_count, 4, "batch", batch);
  if (extra)
    (void)ft_feature_number(o.submission.features, &o.submission.features_count, 4, extra, batch);
  o.submission.script_hash = uid;
  if (ft_online_update(&pooled, &history, &o, &err) < 0 ||
      ft_performance_update(&performance, &runtimes, &o, &err) < 0)
    fail_msg("%s", err.text);
}

static double required_bytes(double batch)
{
  return (200 + 3 * batch) * FT_MIB;
}

/* Runs of USERS honest users in turn, which differ by up to 5 %. */
static void fill_pool(unsigned users)
{
  ft_online_init(&pooled, &history, "blast", FT_STATE_POOLED, FT_RULE_RSS);
  ft_performance_init(&performance, &runtimes, "blast", FT_STATE_POOLED);
  next_job = 0;
  for (unsigned i = 0; i < EACH; i++)
    for (unsigned u = 0; u < users; u++) {
      double batch = 8 * (1 + (i * 5 + u * 3) % 8);

      learn_run(1001 + u, batch, required_bytes(batch) * (1 + 0.05 * sin(i * 7.0 + u)), NULL);
    }
}

static int share_model(ft_model *out)
{
  struct ft_error err = { "" };
  int status = ft_pool_shared_model(&pooled, &history, quantity, out, &err);

  if (status < 0)
    fail_msg("%s", err.text);
  return status;
}

static double quantile_of(const ft_model *model, double batch, double probability)
{
  ft_feature feature[1] = { 0 };
  pb_size_t count = 0;
  struct ft_estimate e;
  struct ft_error err = { "" };

  (void)ft_feature_number(feature, &count, 1, "batch", batch);
  if (ft_estimate_memory(model, feature, count, &e, &err) < 0)
    fail_msg("%s", err.text);
  return ft_estimate_quantile(&e, probability);
}

static void many_runs_of_one_user_hardly_move_others_estimates(void **state)
{
  static const struct {
    const char *what;
    double batch, bytes; /* batch 0: the batch of the honest users */
    const char *extra;
    unsigned users;
  } cases[] = {
    { "next to nothing", 0, 3.8 * FT_MIB, NULL, 3 },
    { "a whole node", 0, 100.0 * FT_GIB, NULL, 3 },
    { "a little more", 0, 330.0 * FT_MIB, NULL, 3 },
    { "next to nothing of four", 0, 3.8 * FT_MIB, NULL, 4 },
    { "beyond all that was seen", 1e6, 100.0 * FT_GIB, NULL, 3 },
    { "at the edge", 64, 3.8 * FT_MIB, NULL, 3 },
    { "a feature of its own", 0, 3.8 * FT_MIB, "mine", 3 },
  };

  (void)state;
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    fill_pool(cases[c].users);
    assert_int_equal(share_model(&before), 1);
    for (unsigned i = 0; i < FORGED; i++)
      learn_run(2000, cases[c].batch > 0 ? cases[c].batch : 8 * (1 + i % 8), cases[c].bytes,
                cases[c].extra);
    if (share_model(&told) != 1)
      fail_msg("%s: nothing is told", cases[c].what);
    for (double batch = 8; batch <= 64; batch += 8) {
      assert_in_range(quantile_of(&before, batch, 0.5), required_bytes(batch) * 0.93,
                      required_bytes(batch) * 1.07);
      for (int high = 0; high < 2; high++) {
        double was = quantile_of(&before, batch, high ? 0.95 : 0.5);
        double is = quantile_of(&told, batch, high ? 0.95 : 0.5);

        if (fabs(log(is / was)) > log(1.05))
          fail_msg("%s: batch %g, %s: %.1f MiB were %.1f", cases[c].what, batch,
                   high ? "95 %" : "50 %", is / FT_MIB, was / FT_MIB);
      }
    }
    assert_true(told.completed <= (cases[c].users + 1) * FT_POOL_RUNS);
  }
}

static void each_quantity_is_protected(void **state)
{
  quantity = FT_QUANTITY_GPU_MEMORY;
  many_runs_of_one_user_hardly_move_others_estimates(state);
  assert_int_equal(told.quantity, FT_QUANTITY_GPU_MEMORY);
  quantity = FT_QUANTITY_MEMORY;
}

static void pooled_estimates_need_several_users(void **state)
{
  (void)state;
  fill_pool(2);
  assert_int_equal(share_model(&told), 0);
  assert_false(ft_pool_has_users(&runtimes));
  /* a user whose runs are unique does not count either */
  for (unsigned i = 0; i < FORGED; i++)
    learn_run(2000, 1e6, required_bytes(8), NULL);
  assert_int_equal(share_model(&told), 0);
  fill_pool(3);
  assert_int_equal(share_model(&told), 1);
  assert_true(ft_pool_has_users(&runtimes));
  fill_pool(0);
  for (unsigned i = 0; i < FORGED; i++)
    learn_run(2000, 8, required_bytes(8), NULL);
  assert_int_equal(share_model(&told), 0);
  assert_int_equal(history.count, FT_POOL_RUNS);
  assert_int_equal(runtimes.count, FT_POOL_RUNS);
}

static void pooled_models_contain_no_single_run_or_script(void **state)
{
  (void)state;
  fill_pool(3);
  assert_int_equal(share_model(&told), 1);
  assert_int_equal(told.variant_hashes_count, 0);
  for (size_t i = 0; i < told.evaluator.fact_columns_count; i++)
    assert_string_not_equal(told.columns[told.evaluator.fact_columns[i]].name, "variant");
  for (size_t i = 0; i < told.evaluator.terms_count; i++)
    assert_string_not_equal(told.columns[told.evaluator.terms[i].column].name, "variant");
}

static void a_forged_kill_raises_no_estimate(void **state)
{
  double was;

  (void)state;
  fill_pool(3);
  assert_int_equal(share_model(&before), 1);
  was = quantile_of(&before, 32, 0.95);
  for (unsigned i = 0; i < FORGED; i++) {
    const uint32_t job = ++next_job;
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = job,
                         .uid = 2000,
                         .end_time = job,
                         .outcome = FT_OUTCOME_OUT_OF_MEMORY,
                         .censored = true,
                         .runtime_seconds = 10,
                         .has_limit_bytes = true,
                         .limit_bytes = 100 * FT_GIB,
                         .has_rss_bytes = true,
                         .rss_bytes = 100 * FT_GIB };
    struct ft_error err;

    (void)ft_feature_number(o.submission.features, &o.submission.features_count, 4, "batch", 32);
    assert_true(ft_online_update(&pooled, &history, &o, &err) >= 0);
  }
  assert_int_equal(share_model(&told), 1);
  assert_true(fabs(log(quantile_of(&told, 32, 0.95) / was)) < log(1.05));
  for (size_t i = 0; i < told.evaluator.fact_kinds.size; i++)
    assert_int_equal(told.evaluator.fact_kinds.bytes[i], FT_FACT_COMPLETED);
}

static void a_run_of_another_command_counts_for_its_user_alone(void **state)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .uid = 1001,
                       .end_time = 1,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .runtime_seconds = 10,
                       .platform = "epyc",
                       .has_command_ran = true,
                       .has_rss_bytes = true,
                       .rss_bytes = FT_GIB };
  struct ft_error err;
  ft_model own;
  struct ft_history own_runs;

  (void)state;
  ft_online_init(&own, &own_runs, "blast", 1001, FT_RULE_RSS);
  fill_pool(0);
  assert_int_equal(ft_online_update(&pooled, &history, &o, &err), 0);
  assert_int_equal(ft_performance_update(&performance, &runtimes, &o, &err), 0);
  assert_int_equal(ft_online_update(&own, &own_runs, &o, &err), 1);
  o.command_ran = true;
  assert_int_equal(ft_online_update(&pooled, &history, &o, &err), 1);
  assert_int_equal(ft_performance_update(&performance, &runtimes, &o, &err), 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(many_runs_of_one_user_hardly_move_others_estimates),
    cmocka_unit_test(each_quantity_is_protected),
    cmocka_unit_test(pooled_estimates_need_several_users),
    cmocka_unit_test(pooled_models_contain_no_single_run_or_script),
    cmocka_unit_test(a_forged_kill_raises_no_estimate),
    cmocka_unit_test(a_run_of_another_command_counts_for_its_user_alone),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
