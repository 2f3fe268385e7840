/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The chart of foretell graph. */
#ifndef FT_CLI_GRAPH_H
#define FT_CLI_GRAPH_H

#include "predictor/graph/training/memory.h"

/* Draws memory by layer into OUTPUT, which ends in .svg or .png. Returns 0; -1 and fills ERR. */
int ft_graph_picture(const char *name, const struct ft_memory *memory, const char *output,
                     struct ft_error *err);

#endif
