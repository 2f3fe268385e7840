/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MIG slices of a cluster, recognised by the names of its generic resources (GRES). Pure. */
#ifndef FT_ESTIMATE_MIG_GRES_H
#define FT_ESTIMATE_MIG_GRES_H

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/mig.h"
#include "predictor/record/record.h"

/* Returns whether NAME, as a user or a site writes it, contains a GPU of TABLE. */
bool ft_mig_names_gpu(const struct ft_mig_table *table, const char *name);

/*
 * Returns whether NAME, as a user or a site writes it, may mean KNOWN, a GPU of TABLE. "a100" may
 * be a100-40gb or a100-80gb; "NVIDIA A100-SXM4-40GB" is the first, "nvidia_a100_80gb_pcie" the
 * second. A NAME without a GPU of TABLE may be any.
 */
bool ft_mig_may_be(const struct ft_mig_table *table, const char *name, const char *known);

/* Returns the GPU of known memory that NAME means, else the first that it may mean; NULL: none. */
const struct ft_gpu *ft_mig_gpu_called(const struct ft_mig_table *table, const char *name);

/*
 * Returns the memory, in bytes, of the whole GPU that NVML calls NAME: the smallest that NAME may
 * mean. Returns 0 if TABLE has none.
 */
double ft_mig_whole_bytes(const struct ft_mig_table *table, const char *name);

/*
 * Returns the slice that GRES ("gpu:a100_1g.5gb") names; NULL if it names none. If GPUs of several
 * sizes have a slice of that name, the other slices of PARTITION (NULL: unknown) and the user's
 * name GPU ("": any) narrow the choice. Of those left, the one with the least memory is returned.
 */
const struct ft_mig_profile *ft_mig_of_gres(const struct ft_mig_table *table,
                                            const ft_partition *partition, const char *gpu,
                                            const char *gres);

/* A slice and its GRES name. */
struct ft_mig_offer {
  const struct ft_mig_profile *slice; /* NULL: none */
  const char *gres;                   /* borrowed from the partition */
  unsigned having;                    /* number of merged partitions with this GRES */
};

/*
 * Returns the smallest slice of GPU ("": any) in PARTITION that holds the quantile of ESTIMATE at
 * PROBABILITY, as ft_mig_choose. Fills LARGEST with the largest slice. PARTITION may be several
 * merged ones: HAVING then gives the number that has each GRES; NULL: one partition. Slices that
 * most of them have come first, because a job cannot start in the others.
 */
struct ft_mig_offer ft_mig_offered(const struct ft_mig_table *table, const ft_partition *partition,
                                   const uint8_t *having, const char *gpu,
                                   const struct ft_estimate *estimate, double probability,
                                   struct ft_mig_offer *largest);

#endif
