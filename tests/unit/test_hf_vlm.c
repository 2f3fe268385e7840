/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vision-language models have the parameter counts of transformers; tests/fixtures/graph/make-hf
 * makes the files and the table.
 */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"

static void parameter_counts_equal_those_of_transformers(void **state)
{
  static const struct {
    const char *name, *input;
    int64_t parameters;
  } cases[] = {
    { "llava", "sequence=20", 50136 },
    { "llava-head", "sequence=20", 54136 },
    { "paligemma", "sequence=20", 48400 },
    { "paligemma-head", "sequence=20", 48400 },
    { "gemma3", "sequence=20", 48584 },
    { "gemma3-head", "sequence=20", 48584 },
    { "idefics3", "sequence=20,pictures=3", 52200 },
    { "idefics3-head", "sequence=20,pictures=3", 56200 },
    { "smolvlm", "sequence=20,pictures=1", 52200 },
    { "smolvlm-head", "sequence=20,pictures=1", 56200 },
    { "qwen2_vl", "sequence=40,height=56,width=84", 82208 },
    { "qwen2_vl-head", "sequence=40,height=56,width=84", 82208 },
    { "qwen2_5_vl", "sequence=40,height=56,width=84", 83616 },
    { "qwen2_5_vl-head", "sequence=40,height=56,width=84", 87616 },
    { "clip_vision_model", NULL, 21856 },
    { "siglip_vision_model", NULL, 29232 },
    { "llava-1.5-7b", "sequence=1024", 7063427072 },
    { "llava-small", "sequence=1024", 893674656 },
    { "qwen2-vl-7b", "sequence=1024,height=448,width=448", 8291375616 },
    { "qwen2.5-vl-3b", "sequence=1024,height=448,width=448", 3754622976 },
    { "gemma-3-4b", "sequence=1024", 4300079472 },
    { "paligemma-3b", "sequence=1024", 2923466480 },
    { "smolvlm-256m", "sequence=1024,pictures=13", 256484928 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph_sizes sizes = { .batch = 2, .input = cases[i].input };
    struct ft_graph *graph = corpus_hf(cases[i].name);
    struct ft_error err = { "" };
    struct ft_analysis a;

    if (ft_graph_analyse(graph, &sizes, &a, &err) < 0)
      fail_msg("%s: %s", cases[i].name, err.text);
    if (a.cost.parameters != cases[i].parameters)
      fail_msg("%s: %lld parameters, transformers has %lld", cases[i].name,
               (long long)a.cost.parameters, (long long)cases[i].parameters);
    assert_int_equal(a.cost.unknown + a.cost.unresolved, 0);
    assert_true(a.cost.macs > 0);
    ft_graph_free(graph);
  }
}

/* Sizes that the file lacks are requested by name, and contradictions are reported. */
static void missing_sizes_are_requested_by_name(void **state)
{
  static const struct {
    const char *name, *input, *says;
  } cases[] = {
    { "idefics3", "sequence=20", "(pictures) is open" },
    { "qwen2_vl", "sequence=20", "(height) is open" },
    { "qwen2_vl", "sequence=40,height=49,width=49", "squares of 2 x 2" },
    { "qwen2_vl", "sequence=5,height=56,width=84", "its images alone are 24 tokens" },
    { "llava", "sequence=15", "its images alone are 16 tokens" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_graph_sizes sizes = { .batch = 1, .input = cases[i].input };
    struct ft_graph *graph = corpus_hf(cases[i].name);
    struct ft_error err = { "" };

    assert_int_equal(ft_graph_infer(graph, &sizes, &err), -1);
    if (!strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].name, err.text, cases[i].says);
    ft_graph_free(graph);
  }
}

/* Returns the graph of a configuration TEXT, read from the file PATH, which is removed; NULL
 * with ERR. */
static struct ft_graph *graph_of(const char *text, char path[32], struct ft_error *err)
{
  struct ft_graph *graph;
  int fd;

  (void)snprintf(path, 32, "/tmp/test-hf-vlm-XXXXXX");
  fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  (void)close(fd);
  graph = ft_graph_read(path, err);
  (void)unlink(path);
  return graph;
}

static void a_contradictory_configuration_is_rejected(void **state)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"clip\"}}", "text_config" },
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"llava\"}}", "text_config" },
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"t5\"}}", "" },
    { "{\"model_type\":\"llava\",\"text_config\":7,\"vision_config\":{\"patch_size\":0}}",
      "patch_size" },
    { "{\"model_type\":\"llava\",\"vision_feature_layer\":-99}", "no such layer" },
    { "{\"model_type\":\"llava\",\"vision_feature_layer\":[-2,-5]}", "expected one layer" },
    { "{\"model_type\":\"gemma3\",\"mm_tokens_per_image\":0}", "whole groups" },
    { "{\"model_type\":\"gemma3\",\"mm_tokens_per_image\":1073741824}", "whole groups" },
    { "{\"model_type\":\"idefics3\",\"scale_factor\":3}", "whole groups" },
    { "{\"model_type\":\"qwen2_vl\",\"vision_config\":{\"patch_size\":0}}", "patch_size 1 to" },
    { "{\"model_type\":\"qwen2_5_vl\",\"vision_config\":{\"out_hidden_size\":8}}",
      "out_hidden_size" },
    { "{\"model_type\":\"siglip_vision_model\",\"num_attention_heads\":0}", "every head" },
    { "{\"model_type\":\"siglip_vision_model\",\"num_attention_heads\":7}", "every head" },
    { "{\"model_type\":\"qwen2_vl\",\"vision_config\":{\"hidden_size\":64,\"embed_dim\":8}}",
      "every head" },
    { "{\"model_type\":\"clip_vision_model\",\"num_hidden_layers\":10001}", "out of range" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_error err = { "" };
    char path[32];

    assert_null(graph_of(cases[i].text, path, &err));
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].text, err.text, cases[i].says);
  }
}

