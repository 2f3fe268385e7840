/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels of small networks, and the time of a step. */
#include "config.h"

#include "tests/unit/corpus.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/step/step_time.h"

/* Sets RUN by PARAMS, "name=value" separated by commas. */
static void set_run(struct ft_gpu_run *run, const char *params, const char *input)
{
  struct ft_text left = ft_text_from(params), param, name;

  ft_gpu_run_init(run);
  while (ft_text_until(&left, ',', &param)) {
    assert_true(ft_text_until(&param, '=', &name));
    assert_int_equal(ft_gpu_params_set(run, name, param), 1);
  }
  run->sizes.input = input;
}

static double step_of(const char *file, const char *device, double share, const char *params,
                      const char *input)
{
  const struct ft_gpu_part part = { ft_gpu_called(device), share, share };
  struct ft_graph *graph = corpus_graph(file);
  struct ft_step_time time;
  struct ft_gpu_run run;
  struct ft_error err;

  set_run(&run, params, input);
  assert_non_null(part.gpu);
  if (ft_step_time(graph, &part, &run, &time, &err) < 0)
    fail_msg("%s: %s", file, err.text);
  ft_graph_free(graph);
  assert_true(isfinite(time.step) && time.step > 0);
  assert_true(fabs(time.forward + time.backward + time.optimizer - time.step) < 1e-6 * time.step);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    assert_true(time.estimate.quantile[i] > 0 &&
                (!i || time.estimate.quantile[i] >= time.estimate.quantile[i - 1]));
  return time.step;
}

/* The number of kernels of each class, and their multiply-accumulates. */
static void operators_become_kernels(void **state)
{
  static const struct {
    const char *file, *params, *input;
    unsigned counts[FT_KERNEL_CLASSES];
    double macs;
  } cases[] = {
    /* counted by hand: c0 and c1 of 3 x 3, the transposed c2 in two groups, c3, c4 and the last of
     * 1 x 1; five normalisations and activations, one pooling */
    { "onnx/unfolded.onnx",
      "batch=1,mode=inference",
      "3x64x64",
      { [FT_KERNEL_CONVOLUTION] = 2,
        [FT_KERNEL_GROUPED] = 1,
        [FT_KERNEL_POINTWISE] = 3,
        [FT_KERNEL_BATCH_NORM] = 5,
        [FT_KERNEL_ELEMENTWISE] = 5,
        [FT_KERNEL_REDUCTION] = 1 },
      4488144 },
    /* autocast converts six weights */
    { "onnx/unfolded.onnx",
      "batch=2,mode=inference,precision=amp",
      "3x64x64",
      { [FT_KERNEL_CONVOLUTION] = 2,
        [FT_KERNEL_GROUPED] = 1,
        [FT_KERNEL_POINTWISE] = 3,
        [FT_KERNEL_BATCH_NORM] = 5,
        [FT_KERNEL_ELEMENTWISE] = 5,
        [FT_KERNEL_REDUCTION] = 1,
        [FT_KERNEL_COPY] = 6 },
      2 * 4488144 },
    /* two gradients of each convolution, one of all else, and the optimiser */
    { "onnx/unfolded.onnx",
      "batch=1,mode=training",
      "3x64x64",
      { [FT_KERNEL_CONVOLUTION] = 6,
        [FT_KERNEL_GROUPED] = 3,
        [FT_KERNEL_POINTWISE] = 9,
        [FT_KERNEL_BATCH_NORM] = 10,
        [FT_KERNEL_ELEMENTWISE] = 10,
        [FT_KERNEL_REDUCTION] = 2,
        [FT_KERNEL_OPTIMIZER] = 1 },
      3 * 4488144 },
    /* the export had folded the normalisations: training has them again */
    { "onnx/folded.onnx",
      "batch=1,mode=training",
      "3x32x32",
      { [FT_KERNEL_CONVOLUTION] = 6,
        [FT_KERNEL_GROUPED] = 3,
        [FT_KERNEL_POINTWISE] = 9,
        [FT_KERNEL_BATCH_NORM] = 10,
        [FT_KERNEL_ELEMENTWISE] = 10,
        [FT_KERNEL_REDUCTION] = 2,
        [FT_KERNEL_OPTIMIZER] = 1 },
      3 * (8 * 900 * 27 + 8 * 784 * 72 + 8 * 784 * 24 + 8 * 841 * 12 + 8 * 841 * 8 +
           10 * 841 * 8) },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph *graph = corpus_graph(cases[i].file);
    unsigned counts[FT_KERNEL_CLASSES] = { 0 };
    struct ft_kernels kernels;
    struct ft_gpu_run run;
    struct ft_error err;
    double macs = 0;

    set_run(&run, cases[i].params, cases[i].input);
    if (ft_kernels_list(graph, &run, &kernels, &err) < 0)
      fail_msg("%s: %s", cases[i].file, err.text);
    for (size_t j = 0; j < kernels.count; j++) {
      counts[kernels.list[j].class]++;
      macs += kernels.list[j].macs;
    }
    for (int c = 0; c < FT_KERNEL_CLASSES; c++)
      if (counts[c] != cases[i].counts[c])
        fail_msg("%s %s: %u of class %s, not %u", cases[i].file, cases[i].params, counts[c],
                 ft_kernel_class_name((enum ft_kernel_class)c), cases[i].counts[c]);
    if (fabs(macs - cases[i].macs) > 0.5)
      fail_msg("%s %s: %.0f multiply-accumulates, not %.0f", cases[i].file, cases[i].params, macs,
               cases[i].macs);
    ft_graph_free(graph);
  }
}

