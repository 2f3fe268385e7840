/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers agents' queries of this host: its clock, users' uids and version. */
#ifndef FT_LEARNER_ACCESS_HOST_QUERY_H
#define FT_LEARNER_ACCESS_HOST_QUERY_H

#include "learner/learner.h"
#include "learner/receiver.h"

struct ft_host_queries;

/* Looks up users with CHILDREN; both are borrowed. Returns NULL out of memory. */
struct ft_host_queries *ft_host_queries_open(struct ft_subprocesses *children,
                                             const struct ft_learner *learner);

/* Rejects the waiting requests because of WHY, and frees QUERIES. */
void ft_host_queries_close(struct ft_host_queries *queries, const char *why);

/* Replies to REQUEST when the users have been looked up. Returns 0; -1 and ERR if it is malformed,
 * or out of memory. */
int ft_host_query_begin(struct ft_host_queries *queries, struct ft_received *request,
                        struct ft_error *err);

#endif
