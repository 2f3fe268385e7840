/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A site's measured networks improve the next estimate. */
#include "tests/unit/unit.h"

#include <math.h>

#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/online/gpu_observations.h"

#define MIB 1048576.0

static const double context = 1740 * MIB;

/* A run of a network estimated at NETWORK MiB that used MEASURED MiB. */
static ft_observation observation(uint32_t job, double network, double measured)
{
  ft_observation o = { .job_id = job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .gpu_name = "NVIDIA L40S",
                       .has_gpu_memory_bytes = true,
                       .gpu_memory_bytes = (uint64_t)(measured * MIB) };

  assert_true(ft_feature_number(o.submission.features, &o.submission.features_count, 24,
                                FT_FEATURE_NETWORK, network * MIB));
  return o;
}

/* Networks of all sizes on a GPU whose context has MEGABYTES. */
static void learn(ft_gpus *gpus, unsigned count, double megabytes, double slope)
{
  for (unsigned i = 0; i < count; i++) {
    double network = 300 * pow(1.4, i % 12) + i;
    ft_observation o = observation(i + 1, network, megabytes + slope * network);

    assert_true(ft_gpu_observations_learn(gpus, &o));
  }
}

static struct ft_gpu_device fit(const ft_gpus *gpus, double network)
{
  struct ft_gpu_device device;

  ft_gpu_device_fit(gpus->kinds[0].runs, gpus->kinds[0].runs_count, context, network * MIB,
                    &device);
  return device;
}

/* On a GPU without measured runs. */
static struct ft_gpu_memory refined(double network, const struct ft_gpu_device *device,
                                    const ft_model *app)
{
  struct ft_gpu_memory memory = { .context_bytes = (int64_t)context,
                                  .network_bytes = network * MIB,
                                  .bytes = context + network * MIB,
                                  .min_feasible_bytes = context + 0.8 * network * MIB,
                                  .min_device_bytes = context + 0.9 * network * MIB };
  uint32_t hash = ft_gpu_observations_hash("NVIDIA L40S");

  ft_gpu_calibrate(&memory, NULL, device, app, &hash, 1);
  return memory;
}

static void without_runs_an_estimate_stays(void **state)
{
  static ft_gpus gpus;
  struct ft_gpu_device device = fit(&gpus, 4000);
  struct ft_gpu_memory memory = refined(4000, &device, NULL);

  (void)state;
  assert_near(memory.bytes, context + 4000 * MIB, 1e-6);
  assert_near(memory.min_device_bytes, context + 3600 * MIB, 1e-6);
  assert_near(ft_estimate_quantile(&memory.estimate, 0.5), memory.bytes, 1e-6);
}

