/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a batch of one padded size costs a network: memory and step time over a grid of sizes. */
#ifndef FT_ESTIMATE_NETWORK_SIZES_H
#define FT_ESTIMATE_NETWORK_SIZES_H

#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/shapes/batches.h"

struct ft_network_sizes {
  struct ft_size_grid bytes;   /* median of a batch's memory */
  struct ft_size_grid seconds; /* of a step; all 0 without a GPU */
  double high_factor;          /* 95th percentile over median, at the largest size */
  bool complete;               /* all tensor sizes are known */
};

/*
 * Fills NETWORK for GRAPH with the settings RUN on PART, from the smallest to the largest width and
 * height of SIZES. The network's inputs must not fix them, or be able to take others. Returns 0; -1
 * on error and fills ERR.
 */
int ft_network_sizes(struct ft_graph *graph, const struct ft_gpu_part *part,
                     const struct ft_gpu_run *run, const struct ft_item_sizes *sizes,
                     struct ft_network_sizes *network, struct ft_error *err);

#endif
