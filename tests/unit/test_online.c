/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/text.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/memory.h"
#include "predictor/learn/regression/term_form.h"
#include "predictor/online/online.h"
#include "predictor/record/model_file.h"
#include "tests/unit/simulate.h"

static struct ft_history history, decoded;

static bool memory_is_out;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *__wrap_malloc(size_t size)
{
  return memory_is_out ? NULL : __real_malloc(size);
}

static ft_model model;

static ft_observation observation_of(unsigned turn, double bytes)
{
  return (ft_observation){ .schema = 1,
                           .job_id = turn + 1,
                           .submit_time = turn,
                           .end_time = turn + 1.0,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_rss_bytes = true,
                           .rss_bytes = (uint64_t)bytes };
}

static void learn(ft_observation *o)
{
  struct ft_error err = { "" };

  if (ft_online_update(&model, &history, o, &err) != 1)
    fail_msg("not learned: %s", err.text);
}

static void complete(unsigned turn, double bytes)
{
  ft_observation o = observation_of(turn, bytes);

  learn(&o);
}

static void die(unsigned turn, double bytes, ft_outcome outcome)
{
  ft_observation o = observation_of(turn, bytes);

  o.censored = true;
  o.outcome = outcome;
  learn(&o);
}

static struct ft_estimate estimate_for(const ft_observation *o)
{
  struct ft_estimate estimate;
  struct ft_error err;

  if (ft_estimate_memory(&model, o ? o->submission.features : NULL,
                         o ? o->submission.features_count : 0, &estimate, &err) < 0)
    fail_msg("%s", err.text);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    if (!(estimate.quantile[i] > 0) || !isfinite(estimate.quantile[i]) ||
        (i && estimate.quantile[i] < estimate.quantile[i - 1]))
      fail_msg("quantile %d is %g", i, estimate.quantile[i]);
  return estimate;
}

static int start(void **state)
{
  (void)state;
  memory_is_out = false;
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
  return 0;
}

/* ---- calibration ---- */

/* Shares of 90 % intervals that contain the peak, from the 11th and from the 31st run, over
 * seeds. */
struct tally {
  double early, early_count, late, late_count, error, error_count;
};

static void play(const struct app *app, uint64_t seed, struct tally *t)
{
  struct ft_random random;

  ft_random_seed(&random, seed);
  ft_online_init(&model, &history, app->name, 1000, FT_RULE_RSS);
  for (unsigned turn = 0; turn < 200; turn++) {
    ft_observation o = observation_of(turn, 1);
    double need = app->run(&random, turn, &o);

    o.rss_bytes = (uint64_t)need;
    if (turn >= 10) {
      struct ft_estimate e = estimate_for(&o);
      bool within =
          need >= ft_estimate_quantile(&e, 0.05) && need <= ft_estimate_quantile(&e, 0.95);

      *(turn < 30 ? &t->early : &t->late) += within;
      *(turn < 30 ? &t->early_count : &t->late_count) += 1;
      if (turn >= 50) {
        t->error += fabs(log(need / ft_estimate_quantile(&e, 0.5)));
        t->error_count++;
      }
    }
    learn(&o);
  }
}

static void intervals_have_their_coverage(void **state)
{
  static const struct app apps[] = {
    { "constant", run_constant, 0.85, 0.95, 0.04 },     { "linear", run_linear, 0.85, 0.95, 0.04 },
    { "power", run_power, 0.85, 0.95, 0.075 },          { "heavy", run_heavy, 0.85, 0.95, 0.35 },
    { "categories", run_categories, 0.85, 0.95, 0.05 }, { "drift", run_drift, 0.80, 0.95, 0.05 }
  };

  (void)state;
  for (size_t a = 0; a < COUNT_OF(apps); a++) {
    struct tally t = { 0 };
    double early, late, error;

    for (uint64_t seed = 1; seed <= 12; seed++)
      play(&apps[a], 100 * a + seed, &t);
    early = t.early / t.early_count;
    late = t.late / t.late_count;
    error = t.error / t.error_count;
    print_message(
        "# %-10s 90 %% interval holds %.1f %% (runs 11-30), %.1f %% (31-200); error %.3f\n",
        apps[a].name, 100 * early, 100 * late, error);
    if (early < apps[a].least || early > apps[a].most || late < 0.85 || late > 0.95)
      fail_msg("%s: coverage %.3f, %.3f", apps[a].name, early, late);
    if (error > apps[a].error)
      fail_msg("%s: error %.3f", apps[a].name, error);
  }
}

