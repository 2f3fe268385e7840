/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Constants that an exporter has computed of a network's relative positions and masks: their forms
 * tell of how many parameters.
 */
#ifndef FT_GRAPH_POSITION_TABLES_H
#define FT_GRAPH_POSITION_TABLES_H

#include "predictor/graph/ir/graph.h"

/*
 * Returns the number of parameters from which an exporter computed the constant T, of relative
 * positions within a square window of attention; 0: it is none. BEFORE_LAYER: a layer reads what is
 * computed of it. The forms are
 *   biases of pairs, [heads, queries, keys] or [queries * keys, heads], of a table for each head
 *   (Swin, MaxViT, CoAtNet, LeViT);
 *   before a layer [2 side - 1, 2 side - 1, width], of two coordinates each and a weight (Swin V2).
 */
int64_t ft_position_parameters(const struct ft_tensor *t, bool before_layer);

/* Returns whether the constant T, which no layer reads and of which the file does not state what it
 * is, is a mask of attention: pairs of tokens, the same for all heads. */
bool ft_is_unnamed_mask(const struct ft_tensor *t);

#endif
