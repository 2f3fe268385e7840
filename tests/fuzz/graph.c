/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/read.h"
#include "tests/fuzz/graph.h"

static void check(struct ft_graph *graph, int64_t batch, const char *input)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = input };
  struct ft_error err = { "" };
  struct ft_analysis analysis;
  const struct ft_cost *cost = &analysis.cost;

  if (ft_graph_analyse(graph, &sizes, &analysis, &err) < 0) {
    if (!err.text[0])
      abort();
    return;
  }
  if (cost->macs < 0 || cost->activations < 0 ||
      ft_dim_or(cost->macs_at_most, cost->macs) < cost->macs ||
      analysis.memory.inference_peak_bytes < analysis.memory.weight_bytes ||
      analysis.memory.saved_bytes < 0)
    abort();
}

static void play(struct ft_graph *graph, const struct ft_gpu_run *run)
{
  struct ft_error err = { "" };
  struct ft_gpu_memory memory;

  if (ft_gpu_memory(graph, ft_gpu_at(0), run, &memory, &err) < 0) {
    if (!err.text[0])
      abort();
  } else if (!(memory.bytes > 0 && memory.min_device_bytes > 0)) {
    abort();
  }
}

static void play_all(struct ft_graph *graph)
{
  struct ft_gpu_run run;

  ft_gpu_run_init(&run);
  run.precision = FT_PRECISION_AMP;
  run.checkpoints = 3;
  play(graph, &run);
  run.gpus = 3;
  run.shard = 3;
  play(graph, &run);
  run.checkpoints = 0;
  run.shard = 1;
  run.views = true;
  run.accumulate = 2;
  play(graph, &run);
  ft_gpu_run_init(&run);
  run.training = false;
  play(graph, &run);
  run.sizes.generate = graph->generates ? 5 : 0;
  run.sizes.input = "sequence=7";
  play(graph, &run);
  run.sizes.static_cache = true;
  play(graph, &run);
}

void ft_fuzz_check(struct ft_graph *graph)
{
  check(graph, 1, NULL);
  check(graph, 64, NULL);
  check(graph, 2, "3x16x16");
  check(graph, 2, "9x16");
  check(graph, 2, "sequence=5");
  check(graph, 2, "sequence=40,height=56,width=84");
  check(graph, 2, "sequence=40,pictures=3");
  play_all(graph);
}

struct ft_graph *ft_fuzz_begin(struct ft_build *build, struct ft_error *err)
{
  struct ft_graph *graph = calloc(1, sizeof *graph);

  if (!graph)
    abort();
  graph->arena.limit = graph->results.limit = FT_LIMIT_GRAPH;
  graph->file = "fuzz";
  ft_build_init(build, graph, err);
  if (ft_build_name(build, "", 0) == UINT32_MAX)
    abort();
  return graph;
}

void ft_fuzz_file(const uint8_t *data, size_t size)
{
  struct ft_error err = { "" };
  struct ft_graph *graph;
  static char path[32];
  static int fd = -1;

  if (fd < 0) {
    fd = memfd_create("graph", MFD_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  }
  if (fd < 0 || ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
      ft_io_write_all(fd, data, size) < 0)
    abort();
  graph = ft_graph_read(path, &err);
  if (!graph && !err.text[0])
    abort();
  if (graph)
    ft_fuzz_check(graph);
  ft_graph_free(graph);
}
