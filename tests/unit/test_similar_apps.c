/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates for a new app: from similar apps of its user, and from the site-wide prior. */
#include "config.h"

#include "tests/unit/decided.h"
#include "tests/unit/publish_model.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "learner/new_apps/similar_apps_index.h"
#include "predictor/core/text.h"
#include "predictor/decide/decide.h"
#include "predictor/online/online.h"
#include "predictor/record/state_files.h"

static struct ft_history history;

static char folder[SCRATCH_SIZE];
static int state_fd = -1;
static struct ft_publisher *publisher;
static ft_model model;
static struct ft_model_lookup evidence;
static struct ft_task_list tasks;
static ft_job_array job_array;
static ft_policy policy;
static ft_submission s;

static int set_up(void **state)
{
  struct ft_error err;

  (void)state;
  state_fd = scratch_open(folder);
  publisher = ft_publisher_open(state_fd, &err);
  assert_non_null(publisher);
  policy = ft_policy_defaults;
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  ft_publisher_close(publisher);
  return scratch_close(folder, state_fd);
}

/* RUNS of user UID's APP with peaks around MIB plus half a MiB per unit of the feature "batch". */
static void learn_runs(uint32_t uid, const char *app, const char *job_name, const char *program,
                       double mib, unsigned runs)
{
  static uint32_t job = 1;
  struct ft_error err;

  ft_online_init(&model, &history, app, uid, FT_RULE_RSS);
  for (unsigned i = 0; i < runs; i++) {
    double batch = i % 32, bytes = (mib + 0.5 * batch) * 0x1p20 * (1 + 0.01 * (i % 3));
    ft_observation o = { .schema = FT_SCHEMA,
                         .job_id = job,
                         .end_time = job,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .runtime_seconds = 10,
                         .has_rss_bytes = true,
                         .rss_bytes = (uint64_t)bytes };

    job++;
    (void)ft_feature_number(o.submission.features, &o.submission.features_count, 4, "batch", batch);
    (void)ft_string_copy(job_name, o.submission.job_name, sizeof o.submission.job_name);
    (void)ft_string_copy(program, o.submission.program, sizeof o.submission.program);
    assert_int_equal(ft_online_update(&model, &history, &o, &err), 1);
    assert_int_equal(publish_model(publisher, &model, &history, &err), 0);
    if (ft_similar_apps_index_due(&model, &o)) {
      char keys[FT_SIMILARITIES][80];

      ft_similar_apps_index_keys(&o, keys);
      ft_similar_apps_index_update(publisher, state_fd, &model, &history, keys);
    }
    ft_similar_apps_index_write(publisher, state_fd);
  }
}

static const char *lookup_user_name(void *data)
{
  (void)data;
  return "nobody";
}

static void estimate_app(const char *app, const char *job_name, const char *program, double batch)
{
  struct ft_error err;

  s = (ft_submission){ .schema = FT_SCHEMA, .default_app = true };
  (void)ft_string_copy(app, s.app, sizeof s.app);
  (void)ft_string_copy(job_name, s.job_name, sizeof s.job_name);
  (void)ft_string_copy(program, s.program, sizeof s.program);
  (void)ft_feature_number(s.features, &s.features_count, 4, "batch", batch);
  tasks.count = 0;
  assert_int_equal(ft_model_lookup_read(state_fd, getuid(), lookup_user_name, NULL, &s, &tasks,
                                        &policy, NULL, &evidence, &err),
                   0);
}

static double quantile(double p)
{
  return ft_estimate_quantile(evidence.estimate, p) / 0x1p20;
}