/* Random limits kill a third of the runs; only the test knows their full requirements. */
static void many_killed_runs_do_not_pull_the_estimate_down(void **state)
{
  struct ft_random random;
  double sum = 0, above = 0, count = 0;

  (void)state;
  for (uint64_t seed = 1; seed <= 8; seed++) {
    ft_random_seed(&random, seed);
    (void)start(NULL);
    for (unsigned turn = 0; turn < 120; turn++) {
      double need = 4 * GIB * exp(0.2 * ft_random_normal(&random));
      double limit = 4 * GIB * exp(0.1 + 0.25 * ft_random_normal(&random));

      if (turn >= 20) {
        struct ft_estimate e = estimate_for(NULL);

        sum += log(ft_estimate_quantile(&e, 0.5) / (4 * GIB));
        above += need > ft_estimate_quantile(&e, 0.95);
        count++;
      }
      if (need > limit)
        die(turn, limit, FT_OUTCOME_OUT_OF_MEMORY);
      else
        complete(turn, need);
    }
  }
  print_message("# a third killed: median off by %+.3f, %.1f %% above the 95 %% quantile\n",
                sum / count, 100 * above / count);
  assert_true(sum / count > -0.05 && sum / count < 0.25);
  assert_true(above / count < 0.07);
}

/* ---- censored peaks ---- */

static void after_a_kill_the_next_request_is_clearly_larger(void **state)
{
  static const unsigned completed[] = { 0, 1, 2, 3, 5, 10, 50, 200 };
  static const double kill[] = { 1.05, 1.5, 4 };

  (void)state;
  for (size_t c = 0; c < COUNT_OF(completed); c++)
    for (size_t k = 0; k < COUNT_OF(kill); k++) {
      unsigned turn = 0;
      double bytes = 100 * 0x1p20;
      struct ft_estimate e;

      (void)start(NULL);
      for (; turn < completed[c]; turn++)
        complete(turn, bytes * (1 + 0.01 * (turn % 3)));
      die(turn, bytes * kill[k], FT_OUTCOME_OUT_OF_MEMORY);
      e = estimate_for(NULL);
      assert_near(e.bound_value, bytes * kill[k], 0.01);
      if (ft_estimate_quantile(&e, 0.99) < 1.3 * bytes * kill[k] ||
          ft_estimate_quantile(&e, 0.95) < 1.1 * bytes * kill[k])
        fail_msg("%u completed, died at %g: 99 %% below %g", completed[c], bytes * kill[k],
                 ft_estimate_quantile(&e, 0.99));
    }
}

static void a_run_killed_by_its_limit_is_a_lower_bound(void **state)
{
  static const struct {
    ft_outcome outcome;
    ft_rule rule;
    double peak, limit, killed_at, bound; /* MiB; bound: the expected lower bound */
  } cases[] = {
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_RSS, 3, 60, 0, 60 },
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_UNKNOWN, 3, 60, 0, 60 },
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_RSS, 62, 60, 0, 62 },
    /* a step of the job had less, and its limit killed */
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_RSS, 3, 600, 50, 50 },
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_RSS, 70, 600, 50, 70 },
    /* another accounting rule may count more or less */
    { FT_OUTCOME_OUT_OF_MEMORY, FT_RULE_CGROUP, 3, 60, 60, 3 },
    /* no evidence that the limit caused the kill */
    { FT_OUTCOME_CANCELLED, FT_RULE_RSS, 3, 60, 0, 0 },
    { FT_OUTCOME_TIMEOUT, FT_RULE_RSS, 3, 60, 0, 0 },
    { FT_OUTCOME_UNKNOWN, FT_RULE_RSS, 3, 60, 0, 0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation o = observation_of(0, cases[i].peak * 0x1p20);
    struct ft_estimate e = { 0 };
    struct ft_error err;
    double bound;

    (void)start(NULL);
    o.censored = true;
    o.outcome = cases[i].outcome;
    o.rule = cases[i].rule;
    o.has_limit_bytes = cases[i].limit > 0;
    o.limit_bytes = (uint64_t)(cases[i].limit * 0x1p20);
    o.has_killed_at_bytes = cases[i].killed_at > 0;
    o.killed_at_bytes = (uint64_t)(cases[i].killed_at * 0x1p20);
    learn(&o);
    if (ft_estimate_memory(&model, NULL, 0, &e, &err) < 0)
      e.bound_value = 0;
    bound = cases[i].bound * 0x1p20;
    if (fabs(e.bound_value - bound) > 0.01 * bound + 1)
      fail_msg("case %zu: bound %g MiB, expected %g", i, e.bound_value / 0x1p20, cases[i].bound);
  }
}

