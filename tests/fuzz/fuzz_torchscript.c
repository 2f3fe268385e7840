/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TorchScript archives, and their contents alone, without the checksums that reject changes: files
 * of the program, each after a line "#file NAME", then a NUL and the pickle.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/torch/torchscript.h"
#include "tests/fuzz/graph.h"
#include "tests/fuzz/limit.h"

/* Parses each file of TEXT. Returns 0 or -1. */
static int parse(struct ft_build *build, struct ft_script *script, struct ft_text text)
{
  struct ft_text line, part;
  uint32_t name;

  while (ft_text_line(&text, &line)) {
    const char *begin = text.at;

    if (!ft_text_skip(&line, "#file "))
      continue;
    name = ft_build_name(build, line.at, ft_text_left(&line));
    if (name == UINT32_MAX)
      abort();
    part = text;
    while (ft_text_left(&text) && !ft_text_starts(text, "#file ") && ft_text_line(&text, &line))
      part = text;
    if (ft_script_parse(build, script, ft_build_text(build, name), begin,
                        (size_t)(part.at - begin)) < 0)
      return -1;
  }
  return 0;
}

const size_t fuzz_limit = FUZZ_MOST;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
  struct ft_script script = { .data_part = "data.pkl" };
  struct ft_error err = { "" };
  struct ft_build build;
  struct ft_graph *graph;

  if (!end || (size > 1 && memcmp(data, "PK", 2) == 0)) {
    ft_fuzz_file(data, size);
    return 0;
  }
  graph = ft_fuzz_begin(&build, &err);
  script.data = (const char *)end + 1;
  script.data_length = size - (size_t)(end + 1 - data);
  if (parse(&build, &script, ft_text_of((const char *)data, (size_t)(end - data))) == 0) {
    ft_script_sort(&script);
    graph->program = &script;
    graph->expand = ft_script_run;
    ft_fuzz_check(graph);
  } else if (!err.text[0]) {
    abort();
  }
  ft_build_free(&build);
  ft_graph_free(graph);
  return 0;
}
