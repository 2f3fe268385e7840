/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Work that may wait for users' files runs in child processes with a deadline and resource limits;
 * a late child is killed. Children end without SIGCHLD (clone(2)), and wait() in Slurm's command
 * does not see them. */
#ifndef FT_PLUGIN_HELPER_H
#define FT_PLUGIN_HELPER_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/request/helper_protocol.h"

/* Whether PATH exists; false if the check takes longer than SECONDS, as on a hung disk. */
bool ft_helper_exists(const char *path, double seconds);

/* Opens the state directory PATH with O_PATH. If it is not on a disk of this machine, a child first
 * checks within SECONDS that its file system responds. Returns a descriptor, which the caller
 * closes; -1 and fills ERR. */
int ft_helper_open_state(const char *path, double seconds, struct ft_error *err);

/* How to run the helper. Strings are borrowed. */
struct ft_helper {
  const char *path;      /* of foretell-helper, or of foretell */
  const char *state;     /* the state directory */
  bool user_apps;        /* read the user's apps.conf */
  unsigned milliseconds; /* deadline of the helper */
};

/*
 * Fills OUT and ARRAY from WHAT and REQUEST in the helper, which reads the files that they name and
 * the user's declared apps. ASKED (NULL: none) requests an estimate for a model file. *NETWORK
 * becomes the estimate, which the caller frees, or NULL. Returns 0; -1 and fills ERR. OUT and ARRAY
 * are then unchanged, except if the helper only failed to read the user's declarations.
 */
int ft_helper_describe(const struct ft_helper *helper, const struct ft_description *what,
                       const ft_request *request, const struct ft_network_request *asked,
                       ft_submission *out, ft_job_array *array, ft_network **network,
                       struct ft_error *err);

#endif
