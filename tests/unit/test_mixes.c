/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everyday mixtures of an app's runs, and what a scientist expects to be told of the next one. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/units.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/variant.h"
#include "predictor/online/online.h"
#include "tests/unit/simulate.h"

static ft_model model;
static struct ft_history history;
static unsigned turn;
static unsigned wrong; /* of what was told in a test */

static int start(void **state)
{
  (void)state;
  turn = wrong = 0;
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
  return 0;
}

static int finish(void **state)
{
  (void)state;
  return wrong ? -1 : 0;
}

static void forget_runs(void)
{
  turn = 0;
  ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
}

/* A run of which `features` are set later. MIB: its peak. */
static ft_observation run_of(double mib)
{
  turn++;
  return (ft_observation){ .schema = 1,
                           .job_id = turn,
                           .submit_time = 100.0 * turn,
                           .end_time = 100.0 * turn + 50,
                           .runtime_seconds = 50,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_rss_bytes = true,
                           .rss_bytes = (uint64_t)(mib * FT_MIB) };
}

/* A run of INPUT MB (0: none) by TASKS tasks (0: not requested). */
static ft_observation run_with(double mib, double input, unsigned tasks)
{
  ft_observation o = run_of(mib);

  if (tasks)
    feature(&o, "tasks", tasks);
  if (input > 0)
    feature(&o, "input_bytes", input * 1e6);
  return o;
}

static void learn(const ft_observation *o)
{
  struct ft_error err = { "" };

  if (ft_online_update(&model, &history, o, &err) != 1)
    fail_msg("not learned: %s", err.text);
}

/* Learns a run that ended with OUTCOME before it completed. */
static void learn_stopped(ft_observation o, ft_outcome outcome)
{
  o.censored = true;
  o.outcome = outcome;
  learn(&o);
}

static void learn_with(double mib, double input, unsigned tasks)
{
  ft_observation o = run_with(mib, input, tasks);

  learn(&o);
}

static struct ft_estimate tell(const ft_observation *o)
{
  struct ft_estimate e;
  struct ft_error err = { "" };

  if (ft_estimate_memory(&model, o->submission.features, o->submission.features_count, &e, &err) <
      0)
    fail_msg("nothing told: %s", err.text);
  return e;
}

/* Checks what is told of the submission O that needs MIB: the median is within NEAR of it, it lies
 * in the 90 % interval, and the interval's upper end is below MOST MiB. */
static void expect(const char *mix, ft_observation o, double mib, double near, double most)
{
  struct ft_estimate e = tell(&o);
  double p05 = ft_estimate_quantile(&e, 0.05) / FT_MIB;
  double p50 = ft_estimate_quantile(&e, 0.5) / FT_MIB;
  double p95 = ft_estimate_quantile(&e, 0.95) / FT_MIB;
  bool right =
      fabs(p50 - mib) <= near * mib && p05 <= 1.02 * mib && p95 >= 0.98 * mib && p95 <= most;

  print_message("# %s %-24s told %.0f (%.0f to %.0f), true %.0f\n", right ? "ok " : "BAD", mix, p50,
                p05, p95, mib);
  wrong += !right;
}

/* Returns whether something explains the memory that the estimate of O does not use: a decision
 * then does without the estimate. */
static bool is_unexplained(ft_observation o)
{
  float x[FT_POINT_COLUMNS];
  struct ft_facts facts;

  ft_columns_fill(model.columns, model.columns_count, o.submission.features,
                  o.submission.features_count, x);
  ft_facts_collect(&model, x, model.columns_count, &facts);
  return facts.unexplained;
}

/* ---- tasks ---- */

static double sort_need(double input)
{
  return 6 + 2.3 * input;
}

static void memory_grows_with_the_tasks_of_a_node(void **state)
{
  (void)state;
  for (int i = 0; i < 12; i++)
    learn_with(98 + 0.1 * (i % 3), 40, 0);
  expect("one task, then -n4", run_with(0, 40, 4), 392, 0.3, 700);
  for (int i = 0; i < 4; i++)
    learn_with(392 + 0.1 * i, 40, 4);
  expect("1 and 4 tasks: 1", run_with(0, 40, 0), 98, 0.05, 130);
  expect("1 and 4 tasks: 4", run_with(0, 40, 4), 392, 0.05, 520);
  expect("1 and 4 tasks: 2", run_with(0, 40, 2), 196, 0.1, 300);
  expect("1 and 4 tasks: 8", run_with(0, 40, 8), 784, 0.15, 1500);
  assert_false(is_unexplained(run_with(0, 40, 1)));
}

