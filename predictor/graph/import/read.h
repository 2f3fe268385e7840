/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a model file of any format into a graph. */
#ifndef FT_GRAPH_READ_H
#define FT_GRAPH_READ_H

#include "predictor/graph/ir/graph.h"

/* Reads PATH, whose format is recognised by content. Returns a graph, to be released with
 * ft_graph_free; NULL with ERR: "FILE: byte N: ...". */
struct ft_graph *ft_graph_read(const char *path, struct ft_error *err);

#endif
