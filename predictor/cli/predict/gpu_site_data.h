/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPU data from the site's state directory: MIG slices, and memory that networks were measured to
 * need, which corrects a network's estimate.
 */
#ifndef FT_CLI_GPU_SITE_DATA_H
#define FT_CLI_GPU_SITE_DATA_H

#include <sys/types.h>

#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/estimate/gpu/mig.h"

/* Too large for a stack: ft_gpus alone has about 50 KiB. */
struct ft_gpu_site_data {
  ft_gpus gpus;
  ft_network_run *runs; /* owned; the runs on a GPU of this kind */
  size_t run_count;
  uint32_t hashes[sizeof((ft_gpus *)0)->kinds / sizeof *((ft_gpus *)0)->kinds];
  size_t hash_count;
  ft_model app; /* GPU memory of the app, if has_app */
  bool has_app;
};

/* The requested GPU. */
struct ft_gpu_site_data_gpu {
  const struct ft_gpu *gpu; /* NULL: not a known GPU */
  const char *typed;        /* its name as given: "v100", "gpu:v100"; "": no name */
};

/* Fills TABLE with the known MIG profiles and those of mig.conf in the state directory STATE_FD
 * (-1: none). Returns 0; -1 and fills ERR if mig.conf is invalid. */
int ft_gpu_site_data_slices(int state_fd, struct ft_mig_table *table, struct ft_error *err);

/*
 * Reads measurements of networks on GPU, and of user UID's APP (NULL: none), under
 * STATE_FD (-1: leaves MEASURED empty). Overwrites MEASURED; the caller calls
 * ft_gpu_site_data_free.
 */
void ft_gpu_site_data_read(int state_fd, const struct ft_gpu_site_data_gpu *gpu, uid_t uid,
                           const char *app, struct ft_gpu_site_data *measured);
void ft_gpu_site_data_free(struct ft_gpu_site_data *measured);

/* Calibrates MEMORY, simulated for GPU (NULL: one of unlimited memory), by the measurements. */
void ft_gpu_site_data_refine(const struct ft_gpu_site_data *measured, const struct ft_gpu *gpu,
                             struct ft_gpu_memory *memory);

/* Writes the evidence for MEMORY on GPU (NULL: unknown) to OUT: "by its operators, 12 runs of
 * networks on this GPU". */
void ft_gpu_site_data_evidence(const struct ft_gpu_site_data *measured, const struct ft_gpu *gpu,
                               const struct ft_gpu_memory *memory, char *out, size_t size);

#endif