static void a_run_on_a_node_out_of_memory_is_ignored(void **state)
{
  static const struct {
    bool known;                             /* whether the killing limit is known */
    double killed_at, limit, peak, largest; /* MiB */
    bool learned;
  } cases[] = {
    { true, 0, 2000, 1500, 1500, false },
    { true, 0, 2000, 2000, 2000, false },
    { true, 0, 0, 100, 100, false },
    /* at its own limit; page cache may have filled it before the node ran out */
    { true, 2000, 2000, 1900, 1900, true },
    { true, 2000, 2000, 100, 100, false },
    /* by an older agent without that knowledge */
    { false, 0, 2000, 1500, 1500, true },
    { false, 0, 2000, 100, 100, false },
  };
  static ft_model before;

  (void)state;
  complete(0, 100 * 0x1p20);
  before = model;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation o = observation_of(1, cases[i].peak * 0x1p20);

    model = before;
    o.outcome = FT_OUTCOME_OUT_OF_MEMORY;
    o.censored = true;
    o.has_limit_bytes = cases[i].limit > 0;
    o.limit_bytes = (uint64_t)(cases[i].limit * 0x1p20);
    o.has_killed_at_bytes = cases[i].known;
    o.killed_at_bytes = (uint64_t)(cases[i].killed_at * 0x1p20);
    o.has_largest_process_bytes = true;
    o.largest_process_bytes = (uint64_t)(cases[i].largest * 0x1p20);
    if (ft_online_update(&model, &history, &o, NULL) != cases[i].learned)
      fail_msg("case %zu", i);
    if (!cases[i].learned)
      assert_memory_equal(&model, &before, sizeof model);
  }
}

static void kills_converge_upward(void **state)
{
  static const double reached[] = { 1, 0.6 }; /* of the limit, as sampled */

  (void)state;
  for (size_t r = 0; r < COUNT_OF(reached); r++) {
    double limit = 100 * 0x1p20, need = 3e9;
    unsigned turn = 0;

    (void)start(NULL);
    for (; limit < need; turn++) {
      struct ft_estimate e;

      if (turn > 12)
        fail_msg("%u kills and still at %g", turn, limit);
      die(turn, limit * reached[r], FT_OUTCOME_OUT_OF_MEMORY);
      e = estimate_for(NULL);
      limit = fmax(ft_estimate_quantile(&e, 0.99), limit * reached[r] * 1.2);
    }
    complete(turn, need);
  }
}

static void a_run_that_stopped_early_is_ignored(void **state)
{
  struct ft_estimate before, after;

  (void)state;
  for (unsigned turn = 0; turn < 20; turn++)
    complete(turn, GIB * (1 + 0.02 * (turn % 5)));
  before = estimate_for(NULL);
  for (unsigned turn = 20; turn < 40; turn++)
    die(turn, 5e6, turn % 2 ? FT_OUTCOME_CANCELLED : FT_OUTCOME_OUT_OF_MEMORY);
  after = estimate_for(NULL);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    assert_near(after.quantile[i], before.quantile[i], 1e-9);
  assert_int_equal(after.runs, 20);
}