static void names_are_similar_except_for_their_numbers(void **state)
{
  static const struct {
    enum ft_similarity kind;
    const char *job_name, *program, *similarity_key;
  } cases[] = {
    { FT_SIMILAR_NAME, "train", "", "job:train@" },
    { FT_SIMILAR_NAME, "Train_v2-17.sh", "fit3.py", "job:train@fit.py" },
    { FT_SIMILAR_NAME, "align_sample_0012", "python3", "job:align-sample@" },
    { FT_SIMILAR_NAME, "12-align", "bwa-mem2", "job:align@bwa-mem" },
    { FT_SIMILAR_PROGRAM, "x", "train.py", "runs:train.py" },
    { FT_SIMILAR_PROGRAM, "x", "train_v2.R", "runs:train.R" },
    { FT_SIMILAR_PROGRAM, "x", "sort", "runs:sort" },
    { FT_SIMILAR_PROGRAM, "x", "./sort", "runs:sort./" },
    { FT_SIMILAR_PROGRAM, "x", "python3", NULL },
    { FT_SIMILAR_PROGRAM, "x", "run.py", NULL },
    { FT_SIMILAR_PROGRAM, "x", "", NULL },
    { FT_SIMILAR_NAME, "wrap", "train.py", NULL },
    { FT_SIMILAR_NAME, "bash", "", NULL },
    { FT_SIMILAR_NAME, "17", "", NULL },
    { FT_SIMILAR_NAME, ".x", "", NULL },
    { FT_SIMILAR_NAME, "", "", NULL },
  };
  char out[80], name[FT_STATE_NAME_SIZE], longest[300];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    bool like = ft_state_similarity(cases[i].kind, cases[i].job_name, cases[i].program, out);

    if (like != (cases[i].similarity_key != NULL) ||
        (like && strcmp(out, cases[i].similarity_key) != 0))
      fail_msg("case %zu: %s", i, out);
  }
  memset(longest, 'a', sizeof longest - 1);
  for (size_t i = 7; i < sizeof longest - 1; i += 8)
    longest[i] = '_';
  longest[sizeof longest - 1] = '\0';
  assert_true(ft_state_similarity(FT_SIMILAR_NAME, longest, longest, out));
  assert_true(strlen(out) < sizeof out && strchr(out, '@')[1] == 'a');
  ft_state_similar_apps_name(out, name);
}

static void a_new_app_is_estimated_from_similar_apps(void **state)
{
  (void)state;
  learn_runs(getuid(), "train-1", "train_a1", "train.py", 100, 40);
  learn_runs(getuid(), "train-2", "train_a2", "train.py", 110, 40);
  learn_runs(getuid(), "train-3", "train_a3", "train.py", 120, 2);
  learn_runs(getuid() + 1, "train-9", "train_a9", "train.py", 900, 40);
  policy.borrow = false;
  estimate_app("train-4", "", "train.py", 8);
  assert_null(evidence.estimate);
  policy.borrow = true;
  estimate_app("train-4", "", "train.py", 8);
  assert_non_null(evidence.estimate);
  assert_int_equal(evidence.similar,
                   2); /* the third has too few runs; the fourth belongs to another user */
  assert_int_equal(evidence.estimate->runs, 0);
  assert_true(fabs(quantile(0.5) / 109 - 1) < 0.05);
  assert_true(quantile(0.95) > 2 * quantile(0.5) && quantile(0.99) < 40 * quantile(0.5));
  /* the same features in the same units */
  estimate_app("train-4", "", "train.py", 31);
  assert_true(fabs(quantile(0.5) / 120.5 - 1) < 0.05);
}

/* A name has no memory: what another program needed is no evidence. */
static void another_program_of_the_same_name_is_not_similar(void **state)
{
  static const struct {
    const char *job_name, *program;
    unsigned similar;
  } cases[] = {
    { "sort", "sort.py", 0 }, { "", "sort.py", 0 },     { "sort", "sort.R", 0 },
    { "sort", "./sort", 0 },  { "sort", "", 0 },        { "sort", "python3", 0 },
    { "sort", "sort", 1 },    { "other", "sort", 1 },   { "fit", "", 1 },
    { "fit", "fit.py", 0 },   { "resort", "sort2", 1 },
  };

  (void)state;
  learn_runs(getuid(), "sort-1", "sort_all", "sort", 300, 40);
  learn_runs(getuid(), "fit-1", "fit_3", "", 300, 40);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    estimate_app("new-2", cases[i].job_name, cases[i].program, 8);
    if (evidence.similar != cases[i].similar)
      fail_msg("case %zu: %u similar apps", i, evidence.similar);
  }
}

/* The first run of a new app with a thousand times the input: the similar app's model extrapolates,
 * which is no evidence about another app. */
