/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Facts about a submission from past runs, from the observation to the facts. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/messages.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/variant.h"
#include "predictor/online/online.h"

static struct ft_history history;

#define MB (double)FT_MIB

static ft_model model;
static ft_submission asked;
static struct ft_facts facts;
static unsigned runs;
static double submitted; /* time of submission; 0: that of the run's end */

static int start(void **state)
{
  (void)state;
  ft_online_init(&model, &history, "solve", 1000, FT_RULE_CGROUP);
  asked = (ft_submission){ .schema = FT_SCHEMA };
  runs = 0;
  submitted = 0;
  return 0;
}

/* The query, which also runs: N and KIND ("": none). */
static void submit(double n, const char *kind)
{
  asked.features_count = 0;
  (void)ft_feature_number(asked.features, &asked.features_count, 24, "n", n);
  if (kind[0])
    (void)ft_feature_category(asked.features, &asked.features_count, 24, "kind", kind);
}

static void learn(ft_observation *o)
{
  struct ft_error err = { "" };

  o->schema = FT_SCHEMA;
  o->job_id = ++runs;
  o->end_time = 1000.0 * runs;
  o->submit_time = submitted > 0 ? submitted : o->end_time;
  o->runtime_seconds = 10;
  o->rule = FT_RULE_CGROUP;
  o->submission = asked;
  o->has_charge_less_cache_bytes = true;
  if (ft_online_update(&model, &history, o, &err) < 0)
    fail_msg("%s", err.text);
}

static void complete(double mib)
{
  learn(&(ft_observation){ .outcome = FT_OUTCOME_COMPLETED,
                           .charge_less_cache_bytes = (uint64_t)(mib * MB) });
}

static void killed(double limit_mib)
{
  learn(&(ft_observation){ .outcome = FT_OUTCOME_OUT_OF_MEMORY,
                           .censored = true,
                           .has_limit_bytes = true,
                           .limit_bytes = (uint64_t)(limit_mib * MB),
                           .has_killed_at_bytes = true,
                           .killed_at_bytes = (uint64_t)(limit_mib * MB),
                           .charge_less_cache_bytes = (uint64_t)(limit_mib * MB) });
}

static void collect_facts(void)
{
  ft_feature features[FT_TASK_FEATURES];
  size_t count = ft_task_features(&model, &asked, NULL, NULL, features);

  ft_task_facts(&model, features, count, &facts);
}

static void assert_mib(double bytes, double mib)
{
  if (fabs(bytes / MB - mib) > 0.01 * mib + 0.01)
    fail_msg("%g MiB, expected %g", bytes / MB, mib);
}

static void an_explanatory_feature_separates_runs(void **state)
{
  (void)state;
  for (int i = 0; i < 3; i++)
    for (double n = 1; n <= 16; n *= 2) {
      submit(n, "");
      complete(100 * n);
    }
  submit(4, "");
  collect_facts();
  assert_int_equal(facts.comparable_completed, 3);
  assert_mib(facts.comparable_peak_value, 400);
  assert_mib(facts.peak_value, 1600);
  submit(6, "");
  collect_facts();
  assert_int_equal(facts.comparable_completed, 0);
}

static void without_an_explanation_all_runs_count(void **state)
{
  (void)state;
  for (int i = 0; i < 6; i++) {
    submit(1 + i, "");
    complete(100 + i);
  }
  submit(3, "");
  collect_facts();
  assert_int_equal(facts.comparable_completed, 6);
  assert_mib(facts.comparable_min_value, 100);
}

/* One task of an array is killed, the others complete: that says nothing of another attempt. */
static void runs_submitted_before_a_kill_do_not_outlive_it(void **state)
{
  enum { TASKS = 8 };

  (void)state;
  submit(1, "");
  submitted = 500;
  for (int later = 0; later < 2; later++) {
    if (!later)
      killed(100);
    for (int i = 0; i < TASKS; i++)
      complete(50);
    collect_facts();
    assert_int_equal(facts.lately_killed, !later);
    assert_mib(facts.comparable_bound_value, later ? 0 : 100 * FT_FACTS_KILLED_FACTOR);
    submitted = 1000.0 * runs + 1;
  }
}

