/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gives users the files of their own models where the file system has no ACLs, so that only the
 * learner can read them. The kernel names the user; the file is passed as a descriptor.
 */
#ifndef FT_LEARNER_QUERY_FILE_H
#define FT_LEARNER_QUERY_FILE_H

#include "daemon/query_server.h"

/* Answers QUERY, of the kind `file`, from the state directory STATE_FD. Returns true: REPLY is
 * complete. */
bool ft_query_file(int state_fd, struct ft_query *query, ft_reply *reply);

#endif