static void later_completions_outweigh_an_old_kill(void **state)
{
  struct ft_estimate e;

  (void)state;
  for (unsigned turn = 0; turn < 50; turn++)
    complete(turn, GIB * (1 + 0.02 * (turn % 5)));
  die(50, 8 * GIB, FT_OUTCOME_OUT_OF_MEMORY);
  for (unsigned turn = 51; turn < 57; turn++)
    complete(turn, GIB);
  e = estimate_for(NULL);
  assert_true(e.bound_value == 0);
  assert_true(ft_estimate_quantile(&e, 0.95) < 1.5 * GIB);
  assert_near(e.max_value, 8 * GIB, 1e-9);
}

static void a_kill_counts_at_its_own_features(void **state)
{
  struct ft_random random;
  struct ft_estimate small, large;
  ft_observation o;

  (void)state;
  ft_random_seed(&random, 1);
  for (unsigned turn = 0; turn < 60; turn++) {
    double batch = 1 + (double)ft_random_below(&random, 64);

    o = observation_of(turn, 0.2 * GIB * batch * exp(0.03 * ft_random_normal(&random)));
    feature(&o, "batch", batch);
    learn(&o);
  }
  o = observation_of(60, 16 * GIB);
  feature(&o, "batch", 64);
  o.censored = true;
  o.outcome = FT_OUTCOME_OUT_OF_MEMORY;
  learn(&o);
  large = estimate_for(&o);
  assert_near(large.bound_value, 16 * GIB, 0.01);
  assert_true(ft_estimate_quantile(&large, 0.99) > 1.3 * 16 * GIB);
  o.submission.features_count = 0;
  feature(&o, "batch", 4);
  small = estimate_for(&o);
  assert_true(ft_estimate_quantile(&small, 0.99) < 3 * GIB);
}

/* ---- number of runs ---- */

static void few_runs_give_wide_intervals(void **state)
{
  static const unsigned runs[] = { 1, 2, 3, 5, 10, 30, 200 };
  double last = INFINITY;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    struct ft_estimate e;
    double width;

    (void)start(NULL);
    for (unsigned turn = 0; turn < runs[i]; turn++)
      complete(turn, 2 * GIB);
    e = estimate_for(NULL);
    width = log(ft_estimate_quantile(&e, 0.95) / ft_estimate_quantile(&e, 0.05));
    assert_int_equal(e.runs, runs[i]);
    /* from 19 runs on only their ranks count */
    assert_true(runs[i] < 19 ? width > 0.016 && width < last : width < 0.016);
    assert_true(ft_estimate_quantile(&e, 0.99) > 1.01 * ft_estimate_quantile(&e, 0.5));
    last = width;
  }
}

static void unseen_values_widen_the_interval(void **state)
{
  struct ft_random random;
  ft_observation o, other;
  struct ft_estimate known, e;
  double width;
  static const char *const arch[] = { "small", "large" };

  (void)state;
  ft_random_seed(&random, 2);
  for (unsigned turn = 0; turn < 80; turn++) {
    double batch = 1 + (double)ft_random_below(&random, 32);
    uint64_t a = ft_random_below(&random, 2);

    o = observation_of(turn, (1 + 0.3 * batch) * (a ? 4 : 1) * GIB *
                                 exp(0.03 * ft_random_normal(&random)));
    feature(&o, "batch", batch);
    feature(&o, "cpus", 4);
    category(&o, "arch", arch[a]);
    learn(&o);
  }
  o.submission.features_count = 0;
  feature(&o, "batch", 16);
  feature(&o, "cpus", 4);
  category(&o, "arch", "small");
  known = estimate_for(&o);
  assert_string_equal(known.method, "regression");
  assert_false(known.extrapolated);
  width = known.quantile[7] / known.quantile[3];
  for (int what = 0; what < 5; what++) {
    other = o;
    if (what == 0)
      category(&other, "arch", "unheard-of");
    else if (what == 1)
      feature(&other, "batch", 320);
    else if (what == 2)
      feature(&other, "cpus", 64);
    else
      other.submission.features_count -= what == 3 ? 1 : 3;
    e = estimate_for(&other);
    if (e.quantile[7] / e.quantile[3] < 1.1 * width || e.extrapolated != (what < 3))
      fail_msg("case %d: %g, known %g", what, e.quantile[7] / e.quantile[3], width);
  }
  feature(&o, "unknown_to_the_model", 7);
  e = estimate_for(&o);
  assert_memory_equal(e.quantile, known.quantile, sizeof e.quantile);
}

