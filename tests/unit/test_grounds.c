/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <math.h>

#include "predictor/core/units.h"
#include "predictor/decide/grounds.h"
#include "predictor/online/online.h"

static struct ft_history history;

enum { RUNS = 42 };

static ft_site site = { .schema = FT_SCHEMA, .rule = FT_RULE_RSS, .memory_is_consumable = true };
static ft_submission submission;
static struct ft_submission_knowledge known;
static struct ft_submission_decision decided;
static struct ft_grounds grounds;

/* Runs of the app "fold": if BY, the peak is three times input_bytes, else constant. */
static void learn(int runs, bool by_input)
{
  struct ft_error err;

  memset(&known, 0, sizeof known);
  known.policy = ft_policy_defaults;
  ft_online_init(&known.evidence.own.model, &history, "fold", 1000, FT_RULE_RSS);
  for (int i = 0; i < runs; i++) {
    double input = (1 + i % 7) * (double)FT_GIB;
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = 100 + (uint32_t)i,
                         .submit_time = 1e9 + i,
                         .end_time = 1e9 + i + 10,
                         .runtime_seconds = 10,
                         .rule = FT_RULE_RSS,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true,
                         .rss_bytes = (uint64_t)((by_input ? 3 * input : 3.0 * (double)FT_GIB) +
                                                 (i % 5) * 3e6) };

    assert_true(ft_feature_number(o.submission.features, &o.submission.features_count, 24,
                                  "input_bytes", input));
    assert_true(ft_online_update(&known.evidence.own.model, &history, &o, &err) >= 0);
  }
}

static void explain_evidence(ft_mode mode)
{
  struct ft_submission_query question = {
    .site = &site, .submission = &submission, .known = &known, .mode = mode, .dry_run = true
  };

  ft_submission_decide(&question, &decided);
  ft_grounds_find(&question, &decided, &grounds);
}

static void find_grounds(const char *app, double input, uint64_t mem)
{
  static const struct ft_task_list no_array;

  submission = (ft_submission){ .has_request = true };
  strcpy(submission.app, app);
  submission.request.mem_unit = FT_MEM_NODE;
  submission.request.mem_bytes = mem;
  if (input > 0)
    assert_true(ft_feature_number(submission.features, &submission.features_count, 24,
                                  "input_bytes", input));
  (void)ft_candidate_evaluate(&known.evidence.own, &submission, &no_array, &known.policy);
  ft_model_lookup_use(&known.evidence, &known.evidence.own);
  explain_evidence(FT_MODE_CHECK);
}

/* Asserts that a line starts with HEAD and, unless NULL, contains PART. */
static void assert_said(const char *head, const char *part)
{
  for (int i = 0; i < grounds.count; i++)
    if (strncmp(grounds.line[i], head, strlen(head)) == 0) {
      if (part && !strstr(grounds.line[i], part))
        fail_msg("'%s' lacks '%s'", grounds.line[i], part);
      return;
    }
  fail_msg("nothing begins with '%s'", head);
}

static void a_features_effect_is_the_change_without_it(void **state)
{
  (void)state;
  learn(RUNS, true);
  find_grounds("fold", 2.0 * (double)FT_GIB, 4 * FT_GIB);
  assert_int_equal(grounds.effect_count, 1);
  assert_string_equal(grounds.effect[0].name, "input_bytes");
  assert_string_equal(grounds.effect[0].value, "2 GiB");
  assert_false(grounds.effect[0].unseen);
  /* the median input in place of this one */
  assert_in_range((uint64_t)grounds.effect[0].without_bytes, 9 * FT_GIB, 14 * FT_GIB);
  assert_said("estimate: ", "6.0");
  assert_said("method: ", " on input_bytes through 42 completed runs; without it 1");
  assert_said("comparable runs: ", " of 42; ");
  assert_said("probability of running out of memory: over 99.9 % with 4 GiB, as requested; ",
              " with --mem=");
  assert_said("reason: as requested", NULL);
}