static void networks_on_a_gpu_give_its_context(void **state)
{
  static const struct {
    double context, slope, within;
    unsigned runs;
  } cases[] = { { 2400, 1, 0.05, 4 },
                { 2400, 1, 0.02, 12 },
                { 900, 1, 0.04, 12 },
                { 1740, 1, 0.005, 12 },
                { 2000, 1.1, 0.03, 24 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    static ft_gpus gpus;
    struct ft_gpu_device device;
    struct ft_gpu_memory memory;

    gpus = (ft_gpus){ .kinds_count = 0 };
    learn(&gpus, cases[i].runs, cases[i].context, cases[i].slope);
    device = fit(&gpus, 1500);
    memory = refined(1500, &device, NULL);
    if (fabs(memory.bytes / MIB / (cases[i].context + cases[i].slope * 1500) - 1) > cases[i].within)
      fail_msg("case %zu: %.0f MiB", i, memory.bytes / MIB);
  }
}

static void an_outlier_has_a_low_weight(void **state)
{
  static ft_gpus gpus;
  ft_observation odd = observation(100, 1000, 9000);
  struct ft_gpu_device device;

  (void)state;
  learn(&gpus, 12, 1740, 1);
  assert_true(ft_gpu_observations_learn(&gpus, &odd));
  device = fit(&gpus, 1500);
  assert_near(device.context_bytes + device.slope * 1500 * MIB, context + 1500 * MIB, 0.02);
}

/* A second process on the GPU, a late sampler, a driver that counts differently. */
static void one_bad_reading_spoils_no_estimate(void **state)
{
  static const double readings[] = { 1, 100, 600, 4000, 9000, 30000, 80000, 4e6 };

  (void)state;
  for (unsigned good = 0; good <= 8; good++)
    for (size_t i = 0; i < COUNT_OF(readings); i++) {
      static ft_gpus gpus;
      static ft_model app;
      ft_observation bad = observation(100, 1000, readings[i]);
      struct ft_gpu_device device;
      struct ft_gpu_memory with, without;

      gpus = (ft_gpus){ .kinds_count = 0 };
      app.gpu_runs_count = 1;
      app.gpu_runs[0] = (ft_gpu_run){ .network_bytes = (float)(1000 * MIB),
                                      .gpu_bytes = (float)(readings[i] * MIB),
                                      .gpu = ft_gpu_observations_hash("NVIDIA L40S") };
      learn(&gpus, good, 2240, 1);
      device = fit(&gpus, 1500);
      without = refined(1500, &device, NULL);
      assert_true(ft_gpu_observations_learn(&gpus, &bad));
      device = fit(&gpus, 1500);
      with = refined(1500, &device, &app);
      if (fabs(with.bytes / without.bytes - 1) >
          (good ? 0.06 : 0.15)) /* the reading may be correct */
        fail_msg("%u good runs, one of %.0f MiB: %.0f instead of %.0f MiB", good, readings[i],
                 with.bytes / MIB, without.bytes / MIB);
    }
}

static void runs_of_the_app_correct_its_own_network(void **state)
{
  static ft_gpus gpus;
  static ft_model app;
  struct ft_gpu_device device;
  double width[4], error[4];

  (void)state;
  learn(&gpus, 12, 1740, 1);
  device = fit(&gpus, 4000);
  for (unsigned n = 0; n < 4; n++) {
    struct ft_gpu_memory memory = refined(4000, &device, &app);

    assert_int_equal(memory.estimate.runs, n);
    error[n] = fabs(memory.bytes / MIB / (1740 + 1.15 * 4000) - 1);
    width[n] = ft_estimate_quantile(&memory.estimate, 0.9) / memory.bytes;
    app.gpu_runs[app.gpu_runs_count++] =
        (ft_gpu_run){ .network_bytes = (float)(4000 * MIB),
                      .gpu_bytes = (float)((1740 + 1.15 * 4000) * MIB),
                      .gpu = ft_gpu_observations_hash("NVIDIA L40S") };
  }
  assert_true(error[1] < error[0] && error[2] < error[1]);
  assert_true(error[3] < 0.03);
  assert_true(width[3] < width[0] && width[3] > 1);
}

static void uninformative_runs_are_not_learned(void **state)
{
  static ft_gpus gpus;
  ft_observation o = observation(1, 1000, 2740), spoilt;

  (void)state;
  spoilt = o;
  spoilt.censored = true;
  assert_false(ft_gpu_observations_learn(&gpus, &spoilt));
  spoilt = o;
  spoilt.outcome = FT_OUTCOME_FAILED;
  assert_false(ft_gpu_observations_learn(&gpus, &spoilt));
  spoilt = o;
  spoilt.gpu_name[0] = '\0';
  assert_false(ft_gpu_observations_learn(&gpus, &spoilt));
  spoilt = o;
  spoilt.has_gpu_memory_bytes = false;
  assert_false(ft_gpu_observations_learn(&gpus, &spoilt));
  spoilt = o;
  spoilt.submission.features_count = 0;
  assert_false(ft_gpu_observations_learn(&gpus, &spoilt));
  assert_true(ft_gpu_observations_learn(&gpus, &o));
  assert_false(ft_gpu_observations_learn(&gpus, &o)); /* nothing new */
}

static void a_later_record_replaces_and_one_network_is_bounded(void **state)
{
  static ft_gpus gpus;
  ft_observation o = observation(1, 1000, 2740);

  (void)state;
  assert_true(ft_gpu_observations_learn(&gpus, &o));
  o.gpu_memory_bytes *= 2;
  assert_true(ft_gpu_observations_learn(&gpus, &o));
  assert_int_equal(gpus.kinds[0].runs_count, 1);
  for (uint32_t i = 2; i < 200; i++) {
    o = observation(i, 1000, 2740 + i);
    assert_true(ft_gpu_observations_learn(&gpus, &o));
  }
  assert_int_equal(gpus.kinds[0].runs_count, 3);
  assert_near(gpus.kinds[0].runs[2].gpu_bytes, (2740 + 199) * MIB, 1e-5);
  for (uint32_t i = 0; i < 200; i++) {
    o = observation(1000 + i, 1000 * (i + 2), 3000);
    assert_true(ft_gpu_observations_learn(&gpus, &o));
  }
  assert_int_equal(gpus.kinds[0].runs_count, COUNT_OF(gpus.kinds[0].runs));
  for (uint32_t i = 0; i < 100; i++) {
    o = observation(5000 + i, 1000, 3000);
    (void)snprintf(o.gpu_name, sizeof o.gpu_name, "GPU %u", (unsigned)i);
    assert_true(ft_gpu_observations_learn(&gpus, &o));
  }
  assert_int_equal(gpus.kinds_count, COUNT_OF(gpus.kinds));
}

static void a_forgotten_run_has_no_effect(void **state)
{
  static ft_gpus gpus;
  ft_observation first = observation(1, 1000, 2740), second = observation(2, 3000, 4740);

  (void)state;
  (void)snprintf(second.gpu_name, sizeof second.gpu_name, "another");
  assert_true(ft_gpu_observations_learn(&gpus, &first));
  assert_true(ft_gpu_observations_learn(&gpus, &second));
  assert_true(ft_gpu_observations_forget(&gpus, &first));
  assert_false(ft_gpu_observations_forget(&gpus, &first));
  assert_int_equal(gpus.kinds_count, 1);
  assert_string_equal(gpus.kinds[0].name, "another");
  assert_int_equal(gpus.kinds[0].runs_count, 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(without_runs_an_estimate_stays),
    cmocka_unit_test(networks_on_a_gpu_give_its_context),
    cmocka_unit_test(an_outlier_has_a_low_weight),
    cmocka_unit_test(one_bad_reading_spoils_no_estimate),
    cmocka_unit_test(runs_of_the_app_correct_its_own_network),
    cmocka_unit_test(uninformative_runs_are_not_learned),
    cmocka_unit_test(a_forgotten_run_has_no_effect),
    cmocka_unit_test(a_later_record_replaces_and_one_network_is_bounded),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