/* The peak is that of `size`; `step` varied only together with it, as a number or as a name. */
static void columns_that_varied_together_widen_the_interval(void **state)
{
  static const char *const names[] = { "small", "large" };
  const double size[] = { 60, 80 }, step[] = { 2, 6 };
  struct ft_estimate seen, both, e;
  ft_observation o;

  (void)state;
  for (int named = 0; named < 2; named++) {
    (void)start(NULL);
    for (unsigned turn = 0; turn < 24; turn++) {
      unsigned kind = turn % 12 == 11;

      o = observation_of(turn, (size[kind] + 5 + 0.1 * (turn % 3)) * 0x1p20);
      feature(&o, "size", size[kind]);
      if (named)
        category(&o, "step", names[kind]);
      else
        feature(&o, "step", step[kind]);
      learn(&o);
    }
    seen = estimate_for(&o);
    assert_false(seen.extrapolated);
    o.submission.features_count = 0;
    feature(&o, "size", named ? 80 : 200);
    if (named)
      category(&o, "step", "small");
    else
      feature(&o, "step", 2);
    e = estimate_for(&o);
    assert_true(e.extrapolated);
    if (!(ft_estimate_quantile(&e, 0.98) > (named ? 85 : 190) * 0x1p20))
      fail_msg("%s: 98 %% below %g MiB", named ? "named" : "numbers",
               ft_estimate_quantile(&e, 0.98) / 0x1p20);
    /* a run that tells them apart ends the doubt */
    for (unsigned turn = 24; turn < 30; turn++) {
      o.end_time = turn;
      o.rss_bytes = (uint64_t)(((named ? 80 : 200) + 5 + 0.1 * (turn % 3)) * 0x1p20);
      learn(&o);
    }
    both = estimate_for(&o);
    if (both.extrapolated ||
        !(ft_estimate_quantile(&both, 0.95) < 1.1 * ft_estimate_quantile(&both, 0.05)))
      fail_msg("%s: %g to %g", named ? "named" : "numbers", ft_estimate_quantile(&both, 0.05),
               ft_estimate_quantile(&both, 0.95));
  }
}

/* No feature explains which of the two peaks a run has. */
static void two_modes_get_little_more_than_the_larger(void **state)
{
  (void)state;
  for (unsigned turn = 0; turn < 60; turn++) {
    complete(turn, (turn % 5 < 3 ? 4 : 100 + turn % 4) * 0x1p20);
    if (turn >= 10) {
      struct ft_estimate e = estimate_for(NULL);

      assert_true(ft_estimate_quantile(&e, 0.99) > 102 * 0x1p20);
      if (ft_estimate_quantile(&e, 0.99) > 150 * 0x1p20)
        fail_msg("%u runs: %g", turn + 1, ft_estimate_quantile(&e, 0.99));
    }
  }
}

/* A few small runs in a row do not expose the next large one to a kill; many small ones free the
 * memory. */
static void a_recent_peak_is_not_forgotten_at_once(void **state)
{
  unsigned turn = 0;
  struct ft_estimate e;

  (void)state;
  for (; turn < 20; turn++)
    complete(turn, GIB * (1 + 0.01 * (turn % 4)));
  for (; turn < 35; turn++)
    complete(turn, GIB / 30);
  e = estimate_for(NULL);
  assert_true(ft_estimate_quantile(&e, 0.99) > GIB);
  for (; turn < 80; turn++)
    complete(turn, GIB / 30);
  e = estimate_for(NULL);
  assert_near(ft_estimate_quantile(&e, 0.5), GIB / 30, 0.1);
  for (; turn < 240; turn++)
    complete(turn, GIB / 30);
  e = estimate_for(NULL);
  assert_true(ft_estimate_quantile(&e, 0.99) < GIB / 10);
}

