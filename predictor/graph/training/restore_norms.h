/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Batch normalisations that an exporter has folded into convolutions, for estimates of training. */
#ifndef FT_GRAPH_TRAINING_RESTORE_NORMS_H
#define FT_GRAPH_TRAINING_RESTORE_NORMS_H

#include "predictor/graph/ir/graph.h"

/*
 * Makes GRAPH's outermost block the one with (RESTORE) or without a BatchNormalization after each
 * convolution with ft_operator.folded_norm; ft_graph_read returns the latter. Shapes have to be
 * inferred again if graph->restored_norms changes. Returns 0; -1 past FT_LIMIT_GRAPH and fills ERR.
 */
int ft_graph_restore_norms(struct ft_graph *graph, bool restore, struct ft_error *err);

#endif
