/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common code of the fuzz targets for model files. */
#ifndef FT_FUZZ_GRAPH_H
#define FT_FUZZ_GRAPH_H

#include "predictor/graph/import/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes give a one-line error or a graph with consistent totals. */
void ft_fuzz_file(const uint8_t *data, size_t size);

/* Returns an empty graph for a reader; release it with ft_graph_free after ft_build_free. */
struct ft_graph *ft_fuzz_begin(struct ft_build *build, struct ft_error *err);

/* Analyses GRAPH with several sizes. */
void ft_fuzz_check(struct ft_graph *graph);

#endif