static void one_run_with_other_tasks_decides(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++)
    learn_with(90, 16, 2);
  expect("three -n2: 1", run_with(0, 16, 0), 45, 0.1, 120);
  learn_with(45, 16, 0);
  expect("three -n2, one -n1: 4", run_with(0, 16, 4), 180, 0.1, 400);
}

static void what_tasks_share_is_counted_once(void **state)
{
  static const unsigned tasks[] = { 1, 2, 4, 2, 1, 8, 4, 1 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(tasks); i++)
    learn_with(200 + 50 * tasks[i] + (double)(i % 2), 0, tasks[i]);
  expect("200 + 50 n: 1", run_with(0, 0, 1), 250, 0.05, 300);
  expect("200 + 50 n: 16", run_with(0, 0, 16), 1000, 0.1, 1500);
}

static void tasks_and_input_multiply(void **state)
{
  static const double input[] = { 8, 40, 16, 24, 32, 12, 20, 36, 28 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(input); i++)
    learn_with(sort_need(input[i]), input[i], 0);
  learn_with(4 * sort_need(16), 16, 4);
  learn_with(2 * sort_need(16), 16, 2);
  learn_with(4 * sort_need(32), 32, 4);
  expect("n (a + b x): 1, 8", run_with(0, 8, 0), sort_need(8), 0.1, 40);
  expect("n (a + b x): 4, 24", run_with(0, 24, 4), 4 * sort_need(24), 0.1, 350);
  expect("n (a + b x): 2, 40", run_with(0, 40, 2), 2 * sort_need(40), 0.1, 300);
}

/* A python program started by a script, then by srun: argument 1 in MiB of each task, the tasks (0:
 * none requested), and argument 2. */
