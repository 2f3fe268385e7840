/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a job asks for GPUs: Slurm's options for that, and how many of them a node has to have. */
#ifndef FT_DECIDE_GPU_REQUEST_H
#define FT_DECIDE_GPU_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* In the order in which they count. */
enum ft_gpus {
  FT_GPU_REQUEST_NODE,   /* --gpus-per-node=a100:2 */
  FT_GPU_REQUEST_JOB,    /* --gpus=2 */
  FT_GPU_REQUEST_GRES,   /* --gres=gpu:a100:2,nic:1 */
  FT_GPU_REQUEST_TASK,   /* --gpus-per-task=1 */
  FT_GPU_REQUEST_TRES,   /* --tres-per-task=cpu=4,gres/gpu:a100=1, of Slurm 23.11 and later */
  FT_GPU_REQUEST_SOCKET, /* --gpus-per-socket=1 */
  FT_GPU_REQUEST_OPTIONS
};

/* What each of them says; NULL: not given. */
struct ft_gpu_request_asked {
  const char *value[FT_GPU_REQUEST_OPTIONS];
};

/* The option's name, without dashes. */
const char *ft_gpu_request_name(enum ft_gpus option);
/* The one of that NAME; FT_GPU_REQUEST_OPTIONS for any other. */
enum ft_gpus ft_gpu_request_named(const char *name);

/* Whether other resources can stand beside GPUs in OPTION. */
bool ft_gpu_request_is_mixed(enum ft_gpus option);

/*
 * Whether that can still be set when a command's options have been read: of what is asked for each
 * task Slurm, since 23.11, has made one list before, and of sockets nothing is set either.
 */
bool ft_gpu_request_is_settable(enum ft_gpus option);

/* Take PIECE, of the list that is OPTION's value, apart: what is asked for, without Slurm's own
 * prefix and without the COUNT, 1 where none is. "gres/gpu:a100=2" is 2 of "gpu:a100". */
struct ft_text ft_gpu_request_piece(struct ft_text piece, uint64_t *count);

/* How many GPUs VALUE of OPTION asks for. False where a piece is neither a number nor
 * TYPE:NUMBER and the option takes nothing else; COUNT is then those of the others. */
bool ft_gpu_request_count(enum ft_gpus option, const char *value, uint64_t *count);

/*
 * The option by which the job gets its GPUs; where none asks for any, --gres if that is given, for
 * a slice can be called otherwise than "gpu", else FT_GPU_REQUEST_OPTIONS.
 */
enum ft_gpus ft_gpu_request_find(const struct ft_gpu_request_asked *asked);

/* GPUs on a node of REQUEST, as many as a node with the most has where tasks are spread evenly. */
uint32_t ft_gpu_request_per_node(const struct ft_gpu_request_asked *asked,
                                 const ft_request *request);

#endif
