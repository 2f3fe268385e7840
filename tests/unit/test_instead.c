/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An alternative's estimate equals the estimate of a request with its settings. The files:
 * tests/fixtures/graph.
 */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/cli/predict/predict_model.h"
#include "predictor/estimate/gpu/gpu_params.h"

#define MIB 1048576.0

static const double safe = 0.95;

static const struct {
  const char *file, *input, *asked;
} cases[] = {
  { "onnx/torch-cnn.onnx", NULL, "batch=65536" },
  { "onnx/torch-cnn.onnx", NULL, "batch=65537,optimizer=adam,accumulate=3" },
  { "onnx/torch-cnn.onnx", NULL, "batch=4096,gpus=4,shard=1" },
  { "onnx/torch-cnn.onnx", NULL, "batch=1000,precision=amp,checkpoint=2" },
  { "onnx/torch-cnn.onnx", NULL, "batch=70001,mode=inference" },
  { "onnx/attention.onnx", "sequence=128", "batch=2048,offload=on" },
  { "onnx/attention.onnx", "sequence=512", "batch=777,attention=plain" },
  { "torchscript/net-resnet-traced.pt", "3x64x64", "batch=5003" },
  { "tensorflow/net-transformer.pb", NULL, "batch=3000,mode=inference,precision=tf32" },
  { "hf/gpt2-head.json", "sequence=256", "batch=48,optimizer=adamw" },
  { "hf/gpt2-head.json", "sequence=256", "batch=1" },
};

/* Applies SETTING to RUN, and to the device if it names one, like `foretell predict --params`. */
static void apply(const char *setting, struct ft_gpu_run *run, const struct ft_gpu **gpu)
{
  struct ft_text list = ft_text_from(setting), one, name;

  while (ft_text_until(&list, ',', &one)) {
    assert_true(ft_text_until(&one, '=', &name));
    if (ft_text_equals(name, "device"))
      *gpu = ft_gpu_find("cpu");
    else if (ft_gpu_params_set(run, name, one) != 1)
      fail_msg("%s is no setting", setting);
  }
}

/* A site whose GPUs use a tenth more than estimated. */
static void tenth_more(void *context, const struct ft_gpu *gpu, struct ft_gpu_memory *memory)
{
  (void)context;
  if (gpu && gpu->host)
    return;
  memory->bytes *= 1.1;
  ft_gpu_memory_fill_quantiles(memory, 1, 0);
}

static struct ft_gpu_memory estimate_memory(const struct ft_instead_question *q,
                                            const struct ft_gpu *gpu, const struct ft_gpu_run *run)
{
  struct ft_gpu_memory memory;
  struct ft_error err;

  if (ft_gpu_memory(q->graph, gpu, run, &memory, &err) < 0)
    fail_msg("%s", err.text);
  if (q->refine)
    q->refine(q->context, gpu, &memory);
  return memory;
}

static bool fits(const struct ft_instead_question *q, const struct ft_gpu *gpu,
                 const struct ft_gpu_run *run)
{
  struct ft_gpu_memory memory = estimate_memory(q, gpu, run);

  return (gpu && gpu->host) || ft_estimate_quantile(&memory.estimate, q->probability) <= q->bytes;
}

/* A step has the requested samples, except a few that do not divide evenly, in as few passes as
 * the largest batch permits. */
static void check_passes(const struct ft_instead_question *q, const struct ft_gpu_run *run,
                         const struct ft_instead *hint)
{
  int64_t before = q->run.accumulate ? q->run.accumulate : 1, passes = run->accumulate / before;

  if (run->sizes.batch != hint->largest_batch) /* a smaller batch can need more of the allocator */
    assert_in_range(run->sizes.batch * passes, q->run.sizes.batch, q->run.sizes.batch + passes - 1);
  assert_true(hint->largest_batch * (passes - 1) < q->run.sizes.batch);
}

static void check_hint(const struct ft_instead_question *q, const struct ft_instead *hint)
{
  const struct ft_gpu *gpu = q->part.gpu;
  struct ft_gpu_run run = q->run;

  apply(hint->setting, &run, &gpu);
  assert_near(hint->bytes, estimate_memory(q, gpu, &run).bytes, 1e-9);
  if (!fits(q, gpu, &run))
    fail_msg("%s does not fit", hint->setting);
  if (!(hint->time > 0))
    fail_msg("%s has no price", hint->setting);
  if (strcmp(hint->change, "batch") != 0)
    return;
  if (run.training)
    check_passes(q, &run, hint);
  else
    assert_int_equal(run.sizes.batch, hint->largest_batch);
  run.sizes.batch = hint->largest_batch;
  if (!fits(q, gpu, &run))
    fail_msg("%lld of %s does not fit", hint->largest_batch, hint->setting);
  run.sizes.batch++;
  if (run.sizes.batch < q->run.sizes.batch && fits(q, gpu, &run))
    fail_msg("%s is not the largest batch", hint->setting);
}

static size_t check_case(size_t c, const struct ft_instead_question *asked)
{
  struct ft_instead_question q = *asked;
  struct ft_instead list[FT_INSTEADS];
  size_t count;

  if (fits(&q, q.part.gpu, &q.run))
    return 0;
  count = ft_instead_find(&q, list);
  for (size_t i = 0; i < count; i++)
    check_hint(&q, &list[i]);
  if (!count || strcmp(list[count - 1].change, "cpu") != 0)
    fail_msg("%s, %s: the CPU is not told", cases[c].file, cases[c].asked);
  return count - 1;
}

