/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table of NVIDIA MIG profiles: slices of each GPU with their usable memory. Pure. */
#ifndef FT_ESTIMATE_MIG_H
#define FT_ESTIMATE_MIG_H

#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"

enum {
  FT_MIG_PROFILES = 256, /* maximum of profiles in a table; NVIDIA's are about 150 */
  FT_MIG_NAME = 32       /* bytes of a name with its NUL */
};

struct ft_mig_profile {
  char gpu[FT_MIG_NAME];  /* "a100-40gb" */
  char name[FT_MIG_NAME]; /* "1g.5gb", "1g.5gb+me", "1g.24gb-me" */
  unsigned slices;        /* number of compute slices */
  unsigned instances;     /* maximum number of instances per GPU; 0: unknown */
  double memory_mib;      /* total memory that nvidia-smi shows; 0: unknown */
};

struct ft_mig_table {
  struct ft_mig_profile profiles[FT_MIG_PROFILES];
  size_t count;
};

/* Sets TABLE to the profiles of NVIDIA's user guide. */
void ft_mig_add_nvidia(struct ft_mig_table *table);

/*
 * Adds the profiles in TEXT to TABLE, one per line: "GPU PROFILE MIB [INSTANCES]"; '#' begins a
 * comment. A line replaces a profile of the same GPU and name; without INSTANCES the number of that
 * profile is kept. FILE is the name of TEXT for error messages. Returns 0; -1 on error and fills
 * ERR: "FILE: line N: ...".
 */
int ft_mig_read(struct ft_mig_table *table, const char *text, const char *file,
                struct ft_error *err);

/*
 * Finds the name of a profile in TEXT: "1g.5gb", "nvidia_a100_1g.5gb", "MIG-1g.10gb.me",
 * "a100_3g_20gb:2". Writes the name in NVIDIA's spelling to NAME. Returns false if TEXT contains no
 * profile.
 */
bool ft_mig_name(const char *text, char name[FT_MIG_NAME]);

/* Returns whether A and B are names of the same GPU: only letters and digits are compared, without
 * case and without a leading "nvidia" and "tesla". */
bool ft_mig_same_gpu(const char *a, const char *b);

/* Returns the profile of GPU (NULL or "": of any GPU) whose name TEXT contains (ft_mig_name); NULL:
 * not found. */
const struct ft_mig_profile *ft_mig_find(const struct ft_mig_table *table, const char *gpu,
                                         const char *text);

/*
 * Returns the smallest profile of GPU, by memory, then by compute slices, whose memory is at least
 * the quantile of ESTIMATE (bytes) at PROBABILITY. Profiles with media extensions or graphics are
 * skipped. AVAILABLE: names of the cluster's profiles, NULL-terminated; NULL: all profiles, except
 * those with one compute slice and more memory than the smallest. Returns NULL if no profile is
 * large enough.
 */
const struct ft_mig_profile *ft_mig_choose(const struct ft_mig_table *table, const char *gpu,
                                           const char *const *available,
                                           const struct ft_estimate *estimate, double probability);

#endif
