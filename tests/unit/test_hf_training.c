/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/fixtures/graph/hf-saved.csv is counted by make-hf-saved beside it, on transformers' own
 * models. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "predictor/core/csv.h"
#include "predictor/estimate/gpu_memory.h"
#include "predictor/estimate/gpu_params.h"

enum { NAME, ATTENTION, PRECISION, BATCH, SEQUENCE, BYTES, COLUMNS };

/* What is known to be further off than 5 %: disentangled attention, scans, heads that share keys
 * without a kernel that takes them in 16 bits, angles that each layer writes out; in t5 what
 * chooses its positions, where samples are few. */
static const struct {
  const char *name;
  double error;
} apart[] = {
  { "bloom-head", 0.08 },    { "cohere-head", 0.07 }, { "deberta-v2-head", 0.3 },
  { "ernie4_5-head", 0.2 },  { "falcon-head", 0.25 }, { "gptj-head", 0.06 },
  { "mamba-head", 0.45 },    { "mt5-head", 0.13 },    { "phi3-head", 0.06 },
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
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[4096], input[128];
  struct ft_error err = { "" };
  struct ft_gpu_memory memory;
  struct ft_graph *graph;
  struct ft_gpu_run run;

  (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/hf/%s.json", top ? top : ".",
                 field[NAME]);
  graph = ft_graph_read(path, &err);
  if (!graph)
    fail_msg("%s", err.text);
  ft_gpu_run_begin(&run);
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

/* Bytes that autograd and the result hold at the end of a forward pass. */
static void training_keeps_what_transformers_keeps(void **state)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_error err = { "" };
  unsigned rows = 0, off = 0;
  struct ft_csv csv;
  char path[4096];
  int fd;

  (void)state;
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/graph/hf-saved.csv", top ? top : ".");
  fd = open(path, O_RDONLY | O_CLOEXEC);
  assert_true(fd >= 0);
  ft_csv_init(&csv, fd, path, ',', false);
  assert_int_equal(ft_csv_next(&csv, &err), 1);
  while (ft_csv_next(&csv, &err) == 1) {
    struct ft_gpu_memory memory;
    double error;

    assert_int_equal(csv.count, COLUMNS);
    memory = trained(csv.field);
    error = (double)memory.activation_bytes / strtod(csv.field[BYTES], NULL) - 1;
    rows++;
    if (error <= allowed(csv.field[NAME]) && error >= -allowed(csv.field[NAME]))
      continue;
    off++;
    print_message("# %s, %s, %s, %s x %s: %+.1f %%\n", csv.field[NAME], csv.field[ATTENTION],
                  csv.field[PRECISION], csv.field[BATCH], csv.field[SEQUENCE], 100 * error);
  }
  ft_csv_free(&csv);
  (void)close(fd);
  assert_true(rows > 700);
  assert_int_equal(off, 0);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
    cmocka_unit_test(training_keeps_what_transformers_keeps),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
