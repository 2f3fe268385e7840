/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/ir/graph.h"

void ft_graph_free(struct ft_graph *graph)
{
  if (!graph)
    return;
  if (graph->release)
    graph->release(graph->program);
  ft_arena_free(&graph->arena);
  ft_arena_free(&graph->results);
  free(graph);
}
