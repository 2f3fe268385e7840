/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replies to queries about runs, which two handlers give: about stored runs and about running jobs.
 * Users may read their own runs; root, the daemon's user and SlurmUser may read all.
 */
#ifndef FT_DAEMON_RUN_REPLY_H
#define FT_DAEMON_RUN_REPLY_H

#include "daemon/query_server.h"
#include "predictor/core/buf.h"

/*
 * Finds out which user's runs the ft_run_query in QUERY is about: those of UID, or of all users if
 * *ONE_USER is false. Returns 0; -1 and ERR if the peer may not read them.
 */
int ft_run_reply_user(const struct ft_query *query, bool *one_user, uint32_t *uid,
                      struct ft_error *err);

/* Whether QUERY's job, if it names one, is OBSERVATION's. */
bool ft_run_reply_wants(const ft_run_query *query, const ft_observation *observation);

/*
 * Appends OBSERVATION, preceded by its length (32 bits, little-endian), to REPLY. ENCODED is
 * scratch memory. Returns false if REPLY is full; a run longer than a packet is omitted.
 */
bool ft_run_reply_append(ft_reply *reply, const ft_observation *observation,
                         struct ft_buf *encoded);

#endif
