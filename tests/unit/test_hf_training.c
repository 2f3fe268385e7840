/* SPDX-License-Identifier: GPL-3.0-or-later */
/* make-hf-saved beside tests/fixtures/graph/hf-saved.csv counts with transformers' own models. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/gpu_params.h"

enum { NAME, ATTENTION, PRECISION, BATCH, SEQUENCE, BYTES, COLUMNS };

/* Known errors above 5 %: disentangled attention, scans, shared key heads without a 16-bit
 * kernel, rotary angles that each layer computes; in t5 the position buckets, for few samples. */
static const struct {
  const char *name;
  double error;
} apart[] = {
  { "bloom-head", 0.08 },    { "cohere-head", 0.07 }, { "deberta-v2-head", 0.3 },
  { "ernie4_5-head", 0.2 },  { "falcon-head", 0.13 }, { "gptj-head", 0.06 },
  { "mamba-head", 0.10 },    { "mt5-head", 0.13 },    { "phi3-head", 0.06 },
  { "seed_oss-head", 0.08 },
};

static double allowed(const char *name)
{
  for (size_t i = 0; i < COUNT_OF(apart); i++)
    if (strcmp(apart[i].name, name) == 0)
      return apart[i].error;
  return 0.05;
}

static struct ft_gpu_memory trained(char *const *field)
{
  struct ft_graph *graph = corpus_hf(field[NAME]);
  struct ft_error err = { "" };
  struct ft_gpu_memory memory;
  struct ft_gpu_run run;
  char input[128];

  ft_gpu_run_init(&run);
  run.plain_attention = strcmp(field[ATTENTION], "eager") == 0;
  assert_int_equal(
      ft_gpu_params_set(&run, ft_text_from("precision"), ft_text_from(field[PRECISION])), 1);
  assert_int_equal(ft_gpu_params_set(&run, ft_text_from("batch"), ft_text_from(field[BATCH])), 1);
  (void)snprintf(input, sizeof input, "%s=%s",
                 strncmp(field[NAME], "whisper", 7) == 0 ? "decoder_input_ids" : "sequence",
                 field[SEQUENCE]);
  run.sizes.input = strncmp(field[NAME], "vit", 3) == 0 ? NULL : input;
  if (ft_gpu_memory(graph, ft_gpu_at(0), &run, &memory, &err) < 0)
    fail_msg("%s", err.text);
  ft_graph_free(graph);
  return memory;
}

/* Counts a mismatching row in *OFF. */
static void compare(void *off, char *const *field)
{
  struct ft_gpu_memory memory = trained(field);
  double error = (double)memory.activation_bytes / strtod(field[BYTES], NULL) - 1;

  if (error <= allowed(field[NAME]) && error >= -allowed(field[NAME]))
    return;
  ++*(unsigned *)off;
  print_message("# %s, %s, %s, %s x %s: %+.1f %%\n", field[NAME], field[ATTENTION],
                field[PRECISION], field[BATCH], field[SEQUENCE], 100 * error);
}

/* Bytes that autograd and the result hold at the end of a forward pass. */
static void training_saves_the_memory_of_transformers(void **state)
{
  unsigned off = 0;

  (void)state;
  assert_true(corpus_rows("hf-saved.csv", COLUMNS, &off, compare) > 700);
  assert_int_equal(off, 0);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
    cmocka_unit_test(training_saves_the_memory_of_transformers),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
