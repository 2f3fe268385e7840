/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The MIG slices of a cluster, discovered from what its generic resources are called. Pure. */
#ifndef FT_ESTIMATE_MIG_GRES_H
#define FT_ESTIMATE_MIG_GRES_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu_memory.h"
#include "predictor/estimate/mig.h"
#include "predictor/record/record.h"

/* Whether NAME, of a person or of a site, has a GPU of the table in it. */
bool ft_mig_names_gpu(const struct ft_mig_table *table, const char *name);

/*
 * Whether what a person or a site calls a GPU can be KNOWN, a GPU of the table: "a100",
 * "NVIDIA A100-SXM4-40GB" and "nvidia_a100_80gb_pcie" name a100-40gb or a100-80gb, the first
 * either. A name without any GPU of the table in it can be all of them.
 */
bool ft_mig_may_be(const struct ft_mig_table *table, const char *name, const char *known);

/* The GPU whose memory is known that NAME means, or else the first that it can be; NULL: none. */
const struct ft_gpu *ft_mig_gpu_called(const struct ft_mig_table *table, const char *name);

/*
 * The memory, in bytes, of a GPU that NVML calls NAME: the least of those that it may be, whole; 0
 * where TABLE has none of them.
 */
double ft_mig_whole_bytes(const struct ft_mig_table *table, const char *name);

/*
 * The slice that GRES ("gpu:a100_1g.5gb") is, NULL when it is none. Where GPUs of several sizes
 * have a slice of that name it is the one that the other slices of PARTITION (NULL: not known) and
 * GPU ("": any), what the user calls it, leave possible, and of those the one with the least
 * memory.
 */
const struct ft_mig_profile *ft_mig_of_gres(const struct ft_mig_table *table,
                                            const ft_partition *partition, const char *gpu,
                                            const char *gres);

/* A slice and what the cluster calls it. */
struct ft_mig_offer {
  const struct ft_mig_profile *slice; /* NULL: there is none */
  const char *gres;                   /* borrowed from the partition */
  unsigned having;                    /* of the partitions asked about so many have it */
};

/*
 * The smallest slice of GPU ("": any) among PARTITION's that ESTIMATE does not pass with
 * PROBABILITY, as ft_mig_choose has it. LARGEST gets the largest that there is.
 * Of a partition that is several in one, HAVING (NULL: it is not) tells by gres how many of them
 * have it: the smallest of those that most have, for in the others it would not start.
 */
struct ft_mig_offer ft_mig_offered(const struct ft_mig_table *table, const ft_partition *partition,
                                   const uint8_t *having, const char *gpu,
                                   const struct ft_estimate *estimate, double probability,
                                   struct ft_mig_offer *largest);

#endif
