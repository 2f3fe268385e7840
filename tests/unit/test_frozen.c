/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters that are not trained. make-frozen beside tests/fixtures/graph/frozen.csv counts with
 * PyTorch, transformers and peft. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/gpu_params.h"

/* Parameters of net-half, and of quantized-mxfp4 with its experts' matrices. */
enum { HALF_PARAMETERS = 15338, MXFP4_PARAMETERS = 51056, MXFP4_EXPERTS = 2 * 4 * 3 * 32 * 48 };

enum { FILE_NAME, PARAMS, INPUT, SAVED, GRADIENTS, COLUMNS };

/* Sets RUN by PARAMS, "name=value" separated by spaces. */
static void set_params(struct ft_gpu_run *run, const char *params)
{
  struct ft_text left = ft_text_from(params), param, name;

  ft_gpu_run_init(run);
  while (ft_text_word(&left, &param)) {
    assert_true(ft_text_until(&param, '=', &name));
    assert_int_equal(ft_gpu_params_set(run, name, param), 1);
  }
}

static int estimate(const char *file, const char *params, const char *input,
                    struct ft_gpu_memory *memory, struct ft_error *err)
{
  struct ft_graph *graph = corpus_graph(file);
  struct ft_gpu_run run;
  int status;

  set_params(&run, params);
  run.sizes.input = input;
  status = ft_gpu_memory(graph, NULL, &run, memory, err);
  ft_graph_free(graph);
  return status;
}

/* Adapters of experts are not simulated: the estimate of FIELD's row must have bounds instead. */
static bool adapts_experts(char *const *field)
{
  return strstr(field[FILE_NAME], "mixtral") && strstr(field[PARAMS], "lora_layers=all");
}

/* Counts a mismatching row in *OFF. */
static void compare(void *off, char *const *field)
{
  struct ft_gpu_memory memory;
  struct ft_error err = { "" };
  double error, beyond;

  if (estimate(field[FILE_NAME], field[PARAMS], field[INPUT], &memory, &err) < 0)
    fail_msg("%s", err.text);
  error = (double)memory.activation_bytes / strtod(field[SAVED], NULL) - 1;
  beyond = strtod(field[SAVED], NULL) - (double)memory.activation_bytes;
  if (adapts_experts(field)
          ? !memory.complete && beyond > 0 && beyond < (double)ft_dim_or(memory.unknown_bytes, 0)
          : error <= 0.07 && error >= -0.07 && memory.complete &&
                memory.gradient_bytes == (int64_t)strtod(field[GRADIENTS], NULL))
    return;
  ++*(unsigned *)off;
  print_message("# %s, %s, %s: saved %+.1f %%, gradients %lld\n", field[FILE_NAME], field[PARAMS],
                field[INPUT], 100 * error, (long long)memory.gradient_bytes);
}

static void only_trained_parameters_have_gradients_and_saved_inputs(void **state)
{
  unsigned off = 0;

  (void)state;
  assert_true(corpus_rows("frozen.csv", COLUMNS, &off, compare) > 31);
  assert_int_equal(off, 0);
}

/* Of a llama of H = 32, two layers, MLP of 48, keys and values of 16 features, 100 tokens. */
static void quantised_weights_have_four_bits_and_a_scale_for_64(void **state)
{
  int64_t layer = 2 * 32 * 32 + 2 * 16 * 32 + 3 * 48 * 32, others = 2 * 100 * 32 + 5 * 32;
  struct ft_gpu_memory memory;
  struct ft_error err = { "" };

  (void)state;
  assert_int_equal(estimate("hf/llama-head.json", "precision=bf16 lora=4 quantized=4bit",
                            "sequence=32", &memory, &err),
                   0);
  assert_int_equal(memory.parameter_bytes, layer + 2 * others + 3584);
  assert_int_equal(memory.gradient_bytes, 3584);
  assert_int_equal(memory.optimizer_bytes, 3584);
}

/* The file has 16-bit weights, the configuration 4-bit experts and no dtype. */
static void sixteen_bit_weights_need_no_precision(void **state)
{
  static const struct {
    const char *file, *mode, *input;
    int64_t parameter_bytes;
  } cases[] = {
    { "pt2/net-half.pt2", "mode=training", "3x16x16", 2 * HALF_PARAMETERS },
    { "pt2/net-half.pt2", "mode=inference", "3x16x16", 2 * HALF_PARAMETERS },
    { "pt2/net-half.pt2", "mode=training precision=fp32", "3x16x16", 4 * HALF_PARAMETERS },
    { "hf/quantized-mxfp4.json", "mode=inference", "sequence=16",
      MXFP4_EXPERTS / 2 + 2 * (MXFP4_PARAMETERS - MXFP4_EXPERTS) },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_gpu_memory memory;
    struct ft_error err = { "" };

    if (estimate(cases[i].file, cases[i].mode, cases[i].input, &memory, &err) < 0)
      fail_msg("%s", err.text);
    if (memory.parameter_bytes != cases[i].parameter_bytes)
      fail_msg("%s, %s: %lld bytes of parameters", cases[i].file, cases[i].mode,
               (long long)memory.parameter_bytes);
  }
}

static void parts_add_up_to_the_estimate(void **state)
{
  static const char *const params[] = { "batch=4", "batch=4 mode=inference",
                                        "batch=4 optimizer=adamw precision=bf16" };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(params); i++) {
    struct ft_gpu_memory m;
    struct ft_error err = { "" };

    assert_int_equal(estimate("pt2/net-trained.pt2", params[i], NULL, &m, &err), 0);
    assert_true(m.bytes == (double)m.context_bytes + (double)m.parameter_bytes +
                               (double)m.gradient_bytes + (double)m.optimizer_bytes +
                               (double)m.activation_bytes + (double)m.cached_bytes +
                               ft_gpu_memory_other(&m));
  }
}

static void adapters_need_a_network_of_hugging_face(void **state)
{
  struct ft_gpu_memory memory;
  struct ft_error err = { "" };

  (void)state;
  assert_int_equal(estimate("pt2/net-trained.pt2", "lora=4", NULL, &memory, &err), -1);
  assert_non_null(strstr(err.text, "net-trained.pt2: lora: expected a Hugging Face network"));
  assert_int_equal(estimate("pt2/net-trained.pt2", "quantized=4bit", NULL, &memory, &err), -1);
  assert_non_null(strstr(err.text, "quantized: expected a Hugging Face network"));
  assert_int_equal(estimate("hf/owlvit.json", "lora=4", "sequence=7", &memory, &err), -1);
  assert_non_null(
      strstr(err.text, "lora: unknown which layers of model_type owlvit have adapters"));
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
    cmocka_unit_test(only_trained_parameters_have_gradients_and_saved_inputs),
    cmocka_unit_test(quantised_weights_have_four_bits_and_a_scale_for_64),
    cmocka_unit_test(sixteen_bit_weights_need_no_precision),
    cmocka_unit_test(parts_add_up_to_the_estimate),
    cmocka_unit_test(adapters_need_a_network_of_hugging_face),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
