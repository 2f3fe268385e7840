/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Incremental updates: the model stays close to a complete fit of the same runs. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/estimate/memory.h"
#include "predictor/online/online.h"
#include "predictor/online/refit.h"
#include "predictor/record/check.h"
#include "tests/unit/simulate.h"
#include "tests/unit/unit.h"

static struct ft_history history, refitted_runs;

static ft_model model, refitted;

enum {
  TURNS = 500,
  MANY = 50 /* runs in a history; a complete fit of fewer runs, as after a change, costs little */
};

struct kind {
  const char *name;
  double (*run)(struct ft_random *random, unsigned turn, ft_observation *o);
  double median, tail; /* maximum mean difference of the two, in log units */
};

static double run_step(struct ft_random *random, unsigned turn, ft_observation *o)
{
  return run_linear(random, turn, o) * (turn % 200 < 100 ? 1 : 1.7);
}

/* Asserts that the peaks are those of distinct runs of the history, with their times and
 * features. */
static void check_peaks_match_history(const char *name, unsigned turn)
{
  const ft_evaluator *e = &model.evaluator;
  const ft_run *completed[COUNT_OF(history.run)];
  size_t count = 0;

  for (size_t i = 0; i < history.count; i++)
    if (!history.run[i].censored)
      completed[count++] = &history.run[i];
  if (e->needs_count != count || e->baselines[0].needs_count != count)
    fail_msg("%s, turn %u: %d needs of %zu runs", name, turn, (int)e->needs_count, count);
  for (size_t i = 0; i < count; i++) {
    const ft_run *run = completed[count - 1 - e->ages.bytes[i]];

    completed[count - 1 - e->ages.bytes[i]] = NULL;
    if (!run || fabs((double)e->seconds[i] - run->runtime_seconds) > 1e-3)
      fail_msg("%s, turn %u: need %zu is of no run", name, turn, i);
    for (size_t k = 0; k < count; k++)
      if (e->baselines[0].runs.bytes[k] == i)
        assert_true((double)e->baselines[0].needs[k] == (double)(float)run->bytes);
  }
}

static double distance(const struct ft_estimate *a, const struct ft_estimate *b, int level)
{
  return fabs(log(a->quantile[level] / b->quantile[level]));
}

static void learn(const struct kind *kind, unsigned turn, struct ft_random *random)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = turn + 1,
                       .end_time = turn + 1.0,
                       .runtime_seconds = 100 + turn,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .has_rss_bytes = true };

  o.rss_bytes = (uint64_t)kind->run(random, turn, &o);
  if (turn % 37 == 36) {
    o.censored = true;
    o.outcome = FT_OUTCOME_CANCELLED;
    o.rss_bytes /= 4;
  }
  assert_int_equal(ft_online_update(&model, &history, &o, NULL), 1);
}

static void incremental_updates_equal_a_complete_fit(void **state)
{
  static const struct kind kinds[] = {
    { "constant", run_constant, 0.01, 0.06 },
    { "linear", run_linear, 0.02, 0.06 },
    { "categories", run_categories, 0.02, 0.08 },
    { "steps", run_step, 0.05, 0.15 },
  };
  struct ft_refit *work = ft_refit_new();

  (void)state;
  assert_non_null(work);
  for (size_t k = 0; k < COUNT_OF(kinds); k++) {
    double median = 0, tail = 0;
    struct ft_random random;
    unsigned follows = 0, many = 0;

    ft_random_seed(&random, 3);
    ft_online_init(&model, &history, "app", 1000, FT_RULE_RSS);
    for (unsigned turn = 0; turn < TURNS; turn++) {
      struct ft_estimate here, there;
      ft_observation o = { 0 };

      learn(&kinds[k], turn, &random);
      assert_int_equal(ft_record_check(FT_RECORD_MODEL, &model, NULL), 0);
      check_peaks_match_history(kinds[k].name, turn);
      many += history.count >= MANY;
      follows += history.count >= MANY && model.evaluator.fitted != model.completed;
      refitted = model;
      refitted_runs = history;
      ft_refit_model(&refitted, &refitted_runs, work);
      (void)kinds[k].run(&random, turn, &o);
      assert_int_equal(ft_estimate_memory(&model, o.submission.features,
                                          o.submission.features_count, &here, NULL),
                       0);
      assert_int_equal(ft_estimate_memory(&refitted, o.submission.features,
                                          o.submission.features_count, &there, NULL),
                       0);
      median += distance(&here, &there, 5) / TURNS;
      tail += distance(&here, &there, 8) / TURNS;
    }
    print_message("# %-10s %u of %u runs without a fit; median off by %.4f, 95 %% by %.4f\n",
                  kinds[k].name, follows, many, median, tail);
    assert_true(many > TURNS / 2 && follows > many * 3 / 4);
    assert_true(median < kinds[k].median && tail < kinds[k].tail);
  }
  free(work);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(incremental_updates_equal_a_complete_fit),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
