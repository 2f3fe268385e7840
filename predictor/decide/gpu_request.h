/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a job asks for GPUs: Slurm's options for that, and how many of them a node has to have. */
#ifndef FT_DECIDE_GPU_REQUEST_H
#define FT_DECIDE_GPU_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* In the order in which they count. */
enum ft_gpu_option {
  FT_GPU_OPTION_NODE,   /* --gpus-per-node=a100:2 */
  FT_GPU_OPTION_JOB,    /* --gpus=2 */
  FT_GPU_OPTION_GRES,   /* --gres=gpu:a100:2,nic:1 */
  FT_GPU_OPTION_TASK,   /* --gpus-per-task=1 */
  FT_GPU_OPTION_TRES,   /* --tres-per-task=cpu=4,gres/gpu:a100=1, of Slurm 23.11 and later */
  FT_GPU_OPTION_SOCKET, /* --gpus-per-socket=1 */
  FT_GPU_OPTIONS
};

/* What each of them says; NULL: not given. */
struct ft_gpu_request {
  const char *value[FT_GPU_OPTIONS];
};

/* The option's name, without dashes. */
const char *ft_gpu_option_name(enum ft_gpu_option option);
/* The one of that NAME; FT_GPU_OPTIONS for any other. */
enum ft_gpu_option ft_gpu_option_from_name(const char *name);

/* Whether other resources can stand beside GPUs in OPTION. */
bool ft_gpu_option_is_mixed(enum ft_gpu_option option);

/*
 * Whether that can still be set when a command's options have been read: of what is asked for each
 * task Slurm, since 23.11, has made one list before, and of sockets nothing is set either.
 */
bool ft_gpu_option_is_settable(enum ft_gpu_option option);

/* Take PIECE, of the list that is OPTION's value, apart: what is asked for, without Slurm's own
 * prefix and without the COUNT, 1 where none is. "gres/gpu:a100=2" is 2 of "gpu:a100". */
struct ft_text ft_gpu_request_parse(struct ft_text piece, uint64_t *count);

/* How many GPUs VALUE of OPTION asks for. False where a piece is neither a number nor
 * TYPE:NUMBER and the option takes nothing else; COUNT is then those of the others. */
bool ft_gpu_request_count(enum ft_gpu_option option, const char *value, uint64_t *count);

/*
 * The option by which the job gets its GPUs; where none asks for any, --gres if that is given, for
 * a slice can be called otherwise than "gpu", else FT_GPU_OPTIONS.
 */
enum ft_gpu_option ft_gpu_request_find(const struct ft_gpu_request *asked);

/* GPUs on a node of REQUEST, as many as a node with the most has where tasks are spread evenly. */
uint32_t ft_gpu_request_per_node(const struct ft_gpu_request *asked, const ft_request *request);

#endif