static void an_alternatives_estimate_is_that_of_its_settings(void **state)
{
  static const double parts[] = { 0.3, 0.6, 0.8, 0.95 };
  size_t hints = 0;

  (void)state;
  for (size_t c = 0; c < COUNT_OF(cases); c++) {
    struct ft_instead_question q = { .graph = corpus_graph(cases[c].file), .probability = safe };
    struct ft_gpu_memory whole;
    struct ft_error err;

    ft_gpu_run_init(&q.run);
    q.run.sizes.input = cases[c].input;
    apply(cases[c].asked, &q.run, &q.part.gpu);
    for (size_t g = 0; g < 3; g++) {
      q.part = (struct ft_gpu_part){ .gpu = g < 2 ? ft_gpu_at(2 * g) : NULL };
      q.refine = g == 1 ? tenth_more : NULL;
      if (ft_gpu_memory(q.graph, q.part.gpu, &q.run, &whole, &err) < 0)
        fail_msg("%s", err.text);
      for (size_t i = 0; i < COUNT_OF(parts); i++) {
        q.bytes =
            (double)whole.context_bytes + parts[i] * (whole.bytes - (double)whole.context_bytes);
        hints += check_case(c, &q);
      }
    }
    ft_graph_free(q.graph);
  }
  if (hints < 150)
    fail_msg("only %zu hints", hints);
}

static bool has(const struct ft_instead *list, size_t count, const char *change)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i].change, change) == 0)
      return true;
  return false;
}

static void every_alternative_is_tried(void **state)
{
  static const char *const training[] = { "precision", "batch",   "checkpoint",
                                          "gpus",      "offload", "cpu" };
  struct ft_instead_question q = { .graph = corpus_graph("hf/gpt2-head.json"),
                                   .part.gpu = ft_gpu_at(0),
                                   .bytes = 4096 * MIB,
                                   .probability = safe };
  struct ft_instead list[FT_INSTEADS];
  size_t count;

  (void)state;
  ft_gpu_run_init(&q.run);
  q.run.sizes.input = "sequence=256";
  for (q.run.sizes.batch = 1024; fits(&q, q.part.gpu, &q.run);)
    q.run.sizes.batch += q.run.sizes.batch / 4;
  count = ft_instead_find(&q, list);
  for (size_t i = 0; i < COUNT_OF(training); i++)
    if (!has(list, count, training[i]))
      fail_msg("%s is not told", training[i]);
  q.run.training = false;
  while (fits(&q, q.part.gpu, &q.run))
    q.run.sizes.batch += q.run.sizes.batch / 4;
  count = ft_instead_find(&q, list);
  assert_false(has(list, count, "checkpoint") || has(list, count, "offload"));
  for (size_t i = 0; i < count; i++)
    assert_null(strstr(list[i].setting, "accumulate"));
  ft_graph_free(q.graph);
}

/* Relative times of steps: half the bits are faster, offloading is slower, a seventh of a GPU is
 * slower than the whole. */
static void slower_alternatives_are_marked(void **state)
{
  struct ft_graph *graph = corpus_graph("torchscript/net-resnet-traced.pt");
  struct ft_gpu_part whole = { .gpu = ft_gpu_at(0) }, slice = whole,
                     host = { .gpu = ft_gpu_find("cpu") };
  struct ft_gpu_run run, other;
  struct ft_error err;
  double seconds;

  (void)state;
  slice.compute = 1.0 / 7;
  slice.memory = 1.0 / 8;
  ft_gpu_run_init(&run);
  run.sizes.input = "3x64x64";
  run.sizes.batch = 64;
  seconds = ft_gpu_step_seconds(graph, &whole, &run, 0, &err);
  assert_true(seconds > 0);
  assert_true(ft_gpu_step_seconds(graph, &whole, &run, 1e9, &err) > seconds + 0.03);
  assert_true(ft_gpu_step_seconds(graph, &slice, &run, 0, &err) > 6 * seconds);
  assert_true(ft_gpu_step_seconds(graph, &host, &run, 0, &err) > 5 * seconds);
  other = run;
  other.precision = FT_PRECISION_BF16;
  assert_true(ft_gpu_step_seconds(graph, &whole, &other, 0, &err) < 0.51 * seconds);
  other = run;
  other.checkpoints =
      4; /* three of four forward passes are repeated, in three passes of work in all */
  assert_near(ft_gpu_step_seconds(graph, &whole, &other, 0, &err), 1.25 * seconds, 1e-6);
  other = run;
  other.training = false;
  assert_near(ft_gpu_step_seconds(graph, &whole, &other, 0, &err), seconds / 3, 1e-6);
  ft_graph_free(graph);
}

static void times_have_two_digits(void **state)
{
  static const struct {
    double time;
    const char *said;
  } times[] = { { 0.0631, "0.063" }, { 0.5, "0.5" },       { 1, "1" },      { 4.26, "4.3" },
                { 58, "58" },        { 99.4, "99" },       { 99.6, "100" }, { 254, "250" },
                { 1234, "1200" },    { 1e9, "1000000000" } };
  char out[32];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(times); i++)
    assert_string_equal(ft_instead_times(times[i].time, out), times[i].said);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_alternatives_estimate_is_that_of_its_settings),
    cmocka_unit_test(every_alternative_is_tried),
    cmocka_unit_test(times_have_two_digits),
    cmocka_unit_test(slower_alternatives_are_marked),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