static void runs_without_tasks_have_one(void **state)
{
  static const struct {
    double mib;
    unsigned tasks;
    bool fails, told; /* whether the prediction is checked */
  } runs[] = {
    { 40, 0, 0, 0 },  { 60, 0, 0, 0 }, { 80, 0, 0, 0 }, { 100, 0, 1, 0 }, { 50, 0, 1, 0 },
    { 40, 1, 0, 0 },  { 60, 1, 0, 1 }, { 40, 4, 0, 1 }, { 40, 2, 0, 1 },  { 40, 1, 0, 1 },
    { 300, 0, 0, 1 }, { 60, 0, 0, 1 }, { 60, 0, 0, 1 }, { 50, 3, 0, 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(runs); i++) {
    double need = (runs[i].tasks ? runs[i].tasks : 1) * (runs[i].mib + 5);
    ft_observation o = run_of(need + 0.1 * (double)(i % 4));

    feature(&o, "arg1", runs[i].mib);
    if (runs[i].tasks)
      feature(&o, "tasks", runs[i].tasks);
    if (runs[i].fails)
      category(&o, "arg2", "fail");
    if (runs[i].told)
      expect("one program, 13 runs", o, need, 0.1, 3 * need);
    if (runs[i].fails)
      learn_stopped(o, FT_OUTCOME_FAILED);
    else
      learn(&o);
  }
}

static void a_program_that_ignores_tasks_keeps_its_need(void **state)
{
  (void)state;
  for (int i = 0; i < 6; i++)
    learn_with(100 + 0.2 * i, 0, i % 2 ? 4 : 0);
  expect("n without effect: 8", run_with(0, 0, 8), 100, 0.05, 150);
}

/* ---- laws ---- */

static void a_known_law_is_extrapolated(void **state)
{
  (void)state;
  for (int i = 1; i <= 9; i++)
    learn_with((10 + 3 * i) * (1 + 0.005 * (i % 3 - 1)), i, 0);
  expect("line, five times out", run_with(0, 45, 0), 145, 0.05, 220);
  expect("line, inside", run_with(0, 4.5, 0), 23.5, 0.03, 25.5);
}

/* Two inputs multiply: small runs with up to 16 and 150 tell one with 64 and 300. */
static void products_of_two_inputs_are_extrapolated(void **state)
{
  static const double batch[] = { 1, 2, 4, 8, 16 }, steps[] = { 10, 20, 40, 80, 150 };
  ft_observation o;

  (void)state;
  for (unsigned i = 0; i < 14; i++) {
    double b = batch[3 * i % 5], n = steps[(2 * i + i / 5) % 5];

    o = run_of((200 + 3 * b + 0.5 * n + 0.9 * b * n) * (i % 2 ? 1.01 : 0.99));
    feature(&o, "tasks", 1);
    feature(&o, "batch", b);
    feature(&o, "steps", n);
    learn(&o);
  }
  o = run_of(0);
  feature(&o, "tasks", 1);
  feature(&o, "batch", 64);
  feature(&o, "steps", 300);
  expect("products", o, 17822, 0.1, 30000);
}

static void a_square_is_no_exponential(void **state)
{
  static const double n[] = { 300, 600, 900, 1200, 1600, 2000, 2300 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(n); i++) {
    ft_observation o = run_of(26 + 23e-6 * n[i] * n[i]);

    feature(&o, "n", n[i]);
    learn(&o);
  }
  for (int k = 0; k < 2; k++) {
    double out = k ? 4600 : 3000;
    ft_observation o = run_of(0);

    feature(&o, "n", out);
    expect("a + b n^2", o, 26 + 23e-6 * out * out, 0.1, 2 * (26 + 23e-6 * out * out));
  }
}

/* ---- bounds ---- */

static void bounds_stay_near_what_was_seen(void **state)
{
  static const double input[] = { 28.5, 30, 32, 16, 40, 40, 40, 40, 40,
                                  16,   16, 40, 8,  16, 16, 16, 16, 16 };
  static const unsigned tasks[] = { 0, 0, 0, 4, 0, 0, 0, 0, 4, 4, 2, 1, 0, 0, 0, 0, 0, 0 };
  static const bool short_option[] = { 0, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0 };
  ft_observation next = run_with(0, 8, 0);

  (void)state;
  for (size_t i = 0; i < COUNT_OF(input); i++) {
    /* 4 tasks were requested for the last run of 40 MB, and one started */
    unsigned started = tasks[i] && input[i] < 40 ? tasks[i] : 1;
    ft_observation o = run_with(started * (2.0 + 2.42 * input[i]), input[i], tasks[i]);

    feature(&o, short_option[i] ? "S" : "buffer-size", i % 2 ? 1073741824.0 : 2147483648.0);
    learn(&o);
  }
  feature(&next, "buffer-size", 2147483648.0);
  expect("mixed sorts: 8 MB", next, 21.4, 0.35, 160);
}

static void two_equal_runs_give_a_number(void **state)
{
  (void)state;
  learn_with(120, 10, 0);
  learn_with(120, 10, 0);
  expect("two equal runs", run_with(0, 10, 0), 120, 0.02, 200);
  learn_with(120, 10, 0);
  expect("three equal runs", run_with(0, 10, 0), 120, 0.02, 180);
}

/* A worker of N MiB and 5 more, after one or two runs, and far outside of these. */
static void a_line_through_few_runs_is_followed(void **state)
{
  static const double n[] = { 50, 100, 50, 100 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(n); i++) {
    learn_with(5 + n[i], n[i], 0);
    if (i >= 1) {
      expect("two values: inside", run_with(0, 75, 0), 80, 0.05, 110);
      expect("two values: 4 times out", run_with(0, 400, 0), 405, 0.1, 1700);
    }
  }
  forget_runs();
  for (int i = 1; i <= 3; i++)
    learn_with(5 + 50 * i, 50 * i, 0);
  expect("three on a line: 400", run_with(0, 400, 0), 405, 0.05, 900);
}

static void few_different_runs_are_bounded(void **state)
{
  (void)state;
  learn_with(55, 0, 0);
  expect("one run", run_with(0, 0, 0), 55, 0.02, 200);
  learn_with(105, 0, 0);
  expect("two runs, nothing known", run_with(0, 0, 0), 76, 0.3, 5 * 105);
  learn_with(155, 0, 0);
  expect("three runs, nothing known", run_with(0, 0, 0), 105, 0.3, 750);
}

static void hidden_groups_are_both_expected(void **state)
{
  static const bool large[] = { 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(large); i++) {
    struct ft_estimate e;
    ft_observation o = run_with((large[i] ? 160 : 40) + 0.3 * (double)(i % 4), 10, 0);

    if (i >= 6) {
      e = tell(&o);
      print_message("# groups, %zu runs: 95 %% below %.0f\n", i,
                    ft_estimate_quantile(&e, 0.95) / FT_MIB);
      wrong += ft_estimate_quantile(&e, 0.95) < 159 * FT_MIB ||
               ft_estimate_quantile(&e, 0.95) > 700 * FT_MIB;
    }
    learn(&o);
  }
}

static void a_new_version_is_noticed(void **state)
{
  (void)state;
  for (int i = 0; i < 15; i++)
    learn_with(200 + 0.2 * (i % 3), 10, 0);
  for (int i = 0; i < 8; i++)
    learn_with(120 + 0.2 * (i % 3), 10, 0);
  expect("200, then 8 at 120", run_with(0, 10, 0), 120, 0.05, 210);
  forget_runs();
  for (int i = 0; i < 15; i++)
    learn_with(120 + 0.2 * (i % 3), 10, 0);
  for (int i = 0; i < 6; i++)
    learn_with(300 + 0.2 * (i % 3), 10, 0);
  expect("120, then 6 at 300", run_with(0, 10, 0), 300, 0.05, 450);
}

/* ---- runs that did not complete ---- */

static void failed_runs_with_a_peak_are_data(void **state)
{
  static const double input[] = { 40, 80, 120, 180, 250 };
  ft_observation killed;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(input); i++) {
    ft_observation o = run_with(5 + 2.52 * input[i], input[i], 0);

    o.exit_code = 141;
    learn_stopped(o, FT_OUTCOME_FAILED);
  }
  expect("failed on a line: 8", run_with(0, 8, 0), 5 + 2.52 * 8, 0.35, 110);
  expect("failed on a line: 100", run_with(0, 100, 0), 5 + 2.52 * 100, 0.2, 450);
  killed = run_with(500, 300, 0);
  killed.has_limit_bytes = killed.has_killed_at_bytes = true;
  killed.limit_bytes = killed.killed_at_bytes = (uint64_t)(500 * FT_MIB);
  learn_stopped(killed, FT_OUTCOME_OUT_OF_MEMORY);
  expect("and a kill at 300: 8", run_with(0, 8, 0), 5 + 2.52 * 8, 0.35, 110);
  learn_with(5 + 2.52 * 40, 40, 0);
  expect("and one completed: 80", run_with(0, 80, 0), 5 + 2.52 * 80, 0.2, 400);
}

