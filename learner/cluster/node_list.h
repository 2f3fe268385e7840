/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm's lists of nodes, such as "n[01-16,20],gpu1". */
#ifndef FT_LEARNER_CLUSTER_NODE_LIST_H
#define FT_LEARNER_CLUSTER_NODE_LIST_H

#include <stdbool.h>

#include "predictor/core/text.h"

/* Whether LIST, as Slurm prints it, has the node NAME. */
bool ft_node_list_has(struct ft_text list, const char *name);

#endif
