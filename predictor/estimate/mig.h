/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MIG: which slices a GPU can be cut into, what memory each really offers, and the smallest that
 * holds an estimate. Pure.
 */
#ifndef FT_ESTIMATE_MIG_H
#define FT_ESTIMATE_MIG_H

#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"

enum { FT_MIG_PROFILES = 256, FT_MIG_NAME = 32 };

struct ft_mig_profile {
  char gpu[FT_MIG_NAME];  /* "a100-40gb" */
  char name[FT_MIG_NAME]; /* "1g.5gb", "1g.5gb+me", "1g.24gb-me" */
  unsigned slices;        /* of compute */
  unsigned instances;     /* of them at once on a GPU; 0: not known */
  double memory_mib;      /* that nvidia-smi shows for it; 0: not known */
};

struct ft_mig_table {
  struct ft_mig_profile profiles[FT_MIG_PROFILES];
  size_t count;
};

/* Fill TABLE with what NVIDIA's user guide lists. */
void ft_mig_add_nvidia(struct ft_mig_table *table);

/*
 * Add the lines of TEXT (from FILE, for messages) to TABLE: "GPU PROFILE MIB [INSTANCES]", '#'
 * begins a comment; a profile that is there is replaced, but for INSTANCES that are not said.
 * Returns 0; -1 with ERR: "FILE: line N: ...".
 */
int ft_mig_read(struct ft_mig_table *table, const char *text, const char *file,
                struct ft_error *err);

/*
 * The profile in what a site calls it: "1g.5gb", "nvidia_a100_1g.5gb", "MIG-1g.10gb.me",
 * "a100_3g_20gb:2". Writes its name as NVIDIA does. Returns false when there is none.
 */
bool ft_mig_name(const char *typed, char name[FT_MIG_NAME]);

/* Whether A and B mean the same GPU: letters and digits alone count, without "nvidia" and "tesla".
 */
bool ft_mig_same_gpu(const char *a, const char *b);

/* The profile that TYPED names on GPU (NULL or "": on any); NULL when there is none. */
const struct ft_mig_profile *ft_mig_find(const struct ft_mig_table *table, const char *gpu,
                                         const char *typed);

/*
 * The smallest profile of GPU that ESTIMATE does not pass with PROBABILITY: by memory, then by
 * compute; not those with media extensions or graphics, which are there for something else.
 * AVAILABLE: names of those that the cluster has, NULL for all. NULL when none is large enough.
 */
const struct ft_mig_profile *ft_mig_choose(const struct ft_mig_table *table, const char *gpu,
                                           const char *const *available,
                                           const struct ft_estimate *estimate, double probability);

#endif
