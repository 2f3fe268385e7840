/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every target of model files shares. */
#ifndef FT_FUZZ_GRAPH_H
#define FT_FUZZ_GRAPH_H

#include "predictor/graph/import/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever the bytes are: one line of error, or a graph whose sums hold together. */
void ft_fuzz_file(const uint8_t *data, size_t size);

/* An empty graph to read into; released with ft_graph_free after ft_build_free. */
struct ft_graph *ft_fuzz_begin(struct ft_build *build, struct ft_error *err);

/* Analyse GRAPH with sizes of several kinds. */
void ft_fuzz_check(struct ft_graph *graph);

#endif
