/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever the bytes are: one line of error, or sums that hold together. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/estimate/gpu_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct ft_graph *graph, int64_t batch)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = NULL };
  struct ft_error err = { "" };
  struct ft_analysis analysis;
  const struct ft_cost *cost = &analysis.cost;

  if (ft_graph_analyse(graph, &sizes, &analysis, &err) < 0) {
    if (!err.text[0])
      abort();
    return;
  }
  if (cost->macs < 0 || cost->activations < 0 ||
      (cost->macs_at_most >= 0 && cost->macs_at_most < cost->macs) ||
      analysis.memory.inference_peak_bytes < analysis.memory.weight_bytes ||
      analysis.memory.saved_bytes < 0)
    abort();
}

static void play(struct ft_graph *graph, bool training)
{
  struct ft_error err = { "" };
  struct ft_gpu_memory memory;
  struct ft_gpu_run run;

  ft_gpu_run_begin(&run);
  run.training = training;
  run.checkpoints = 3;
  run.precision = FT_PRECISION_AMP;
  if (ft_gpu_memory(graph, ft_gpu_at(0), &run, &memory, &err) < 0) {
    if (!err.text[0])
      abort();
  } else if (!(memory.bytes > 0 && memory.least_bytes > 0)) {
    abort();
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_error err = { "" };
  struct ft_graph *graph;
  static char path[32];
  static int fd = -1;

  if (fd < 0) {
    fd = memfd_create("onnx", MFD_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (fd < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
      ft_io_write_all(fd, data, size) < 0)
    abort();
  graph = ft_graph_read(path, &err);
  if (!graph && !err.text[0])
    abort();
  if (graph) {
    check(graph, 1);
    check(graph, 64);
    play(graph, true);
    play(graph, false);
  }
  ft_graph_free(graph);
  return 0;
}
