/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/history/fields.h"
#include "predictor/history/merge.h"

#define AGENT FT_SOURCE_AGENT
#define TRACE FT_SOURCE_TRACE
#define TOTAL FT_SOURCE_SACCT_TOTAL
#define SACCT FT_SOURCE_SACCT
#define NONE FT_OUTCOME_UNKNOWN
#define DONE FT_OUTCOME_COMPLETED
#define FAILED FT_OUTCOME_FAILED
#define CANCELLED FT_OUTCOME_CANCELLED
#define OOM FT_OUTCOME_OUT_OF_MEMORY
#define TIMEOUT FT_OUTCOME_TIMEOUT

/* the fields on one side of a merge; 0: absent */
struct side {
  ft_source source;
  ft_outcome outcome;
  uint64_t rss;
  bool bound;
  double end;
  const char *app;
};

static void fill(ft_observation *o, const struct side *side)
{
  *o = (ft_observation){ .schema = 1,
                         .job_id = 7,
                         .source = side->source,
                         .outcome = side->outcome,
                         .peak_is_bound = side->bound,
                         .end_time = side->end };
  o->censored = side->outcome != FT_OUTCOME_COMPLETED;
  o->has_rss_bytes = side->rss > 0;
  o->rss_bytes = side->rss;
  if (side->app)
    (void)ft_field_set_text(o, ft_field_find("app"), side->app);
}

static void later_record_completes_the_earlier(void **state)
{
  static const struct {
    const char *what;
    struct side old, newer, merged;
  } cases[] = { { "Slurm tells the end that the node could not",
                  { AGENT, NONE, 100, false, 0, "a" },
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { AGENT, DONE, 100, false, 9, "a" } },
                { "the agent's record comes after Slurm's",
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { AGENT, NONE, 100, false, 0, "a" },
                  { AGENT, DONE, 100, false, 9, "a" } },
                { "OverMemoryKill is called failed by Slurm",
                  { AGENT, OOM, 100, false, 8, "a" },
                  { SACCT, FAILED, 0, true, 9, NULL },
                  { AGENT, OOM, 100, false, 9, "a" } },
                { "OverMemoryKill is called cancelled by Slurm",
                  { AGENT, OOM, 100, false, 8, "a" },
                  { SACCT, CANCELLED, 0, true, 9, NULL },
                  { AGENT, OOM, 100, false, 9, "a" } },
                { "the kernel's kill is known to Slurm alone",
                  { AGENT, FAILED, 100, false, 8, "a" },
                  { SACCT, OOM, 0, true, 9, NULL },
                  { AGENT, OOM, 100, false, 9, "a" } },
                { "a job that completed was not killed",
                  { AGENT, OOM, 100, false, 8, "a" },
                  { SACCT, DONE, 0, true, 9, NULL },
                  { AGENT, DONE, 100, false, 9, "a" } },
                { "a known end is not forgotten",
                  { AGENT, TIMEOUT, 100, false, 8, "a" },
                  { AGENT, NONE, 0, false, 0, NULL },
                  { AGENT, TIMEOUT, 100, false, 8, "a" } },
                { "the agent measured nothing",
                  { AGENT, DONE, 0, false, 8, "a" },
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { SACCT, DONE, 60, true, 9, "a" } },
                { "totals replace sampled maxima",
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { TOTAL, DONE, 90, false, 9, "u/job" },
                  { TOTAL, DONE, 90, false, 9, "u/job" } },
                { "sampled maxima do not replace totals",
                  { TOTAL, DONE, 90, false, 9, "u/job" },
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { TOTAL, DONE, 90, false, 9, "u/job" } },
                { "a record without a peak leaves whose it is",
                  { SACCT, DONE, 60, true, 9, "u/job" },
                  { TRACE, DONE, 0, false, 9, "b" },
                  { SACCT, DONE, 60, true, 9, "b" } },
                { "the newest of the same source holds",
                  { AGENT, DONE, 100, false, 8, "a" },
                  { AGENT, DONE, 120, false, 9, NULL },
                  { AGENT, DONE, 120, false, 9, "a" } } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation old, newer;

    fill(&old, &cases[i].old);
    fill(&newer, &cases[i].newer);
    ft_observation_merge(&old, &newer);
    if (old.source != cases[i].merged.source || old.outcome != cases[i].merged.outcome ||
        old.rss_bytes != cases[i].merged.rss || old.peak_is_bound != cases[i].merged.bound ||
        old.end_time != cases[i].merged.end ||
        strcmp(old.submission.app, cases[i].merged.app) != 0 ||
        old.censored != (old.outcome != FT_OUTCOME_COMPLETED))
      fail_msg("%s: source %s, outcome %s, rss %llu, bound %d, end %g, app %s", cases[i].what,
               ft_source_name(old.source), ft_outcome_name(old.outcome),
               (unsigned long long)old.rss_bytes, old.peak_is_bound, old.end_time,
               old.submission.app);
  }
}

