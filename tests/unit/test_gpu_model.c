/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GPU memory learned from an app's runs, and the MIG slice of the next submission. */
#include "tests/unit/unit.h"

#include "predictor/decide/mig_decision.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/need.h"
#include "predictor/online/online.h"
#include "predictor/online/quantity_models.h"

#define MIB 1048576.0

static struct ft_mig_table table;
static const ft_partition partition = {
  .schema = FT_SCHEMA,
  .name = "gpus",
  .gres_count = 3,
  .gres = { { .name = "gpu:1g.5gb", .count = 2 },
            { .name = "gpu:2g.10gb", .count = 2 },
            { .name = "gpu:3g.20gb", .count = 2 } },
};

/* An app's runs, and the decision about its next submission. */
struct story {
  ft_model model;
  struct ft_history history;
  struct ft_candidate known;
  ft_policy policy;
  ft_network said;
  uint32_t jobs;
};

static int make_story(void **state)
{
  struct story *s = calloc(1, sizeof *s);

  ft_mig_add_nvidia(&table);
  if (!s)
    return -1;
  ft_online_init(&s->model, &s->history, "unet", 1000, FT_RULE_RSS);
  s->policy = ft_policy_defaults;
  s->policy.mode = FT_MODE_SET;
  s->policy.reject_probability = 0.5;
  *state = s;
  return 0;
}

static int end(void **state)
{
  free(*state);
  return 0;
}

/* A run that used MIB_USED of the A100 slice PROFILE ("": of the whole GPU). */
static ft_observation observed(double mib_used, const char *profile, ft_outcome outcome)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .rule = FT_RULE_RSS,
                       .outcome = outcome,
                       .censored = outcome != FT_OUTCOME_COMPLETED,
                       .has_rss_bytes = true,
                       .rss_bytes = 1000 << 20,
                       .runtime_seconds = 60,
                       .gpu_name = "NVIDIA A100-SXM4-40GB",
                       .has_gpu_memory_bytes = true,
                       .gpu_memory_bytes = (uint64_t)(mib_used * MIB) };

  (void)snprintf(o.mig_profile, sizeof o.mig_profile, "%s", profile);
  return o;
}

static void learn(struct story *s, ft_observation o)
{
  struct ft_error err;

  o.job_id = ++s->jobs;
  o.start_time = 1e9 + 1000.0 * s->jobs;
  o.end_time = o.start_time + 60;
  assert_int_equal(ft_online_update(&s->model, &s->history, &o, &err), 1);
}

static void learn_run(struct story *s, double mib_used, const char *profile, ft_outcome outcome)
{
  learn(s, observed(mib_used, profile, outcome));
}

static void run_batch(struct story *s, double batch, double mib_used, const char *profile)
{
  ft_observation o = observed(mib_used, profile, FT_OUTCOME_COMPLETED);

  assert_true(
      ft_feature_number(o.submission.features, &o.submission.features_count, 24, "batch", batch));
  learn(s, o);
}

/* Decides about a submission with --gres=GRES ("": none) and, above 0, BATCH. */
static void decide_slice_of_batch(struct story *s, const char *gres, ft_mode mode, double batch)
{
  static const struct ft_task_list no_array;
  ft_submission submission = { .schema = FT_SCHEMA, .app = "unet" };
  struct ft_mig_query q = { .mode = mode,
                            .choose = true,
                            .gpu = "",
                            .option = gres[0] ? "gres" : "",
                            .value = gres,
                            .subject = "unet",
                            .evidence = "runs",
                            .policy = &s->policy,
                            .partition = &partition,
                            .table = &table,
                            .facts = &s->known.facts };
  struct ft_mig_request place;
  struct ft_error err;

  if (batch > 0)
    assert_true(
        ft_feature_number(submission.features, &submission.features_count, 24, "batch", batch));
  assert_true(ft_quantity_model_fit(&s->model, &s->history, FT_QUANTITY_GPU_MEMORY, &s->known.model,
                                    &err) > 0);
  q.held_bytes = s->known.model.held_bytes;
  (void)ft_candidate_evaluate(&s->known, &submission, &no_array, &s->policy);
  ft_mig_request_find(&q, &place);
  s->said = (ft_network){ .error = "" };
  (void)ft_mig_decide(&q, &place, ft_candidate_estimate(&s->known), &s->said);
}

static void decide_slice(struct story *s, const char *gres, ft_mode mode)
{
  decide_slice_of_batch(s, gres, mode, 0);
}

/* ---- which runs ran out of GPU memory ---- */

