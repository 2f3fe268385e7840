/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether nodes satisfy --constraint, --gres and the options that request GPUs. */
#ifndef FT_DECIDE_CONSTRAINT_H
#define FT_DECIDE_CONSTRAINT_H

#include <stdbool.h>

#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/*
 * Whether a node of KIND may satisfy CONSTRAINT, as given. Returns true unless it certainly does
 * not: also if the kind's features are not known, if different nodes may have different features of
 * it ("[a|b]", "a*2&b*2"), and if Slurm will reject CONSTRAINT.
 */
bool ft_constraint_allows(const char *constraint, const ft_node_type *kind);

/*
 * Whether a node of KIND may have the generic resources that GRES, as given, requests on a node:
 * "gpu", "gpu:2", "gpu:a100:1,shard:4". Returns true also if GRES cannot be parsed or the kind's
 * list of resources is incomplete.
 */
bool ft_gres_allows(const char *gres, const ft_node_type *kind);

/* Whether a node of KIND with TASKS tasks may have the GPUs that the options other than --gres
 * request. */
bool ft_gpu_request_fits_node(const struct ft_gpu_request *gpus, uint64_t tasks,
                              const ft_node_type *kind);

/* Whether the nodes of PARTITION that satisfy CONSTRAINT together have the GPUs of a job with TASKS
 * tasks on NODES nodes. PARTITION must list all its node types. */
bool ft_gpu_request_fits_partition(const struct ft_gpu_request *gpus, uint64_t nodes,
                                   uint64_t tasks, const ft_partition *partition,
                                   const char *constraint);

#endif
