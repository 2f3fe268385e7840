/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a model file of any format into a graph. */
#ifndef FT_GRAPH_READ_H
#define FT_GRAPH_READ_H

#include "predictor/graph/ir/graph.h"

/*
 * Reads the model file PATH, or a directory with one, in the format that its content shows. Returns
 * a graph, which the caller frees by ft_graph_free; NULL on error and fills ERR ("FILE: byte N:
 * ...").
 */
struct ft_graph *ft_graph_read(const char *path, struct ft_error *err);

#endif