/* Six dense matrices are no evidence about a sparse one. */
static void another_kind_is_not_comparable(void **state)
{
  static const double size[] = { 1000, 2000, 4000, 6000, 8000, 9000 };

  (void)state;
  for (int i = 0; i < 6; i++) {
    submit(size[i], "dense");
    complete(10 + 8 * size[i] * size[i] / MB);
  }
  submit(3000, "sparse");
  complete(90);
  submit(9000, "sparse");
  collect_facts();
  assert_true(facts.comparable_min_value <= 90 * MB);
  assert_true(facts.comparable_peak_value <= 90 * MB);
  submit(9000, "dense");
  collect_facts();
  assert_true(facts.comparable_peak_value > 600 * MB);
}

static void two_kinds_of_runs_are_named(void **state)
{
  static const struct {
    double mib[9];
    const char *said; /* NULL: one kind */
  } cases[] = {
    { { 40, 160, 161, 40.5, 160, 41, 40, 160 },
      "two kinds of runs: about 40.5 MiB (4) and about 160 MiB (4); what tells them apart is"
      " unknown" },
    { { 120, 200, 201, 120, 119, 201 },
      "two kinds of runs: about 120 MiB (3) and about 201 MiB (3); what tells them apart is"
      " unknown" },
    { { 200, 201, 200, 200, 120, 121, 120 },
      "the need changed: about 200 MiB in 4 comparable runs, then about 120 MiB in the last 3" },
    { { 40, 40, 160, 40, 40, 41 }, NULL },             /* one run alone */
    { { 40, 60, 80, 100, 120, 140, 160, 180 }, NULL }, /* a spread */
    { { 100, 120, 100, 120, 101, 121, 101 }, NULL },   /* nearly the same */
    { { 40, 90, 60, 150, 200, 310, 250, 70 }, NULL },
  };

  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[FT_MESSAGE_SIZE];

    (void)start(state);
    submit(10, "");
    for (const double *mib = cases[i].mib; mib < cases[i].mib + 9 && *mib > 0; mib++)
      complete(*mib);
    collect_facts();
    if (cases[i].said)
      assert_string_equal(ft_message_groups(&facts.groups, text, sizeof text), cases[i].said);
    else
      assert_int_equal(facts.groups.runs[0], 0);
  }
}

static void a_smaller_run_is_not_compared_with_larger_ones(void **state)
{
  (void)state;
  for (double n = 8; n <= 16; n *= 2) {
    submit(n, "");
    complete(100 * n);
  }
  submit(2, "");
  collect_facts();
  assert_true(facts.less);
  assert_int_equal(facts.comparable_runs, 0);
  submit(20, "");
  collect_facts();
  assert_false(facts.less);
  assert_mib(facts.comparable_peak_value, 1600);
  /* but the killed run is still counted */
  submit(8, "");
  killed(300);
  submit(2, "");
  collect_facts();
  assert_false(facts.less);
  assert_mib(facts.lately_killed_value, 300);
}

/* A feature that never varied is not known to matter. */
static void a_constant_feature_excludes_no_run(void **state)
{
  (void)state;
  submit(0.5, "");
  for (int i = 0; i < 6; i++)
    complete(100);
  submit(0.3, "");
  collect_facts();
  assert_int_equal(facts.comparable_completed, 6);
}

/* Nine runs of one size and kills of a far larger one: each size has its own facts, and the
 * message reports the larger size until the estimate covers it. */
static void kills_separate_sizes(void **state)
{
  (void)state;
  submit(230, "");
  for (int i = 0; i < 9; i++)
    complete(230);
  submit(6000, "");
  killed(300);
  killed(800);
  killed(2000);
  collect_facts();
  assert_int_equal(facts.comparable_runs, 3);
  assert_mib(facts.lately_killed_value, 2000);
  assert_true(facts.unexplained);
  submit(230, "");
  collect_facts();
  assert_int_equal(facts.comparable_runs, 9);
  assert_mib(facts.comparable_bound_value, 0);
  submit(60, "");
  collect_facts();
  assert_int_equal(facts.comparable_runs, 0);
}

/* A submission without features is not comparable as smaller or larger. */
static void a_missing_feature_is_not_smaller(void **state)
{
  static const double mib[] = { 100, 101, 99, 100, 102, 100 };

  (void)state;
  for (int i = 0; i < 6; i++) {
    submit(mib[i], "");
    complete(3 + mib[i]);
  }
  asked.features_count = 0;
  collect_facts();
  assert_false(facts.less);
  assert_int_equal(facts.completed, 6);
}