static void similar_apps_do_not_extrapolate(void **state)
{
  double largest;

  (void)state;
  learn_runs(getuid(), "train-1", "", "train.py", 100, 40);
  for (double batch = 8; batch < 1e9; batch *= 1000) {
    estimate_app("train-4", "", "train.py", batch);
    assert_int_equal(evidence.similar, 1);
    largest = evidence.estimate->max_value / 0x1p20;
    assert_true(quantile(0.5) < 1.001 * largest && quantile(0.95) < 4.1 * largest);
    assert_true(quantile(0.95) > quantile(0.9) && quantile(0.999) > quantile(0.95));
  }
}

/* The array has one request, for the task that needs most. */
static void an_array_is_estimated_by_its_largest_task(void **state)
{
  static const float sizes[] = { 2, 31, 5 };
  ft_task_values *values = &job_array.values[0];
  struct ft_error err;
  double largest, middle;

  (void)state;
  learn_runs(getuid(), "sizes-1", "sizes1", "sizes.py", 5, 96);
  estimate_app("sizes-2", "sizes2", "sizes.py", 5);
  assert_true(evidence.similar);
  middle = quantile(0.5);
  estimate_app("sizes-2", "sizes2", "sizes.py", 31);
  largest = quantile(0.5);
  assert_true(largest > 1.5 * middle);
  s.features_count = 0;
  job_array.values_count = 1;
  tasks.array = &job_array;
  (void)ft_string_copy("batch", values->feature, sizeof values->feature);
  for (uint32_t i = 0; i < COUNT_OF(sizes); i++) {
    values->index[i] = tasks.index[i] = i + 1;
    values->value[i] = sizes[i];
  }
  values->index_count = values->value_count = COUNT_OF(sizes);
  tasks.count = COUNT_OF(sizes);
  assert_int_equal(ft_model_lookup_read(state_fd, getuid(), lookup_user_name, NULL, &s, &tasks,
                                        &policy, NULL, &evidence, &err),
                   0);
  assert_true(evidence.similar);
  assert_near(quantile(0.5), largest, 0.01);
}

static void own_runs_soon_outweigh_similar_apps(void **state)
{
  double before;

  (void)state;
  learn_runs(getuid(), "train-1", "", "train.py", 100, 40);
  estimate_app("train-4", "", "train.py", 8);
  before = quantile(0.95);
  learn_runs(getuid(), "train-4", "", "train.py", 150, 2);
  estimate_app("train-4", "", "train.py", 0);
  assert_true(evidence.similar == 1 && evidence.estimate->runs == 2);
  assert_true(quantile(0.5) > 120 && quantile(0.5) < 150 && quantile(0.95) < 1.2 * before);
  learn_runs(getuid(), "train-4", "", "train.py", 4000, 2);
  estimate_app("train-4", "", "train.py", 0);
  assert_true(evidence.similar == 0 &&
              evidence.estimate->runs == 2); /* its runs contradict the similar apps */
  learn_runs(getuid(), "train-4", "", "train.py", 150, 5);
  estimate_app("train-4", "", "train.py", 0);
  assert_true(evidence.similar == 0 && evidence.estimate->runs == 5);
}

static void the_site_wide_prior_identifies_no_user(void **state)
{
  static ft_prior prior;
  char app[32];

  (void)state;
  for (unsigned i = 0; i < 19; i++) {
    (void)snprintf(app, sizeof app, "secret%u", i);
    learn_runs(1000 + i, app, app, "", 100 * (i + 1), 5);
  }
  estimate_app("new", "", "", 1);
  assert_null(evidence.estimate); /* too few apps to hide users */
  for (unsigned i = 19; i < 300; i++) {
    (void)snprintf(app, sizeof app, "secret%u", i);
    learn_runs(1000 + i % 7, app, app, "", 100 * (i % 20 + 1), 5);
  }
  assert_int_equal(ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR, &prior, NULL), 0);
  assert_true(prior.known_count == 0 && prior.apps == 256 && prior.bytes_count == 7);
  estimate_app("new", "", "", 1);
  assert_non_null(evidence.estimate);
  assert_true(evidence.site_prior_apps == 256 && evidence.similar == 0 &&
              evidence.estimate->runs == 0);
  assert_true(quantile(0.5) > 800 && quantile(0.5) < 1700);
  assert_true(quantile(0.95) > 1700 && quantile(0.95) < 2100);
}