static void sampled_peaks_count_until_better_ones_come(void **state)
{
  struct ft_estimate e;

  (void)state;
  for (unsigned turn = 0; turn < 20; turn++) {
    ft_observation o = observation_of(turn, 0.8 * GIB);

    o.peak_is_bound = true;
    learn(&o);
  }
  e = estimate_for(NULL);
  assert_int_equal(e.runs, 20);
  assert_near(ft_estimate_quantile(&e, 0.5), 0.8 * GIB, 0.05);
  for (unsigned turn = 20; turn < 32; turn++)
    complete(turn, GIB);
  e = estimate_for(NULL);
  assert_near(ft_estimate_quantile(&e, 0.5), GIB, 0.02);
}

static void a_run_of_which_one_task_was_measured_gives_a_bound(void **state)
{
  struct ft_estimate e;
  struct ft_facts facts;

  (void)state;
  for (unsigned turn = 0; turn < 12; turn++) {
    ft_observation o = observation_of(turn, 1.9 * GIB);

    o.peak_is_bound = o.censored = true;
    learn(&o);
  }
  assert_int_equal(ft_estimate_memory(&model, NULL, 0, &e, NULL), -1);
  ft_facts_collect(&model, NULL, 0, &facts);
  assert_int_equal(facts.partial, 12);
  assert_int_equal(facts.completed, 0);
  assert_near(facts.comparable_bound_value, 1.9 * GIB, 0.001);
  for (unsigned turn = 20; turn < 26; turn++)
    complete(turn, 15 * GIB);
  e = estimate_for(NULL);
  assert_near(ft_estimate_quantile(&e, 0.5), 15 * GIB, 0.02);
}

/* ---- history ---- */

static void a_later_record_replaces_an_earlier_one(void **state)
{
  (void)state;
  for (unsigned turn = 0; turn < 6; turn++)
    complete(turn, GIB);
  die(6, 2 * GIB, FT_OUTCOME_UNKNOWN);
  assert_int_equal(model.censored, 1);
  complete(6, 2 * GIB);
  assert_int_equal(model.runs, 7);
  assert_int_equal(model.completed, 7);
  assert_int_equal(model.censored, 0);
  assert_int_equal(history.count, 7);
  assert_true(history.run[6].predicted_log != 0);
  assert_near(exp((double)history.run[6].predicted_log), GIB, 0.05);
}

static void a_run_that_the_history_refuses_does_not_count(void **state)
{
  uint32_t runs;

  (void)state;
  for (unsigned turn = 1; turn <= COUNT_OF(history.run); turn++)
    complete(turn, GIB);
  runs = model.runs;
  complete(0, GIB); /* older than all of a full history */
  assert_int_equal(model.runs, runs);
  assert_int_equal(model.completed, runs);
  complete(COUNT_OF(history.run) + 1, GIB);
  assert_int_equal(model.runs, runs + 1);
}

static void the_first_run_has_no_prediction(void **state)
{
  struct ft_estimate e;

  (void)state;
  assert_int_equal(ft_estimate_memory(&model, NULL, 0, &e, NULL), -1);
  die(0, GIB, FT_OUTCOME_CANCELLED);
  assert_int_equal(ft_estimate_memory(&model, NULL, 0, &e, NULL), -1);
  complete(1, GIB);
  assert_true(history.run[1].predicted_log == 0);
  complete(2, GIB);
  assert_true(history.run[2].predicted_log != 0);
}

static void history_stays_bounded_and_in_order(void **state)
{
  (void)state;
  for (unsigned turn = 0; turn < 450; turn++)
    complete(turn % 2 ? turn : turn + 37, GIB + turn * 1e6);
  assert_int_equal(history.count, 200);
  for (unsigned i = 1; i < 200; i++)
    assert_true(history.run[i].time >= history.run[i - 1].time);
}

