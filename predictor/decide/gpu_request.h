/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's options that request GPUs, their values taken apart, and the number of GPUs that a node
 * of the job must have.
 */
#ifndef FT_DECIDE_GPU_REQUEST_H
#define FT_DECIDE_GPU_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* In order of precedence. */
enum ft_gpu_option {
  FT_GPU_OPTION_NODE,   /* --gpus-per-node=a100:2 */
  FT_GPU_OPTION_JOB,    /* --gpus=2 */
  FT_GPU_OPTION_GRES,   /* --gres=gpu:a100:2,nic:1 */
  FT_GPU_OPTION_TASK,   /* --gpus-per-task=1 */
  FT_GPU_OPTION_TRES,   /* --tres-per-task=cpu=4,gres/gpu:a100=1, of Slurm 23.11 and later */
  FT_GPU_OPTION_SOCKET, /* --gpus-per-socket=1 */
  FT_GPU_OPTIONS
};

/* The value of each option; NULL: not given. */
struct ft_gpu_request {
  const char *value[FT_GPU_OPTIONS];
};

/* Returns OPTION's name without dashes, "gpus-per-node"; a static string. */
const char *ft_gpu_option_name(enum ft_gpu_option option);
/* The option called NAME; FT_GPU_OPTIONS for any other name. */
enum ft_gpu_option ft_gpu_option_from_name(const char *name);

/* Whether OPTION also takes resources other than GPUs. */
bool ft_gpu_option_is_mixed(enum ft_gpu_option option);

/*
 * Whether the plugin can set OPTION after Slurm has read the command's options. Since 23.11 Slurm
 * merges the options per task into one list before that; --gpus-per-socket is not set either.
 */
bool ft_gpu_option_is_settable(enum ft_gpu_option option);

/* PIECE, a generic resource as given, without the "gres:" or "gres/" that some of Slurm's releases
 * put before it. */
struct ft_text ft_gres_skip_prefix(struct ft_text piece);

/* Parses PIECE of an option's list: returns the resource without Slurm's prefix and without the
 * COUNT, which is 1 if not given. "gres/gpu:a100=2" is 2 of "gpu:a100". */
struct ft_text ft_gpu_request_parse(struct ft_text piece, uint64_t *count);

/* Counts the GPUs that VALUE of OPTION requests. Returns false if a piece is neither a number nor
 * TYPE:NUMBER and the option takes nothing else; COUNT is then that of the other pieces. */
bool ft_gpu_request_count(enum ft_gpu_option option, const char *value, uint64_t *count);

/*
 * The option that requests the job's GPUs. If none does: --gres if it is given, because a MIG slice
 * can have a name without "gpu", else FT_GPU_OPTIONS.
 */
enum ft_gpu_option ft_gpu_request_find(const struct ft_gpu_request *gpus);

/* Returns the GPUs on one node of REQUEST: the largest number if tasks are spread evenly; 0: none.
 */
uint32_t ft_gpu_request_per_node(const struct ft_gpu_request *gpus, const ft_request *request);

#endif
