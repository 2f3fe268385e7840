/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates the GPU memory of many models with given constants (estimate/gpu/gpu_memory.c), for
 * tests/bench/training_memory, gpumemnet, refine and live_bytes.
 *
 *   played [CONTEXT [BATCHES [WORKSPACE... [CHANNELS]]]] <LINES
 *
 * CONTEXT: MiB; BATCHES: number of batches resident on the device; WORKSPACE: five parameters
 * (struct ft_workspace) for each of three directions; CHANNELS: number from which a kernel copies.
 * A line of standard input is "FILE INPUT PARAMS" (INPUT "-": the file's; PARAMS as in --params).
 * Prints "PEAK FEASIBLE DEVICE LIVE" in MiB for each (struct ft_gpu_memory), or "-" and the reason.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/graph/import/read.h"

/* Sets the parameters of PARAMS, "NAME=VALUE,...". Returns false if one is unknown. */
static bool set_params(struct ft_gpu_run *run, struct ft_text params)
{
  struct ft_text one, name;

  while (ft_text_until(&params, ',', &one))
    if (!ft_text_until(&one, '=', &name) || ft_gpu_params_set(run, name, one) <= 0)
      return false;
  return true;
}

/* Simulates one line of standard input and prints its result. */
static void simulate_line(struct ft_text line, const struct ft_gpu_constants *constants)
{
  struct ft_text file, input, params;
  char path[4096], sizes[256];
  struct ft_graph *graph = NULL;
  struct ft_gpu_memory memory;
  struct ft_gpu_run run;
  struct ft_error err;

  ft_gpu_run_init(&run);
  run.constants = constants;
  if (!ft_text_word(&line, &file) || !ft_text_word(&line, &input) ||
      !ft_text_word(&line, &params) || !ft_text_copy(file, path, sizeof path) ||
      !ft_text_copy(input, sizes, sizeof sizes) || !set_params(&run, params)) {
    printf("- expected FILE INPUT PARAMS\n");
    return;
  }
  run.sizes.input = strcmp(sizes, "-") == 0 ? NULL : sizes;
  graph = ft_graph_read(path, &err);
  if (!graph || ft_gpu_memory(graph, NULL, &run, &memory, &err) < 0)
    printf("- %s\n", err.text);
  else
    printf("%.1f %.1f %.1f %.3f\n", memory.bytes / 1048576, memory.min_feasible_bytes / 1048576,
           memory.min_device_bytes / 1048576, (double)memory.live_bytes / 1048576);
  ft_graph_free(graph);
}

int main(int argc, char **argv)
{
  struct ft_gpu_constants constants = ft_gpu_constants;
  struct ft_workspace *w = constants.workspace;
  double copied = (double)constants.copied_channels;
  double *values[] = { &constants.context_mib,
                       &constants.resident_batches,
                       &w[0].spatial,
                       &w[0].pointwise,
                       &w[0].grouped,
                       &w[0].weight,
                       &w[0].odd,
                       &w[1].spatial,
                       &w[1].pointwise,
                       &w[1].grouped,
                       &w[1].weight,
                       &w[1].odd,
                       &w[2].spatial,
                       &w[2].pointwise,
                       &w[2].grouped,
                       &w[2].weight,
                       &w[2].odd,
                       &copied };
  char line[8192];

  for (int i = 1; i < argc && i <= (int)(sizeof values / sizeof *values); i++)
    if (!ft_text_is_double(ft_text_from(argv[i]), values[i - 1])) {
      fprintf(stderr, "played: %s: expected a number\n", argv[i]);
      return 2;
    }
  constants.copied_channels = (int64_t)copied;
  while (fgets(line, sizeof line, stdin)) {
    simulate_line(ft_text_from(line), &constants);
    if (fflush(stdout) != 0)
      return 3;
  }
  return 0;
}
