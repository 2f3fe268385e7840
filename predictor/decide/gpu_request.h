/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses Slurm's options that request GPUs, and counts the requested GPUs per node. Pure. */
#ifndef FT_DECIDE_GPU_REQUEST_H
#define FT_DECIDE_GPU_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* The options, in order of precedence. */
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

/* Returns the name of OPTION without leading dashes, "gpus-per-node"; a static string. */
const char *ft_gpu_option_name(enum ft_gpu_option option);
/* Returns the option with NAME; FT_GPU_OPTIONS: none. */
enum ft_gpu_option ft_gpu_option_from_name(const char *name);

/* Returns whether OPTION can also request resources other than GPUs. */
bool ft_gpu_option_is_mixed(enum ft_gpu_option option);

/*
 * Returns whether the plugin can set OPTION after Slurm has parsed the command line. It cannot set
 * options per task, because Slurm 23.11 and later merges these into one list while parsing, and
 * does not set --gpus-per-socket.
 */
bool ft_gpu_option_is_settable(enum ft_gpu_option option);

/* Returns PIECE, a generic resource, without the prefix "gres:" or "gres/" of some Slurm
 * releases. */
struct ft_text ft_gres_skip_prefix(struct ft_text piece);

/* Parses PIECE, an item of an option's list: returns the resource without Slurm's prefix and
 * without the count, and stores the count in *COUNT, 1 by default. "gres/gpu:a100=2" is 2 of
 * "gpu:a100". */
struct ft_text ft_gpu_request_parse(struct ft_text piece, uint64_t *count);

/* Stores in *COUNT the number of GPUs that VALUE of OPTION requests. Returns false if an item of an
 * option for GPUs only is neither NUMBER nor TYPE:NUMBER; *COUNT is then without this item. */
bool ft_gpu_request_count(enum ft_gpu_option option, const char *value, uint64_t *count);

/*
 * Returns the option in GPUS that requests the job's GPUs. If there is none: --gres if it is given,
 * because the GRES of a MIG slice can have a name without "gpu", else FT_GPU_OPTIONS.
 */
enum ft_gpu_option ft_gpu_request_find(const struct ft_gpu_request *gpus);

/* Returns the number of GPUs that GPUS requests on one node for a job with REQUEST: the maximum
 * over the nodes if tasks are spread evenly; 0: none. */
uint32_t ft_gpu_request_per_node(const struct ft_gpu_request *gpus, const ft_request *request);

#endif