static void a_run_that_failed_with_its_gpu_nearly_full_ran_out(void **state)
{
  static const struct {
    double used;
    const char *profile, *gres, *gpu;
    ft_outcome outcome;
    double limit;
    bool out;
  } cases[] = {
    { 4700, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 4864, true },
    { 3950, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 4864, true },
    { 3800, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 4864, false },
    { 4700, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_COMPLETED, 4864, false },
    { 4700, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_CANCELLED, 0, false },
    { 4700, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_OUT_OF_MEMORY, 0, false },
    /* a profile reported by NVML has precedence over the request */
    { 4700, "1g.5gb", "gpu:3g.20gb:1", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 4864, true },
    { 4700, "", "nic:1,gpu:1g.5gb:1", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 4864, true },
    { 4700, "", "gpu:1", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 40192, false },
    { 39000, "", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 40192, true },
    /* an unknown GPU; an unknown profile; more than the total memory */
    { 15000, "", "", "Tesla V100", FT_OUTCOME_FAILED, 0, false },
    { 15000, "9g.99gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 0, false },
    { 9000, "1g.5gb", "", "NVIDIA A100-SXM4-40GB", FT_OUTCOME_FAILED, 0, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_observation o = observed(cases[i].used, cases[i].profile, cases[i].outcome);
    ft_run r = { .values = { [FT_QUANTITY_GPU_MEMORY] = (float)(cases[i].used * MIB) },
                 .censored = o.censored };

    (void)snprintf(o.gpu_name, sizeof o.gpu_name, "%s", cases[i].gpu);
    (void)snprintf(o.submission.request.gres, sizeof o.submission.request.gres, "%s",
                   cases[i].gres);
    r.gpu_limit_bytes = (float)ft_gpu_model_limit(&o);
    if (fabs((double)r.gpu_limit_bytes / MIB - cases[i].limit) > 0.02 * cases[i].limit ||
        ft_need_ran_out_of_gpu(&r) != cases[i].out)
      fail_msg("row %zu: %g MiB, %d", i, (double)r.gpu_limit_bytes / MIB,
               ft_need_ran_out_of_gpu(&r));
  }
}

static void runs_without_a_measured_gpu_are_ignored(void **state)
{
  struct story *s = *state;
  ft_observation o = observed(0, "", FT_OUTCOME_COMPLETED);

  o.has_gpu_memory_bytes = false;
  learn(s, o);
  assert_int_equal(
      ft_quantity_model_fit(&s->model, &s->history, FT_QUANTITY_GPU_MEMORY, &s->known.model, NULL),
      0);
}

/* ---- stories ---- */

#define SETS(slice)                                                                                \
  do {                                                                                             \
    if (s->said.action != FT_ACTION_SET || strcmp(s->said.value, "gpu:" slice ":1") != 0)          \
      fail_msg("%s expected: \"%s\", %s", slice, s->said.value, s->said.lines[0]);                 \
  } while (0)
#define SAYS(text)                                                                                 \
  do {                                                                                             \
    if (!strstr(s->said.lines[0], text))                                                           \
      fail_msg("\"%s\" expected: %s", text, s->said.lines[0]);                                     \
  } while (0)

static void the_first_run_is_enough_to_choose(void **state)
{
  struct story *s = *state;

  learn_run(s, 3000, "3g.20gb", FT_OUTCOME_COMPLETED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("1g.5gb");
  SAYS("unet used up to 2.93 GiB of GPU memory (1 run); --gres set to");
}

static void after_an_oom_the_slice_is_larger_and_stays_so(void **state)
{
  struct story *s = *state;

  learn_run(s, 4700, "1g.5gb", FT_OUTCOME_FAILED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("2g.10gb");
  SAYS("unet failed in 4.75 GiB of GPU memory (1 run, none completed)");
  learn_run(s, 9500, "2g.10gb", FT_OUTCOME_FAILED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("3g.20gb");
  learn_run(s, 12000, "3g.20gb", FT_OUTCOME_COMPLETED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("3g.20gb");
  SAYS("(3 runs, 1 completed)");
  for (int i = 0; i < 6; i++) {
    learn_run(s, 12000, "3g.20gb", FT_OUTCOME_COMPLETED);
    decide_slice(s, "", FT_MODE_UNSET);
    SETS("3g.20gb");
  }
}

static void other_failures_do_not_raise_the_slice(void **state)
{
  struct story *s = *state;

  learn_run(s, 1000, "1g.5gb", FT_OUTCOME_FAILED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("1g.5gb");
  SAYS("needs at least 1000 MiB of GPU memory (1 run, none completed)");
}

static void a_leak_does_not_raise_the_slice_forever(void **state)
{
  struct story *s = *state;

  s->policy.leak_runs = 2;
  learn_run(s, 4700, "1g.5gb", FT_OUTCOME_FAILED);
  learn_run(s, 9500, "2g.10gb", FT_OUTCOME_FAILED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("2g.10gb");
  SAYS(" and not more; to allow more");
  decide_slice(s, "gpu:2g.10gb:1", FT_MODE_RAISE);
  assert_int_equal(s->said.action, FT_ACTION_RAISE);
  assert_string_equal(s->said.value, "gpu:3g.20gb:1");
}

/* With few runs, the slice has at most ceiling_factor times the used memory. */
static void few_runs_choose_no_large_slice(void **state)
{
  struct story *s = *state;

  for (int i = 0; i < 4; i++)
    run_batch(s, 1 + i, 1000 * (1 + i), "3g.20gb");
  decide_slice_of_batch(s, "", FT_MODE_UNSET, 4);
  SETS("1g.5gb");
  decide_slice_of_batch(s, "", FT_MODE_UNSET, 1000);
  SETS("2g.10gb");
  SAYS(", capped at 2 times the largest need so far");
}

/* TensorFlow uses all available memory. */
static void an_app_that_fills_any_gpu_stays_where_it_completed(void **state)
{
  struct story *s = *state;

  for (int i = 0; i < 8; i++) {
    learn_run(s, 4750, "1g.5gb", FT_OUTCOME_COMPLETED);
    decide_slice(s, "", FT_MODE_UNSET);
    SETS("1g.5gb");
    SAYS(", in which comparable runs completed");
  }
  learn_run(s, 19500, "3g.20gb", FT_OUTCOME_COMPLETED);
  decide_slice(s, "gpu:1g.5gb:1", FT_MODE_UNSET);
  assert_int_not_equal(s->said.action, FT_ACTION_REJECT);
}

static void only_completed_comparable_runs_reject(void **state)
{
  struct story *s = *state;

  for (int i = 0; i < 4; i++) {
    learn_run(s, 7000 + 10 * i, "2g.10gb", FT_OUTCOME_COMPLETED);
    decide_slice(s, "gpu:1g.5gb:1", FT_MODE_UNSET);
    assert_int_equal(s->said.action, FT_ACTION_WARN);
    SAYS("gpu:1g.5gb has 4.75 GiB: it ");
    SAYS("use --gres=gpu:2g.10gb:1");
  }
  for (int i = 0; i < 8; i++)
    learn_run(s, 7000 + 10 * i, "2g.10gb", FT_OUTCOME_COMPLETED);
  decide_slice(s, "gpu:1g.5gb:1", FT_MODE_UNSET);
  assert_int_equal(s->said.action, FT_ACTION_REJECT);
  decide_slice(s, "gpu:1g.5gb:1", FT_MODE_FORCE);
  assert_int_equal(s->said.action, FT_ACTION_WARN);
  learn_run(s, 3000, "1g.5gb", FT_OUTCOME_COMPLETED);
  decide_slice(s, "gpu:1g.5gb:1", FT_MODE_UNSET);
  assert_int_equal(s->said.action, FT_ACTION_WARN);
}

/* A feature that explains GPU memory counts, even if host memory is constant. */
static void a_smaller_batch_is_not_rejected_for_larger_ones(void **state)
{
  struct story *s = *state;

  for (int i = 0; i < 8; i++) {
    run_batch(s, 64, 8000 + 10 * i, "2g.10gb");
    run_batch(s, 32, 4100 + 10 * i, "2g.10gb");
  }
  decide_slice_of_batch(s, "gpu:1g.5gb:1", FT_MODE_UNSET, 64);
  assert_int_equal(s->said.action, FT_ACTION_REJECT);
  decide_slice_of_batch(s, "gpu:1g.5gb:1", FT_MODE_UNSET, 16);
  assert_int_not_equal(s->said.action, FT_ACTION_REJECT);
  decide_slice_of_batch(s, "", FT_MODE_UNSET, 32);
  SETS("1g.5gb");
  decide_slice_of_batch(s, "", FT_MODE_UNSET, 64);
  SETS("2g.10gb");
}

/* Without a larger slice no margin is possible. */
static void the_largest_slice_is_enough_where_runs_completed_in_it(void **state)
{
  struct story *s = *state;

  learn_run(s, 17000, "3g.20gb", FT_OUTCOME_COMPLETED);
  learn_run(s, 19000, "", FT_OUTCOME_COMPLETED);
  decide_slice(s, "", FT_MODE_UNSET);
  SETS("3g.20gb");
  SAYS(", the largest slice");
  learn_run(s, 19500, "3g.20gb", FT_OUTCOME_FAILED);
  decide_slice(s, "", FT_MODE_UNSET);
  assert_int_equal(s->said.action, FT_ACTION_WARN);
  SAYS("no MIG slice of partition gpus is large enough");
}

/* Records may come from other machines and releases. */
static void any_measurement_gives_a_decision(void **state)
{
  static const double bytes[] = { 1, 1e3, 3e9, 5.1e9, 4e10, 0x1p62, 0x1.8p63 };
  static const char *const profiles[] = { "", "1g.5gb", "3g.20gb", "0g.0gb", "1c.3g.20gb", "\x7f" };
  static const ft_outcome outcomes[] = { FT_OUTCOME_COMPLETED, FT_OUTCOME_FAILED,
                                         FT_OUTCOME_CANCELLED, FT_OUTCOME_OUT_OF_MEMORY };
  static const char *const asked[] = { "", "gpu:1", "gpu:1g.5gb", "gpu:3g.20gb:2", "gpu:v100" };
  struct story *s = *state;

  for (unsigned i = 0; i < 120; i++) {
    ft_observation o =
        observed(1, profiles[i * 7 % COUNT_OF(profiles)], outcomes[i * 5 % COUNT_OF(outcomes)]);

    o.gpu_memory_bytes = (uint64_t)bytes[i * 11 % COUNT_OF(bytes)];
    if (i % 3)
      assert_true(ft_feature_number(o.submission.features, &o.submission.features_count, 24,
                                    "batch", i % 13));
    learn(s, o);
    for (size_t a = 0; a < COUNT_OF(asked); a++) {
      decide_slice_of_batch(s, asked[a], i % 2 ? FT_MODE_RAISE : FT_MODE_UNSET, i % 17);
      assert_true(s->said.lines_count > 0 && s->said.lines[0][0]);
      assert_null(strstr(s->said.lines[0], "nan"));
      assert_null(strstr(s->said.lines[0], " 0 B"));
    }
  }
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, make_story, end)

/* The calibration of a network reads nothing else of the app. */
static void runs_of_a_network_are_in_the_gpu_section(void **state)
{
  struct story *s = *state;
  static ft_model gpu;
  struct ft_error err;

  learn_run(s, 900, "", FT_OUTCOME_COMPLETED); /* without a model file */
  for (unsigned i = 0; i < 70; i++) {
    ft_observation o = observed(1000 + i, "", i == 3 ? FT_OUTCOME_FAILED : FT_OUTCOME_COMPLETED);

    assert_true(ft_feature_number(o.submission.features, &o.submission.features_count, 24,
                                  FT_FEATURE_NETWORK, (500 + i) * MIB));
    learn(s, o);
  }
  assert_int_equal(
      ft_quantity_model_fit(&s->model, &s->history, FT_QUANTITY_GPU_MEMORY, &gpu, &err), 71);
  assert_int_equal(gpu.gpu_runs_count, 64);
  for (unsigned i = 0; i < 64; i++) {
    assert_near(gpu.gpu_runs[i].network_bytes, (506 + i) * MIB, 1e-6);
    assert_near(gpu.gpu_runs[i].gpu_bytes, (1006 + i) * MIB, 1e-6);
    assert_int_equal(gpu.gpu_runs[i].gpu, s->history.run[1].gpu);
  }
  assert_int_equal(s->model.gpu_runs_count, 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    STORY(a_run_that_failed_with_its_gpu_nearly_full_ran_out),
    STORY(runs_without_a_measured_gpu_are_ignored),
    STORY(the_first_run_is_enough_to_choose),
    STORY(after_an_oom_the_slice_is_larger_and_stays_so),
    STORY(other_failures_do_not_raise_the_slice),
    STORY(a_leak_does_not_raise_the_slice_forever),
    STORY(few_runs_choose_no_large_slice),
    STORY(an_app_that_fills_any_gpu_stays_where_it_completed),
    STORY(the_largest_slice_is_enough_where_runs_completed_in_it),
    STORY(any_measurement_gives_a_decision),
    STORY(only_completed_comparable_runs_reject),
    STORY(a_smaller_batch_is_not_rejected_for_larger_ones),
    STORY(runs_of_a_network_are_in_the_gpu_section),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
