/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the site knows of GPUs, from its state folder: its own MIG slices, and what networks have
 * been measured to need there, which makes a network's estimate better.
 */
#ifndef FT_CLI_GPU_SITE_DATA_H
#define FT_CLI_GPU_SITE_DATA_H

#include <sys/types.h>

#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/estimate/gpu/mig.h"

/* Too large for a stack: in ft_gpus alone are some 50 KiB. */
struct ft_gpu_site_data {
  ft_gpus gpus;
  ft_network_run *runs; /* of them those on such a GPU */
  size_t run_count;
  uint32_t hashes[sizeof((ft_gpus *)0)->kinds / sizeof *((ft_gpus *)0)->kinds];
  size_t hash_count;
  ft_model model; /* of the app, where it is known */
  bool has_model;
};

/* The GPU asked about. */
struct ft_gpu_site_data_gpu {
  const struct ft_gpu *gpu; /* NULL: none that is known, */
  const char *typed;        /* only what it is called: "v100", "gpu:v100"; "": not even that */
};

/* The profiles that are known, and those of the state folder STATE_FD's mig.conf (-1: none).
 * Returns 0; -1 with ERR where that cannot be understood. */
int ft_gpu_site_data_slices(int state_fd, struct ft_mig_table *table, struct ft_error *err);

/*
 * Read under STATE_FD (-1: nothing is known) what was measured of networks on GPU, and user UID's
 * APP (NULL: none). TABLE: the profiles, which tell what GPUs are called. Filled anew; released
 * with ft_gpu_site_data_free.
 */
void ft_gpu_site_data_read(int state_fd, const struct ft_mig_table *table,
                           const struct ft_gpu_site_data_gpu *gpu, uid_t uid, const char *app,
                           struct ft_gpu_site_data *measured);
void ft_gpu_site_data_free(struct ft_gpu_site_data *measured);

/* Make MEMORY, played for GPU (NULL: one without an end), better by it. */
void ft_gpu_site_data_refine(const struct ft_gpu_site_data *measured, const struct ft_gpu *gpu,
                             struct ft_gpu_memory *memory);

/* Write what MEMORY, of GPU (NULL: not known), rests on: "by its operators, 12 runs of networks on
 * this GPU". */
void ft_gpu_site_data_evidence(const struct ft_gpu_site_data *measured, const struct ft_gpu *gpu,
                               const struct ft_gpu_memory *memory, char *out, size_t size);

#endif
