/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fetches files of the state directory that only the learner can read from the learner. */
#ifndef FT_RECORD_STATE_FETCH_H
#define FT_RECORD_STATE_FETCH_H

#include "predictor/core/error.h"

/*
 * Asks the learner on this host, at the socket that the site file of STATE_FD names, for the file
 * NAME of the calling user's models. Returns a descriptor of the file. On error -1 with errno and
 * ERR: ENOENT if there is no such file, EACCES if the learner does not answer within a quarter of a
 * second; then it is not asked again by this process.
 */
int ft_state_fetch(int state_fd, const char *name, struct ft_error *err);

/* Returns a connection to the socket for queries of the daemon at SOCKET_PATH, whose connection and
 * packets may each take MILLISECONDS; -1 with errno. */
int ft_state_query_connect(const char *socket_path, unsigned milliseconds);

#endif