/* More work takes longer; less of a GPU takes longer. */
static void time_grows_with_the_work(void **state)
{
  static const char file[] = "onnx/unfolded.onnx", input[] = "3x64x64";
  double small = step_of(file, "a100", 0, "batch=64,mode=inference", input);

  (void)state;
  assert_true(step_of(file, "a100", 0, "batch=1024,mode=inference", input) > small);
  assert_true(step_of(file, "a100", 0, "batch=64,mode=inference", "3x256x256") > small);
  assert_true(step_of(file, "a100", 0, "batch=64,mode=training", input) > small);
  assert_true(step_of(file, "a100", 1.0 / 7, "batch=64,mode=inference", input) > small);
  assert_true(step_of(file, "cpu", 0, "batch=64,mode=inference", input) > small);
  assert_true(step_of(file, "a100", 0, "batch=64,mode=training,accumulate=4", input) >
              3 * step_of(file, "a100", 0, "batch=64,mode=training", input));
  assert_true(step_of(file, "a100", 0, "batch=64,mode=training,checkpoint=4", input) >
              step_of(file, "a100", 0, "batch=64,mode=training", input));
}

/* Every device gives a finite time for the smallest and for absurd sizes. */
static void every_device_and_size_has_a_time(void **state)
{
  const struct ft_gpu *gpu;

  (void)state;
  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++) {
    (void)step_of("onnx/net-resnet.onnx", gpu->name, 0, "batch=1,mode=inference", NULL);
    (void)step_of("onnx/net-resnet.onnx", gpu->name, 0, "batch=8,mode=training,precision=amp",
                  NULL);
  }
  (void)step_of("onnx/unfolded.onnx", "v100", 0, "batch=1000000000,mode=training", "3x64x64");
  (void)step_of("onnx/unfolded.onnx", "v100", 1e-9, "batch=1,mode=training", "3x64x64");
}

/* A GPU without measurements, and a slice, have a wider interval. */
static void what_was_not_measured_is_wider(void **state)
{
  static const struct {
    const char *device, *params;
    double share;
    bool measured;
  } cases[] = {
    { "rtx3090", "batch=64,mode=inference,precision=amp", 0, true },
    { "v100", "batch=64,mode=inference,precision=fp32", 0, true },
    { "v100", "batch=64,mode=inference,precision=amp", 0, false },
    { "l40s", "batch=64,mode=inference,precision=amp", 0, false },
    { "a100", "batch=64,mode=inference,precision=fp32", 0.5, false },
  };
  double width[2] = { 0 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct ft_gpu_part part = { ft_gpu_called(cases[i].device), cases[i].share, 0 };
    struct ft_graph *graph = corpus_graph("onnx/unfolded.onnx");
    struct ft_step_time time;
    struct ft_gpu_run run;
    struct ft_error err;

    set_run(&run, cases[i].params, "3x64x64");
    assert_int_equal(ft_step_time(graph, &part, &run, &time, &err), 0);
    if (time.measured != cases[i].measured)
      fail_msg("%s, %s: measured %d", cases[i].device, cases[i].params, time.measured);
    width[time.measured] =
        ft_estimate_quantile(&time.estimate, 0.95) / ft_estimate_quantile(&time.estimate, 0.05);
    ft_graph_free(graph);
  }
  assert_true(width[0] > width[1]);
}