/* The number is told to be of runs that did not complete, and decides nothing. */
static void failed_runs_alone_decide_nothing(void **state)
{
  struct ft_estimate e;

  (void)state;
  for (int i = 1; i <= 5; i++)
    learn_stopped(run_with(5 + 100 * i, 40 * i, 0),
                  i % 2 ? FT_OUTCOME_CANCELLED : FT_OUTCOME_TIMEOUT);
  expect("stopped on a line: 150", run_with(0, 150, 0), 380, 0.05, 450);
  e = tell(&(ft_observation){ 0 });
  assert_int_equal(e.runs, 0);
  assert_int_equal(e.stopped, 5);
}

/* Failed runs on the line of the completed ones are as good, also outside their range; those that
 * failed at once are not. */
static void failed_runs_that_agree_are_evidence(void **state)
{
  static const double input[] = { 40, 80, 120, 200, 250 };
  ft_observation next = run_with(0, 240, 0);
  struct ft_estimate e;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(input); i++)
    learn_stopped(run_with(5 + 2.52 * input[i], input[i], 0), FT_OUTCOME_FAILED);
  learn_with(5 + 2.52 * 60, 60, 0);
  expect("5 failed, 1 completed: 240", next, 5 + 2.52 * 240, 0.05, 700);
  learn_with(5 + 2.52 * 100, 100, 0);
  learn_with(5 + 2.52 * 70, 70, 0);
  learn_with(5 + 2.52 * 50, 50, 0);
  expect("5 failed, 4 completed: 240", next, 5 + 2.52 * 240, 0.05, 700);
  e = tell(&next);
  assert_int_equal(e.runs, 4);
  assert_int_equal(e.stopped, 5);
  assert_false(e.extrapolated);
  forget_runs();
  for (int i = 0; i < 5; i++)
    learn_stopped(run_with(12 + i, input[i], 0), FT_OUTCOME_FAILED);
  for (int i = 0; i < 4; i++) {
    learn_with(5 + 2.52 * input[i], input[i], 0);
    if (i > 0)
      expect("5 failed at once", run_with(0, 100, 0), 5 + 2.52 * 100, 0.2, 700);
  }
  assert_int_equal(tell(&next).stopped, 0);
}