static void one_user_cannot_dominate_the_site_wide_prior(void **state)
{
  double middle;
  char app[32];

  (void)state;
  for (unsigned i = 0; i < 30; i++) {
    (void)snprintf(app, sizeof app, "one%u", i);
    learn_runs(1000, app, app, "", 100, 5);
  }
  estimate_app("new", "", "", 1);
  assert_null(evidence.estimate); /* the apps of a single user */
  for (unsigned i = 0; i < 30; i++) {
    (void)snprintf(app, sizeof app, "many%u", i);
    learn_runs(1001 + i % 10, app, app, "", 200 + 10 * (i % 10), 5);
  }
  estimate_app("new", "", "", 1);
  assert_non_null(evidence.estimate);
  middle = quantile(0.5);
  for (unsigned i = 0; i < 300; i++) {
    (void)snprintf(app, sizeof app, "flood%u", i);
    learn_runs(2000, app, app, "", 1, 5);
  }
  estimate_app("new", "", "", 1);
  assert_true(evidence.site_prior_apps < 150);
  assert_true(fabs(quantile(0.5) / middle - 1) < 0.05);
}

/* In every mode and for every request, similar apps only set a request, never below the default. */
static void similar_apps_never_reject_and_never_lower_a_request(void **state)
{
  static const ft_mode modes[] = { FT_MODE_CHECK, FT_MODE_SET, FT_MODE_RAISE, FT_MODE_TRIM };
  static const double asked_mib[] = { 0, 10, 100, 400, 100000 };
  static const double default_mib[] = { 10, 100, 400, 1000, 100000 };

  (void)state;
  learn_runs(getuid(), "train-1", "", "train.py", 100, 40);
  estimate_app("train-4", "", "train.py", 8);
  policy.reject_probability = 0.5;
  policy.floor_bytes = policy.round_bytes = 1 << 20;
  for (size_t m = 0; m < COUNT_OF(modes); m++)
    for (size_t a = 0; a < COUNT_OF(asked_mib); a++)
      for (size_t d = 0; d < COUNT_OF(default_mib); d++) {
        ft_request request = { .mem_unit = asked_mib[a] > 0 ? FT_MEM_NODE : FT_MEM_NONE,
                               .mem_bytes = (uint64_t)(asked_mib[a] * 0x1p20) };
        ft_partition partition = { .def_mem_bytes = (uint64_t)(default_mib[d] * 0x1p20) };
        struct ft_decision_input q = { .mode = modes[m],
                                       .app = "train-4",
                                       .request = &request,
                                       .policy = &policy,
                                       .partition = &partition,
                                       .memory_is_consumable = true,
                                       .rule = FT_RULE_CGROUP };
        struct ft_explanation said;
        ft_decision decision;

        ft_decision_input_set(&q, &evidence, "");
        decide(&q, &decision, &said);
        assert_true(decision.action == FT_ACTION_LEAVE || decision.action == FT_ACTION_WARN ||
                    decision.action == FT_ACTION_SET);
        if (decision.action == FT_ACTION_SET)
          assert_true(asked_mib[a] == 0 && decision.mem_bytes > partition.def_mem_bytes &&
                      decision.mem_bytes <= 2.1 * evidence.estimate->max_value);
        if (decision.action != FT_ACTION_LEAVE)
          assert_non_null(strstr(said.line[0], "(from 1 similar app of yours)"));
      }
}