static void values_outside_all_runs_are_reported(void **state)
{
  (void)state;
  learn(RUNS, true);
  find_grounds("fold", 50.0 * (double)FT_GIB, 4 * FT_GIB);
  assert_true(grounds.effect[0].unseen);
  assert_said("input_bytes=50 GiB: outside the runs' range 1 GiB to 7 GiB", NULL);
  find_grounds("fold", 0, 4 * FT_GIB);
  assert_string_equal(grounds.effect[0].value, "");
  assert_said("input_bytes: missing from this job", NULL);
}

static void without_a_relevant_feature_the_peaks_are_reported(void **state)
{
  (void)state;
  learn(RUNS, false);
  find_grounds("fold", 2.0 * (double)FT_GIB, 4 * FT_GIB);
  assert_int_equal(grounds.effect_count, 0);
  assert_said("method: the peaks of 42 completed runs; no feature explains their differences",
              NULL);
}

static void few_runs_are_listed_without_an_explanation(void **state)
{
  (void)state;
  learn(2, true);
  find_grounds("fold", 2.0 * (double)FT_GIB, 4 * FT_GIB);
  for (int i = 0; i < grounds.count; i++)
    assert_null(strstr(grounds.line[i], "estimate"));
  assert_said("comparable runs: ", "of 2");
  assert_said("features of this job: input_bytes=2 GiB", NULL);
  find_grounds("fold", 0, 4 * FT_GIB);
  assert_said("features of this job: none; add some with --predict-params", NULL);
  assert_said("features of earlier runs missing from this job: input_bytes", NULL);
  find_grounds("another", 2.0 * (double)FT_GIB, 4 * FT_GIB);
  for (int i = 0; i < grounds.count; i++)
    assert_null(strstr(grounds.line[i], "missing"));
}

static void a_feature_that_differs_between_tasks_is_named_once(void **state)
{
  ft_submission *s = &submission;
  static ft_job_array array = { .values_count = 1, .values = { { .feature = "input_bytes" } } };
  const struct ft_submission_query question = { .site = &site,
                                                .submission = s,
                                                .array = &array,
                                                .known = &known,
                                                .mode = FT_MODE_CHECK,
                                                .dry_run = true };

  (void)state;
  learn(2, true);
  find_grounds("fold", 0, 4 * FT_GIB);
  s->features[s->features_count++] =
      (ft_feature){ .name = "n", .category = "%a", .per_task = true };
  assert_true(ft_feature_category(s->features, &s->features_count, 24, "arch", "resnet"));
  ft_grounds_find(&question, &decided, &grounds);
  assert_said("features of this job: n (of each task), arch=resnet, input_bytes (of each task)",
              NULL);
  for (int i = 0; i < grounds.count; i++)
    assert_null(strstr(grounds.line[i], "missing"));
}

static void an_estimate_from_other_apps_is_not_explained_by_the_own_model(void **state)
{
  (void)state;
  learn(RUNS, true);
  find_grounds("fold", 2.0 * (double)FT_GIB, 4 * FT_GIB);
  assert_int_equal(grounds.effect_count, 1);
  known.evidence.others = *known.evidence.estimate;
  known.evidence.estimate = &known.evidence.others;
  known.evidence.candidate = NULL;
  known.evidence.similar = 1;
  /* the app's own runs count */
  explain_evidence(FT_MODE_CHECK);
  assert_int_equal(grounds.effect_count, 1);
  submission.request.mem_unit = FT_MEM_NONE;
  explain_evidence(FT_MODE_SET);
  assert_int_equal(grounds.effect_count, 0);
}

static void every_accounting_rule_has_a_description(void **state)
{
  (void)state;
  for (int rule = 0; rule <= _ft_decision_rule_MAX; rule++)
    assert_true(strlen(ft_rule_meaning((ft_decision_rule)rule)) > 10);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_features_effect_is_the_change_without_it),
    cmocka_unit_test(values_outside_all_runs_are_reported),
    cmocka_unit_test(without_a_relevant_feature_the_peaks_are_reported),
    cmocka_unit_test(few_runs_are_listed_without_an_explanation),
    cmocka_unit_test(a_feature_that_differs_between_tasks_is_named_once),
    cmocka_unit_test(an_estimate_from_other_apps_is_not_explained_by_the_own_model),
    cmocka_unit_test(every_accounting_rule_has_a_description)
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
