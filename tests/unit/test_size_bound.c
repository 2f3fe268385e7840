/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unknown operators leave figures open; open figures have bounds and are reported. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/import/read.h"

/* Writes into FD the file NAME in which the operators of these types have unknown names. */
static void make_strange(const char *name, int fd)
{
  static const char *const types[][2] = { { "\"\4Conv", "\"\4Warp" },
                                          { "\"\6MatMul", "\"\6Weaver" },
                                          { "\"\4Gemm", "\"\4Germ" } };
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_error err;
  struct ft_buf file;
  char from[4096];

  (void)snprintf(from, sizeof from, "%s/tests/fuzz/corpus/onnx/%s.onnx", top ? top : ".", name);
  ft_buf_init(&file, 1 << 20);
  assert_int_equal(ft_io_read_file(AT_FDCWD, from, &file, &err), 0);
  for (size_t i = 0; i < COUNT_OF(types); i++)
    for (size_t at = 0, length = strlen(types[i][0]); at + length <= file.length; at++)
      if (memcmp(file.data + at, types[i][0], length) == 0)
        memcpy(file.data + at, types[i][1], length);
  assert_int_equal(ftruncate(fd, 0), 0);
  assert_true(lseek(fd, 0, SEEK_SET) == 0);
  assert_int_equal(ft_io_write_all(fd, file.data, file.length), 0);
  ft_buf_free(&file);
}

static void read_network(const char *path, struct ft_analysis *analysis,
                         struct ft_gpu_memory *memory)
{
  struct ft_error err = { "" };
  struct ft_graph *graph = ft_graph_read(path, &err);
  struct ft_gpu_run run;

  ft_gpu_run_init(&run);
  run.sizes.batch = 4;
  if (!graph || ft_graph_analyse(graph, &run.sizes, analysis, &err) < 0 ||
      ft_gpu_memory(graph, ft_gpu_find("a100-40gb"), &run, memory, &err) < 0)
    fail_msg("%s: %s", path, err.text);
  ft_graph_free(graph);
}

static void figures_left_open_by_unknown_operators_are_bounded_and_widen_the_estimate(void **state)
{
  static const char *const names[] = { "net-cnn", "net-resnet", "net-transformer", "net-volume" };
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[] = "/tmp/test-bound-XXXXXX", whole[4096];
  int fd = mkstemp(path);

  (void)state;
  assert_true(fd >= 0);
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    struct ft_analysis known, strange;
    struct ft_gpu_memory sure, unsure;
    int64_t unknown = 0;
    double rest;

    (void)snprintf(whole, sizeof whole, "%s/tests/fuzz/corpus/onnx/%s.onnx", top ? top : ".",
                   names[i]);
    read_network(whole, &known, &sure);
    make_strange(names[i], fd);
    read_network(path, &strange, &unsure);
    assert_true(ft_dim_is(known.cost.open_at_most, 0));
    assert_true(sure.complete && ft_dim_is(sure.unknown_bytes, 0));
    if (strange.cost.parameters != known.cost.parameters || !strange.cost.unknown ||
        ft_dim_or(strange.cost.macs_at_most, -1) < known.cost.macs ||
        ft_dim_or(strange.cost.activations_at_most, -1) < known.cost.activations)
      fail_msg("%s: %lld parameters, %u unknown, at most %lld MACs and %lld activations", names[i],
               (long long)strange.cost.parameters, strange.cost.unknown,
               (long long)ft_dim_or(strange.cost.macs_at_most, -1),
               (long long)ft_dim_or(strange.cost.activations_at_most, -1));
    assert_true(!unsure.complete && ft_dim_get(unsure.unknown_bytes, &unknown) && unknown > 0);
    /* the variance of the known part, and nine tenths of the remainder */
    rest = ft_estimate_quantile(&unsure.estimate, 0.95) -
           ft_estimate_quantile(&sure.estimate, 0.95) / sure.bytes * unsure.bytes;
    assert_true(fabs(rest - 0.9 * (double)unknown) < 1);
    rest = ft_estimate_quantile(&unsure.estimate, 0.5) -
           ft_estimate_quantile(&sure.estimate, 0.5) / sure.bytes * unsure.bytes;
    assert_true(fabs(rest) < 1);
  }
  unlink(path);
  close(fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(figures_left_open_by_unknown_operators_are_bounded_and_widen_the_estimate),
  };

  return cmocka_run_group_tests_name("bound", tests, NULL, NULL);
}