/* ---- edits ---- */

/* A run of MIB by the script with the text SCRIPT, of one directory, which runs the file CODE. */
static ft_observation run_of_text(double mib, uint32_t script, uint32_t code)
{
  ft_observation o = run_of(mib);

  o.submission.script_hash = script;
  o.submission.code_hash = code;
  o.submission.directory_hash = 21;
  o.submission.default_app = true;
  return o;
}

/* Tells, in MiB, what a job with this text needs: the quantile at P. */
static double tell_of_text(uint32_t script, uint32_t code, double p)
{
  ft_observation o = run_of_text(0, script, code);
  ft_submission *s = &o.submission;
  struct ft_estimate e;

  turn--;
  s->features_count += (pb_size_t)ft_text_features(&model, s, &s->features[s->features_count]);
  e = tell(&o);
  ft_estimate_weigh_change(&model, s, &e);
  return ft_estimate_quantile(&e, p) / FT_MIB;
}

/* Nine runs, of which the last has another text and needed a fifth more. */
static void a_run_of_the_new_text_counts(void **state)
{
  (void)state;
  for (unsigned edited = 1; edited <= 3; edited++) {
    uint32_t script = edited & 1 ? 12 : 11, code = edited & 2 ? 32 : 31;
    ft_observation o;

    forget_runs();
    for (int i = 0; i < 8; i++) {
      o = run_of_text(39.6 + 0.2 * (i % 3), 11, 31);
      learn(&o);
    }
    assert_true(fabs(tell_of_text(11, 31, 0.5) - 39.8) < 0.5);
    assert_true(tell_of_text(11, 31, 0.95) < 44);
    assert_true(fabs(tell_of_text(script, code, 0.5) - 39.8) < 0.5);
    assert_true(tell_of_text(script, code, 0.95) > 50);
    o = run_of_text(47.4, script, code);
    learn(&o);
    print_message("# edited: told %.1f (%.1f to %.1f), true 47.4\n",
                  tell_of_text(script, code, 0.5), tell_of_text(script, code, 0.05),
                  tell_of_text(script, code, 0.95));
    assert_true(fabs(tell_of_text(script, code, 0.5) - 47.4) < 3);
    assert_true(tell_of_text(script, code, 0.95) > 49);
  }
}

/* ---- features without an effect ---- */

static void categories_without_effect_are_ignored(void **state)
{
  static const char *const names[] = { "ada", "bob", "cyd", "dan", "eve", "fay" };

  (void)state;
  for (int i = 0; i < 12; i++) {
    ft_observation o = run_with(80 + 0.3 * (i % 4), 10, 0);

    category(&o, "label", names[i % 5]);
    learn(&o);
  }
  for (int k = 4; k < 6; k++) {
    ft_observation o = run_with(0, 10, 0);

    category(&o, "label", names[k]);
    expect(k == 4 ? "known label" : "new label", o, 80.5, 0.03, 95);
  }
}

static void threads_have_their_own_effect(void **state)
{
  (void)state;
  for (int i = 0; i < 10; i++) {
    unsigned threads = 1U << i % 4;
    ft_observation o = run_with(100 + 30 * threads + 0.4 * (i % 3), 10, 0);

    feature(&o, "threads", threads);
    learn(&o);
  }
  for (unsigned threads = 1; threads <= 8; threads *= 8) {
    ft_observation o = run_with(0, 10, 0);

    feature(&o, "threads", threads);
    expect("threads", o, 100 + 30 * threads, 0.05, 1.3 * (100 + 30 * threads));
  }
}

