/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Networks that see have the parameters that transformers counts; tests/fixtures/graph/make-hf
 * makes the files and the table. */
#include "config.h"

#include "tests/unit/corpus.h"

#include "predictor/graph/analyse.h"

static void parameters_are_those_that_transformers_counts(void **state)
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

/* What the file does not know is asked for by its name, and contradictions are told. */
static void sizes_that_are_open_are_asked_for(void **state)
{
  static const struct {
    const char *name, *input, *says;
  } cases[] = {
    { "idefics3", "sequence=20", "(pictures) is open" },
    { "qwen2_vl", "sequence=20", "(height) is open" },
    { "qwen2_vl", "sequence=40,height=49,width=49", "squares of 2 x 2" },
    { "qwen2_vl", "sequence=5,height=56,width=84", "its pictures alone stand for 24 words" },
    { "llava", "sequence=15", "its pictures alone stand for 16 words" },
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

static void a_file_that_contradicts_itself_is_refused(void **state)
{
  static const struct {
    const char *text, *says;
  } cases[] = {
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"clip\"}}", "text_config" },
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"llava\"}}", "text_config" },
    { "{\"model_type\":\"llava\",\"text_config\":{\"model_type\":\"t5\"}}", "" },
    { "{\"model_type\":\"llava\",\"text_config\":7,\"vision_config\":{\"patch_size\":0}}",
      "patch_size" },
    { "{\"model_type\":\"llava\",\"vision_feature_layer\":-99}", "there is no such layer" },
    { "{\"model_type\":\"llava\",\"vision_feature_layer\":[-2,-5]}", "expected one layer" },
    { "{\"model_type\":\"gemma3\",\"mm_tokens_per_image\":0}", "put together" },
    { "{\"model_type\":\"gemma3\",\"mm_tokens_per_image\":1073741824}", "put together" },
    { "{\"model_type\":\"idefics3\",\"scale_factor\":3}", "put together" },
    { "{\"model_type\":\"qwen2_vl\",\"vision_config\":{\"patch_size\":0}}", "patches of 1" },
    { "{\"model_type\":\"qwen2_5_vl\",\"vision_config\":{\"out_hidden_size\":8}}",
      "out_hidden_size" },
    { "{\"model_type\":\"siglip_vision_model\",\"num_attention_heads\":0}", "no such network" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char path[] = "/tmp/test-hf-seeing-XXXXXX";
    struct ft_error err = { "" };
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, cases[i].text, strlen(cases[i].text)), strlen(cases[i].text));
    (void)close(fd);
    assert_null(ft_graph_read(path, &err));
    if (strncmp(err.text, path, strlen(path)) != 0 || !strstr(err.text, cases[i].says))
      fail_msg("%s: '%s', expected '%s'", cases[i].text, err.text, cases[i].says);
    (void)unlink(path);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(parameters_are_those_that_transformers_counts),
    cmocka_unit_test(sizes_that_are_open_are_asked_for),
    cmocka_unit_test(a_file_that_contradicts_itself_is_refused),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