static void a_partial_measurement_stays_one_until_a_better_one_comes(void **state)
{
  const ft_observation partial = { .schema = 1,
                                   .source = SACCT,
                                   .outcome = DONE,
                                   .censored = true,
                                   .peak_is_bound = true,
                                   .has_rss_bytes = true,
                                   .rss_bytes = 100 };
  ft_observation both = partial, node = partial;
  const ft_observation unmeasured = { .schema = 1, .outcome = DONE };
  const ft_observation measured = {
    .schema = 1, .outcome = DONE, .has_rss_bytes = true, .rss_bytes = 800
  };

  (void)state;
  ft_observation_add_node(&node, &unmeasured);
  assert_true(node.censored);
  ft_observation_merge(&both, &unmeasured);
  assert_true(both.censored);
  ft_observation_merge(&both, &measured);
  assert_true(both.rss_bytes == 800 && !both.censored);
  ft_observation_merge(&both, &partial);
  assert_true(both.rss_bytes == 800 && !both.censored);
}

static void request_and_decision_stay_whole(void **state)
{
  ft_observation agent = { .schema = 1,
                           .submission.has_request = true,
                           .submission.has_decision = true };
  ft_observation sacct = { .schema = 1, .source = FT_SOURCE_SACCT, .submission.has_request = true };
  ft_observation both;

  (void)state;
  agent.submission.request.mem_unit = FT_MEM_NONE;
  agent.submission.decision.action = FT_ACTION_SET;
  sacct.submission.request.mem_unit = FT_MEM_NODE;
  sacct.submission.request.mem_bytes = 4096;
  both = agent;
  ft_observation_merge(&both, &sacct);
  assert_int_equal(both.submission.request.mem_unit, FT_MEM_NONE);
  assert_true(both.submission.request.mem_bytes == 0);
  both = sacct;
  ft_observation_merge(&both, &agent);
  assert_int_equal(both.submission.request.mem_unit, FT_MEM_NONE);
  assert_true(both.submission.request.mem_bytes == 0);
  assert_true(both.submission.has_decision && both.submission.decision.action == FT_ACTION_SET);
}

static void unstored_fields_come_from_the_record_that_has_them(void **state)
{
  ft_observation row = { .schema = 1, .submission.app = "a" };
  ft_observation agent = { .schema = 1,
                           .submission = { .schema = 1,
                                           .app = "a",
                                           .program = "sort",
                                           .former_apps_count = 1,
                                           .former_apps = { "b" },
                                           .interactive = true } };
  ft_observation sacct = { .schema = 1, .source = FT_SOURCE_SACCT };

  (void)state;
  ft_observation_merge(&row, &agent);
  ft_observation_merge(&row, &sacct);
  assert_memory_equal(&row.submission, &agent.submission, sizeof row.submission);
}

static void every_measured_field_is_filled_in(void **state)
{
  (void)state;
  for (size_t i = 0; i < ft_field_count; i++) {
    const struct ft_field *field = &ft_fields[i];
    ft_observation old = { .schema = 1 }, newer = { .schema = 1, .source = FT_SOURCE_SACCT };
    double later = field->type == FT_FIELD_BOOL ? 1 : 5, own = field->type == FT_FIELD_BOOL ? 0 : 7;

    if (field->group != FT_GROUP_MEASURED || field->type == FT_FIELD_COUNTERS)
      continue;
    assert_true(ft_field_set_number(&newer, field, later));
    ft_observation_merge(&old, &newer);
    if (ft_field_number(&old, field) != later)
      fail_msg("%s was not filled in", field->name);
    assert_true(ft_field_set_number(&old, field, own));
    old.source = FT_SOURCE_AGENT;
    old.has_rss_bytes = true;
    ft_observation_merge(&old, &newer);
    if (ft_field_number(&old, field) != own)
      fail_msg("%s of the agent was replaced", field->name);
  }
}

static void the_decision_about_the_time_limit_is_stored(void **state)
{
  static const char *const names[] = {
    "decision_time_mode",   "decision_time_action", "decision_time_seconds", "decision_p05_seconds",
    "decision_p50_seconds", "decision_p95_seconds", "decision_p_timeout"
  };

  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!ft_field_find(names[i]))
      fail_msg("%s is no field", names[i]);
}

static void the_field_table_covers_the_observation(void **state)
{
  const ft_submission *s = NULL; /* only for its sizes */
  /* the columns and flags cover the struct except fields that are not stored, counts, has_request,
   * has_decision and padding */
  size_t covered = sizeof s->former_apps + sizeof s->program + sizeof s->version +
                   sizeof s->code_files;

  (void)state;
  for (size_t i = 0; i < ft_field_count; i++) {
    covered += ft_fields[i].size + (ft_fields[i].has ? sizeof(bool) : 0);
    assert_ptr_equal(ft_field_find(ft_fields[i].name), &ft_fields[i]);
    for (size_t j = 0; j < i; j++)
      assert_true(ft_fields[i].offset != ft_fields[j].offset);
  }
  assert_true(covered <= sizeof(ft_observation));
  assert_true(sizeof(ft_observation) - covered < 380);
  assert_null(ft_field_find("nonsense"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(later_record_completes_the_earlier),
    cmocka_unit_test(a_partial_measurement_stays_one_until_a_better_one_comes),
    cmocka_unit_test(request_and_decision_stay_whole),
    cmocka_unit_test(unstored_fields_come_from_the_record_that_has_them),
    cmocka_unit_test(every_measured_field_is_filled_in),
    cmocka_unit_test(the_decision_about_the_time_limit_is_stored),
    cmocka_unit_test(the_field_table_covers_the_observation)
  };

  return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
