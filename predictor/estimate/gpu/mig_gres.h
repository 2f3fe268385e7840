/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MIG slices of a cluster, identified by the names of its generic resources (GRES). Pure. */
#ifndef FT_ESTIMATE_MIG_GRES_H
#define FT_ESTIMATE_MIG_GRES_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/mig.h"
#include "predictor/record/record.h"

/* Returns whether NAME, in a user's or a site's spelling, contains the name of a GPU of TABLE. */
bool ft_mig_names_gpu(const struct ft_mig_table *table, const char *name);

/*
 * Returns whether NAME, in a user's or a site's spelling, may denote KNOWN, a GPU of TABLE. "a100"
 * may be a100-40gb or a100-80gb; "NVIDIA A100-SXM4-40GB" is a100-40gb, "nvidia_a100_80gb_pcie" is
 * a100-80gb. A NAME without a GPU of TABLE may denote any.
 */
bool ft_mig_may_be(const struct ft_mig_table *table, const char *name, const char *known);

/*
 * Returns the memory, in bytes, of the whole GPU with NVML's product name NAME: the smallest memory
 * of those that NAME may denote; 0 if TABLE has none.
 */
double ft_mig_whole_bytes(const struct ft_mig_table *table, const char *name);

/*
 * Returns the slice that GRES ("gpu:a100_1g.5gb") denotes; NULL if GRES is not a slice. If several
 * GPUs have a slice of that name, those are preferred that also have the other slices of PARTITION
 * (NULL: unknown) and that GPU, a user's name of a GPU, may denote ("": any). Of the remaining
 * slices the one with the smallest memory is returned.
 */
const struct ft_mig_profile *ft_mig_of_gres(const struct ft_mig_table *table,
                                            const ft_partition *partition, const char *gpu,
                                            const char *gres);

/* A slice that a partition offers. */
struct ft_mig_offer {
  const struct ft_mig_profile *slice; /* NULL: none */
  const char *gres;                   /* GRES name of the slice, borrowed from the partition */
  unsigned partitions;                /* number of merged partitions with this GRES */
};

/*
 * Returns the smallest slice of GPU ("": any) in PARTITION (NULL: no slice) whose memory is at
 * least the quantile of ESTIMATE at PROBABILITY. Fills LARGEST with the largest slice. If PARTITION
 * is merged, GRES_COUNTS has, for each of its GRES, the number of partitions with it, and slices in
 * more partitions are preferred, because the job cannot start in the others; NULL: not merged.
 */
struct ft_mig_offer ft_mig_offered(const struct ft_mig_table *table, const ft_partition *partition,
                                   const uint8_t *gres_counts, const char *gpu,
                                   const struct ft_estimate *estimate, double probability,
                                   struct ft_mig_offer *largest);

#endif