static void columns_and_categories_stay_bounded(void **state)
{
  char name[64];

  (void)state;
  for (unsigned turn = 0; turn < 300; turn++) {
    ft_observation o = observation_of(turn, GIB);

    for (unsigned j = 0; j < 24; j++) {
      (void)snprintf(name, sizeof name, "feature%u", (turn / 10 + j) % 60);
      feature(&o, name, j == 3 ? 1e300 : j);
    }
    (void)snprintf(name, sizeof name, "a/long/path/with/the/same/beginning/for/all/file%u", turn);
    o.submission.features_count = 23;
    category(&o, "file", name);
    learn(&o);
  }
  assert_true(model.columns_count <= 24);
  for (size_t j = 0; j < model.columns_count; j++)
    assert_true(model.columns[j].categories_count <= 16);
}

static void uninformative_observations_change_nothing(void **state)
{
  static const double absurd[] = { 0, 0x1p51, 1.8e19 };
  static ft_model before;
  ft_observation o;

  (void)state;
  complete(0, GIB);
  before = model;
  for (size_t i = 0; i < COUNT_OF(absurd); i++) {
    o = observation_of(9, absurd[i]);
    assert_int_equal(ft_online_update(&model, &history, &o, NULL), 0);
    assert_memory_equal(&model, &before, sizeof model);
  }
  o = observation_of(9, GIB);
  o.has_rss_bytes = false;
  assert_int_equal(ft_online_update(&model, &history, &o, NULL), 0);
}

static void out_of_memory_leaves_the_model_as_it_was(void **state)
{
  static ft_model before;
  struct ft_error err = { "" };
  ft_observation o = observation_of(3, GIB);

  (void)state;
  complete(0, GIB);
  before = model;
  memory_is_out = true;
  assert_int_equal(ft_online_update(&model, &history, &o, &err), -1);
  assert_memory_equal(&model, &before, sizeof model);
  assert_true(err.text[0] != '\0');
  (void)estimate_for(&o); /* allocates no memory */
  memory_is_out = false;
  learn(&o);
}

/* Any model can be written and read, and gives the same estimate. */
static void hostile_histories_give_sound_models(void **state)
{
  static ft_model again;
  struct ft_random random;

  (void)state;
  for (uint64_t seed = 1; seed <= 6; seed++) {
    ft_random_seed(&random, seed);
    (void)start(NULL);
    for (unsigned turn = 0; turn < 220; turn++) {
      ft_observation o = observation_of((unsigned)ft_random_below(&random, 300),
                                        exp2(50 * ft_random_double(&random)));
      struct ft_buf buf;
      struct ft_error err;

      o.censored = ft_random_below(&random, 3) == 0;
      o.peak_is_bound = ft_random_below(&random, 4) == 0;
      o.outcome = (ft_outcome)ft_random_below(&random, _ft_outcome_MAX + 1);
      for (unsigned j = 0; j < 8; j++) {
        char name[8];

        (void)snprintf(name, sizeof name, "f%u", (unsigned)ft_random_below(&random, 30));
        if (ft_random_below(&random, 2))
          feature(&o, name,
                  (ft_random_double(&random) - 0.5) * exp2(1000 * ft_random_double(&random)));
        else
          category(&o, name, ft_random_below(&random, 2) ? "yes" : "no");
      }
      (void)ft_online_update(&model, &history, &o, NULL);
      if (turn % 20)
        continue;
      ft_buf_init(&buf, FT_LIMIT_RECORD);
      assert_int_equal(
          ft_model_file_encode((const ft_model *const[]){ &model }, 1, &history, &buf, &err), 0);
      if (ft_model_file_decode(buf.data, buf.length, "model", 0, &again, &decoded, &err) < 0)
        fail_msg("turn %u: %s", turn, err.text);
      ft_buf_free(&buf);
      if (model.has_evaluator && (model.completed || model.evaluator.has_bound_log))
        (void)estimate_for(&o);
    }
  }
}

