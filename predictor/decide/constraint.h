/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether nodes satisfy --constraint, --gres and the options that request GPUs. Pure. */
#ifndef FT_DECIDE_CONSTRAINT_H
#define FT_DECIDE_CONSTRAINT_H

#include <stdbool.h>

#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/*
 * Returns whether a node of type KIND may satisfy CONSTRAINT, the value of --constraint. Also true
 * if the features of KIND are unknown, if features of CONSTRAINT may be on different nodes
 * ("[a|b]", "a*2&b*2"), and if CONSTRAINT is invalid.
 */
bool ft_constraint_allows(const char *constraint, const ft_node_type *kind);

/*
 * Returns whether a node of type KIND may have the generic resources that GRES, the value of
 * --gres, requests on a node: "gpu", "gpu:2", "gpu:a100:1,shard:4". Also true if GRES cannot be
 * parsed or the list of resources of KIND is incomplete.
 */
bool ft_gres_allows(const char *gres, const ft_node_type *kind);

/* Returns whether a node of type KIND may have the GPUs that the options in GPUS other than --gres
 * request for TASKS tasks. */
bool ft_gpu_request_fits_node(const struct ft_gpu_request *gpus, uint64_t tasks,
                              const ft_node_type *kind);

/* Returns whether the nodes of PARTITION that satisfy CONSTRAINT together have the GPUs in GPUS for
 * a job with TASKS tasks on NODES nodes. PARTITION must list all its node types. */
bool ft_gpu_request_fits_partition(const struct ft_gpu_request *gpus, uint64_t nodes,
                                   uint64_t tasks, const ft_partition *partition,
                                   const char *constraint);

#endif
