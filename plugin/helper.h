/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Work that may wait for users' files runs in child processes with a deadline and limits; late ones
 * are killed. No child causes a SIGCHLD or is seen by wait() of Slurm's command: it exits without a
 * signal (clone(2)).
 */
#ifndef FT_PLUGIN_HELPER_H
#define FT_PLUGIN_HELPER_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/request/helper_protocol.h"

/* Whether PATH exists; false if that takes longer than SECONDS, as on a hung disk. */
bool ft_helper_exists(const char *path, double seconds);

/*
 * Opens the state directory PATH with O_PATH. If it is not on a disk of this machine, a child first
 * checks that its file system answers. Returns a descriptor; -1 and fills ERR, also if that takes
 * longer than SECONDS.
 */
int ft_helper_open_state(const char *path, double seconds, struct ft_error *err);

struct ft_helper {
  const char *path;      /* of foretell-helper, or of foretell */
  const char *state;     /* the state directory */
  bool user_apps;        /* read the user's apps.conf */
  unsigned milliseconds; /* deadline of the helper */
};

/*
 * Has WHAT and REQUEST described by the helper, which reads the files they name and the user's
 * declared apps. ASKED (NULL: nothing) requests an estimate of a network, which NETWORK receives:
 * allocated, or NULL. Returns 0; -1 and fills ERR. OUT is then unchanged, unless the helper
 * answered and could not read the user's declarations.
 */
int ft_helper_describe(const struct ft_helper *helper, const struct ft_description *what,
                       const ft_request *request, const struct ft_network_request *asked,
                       ft_submission *out, ft_network **network, struct ft_error *err);

#endif
