/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes --constraint, --gres and the options about GPUs leave. */
#ifndef FT_DECIDE_CONSTRAINT_H
#define FT_DECIDE_CONSTRAINT_H

#include <stdbool.h>

#include "predictor/core/text.h"
#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/*
 * Whether some node of KIND may have what CONSTRAINT, as typed, asks for. Nothing is left out for
 * certain alone: where the kind's features are not known, where different nodes may have different
 * ones of those named ("[a|b]", "a*2&b*2"), and of what Slurm will not take, the answer is yes.
 */
bool ft_constraint_allows(const char *constraint, const ft_node_type *kind);

/*
 * PIECE, a generic resource that is asked for, as it was typed: before that some of Slurm's
 * releases put "gres:" or "gres/".
 */
struct ft_text ft_gres_skip_prefix(struct ft_text piece);

/*
 * Whether a node of KIND may have the generic resources that GRES, as typed, asks for on a node:
 * "gpu", "gpu:2", "gpu:a100:1,shard:4". Yes also of what cannot be read, and where there are
 * more of them than the kind's list has room for.
 */
bool ft_gres_allows(const char *gres, const ft_node_type *kind);

/*
 * Likewise of the GPUs that the options about them, but for --gres, ask for on a node of KIND, on
 * which run TASKS tasks; and whether the nodes of PARTITION that have what CONSTRAINT asks for have
 * together as many as a job of TASKS tasks on NODES nodes asks for, where it lists all of its kinds
 * of nodes.
 */
bool ft_gpu_request_fits_node(const struct ft_gpu_request *asked, uint64_t tasks,
                              const ft_node_type *kind);
bool ft_gpu_request_fits_partition(const struct ft_gpu_request *asked, uint64_t nodes,
                                   uint64_t tasks, const ft_partition *partition,
                                   const char *constraint);

#endif
