/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whatever may wait for a user's files is done in a process of its own, with a
 * deadline and limits, and abandoned when late. No child makes a SIGCHLD or is
 * seen by the host's own wait(): it exits with no signal (clone(2)).
 */
#ifndef FT_PLUGIN_HELPER_H
#define FT_PLUGIN_HELPER_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/request/helper_protocol.h"

/* Whether PATH exists, as far as can be said within SECONDS; a hung disk says no. */
bool ft_helper_exists(const char *path, double seconds);

/*
 * Open the state folder PATH with O_PATH, for whom nothing may hang: where it does not lie on a
 * disk of this machine, a child has seen before that its file system answers. Returns a
 * descriptor; -1 with ERR, also where that took more than SECONDS.
 */
int ft_helper_open_state(const char *path, double seconds, struct ft_error *err);

struct ft_helper {
  const char *path;  /* of foretell-helper, or of foretell */
  const char *state; /* the state folder */
  bool user_apps;    /* the user's apps.conf counts */
  unsigned milliseconds;
};

/*
 * Have WHAT described by `foretell helper`: declared apps of the user too, and
 * the files looked at; ASKED (NULL: nothing) about a network is answered in NETWORK, which is
 * allocated, or NULL. Returns 0; -1 with ERR, OUT being as it was, or where what the user
 * declares could not be read.
 */
int ft_helper_describe(const struct ft_helper *helper, const struct ft_description *what,
                       const ft_request *request, const struct ft_network_request *asked,
                       ft_submission *out, ft_network **network, struct ft_error *err);

#endif