/* The same program with another text in another directory needs one agreeing run of its own. */
static void other_variants_count_until_one_run_agrees(void **state)
{
  (void)state;
  submit(1, "");
  asked.script_hash = 11;
  asked.directory_hash = 21;
  for (int i = 0; i < 4; i++)
    complete(100 + i);
  collect_facts();
  assert_int_equal(facts.comparable_completed, 4);
  asked.script_hash = 12; /* edited */
  collect_facts();
  assert_true(!facts.borrowed && facts.comparable_completed == 4);
  asked.script_hash = 11;
  asked.directory_hash = 22; /* copied to another directory */
  collect_facts();
  assert_true(!facts.borrowed && facts.comparable_completed == 4);
  asked.script_hash = 13;
  collect_facts();
  assert_true(facts.borrowed);
  assert_int_equal(facts.comparable_runs, 0);
  assert_int_equal(facts.completed, 4);
  complete(101);
  collect_facts();
  assert_false(facts.borrowed);
  assert_int_equal(facts.comparable_completed, 5);
  /* a variant with a different peak stays separate */
  asked.script_hash = 14;
  asked.directory_hash = 24;
  complete(400);
  collect_facts();
  assert_int_equal(facts.comparable_completed, 1);
  assert_mib(facts.comparable_peak_value, 400);
}

/* An edited script and an edited program are told from the runs before; figures of the old program
 * are no facts about the new one until a run shows that they agree. */
static void what_changed_since_the_last_runs_is_told(void **state)
{
  unsigned since;

  (void)state;
  submit(1, "");
  asked.default_app = true;
  asked.script_hash = 11;
  asked.directory_hash = 21;
  asked.code_hash = 31;
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  for (int i = 0; i < 5; i++)
    complete(100 + i);
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  asked.script_hash = 12;
  assert_int_equal(ft_changes_find(&model, &asked), FT_CHANGED_SCRIPT);
  asked.code_hash = 32;
  assert_int_equal(ft_changes_find(&model, &asked), FT_CHANGED_SCRIPT | FT_CHANGED_CODE);
  collect_facts();
  assert_true(facts.borrowed && !facts.comparable_runs);
  assert_int_equal(ft_recent_changes_find(&model, &asked, &since), ft_changes_find(&model, &asked));
  assert_int_equal(since, 0);
  asked.directory_hash = 22; /* a copy that was edited is no edit */
  assert_int_equal(ft_changes_find(&model, &asked), FT_CHANGED_CODE);
  asked.directory_hash = 21;
  complete(300);
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  assert_int_equal(ft_recent_changes_find(&model, &asked, &since),
                   FT_CHANGED_SCRIPT | FT_CHANGED_CODE);
  assert_int_equal(since, 1);
  collect_facts();
  assert_int_equal(facts.comparable_completed, 1);
  assert_true(facts.other_texts);
  assert_mib(facts.comparable_peak_value, 300);
  /* back to the text before */
  asked.script_hash = 11;
  asked.code_hash = 31;
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  collect_facts();
  assert_int_equal(facts.comparable_completed, 5);
  assert_mib(facts.comparable_peak_value, 104);
  /* a job of which no such file is known runs the same text */
  asked.code_hash = 0;
  collect_facts();
  assert_int_equal(facts.comparable_completed, 1);
  asked.code_hash = 31;
  /* an app with a name of its own, which may have several scripts, runs another program */
  asked.default_app = false;
  asked.script_hash = 13;
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  asked.script_hash = 11;
  (void)ft_string_copy("sort", asked.program, sizeof asked.program);
  complete(100);
  (void)ft_string_copy("python3", asked.program, sizeof asked.program);
  assert_int_equal(ft_changes_find(&model, &asked), FT_CHANGED_PROGRAM);
  asked.default_app = true;
  assert_int_equal(ft_changes_find(&model, &asked), 0);
}

/* An edit without effect on the memory: the first run with it makes all comparable again. */
static void an_edit_without_effect_costs_one_run(void **state)
{
  (void)state;
  submit(1, "");
  asked.code_hash = 31;
  for (int i = 0; i < 5; i++)
    complete(100 + i);
  asked.code_hash = 32;
  collect_facts();
  assert_true(facts.borrowed);
  complete(102);
  collect_facts();
  assert_false(facts.borrowed);
  assert_int_equal(facts.comparable_completed, 6);
}

/* A program that is generated for each job says nothing by its text. */
static void generated_texts_are_no_changes(void **state)
{
  (void)state;
  submit(1, "");
  for (unsigned i = 0; i < 5; i++) {
    asked.code_hash = 31 + i;
    complete(100 + i);
  }
  asked.code_hash = 99;
  assert_int_equal(ft_changes_find(&model, &asked), 0);
  collect_facts();
  assert_false(facts.borrowed);
  assert_int_equal(facts.comparable_completed, 5);
}