/* Watts and joules of a step, and their bounds. */
static void a_step_has_an_energy(void **state)
{
  static const struct {
    const char *device, *params;
    double share, least, most; /* watts, as shares of the power limit */
    bool measured;
  } cases[] = {
    { "h200", "batch=1,mode=inference,precision=fp32", 0, 0.1, 0.3, true }, /* waits for the host */
    { "h200", "batch=4096,mode=inference,precision=fp32", 0, 0.4, 1, true },
    { "h200", "batch=4096,mode=training,precision=amp", 0, 0.4, 1, true },
    { "h200", "batch=4096,mode=training,precision=amp", 0.5, 0.2, 0.5, false },
    { "h200", "batch=4096,mode=training,precision=amp,gpus=4", 0, 1.6, 4, true },
    { "a10", "batch=64,mode=inference,precision=fp32", 0, 0.3, 1, true },
    { "l40s", "batch=4096,mode=training,precision=fp32", 0, 0.3, 1, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct ft_gpu_part part = { ft_gpu_called(cases[i].device), cases[i].share,
                                      cases[i].share };
    struct ft_graph *graph = corpus_graph("onnx/unfolded.onnx");
    const struct ft_step_energy *e;
    struct ft_step_time time;
    struct ft_gpu_run run;
    struct ft_error err;

    set_run(&run, cases[i].params, "3x64x64");
    assert_int_equal(ft_step_time(graph, &part, &run, &time, &err), 0);
    e = &time.energy;
    if (e->measured != cases[i].measured || e->watts < cases[i].least * part.gpu->watts ||
        e->watts > cases[i].most * part.gpu->watts)
      fail_msg("%s, %s: measured %d, %g W of %g", cases[i].device, cases[i].params, e->measured,
               e->watts, part.gpu->watts);
    for (int level = 1; level < FT_ESTIMATE_LEVELS; level++)
      assert_true(e->joules.quantile[level] >= e->joules.quantile[level - 1]);
    assert_true(ft_estimate_quantile(&e->joules, 0.05) < e->watts * time.step);
    assert_true(ft_estimate_quantile(&e->joules, 0.95) > e->watts * time.step);
    ft_graph_free(graph);
  }
}

/* Joules grow with the work; of a device whose power limit is unknown there are none. */
static void energy_grows_with_the_work(void **state)
{
  static const char *const params[] = { "batch=64,mode=inference", "batch=64,mode=training",
                                        "batch=64,mode=training,checkpoint=4",
                                        "batch=64,mode=training,accumulate=4" };
  double last = 0;

  (void)state;
  for (size_t i = 0; i <= COUNT_OF(params); i++) {
    const bool host = i == COUNT_OF(params);
    const struct ft_gpu_part part = { ft_gpu_called(host ? "cpu" : "v100"), 0, 0 };
    struct ft_graph *graph = corpus_graph("onnx/unfolded.onnx");
    struct ft_step_time time;
    struct ft_gpu_run run;
    struct ft_error err;

    set_run(&run, params[host ? 0 : i], "3x64x64");
    assert_int_equal(ft_step_time(graph, &part, &run, &time, &err), 0);
    if (host)
      assert_true(!(time.energy.watts > 0));
    else if (!(time.energy.watts * time.step > last))
      fail_msg("%s: %g J", params[i], time.energy.watts * time.step);
    last = time.energy.watts * time.step;
    ft_graph_free(graph);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(operators_become_kernels),
    cmocka_unit_test(time_grows_with_the_work),
    cmocka_unit_test(every_device_and_size_has_a_time),
    cmocka_unit_test(what_was_not_measured_is_wider),
    cmocka_unit_test(a_step_has_an_energy),
    cmocka_unit_test(energy_grows_with_the_work),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