/* ---- probabilities ---- */

enum { BINS = 10 };

/* Told probabilities of exceeding an amount, by their tenth, and how often the need did. */
struct reliability {
  double told[BINS], above[BINS], count[BINS];
};

/* Counts what E tells of amounts around CENTRE MiB, each against NEED MiB. */
static void compare_with_need(const struct ft_estimate *e, double centre, double need,
                              struct reliability *r)
{
  for (double amount = centre / 4; amount < 8 * centre; amount *= 1.05) {
    double told = ft_estimate_exceeds(e, amount * FT_MIB);
    size_t bin = (size_t)fmin(told * BINS, BINS - 1);

    if (told < 0.001 || told > 0.999)
      continue;
    r->told[bin] += told;
    r->above[bin] += need > amount;
    r->count[bin]++;
  }
}

/* Prints R, and returns whether a told probability is wrong: below 20 % if it is too low by 1.5
 * points, below 50 % if it is too high by 5. */
static bool is_misleading(const char *name, const struct reliability *r)
{
  bool misleading = false;

  for (size_t b = 0; b < BINS; b++) {
    double told = r->told[b] / fmax(r->count[b], 1), above = r->above[b] / fmax(r->count[b], 1);

    print_message("# %s: told %4.1f %%, frequency %4.1f %% (%.0f)\n", name, 100 * told, 100 * above,
                  r->count[b]);
    misleading |= (b < 2 && above - told > 0.015) || (b < BINS / 2 && told - above > 0.05);
  }
  return misleading;
}

/* Apps of unexplained spread: no small risk is understated, and no risk overstated. */
static void told_risks_are_seen(void **state)
{
  enum { APPS = 150, FEWEST = 8, MOST = 20, NEXT = 20 };
  struct reliability r = { 0 };
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 1);
  for (int app = 0; app < APPS; app++) {
    double spread = 0.05 + 0.5 * ft_random_double(&random), centre = 200;
    unsigned count = FEWEST + (unsigned)ft_random_below(&random, MOST - FEWEST + 1);
    ft_observation next;
    struct ft_estimate e;

    forget_runs();
    for (unsigned i = 0; i < count; i++)
      learn_with(centre * exp(spread * ft_random_normal(&random)),
                 10 + 30 * ft_random_double(&random), 0);
    next = run_with(0, 10 + 30 * ft_random_double(&random), 0);
    e = tell(&next);
    for (int k = 0; k < NEXT; k++)
      compare_with_need(&e, centre, centre * exp(spread * ft_random_normal(&random)), &r);
  }
  wrong += is_misleading("spread", &r);
}

#define MIX(test) cmocka_unit_test_setup_teardown(test, start, finish)

int main(void)
{
  const struct CMUnitTest tests[] = {
    MIX(memory_grows_with_the_tasks_of_a_node),
    MIX(one_run_with_other_tasks_decides),
    MIX(what_tasks_share_is_counted_once),
    MIX(tasks_and_input_multiply),
    MIX(runs_without_tasks_have_one),
    MIX(a_program_that_ignores_tasks_keeps_its_need),
    MIX(a_known_law_is_extrapolated),
    MIX(products_of_two_inputs_are_extrapolated),
    MIX(a_square_is_no_exponential),
    MIX(bounds_stay_near_what_was_seen),
    MIX(two_equal_runs_give_a_number),
    MIX(hidden_groups_are_both_expected),
    MIX(a_new_version_is_noticed),
    MIX(failed_runs_with_a_peak_are_data),
    MIX(failed_runs_alone_decide_nothing),
    MIX(failed_runs_that_agree_are_evidence),
    MIX(a_run_of_the_new_text_counts),
    MIX(categories_without_effect_are_ignored),
    MIX(a_line_through_few_runs_is_followed),
    MIX(few_different_runs_are_bounded),
    MIX(threads_have_their_own_effect),
    MIX(told_risks_are_seen),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
