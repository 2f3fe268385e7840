/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell rebuild --slurm: the search of equations, the expensive part of a rebuild, as a Slurm
 * job array. The command writes the models that are due for a search into a directory that the
 * nodes share, submits the array and waits for it. The tasks write their results beside the models.
 * The command hands these to the learner, which adopts each into its newest model of the app: runs
 * recorded meanwhile stay in the model, and an equation of other runs is discarded.
 */
#ifndef FT_CLI_REBUILD_SLURM_H
#define FT_CLI_REBUILD_SLURM_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_slurm_rebuild {
  /* set by the caller */
  unsigned long tasks;            /* of the array, at most */
  char *const *options;           /* further ones of sbatch; ends with NULL */
  const ft_rebuild_request *what; /* selects models */
  const char *learner_socket;     /* of foretell.conf */
  /* results */
  uint64_t due;       /* models written for the tasks */
  uint64_t searched;  /* of them, those whose result the learner has taken or discarded */
  char directory[64]; /* kept if searches are missing; below the current directory */
};

/* Searches equations for the models of the state directory STATE_FD. Returns 0, also if tasks have
 * failed; -1 on error and fills ERR. */
int ft_rebuild_on_slurm(int state_fd, struct ft_slurm_rebuild *rebuild, struct ft_error *err);

/* Searches, in a task of the array, equations for its part of the models in DIRECTORY. Returns 0;
 * -1 if one failed and fills ERR with the last failure. */
int ft_rebuild_task(const char *directory, struct ft_error *err);

#endif