static void kills_are_lower_bounds_until_runs_complete_below(void **state)
{
  (void)state;
  submit(1, "");
  killed(100);
  collect_facts();
  assert_mib(facts.comparable_bound_value, 120);
  assert_mib(facts.lately_killed_value, 100);
  assert_int_equal(facts.growing_kills, 1);
  killed(100);
  killed(240);
  killed(580);
  collect_facts();
  assert_int_equal(facts.growing_kills, 3);
  complete(200);
  collect_facts();
  assert_int_equal(facts.lately_killed, 0);
  assert_int_equal(facts.growing_kills, 3); /* it completed with far less; a leak can cause that */
  assert_mib(facts.comparable_bound_value, 1.2 * 580);
  for (int i = 0; i < 5; i++)
    complete(200);
  collect_facts();
  assert_mib(facts.comparable_bound_value, 0);
  complete(500);
  collect_facts();
  assert_int_equal(facts.growing_kills, 0);
}

/* A user who submits a loop of growing requests has not tried them one after the other. */
static void kills_of_jobs_submitted_together_do_not_grow(void **state)
{
  (void)state;
  submit(1, "");
  for (unsigned i = 0; i < 5; i++) {
    submitted = 500;
    killed(100 << i);
  }
  collect_facts();
  assert_int_equal(facts.growing_kills, 1);
  assert_int_equal(facts.lately_killed, 5);
  assert_mib(facts.comparable_bound_value, 1.2 * 1600);
  submitted = 0;
  killed(3200);
  collect_facts();
  assert_int_equal(facts.growing_kills, 2);
}

/* Larger and larger jobs, each killed at a larger limit, are no leak: each was tried once. */
static void kills_of_growing_jobs_do_not_grow(void **state)
{
  (void)state;
  for (unsigned i = 0; i < 5; i++) {
    submit(1U << i, "");
    killed(100 << i);
  }
  collect_facts();
  assert_int_equal(facts.comparable_killed, 5);
  assert_int_equal(facts.growing_kills, 1);
  for (unsigned i = 5; i < 9; i++)
    killed(100 << i);
  collect_facts();
  assert_int_equal(facts.growing_kills, 5);
}

/* A step was killed at 100 MiB of a job's 1000 MiB: more memory for the job would not help. */
static void a_step_limit_is_not_the_job_limit(void **state)
{
  ft_observation o = { .outcome = FT_OUTCOME_OUT_OF_MEMORY,
                       .censored = true,
                       .has_limit_bytes = true,
                       .limit_bytes = (uint64_t)(1000 * MB),
                       .has_killed_at_bytes = true,
                       .killed_at_bytes = (uint64_t)(100 * MB),
                       .charge_less_cache_bytes = (uint64_t)(100 * MB) };

  (void)state;
  submit(1, "");
  asked.request.mem_unit = FT_MEM_NODE;
  learn(&o);
  collect_facts();
  assert_int_equal(facts.lately_step_limited, 1);
  assert_int_equal(facts.comparable_killed, 0);
  assert_mib(facts.comparable_bound_value, 100);
  /* a step's memory by its CPUs grows with the job's */
  asked.request.mem_unit = FT_MEM_CPU;
  learn(&o);
  collect_facts();
  assert_int_equal(facts.lately_step_limited, 1);
  assert_mib(facts.lately_killed_value, 100);
  complete(300);
  collect_facts();
  assert_int_equal(facts.lately_step_limited, 0);
}

static void a_node_out_of_memory_is_no_evidence(void **state)
{
  (void)state;
  submit(1, "");
  complete(100);
  learn(&(ft_observation){ .outcome = FT_OUTCOME_OUT_OF_MEMORY,
                           .censored = true,
                           .has_limit_bytes = true,
                           .limit_bytes = (uint64_t)(8000 * MB),
                           .has_killed_at_bytes = true,
                           .killed_at_bytes = (uint64_t)(8000 * MB),
                           .has_largest_process_bytes = true,
                           .largest_process_bytes = (uint64_t)(80 * MB),
                           .charge_less_cache_bytes = (uint64_t)(90 * MB) });
  collect_facts();
  assert_int_equal(facts.runs, 1);
  assert_mib(facts.comparable_bound_value, 0);
}

