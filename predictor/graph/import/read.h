/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model file of any format becomes a graph. */
#ifndef FT_GRAPH_READ_H
#define FT_GRAPH_READ_H

#include "predictor/graph/ir/graph.h"

/*
 * Read PATH, recognised by its content. Returns a graph to be released with
 * ft_graph_free; NULL with ERR: "FILE: byte N: ...".
 */
struct ft_graph *ft_graph_read(const char *path, struct ft_error *err);

#endif
