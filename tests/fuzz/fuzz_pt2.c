/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Archives of torch.export, and their JSON alone, without the checksums that reject changes. */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/import/torch/pt2.h"
#include "tests/fuzz/graph.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FUZZ_MOST;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_error err = { "" };
  struct ft_build build;
  struct ft_graph *graph;

  if (!size || data[0] != '{') {
    ft_fuzz_file(data, size);
    return 0;
  }
  graph = ft_fuzz_begin(&build, &err);
  if (ft_pt2_parse(&build, "model.json", (const char *)data, size) == 0)
    ft_fuzz_check(graph);
  else if (!err.text[0])
    abort();
  ft_build_free(&build);
  ft_graph_free(graph);
  return 0;
}