static void failed_runs_alone_are_counted(void **state)
{
  (void)state;
  submit(1, "");
  for (int i = 0; i < 6; i++)
    learn(&(ft_observation){ .outcome = FT_OUTCOME_FAILED,
                             .censored = true,
                             .charge_less_cache_bytes = (uint64_t)(50 * MB) });
  collect_facts();
  assert_int_equal(facts.runs, 6);
  assert_int_equal(facts.completed, 0);
  assert_mib(facts.comparable_bound_value, 50);
}

static void the_largest_of_many_runs_is_kept(void **state)
{
  (void)state;
  submit(1, "");
  complete(900);
  for (int i = 0; i < 150; i++)
    complete(800 + i % 7);
  collect_facts();
  assert_int_equal(facts.runs, 151);
  assert_mib(facts.comparable_peak_value, 900);
}

/* A limit that killed a run, and that the next one needed more, is known as long as the history has
 * them: however many completed later, and wherever these are relative to the fit. */
static void the_largest_kill_is_kept(void **state)
{
  (void)state;
  submit(8, "");
  killed(500);
  killed(1024);
  complete(2000);
  for (int i = 0; i < 150; i++) {
    submit(1 + i % 12, "");
    complete(250 * (1 + i % 12) + i % 7);
  }
  submit(8, "");
  collect_facts();
  assert_int_equal(facts.runs, 153);
  assert_mib(facts.comparable_killed_value, 1024);
  assert_int_equal(facts.lately_killed, 0);
  for (int i = 0; i < 150; i++) {
    submit(1, "");
    complete(250 + i % 7);
  }
  submit(8, "");
  collect_facts();
  assert_mib(facts.comparable_killed_value, 0); /* the history has 200 runs */
}

static void the_run_after_the_largest_kill_is_kept(void **state)
{
  (void)state;
  for (int i = 0; i < 30; i++) {
    submit(1 + i % 12, "");
    complete(250 * (1 + i % 12) + i % 7);
  }
  submit(40, "");
  killed(6000);
  complete(10000);
  for (int i = 0; i < 100; i++) {
    submit(1 + i % 12, "");
    complete(250 * (1 + i % 12) + i % 7);
  }
  submit(40, "");
  collect_facts();
  assert_mib(facts.comparable_killed_value, 6000);
  assert_int_equal(facts.lately_killed, 0);
  assert_mib(facts.comparable_peak_value, 10000);
}

static void a_bound_of_nothing_is_not_told(void **state)
{
  const struct ft_facts none = { .runs = 24, .completed = 24 };
  char text[200];

  (void)state;
  assert_string_equal(ft_message_facts(&none, "", "was killed at", text, sizeof text),
                      "needs an unknown amount (24 runs)");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(an_explanatory_feature_separates_runs, start),
    cmocka_unit_test_setup(without_an_explanation_all_runs_count, start),
    cmocka_unit_test_setup(runs_submitted_before_a_kill_do_not_outlive_it, start),
    cmocka_unit_test_setup(another_kind_is_not_comparable, start),
    cmocka_unit_test_setup(two_kinds_of_runs_are_named, start),
    cmocka_unit_test_setup(a_smaller_run_is_not_compared_with_larger_ones, start),
    cmocka_unit_test_setup(a_constant_feature_excludes_no_run, start),
    cmocka_unit_test_setup(kills_separate_sizes, start),
    cmocka_unit_test_setup(a_missing_feature_is_not_smaller, start),
    cmocka_unit_test_setup(other_variants_count_until_one_run_agrees, start),
    cmocka_unit_test_setup(what_changed_since_the_last_runs_is_told, start),
    cmocka_unit_test_setup(an_edit_without_effect_costs_one_run, start),
    cmocka_unit_test_setup(generated_texts_are_no_changes, start),
    cmocka_unit_test_setup(kills_are_lower_bounds_until_runs_complete_below, start),
    cmocka_unit_test_setup(kills_of_jobs_submitted_together_do_not_grow, start),
    cmocka_unit_test_setup(kills_of_growing_jobs_do_not_grow, start),
    cmocka_unit_test_setup(a_step_limit_is_not_the_job_limit, start),
    cmocka_unit_test_setup(a_node_out_of_memory_is_no_evidence, start),
    cmocka_unit_test_setup(failed_runs_alone_are_counted, start),
    cmocka_unit_test_setup(the_largest_of_many_runs_is_kept, start),
    cmocka_unit_test_setup(the_largest_kill_is_kept, start),
    cmocka_unit_test_setup(a_bound_of_nothing_is_not_told, start),
    cmocka_unit_test_setup(the_run_after_the_largest_kill_is_kept, start),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
