/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the kernels of many networks (estimate/step), for tests/bench/step_time.
 *
 *   step_kernels <LINES
 *
 * A line of standard input is "FILE INPUT DEVICE PARAMS" (INPUT "-": the file's; PARAMS as in
 * --params), or "= CLASS DEVICE BATCH M N K MACS BYTES" for one kernel. Prints for each
 * "network OPERATORS COUNT", then "CLASS PASS PIPE COMPUTE MEMORY STARTS SECONDS" for each kernel,
 * in seconds; or "- REASON".
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/step/step_time.h"
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

static void print_kernel(const struct ft_kernel *kernel, const struct ft_gpu_part *part,
                         enum ft_precision precision)
{
  struct ft_kernel_bounds bounds;

  ft_kernel_bound(kernel, part, precision, &bounds);
  printf("%d %d %d %.6g %.6g %g %.6g\n", (int)kernel->class, (int)kernel->pass, (int)bounds.pipe,
         bounds.compute, bounds.memory, kernel->starts, ft_kernel_seconds(kernel, part, precision));
}

/* Lists the kernels of one network. */
static void list_network(struct ft_text line)
{
  struct ft_text file, input, device, params;
  char path[4096], sizes[256], name[64];
  struct ft_graph *graph = NULL;
  struct ft_gpu_part part = { NULL, 0, 0 };
  struct ft_kernels kernels;
  struct ft_gpu_run run;
  struct ft_error err = { "expected FILE INPUT DEVICE PARAMS" };

  ft_gpu_run_init(&run);
  if (ft_text_word(&line, &file) && ft_text_word(&line, &input) && ft_text_word(&line, &device) &&
      ft_text_word(&line, &params) && ft_text_copy(file, path, sizeof path) &&
      ft_text_copy(input, sizes, sizeof sizes) && ft_text_copy(device, name, sizeof name) &&
      set_params(&run, params) && (part.gpu = ft_gpu_called(name))) {
    run.sizes.input = strcmp(sizes, "-") == 0 ? NULL : sizes;
    graph = ft_graph_read(path, &err);
  }
  if (!graph || ft_kernels_list(graph, &run, &kernels, &err) < 0) {
    printf("- %s\n", err.text);
  } else {
    printf("network %g %zu %d\n", kernels.operators, kernels.count, (int)kernels.incomplete);
    for (size_t i = 0; i < kernels.count; i++)
      print_kernel(&kernels.list[i], &part, kernels.precision);
  }
  ft_graph_free(graph);
}

/* Prints the one kernel that LINE describes. */
static void list_kernel(struct ft_text line)
{
  struct ft_text words[8];
  char name[64];
  double v[7];
  bool valid = true;

  for (size_t i = 0; i < 8 && valid; i++)
    valid = ft_text_word(&line, &words[i]) &&
            (i == 1 || ft_text_is_double(words[i], &v[i > 1 ? i - 1 : 0]));
  if (valid && ft_text_copy(words[1], name, sizeof name)) {
    const struct ft_kernel kernel = { .class = (enum ft_kernel_class)v[0],
                                      .batch = v[1],
                                      .m = v[2],
                                      .n = v[3],
                                      .k = v[4],
                                      .macs = v[5],
                                      .bytes = v[6],
                                      .starts = 1 };
    const struct ft_gpu_part part = { ft_gpu_called(name), 0, 0 };

    if (part.gpu && v[0] >= 0 && v[0] < FT_KERNEL_CLASSES) {
      print_kernel(&kernel, &part, FT_PRECISION_FP32);
      return;
    }
  }
  printf("- expected CLASS DEVICE BATCH M N K MACS BYTES\n");
}

int main(void)
{
  char line[8192];

  while (fgets(line, sizeof line, stdin)) {
    struct ft_text text = ft_text_from(line), first;
    struct ft_text rest = text;

    if (ft_text_word(&rest, &first) && ft_text_equals(first, "="))
      list_kernel(rest);
    else
      list_network(text);
  }
  return 0;
}