/* A model file may contain any finite numbers. */
static void hostile_evaluators_give_sound_estimates_or_none(void **state)
{
  struct ft_random random;
  ft_observation o = observation_of(0, GIB);
  int refused = 0;

  (void)state;
  feature(&o, "a", 5);
  ft_random_seed(&random, 99);
  for (int turn = 0; turn < 20000; turn++) {
    ft_evaluator *e = &model.evaluator;
    double size = exp2(1000 * ft_random_double(&random));
    struct ft_estimate estimate;
    struct ft_error err;

    model.has_evaluator = true;
    model.completed = (uint32_t)ft_random_u64(&random);
    model.columns_count = 1;
    (void)ft_string_copy("a", model.columns[0].name, sizeof model.columns[0].name);
    e->log_target = turn % 2;
    e->intercept = size * (ft_random_double(&random) - 0.3);
    e->terms_count = 1;
    e->terms[0] = (ft_term){ .column = (uint32_t)ft_random_below(&random, 2),
                             .form = (uint8_t)(turn % FT_FORMS),
                             .mean = size,
                             .scale = turn % 5 ? ft_random_double(&random) - 0.5 : 0,
                             .coefficient = -size,
                             .levels_count = turn % 7 == 0 ? 3 : 0,
                             .low = size,
                             .high = -size };
    e->residuals_count = (pb_size_t)ft_random_below(&random, 200);
    for (unsigned i = 0; i < e->residuals_count; i++)
      e->residuals[i] = (i ? e->residuals[i - 1] : -size) + size / 100 * ft_random_double(&random);
    e->has_bound_log = turn % 4 == 0;
    e->bound_log = size;
    if (ft_estimate_memory(&model, o.submission.features, o.submission.features_count, &estimate,
                           &err) < 0) {
      refused++;
      continue;
    }
    assert_true(isfinite(estimate.bound_value));
    for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
      assert_true(isfinite(estimate.quantile[i]) && estimate.quantile[i] > 0 &&
                  (!i || estimate.quantile[i] >= estimate.quantile[i - 1]));
    assert_true(isfinite(ft_estimate_exceeds(&estimate, 1e9)));
    assert_true(isfinite(ft_estimate_quantile(&estimate, 0.99)));
  }
  assert_true(refused < 20000);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(intervals_have_their_coverage, start),
    cmocka_unit_test_setup(many_killed_runs_do_not_pull_the_estimate_down, start),
    cmocka_unit_test_setup(after_a_kill_the_next_request_is_clearly_larger, start),
    cmocka_unit_test_setup(a_run_killed_by_its_limit_is_a_lower_bound, start),
    cmocka_unit_test_setup(a_run_on_a_node_out_of_memory_is_ignored, start),
    cmocka_unit_test_setup(kills_converge_upward, start),
    cmocka_unit_test_setup(a_run_that_stopped_early_is_ignored, start),
    cmocka_unit_test_setup(later_completions_outweigh_an_old_kill, start),
    cmocka_unit_test_setup(a_kill_counts_at_its_own_features, start),
    cmocka_unit_test_setup(few_runs_give_wide_intervals, start),
    cmocka_unit_test_setup(unseen_values_widen_the_interval, start),
    cmocka_unit_test_setup(columns_that_varied_together_widen_the_interval, start),
    cmocka_unit_test_setup(two_modes_get_little_more_than_the_larger, start),
    cmocka_unit_test_setup(a_recent_peak_is_not_forgotten_at_once, start),
    cmocka_unit_test_setup(a_run_of_which_one_task_was_measured_gives_a_bound, start),
    cmocka_unit_test_setup(sampled_peaks_count_until_better_ones_come, start),
    cmocka_unit_test_setup(a_later_record_replaces_an_earlier_one, start),
    cmocka_unit_test_setup(a_run_that_the_history_refuses_does_not_count, start),
    cmocka_unit_test_setup(the_first_run_has_no_prediction, start),
    cmocka_unit_test_setup(history_stays_bounded_and_in_order, start),
    cmocka_unit_test_setup(columns_and_categories_stay_bounded, start),
    cmocka_unit_test_setup(uninformative_observations_change_nothing, start),
    cmocka_unit_test_setup(out_of_memory_leaves_the_model_as_it_was, start),
    cmocka_unit_test_setup(hostile_histories_give_sound_models, start),
    cmocka_unit_test_setup(hostile_evaluators_give_sound_estimates_or_none, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