static int64_t parameters_of(const char *text, const char *input)
{
  struct ft_graph_sizes sizes = { .batch = 1, .input = input };
  struct ft_error err = { "" };
  struct ft_analysis a;
  char path[32];
  struct ft_graph *graph = graph_of(text, path, &err);

  if (!graph || ft_graph_analyse(graph, &sizes, &a, &err) < 0)
    fail_msg("%s: %s", text, err.text);
  ft_graph_free(graph);
  return a.cost.parameters;
}

/* transformers treats a null part as an absent one. */
static void a_null_part_has_defaults(void **state)
{
  (void)state;
  assert_int_equal(parameters_of("{\"model_type\":\"paligemma\"}", "sequence=300"),
                   parameters_of("{\"model_type\":\"paligemma\",\"text_config\":null,"
                                 "\"vision_config\":null}",
                                 "sequence=300"));
#define FLAT "{\"model_type\":\"qwen2_vl\",\"hidden_size\":64,\"num_hidden_layers\":2"
  assert_int_equal(parameters_of(FLAT "}", "sequence=300,height=56,width=56"),
                   parameters_of(FLAT ",\"text_config\":null}", "sequence=300,height=56,width=56"));
}

static double kept_with_window(int size)
{
  struct ft_error err = { "" };
  struct ft_gpu_memory memory;
  struct ft_graph *graph;
  struct ft_gpu_run run;
  char text[512], path[32];

  (void)snprintf(text, sizeof text,
                 "{\"model_type\":\"qwen2_5_vl\",\"vision_config\":{\"depth\":3,\"hidden_size\":64,"
                 "\"num_heads\":4,\"intermediate_size\":64,\"patch_size\":1,\"window_size\":%d,"
                 "\"out_hidden_size\":64},\"text_config\":{\"hidden_size\":64,\"vocab_size\":64,"
                 "\"num_hidden_layers\":1,\"num_attention_heads\":4,\"num_key_value_heads\":4,"
                 "\"intermediate_size\":64}}",
                 size);
  graph = graph_of(text, path, &err);
  ft_gpu_run_init(&run);
  run.precision = FT_PRECISION_BF16;
  run.sizes.input = "sequence=1024,height=64,width=64";
  if (!graph || ft_gpu_memory(graph, ft_gpu_at(0), &run, &memory, &err) < 0)
    fail_msg("%s: %s", text, err.text);
  ft_graph_free(graph);
  return (double)memory.activation_bytes;
}

/* Windows are cut out of an image, so no mask is saved; a window wider than the image has no
 * effect. */
static void windowed_vision_attention_has_no_masks(void **state)
{
  double whole = kept_with_window(1 << 30);

  (void)state;
  assert_true(kept_with_window(8) <= whole);
  assert_true(kept_with_window(64) == whole);
  assert_true(kept_with_window(65) == whole);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(parameter_counts_equal_those_of_transformers),
    cmocka_unit_test(missing_sizes_are_requested_by_name),
    cmocka_unit_test(a_contradictory_configuration_is_rejected),
    cmocka_unit_test(a_null_part_has_defaults),
    cmocka_unit_test(windowed_vision_attention_has_no_masks),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