/* One own run counts in every mode that acts, whatever the peaks of similar apps. */
static void similar_apps_do_not_hide_own_runs(void **state)
{
  static const struct {
    ft_mode mode, site;
    double asked_mib;
    ft_action action;
  } cases[] = {
    { FT_MODE_RAISE, FT_MODE_CHECK, 150, FT_ACTION_RAISE },
    { FT_MODE_TRIM, FT_MODE_CHECK, 150, FT_ACTION_RAISE },
    { FT_MODE_UNSET, FT_MODE_SET, 0, FT_ACTION_SET },
    { FT_MODE_UNSET, FT_MODE_RAISE, 0, FT_ACTION_SET },
    { FT_MODE_UNSET, FT_MODE_RAISE, 150, FT_ACTION_RAISE },
    { FT_MODE_SET, FT_MODE_CHECK, 0, FT_ACTION_SET },
    { FT_MODE_CHECK, FT_MODE_CHECK, 150, FT_ACTION_WARN },
  };
  ft_partition partition = { .def_mem_bytes = 100 << 20 };

  (void)state;
  learn_runs(getuid(), "train-1", "", "train.py", 200, 40);
  learn_runs(getuid(), "train-4", "", "train.py", 230, 1);
  estimate_app("train-4", "", "train.py", 8);
  assert_int_equal(evidence.similar, 1);
  assert_int_equal(ft_candidate_estimate(&evidence.own)->runs, 1);
  assert_string_equal(evidence.own.model.app, "train-4");
  policy.floor_bytes = policy.round_bytes = 1 << 20;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    double asked = cases[i].asked_mib;
    ft_request request = { .mem_unit = asked > 0 ? FT_MEM_NODE : FT_MEM_NONE,
                           .mem_bytes = (uint64_t)(asked * 0x1p20) };
    struct ft_decision_input q = { .mode = cases[i].mode,
                                   .app = "train-4",
                                   .request = &request,
                                   .policy = &policy,
                                   .partition = &partition,
                                   .memory_is_consumable = true,
                                   .rule = FT_RULE_CGROUP };
    struct ft_explanation said;
    ft_decision decision;

    policy.mode = cases[i].site;
    ft_decision_input_set(&q, &evidence, "");
    decide(&q, &decision, &said);
    if (decision.action != cases[i].action ||
        (decision.mem_bytes &&
         (decision.mem_bytes < (uint64_t)253 << 20 || decision.mem_bytes > (uint64_t)460 << 20)))
      fail_msg("case %zu: %s %.0f MiB", i, said.line[0], (double)decision.mem_bytes / 0x1p20);
    assert_non_null(strstr(said.line[0], cases[i].mode == FT_MODE_SET
                                             ? "(1 run, and from 1 similar app of yours)"
                                             : "(extrapolated from 1 run)"));
    assert_true(q.model == (cases[i].mode == FT_MODE_SET ? NULL : &evidence.own.model));
  }
}

static void broken_files_are_ignored(void **state)
{
  char similarity_key[80], name[FT_STATE_NAME_SIZE], path[400];
  int fd;

  (void)state;
  learn_runs(getuid(), "train-1", "", "train.py", 100, 40);
  assert_true(ft_state_similarity(FT_SIMILAR_PROGRAM, "", "train.py", similarity_key));
  ft_state_similar_apps_name(similarity_key, name);
  (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%u/%s", (unsigned)getuid(), name);
  fd = openat(state_fd, path, O_WRONLY | O_CLOEXEC);
  assert_true(fd >= 0 && ftruncate(fd, 40) == 0);
  (void)close(fd);
  fd = openat(state_fd, FT_STATE_PRIOR, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  assert_true(fd >= 0 && write(fd, "no prior", 8) == 8);
  (void)close(fd);
  estimate_app("train-4", "", "train.py", 8);
  assert_null(evidence.estimate);
  learn_runs(getuid(), "train-1", "", "train.py", 100, 4);
  estimate_app("train-4", "", "train.py", 8);
  assert_int_equal(evidence.similar, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(names_are_similar_except_for_their_numbers),
    TEST(a_new_app_is_estimated_from_similar_apps),
    TEST(another_program_of_the_same_name_is_not_similar),
    TEST(similar_apps_do_not_extrapolate),
    TEST(an_array_is_estimated_by_its_largest_task),
    TEST(own_runs_soon_outweigh_similar_apps),
    TEST(the_site_wide_prior_identifies_no_user),
    TEST(one_user_cannot_dominate_the_site_wide_prior),
    TEST(similar_apps_never_reject_and_never_lower_a_request),
    TEST(similar_apps_do_not_hide_own_runs),
    TEST(broken_files_are_ignored),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
