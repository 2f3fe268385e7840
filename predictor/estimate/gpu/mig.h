/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Table of NVIDIA MIG profiles: the slices of each GPU, their usable memory, and the smallest slice
 * that holds an estimate. Pure.
 */
#ifndef FT_ESTIMATE_MIG_H
#define FT_ESTIMATE_MIG_H

#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"

enum {
  FT_MIG_PROFILES = 256, /* profiles in a table; NVIDIA's are about 150 */
  FT_MIG_NAME = 32       /* bytes of a name with its NUL */
};

struct ft_mig_profile {
  char gpu[FT_MIG_NAME];  /* "a100-40gb" */
  char name[FT_MIG_NAME]; /* "1g.5gb", "1g.5gb+me", "1g.24gb-me" */
  unsigned slices;        /* compute slices */
  unsigned instances;     /* instances per GPU; 0: unknown */
  double memory_mib;      /* as nvidia-smi shows; 0: unknown */
};

struct ft_mig_table {
  struct ft_mig_profile profiles[FT_MIG_PROFILES];
  size_t count;
};

/* Sets TABLE to the profiles of NVIDIA's user guide. */
void ft_mig_add_nvidia(struct ft_mig_table *table);

/*
 * Adds the lines "GPU PROFILE MIB [INSTANCES]" of TEXT to TABLE. FILE names the text in messages;
 * '#' begins a comment. A line replaces an existing profile; without INSTANCES that number stays.
 * Returns 0; -1 on error and fills ERR: "FILE: line N: ...".
 */
int ft_mig_read(struct ft_mig_table *table, const char *text, const char *file,
                struct ft_error *err);

/*
 * Finds the profile in a site's name TYPED: "1g.5gb", "nvidia_a100_1g.5gb", "MIG-1g.10gb.me",
 * "a100_3g_20gb:2". Writes NVIDIA's spelling to NAME. Returns false if there is none.
 */
bool ft_mig_name(const char *typed, char name[FT_MIG_NAME]);

/* Returns whether A and B name the same GPU: only letters and digits count, without "nvidia" and
 * "tesla". */
bool ft_mig_same_gpu(const char *a, const char *b);

/* Returns the profile that TYPED names on GPU (NULL or "": on any GPU); NULL: none. */
const struct ft_mig_profile *ft_mig_find(const struct ft_mig_table *table, const char *gpu,
                                         const char *typed);

/*
 * Returns the smallest profile of GPU, by memory, then compute, that holds the quantile of ESTIMATE
 * at PROBABILITY. Profiles with media extensions or graphics are skipped. AVAILABLE: names of the
 * cluster's profiles, NULL-terminated; NULL: all. Returns NULL if none is large enough.
 */
const struct ft_mig_profile *ft_mig_choose(const struct ft_mig_table *table, const char *gpu,
                                           const char *const *available,
                                           const struct ft_estimate *estimate, double probability);

#endif
