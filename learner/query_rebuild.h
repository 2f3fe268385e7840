/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests to rebuild models from the store, and to adopt equations that were searched elsewhere
 * (foretell rebuild). */
#ifndef FT_LEARNER_QUERY_REBUILD_H
#define FT_LEARNER_QUERY_REBUILD_H

#include "daemon/query_server.h"
#include "learner/equation_worker.h"
#include "learner/recorder.h"

/* As struct ft_query_handler describes: marks the models as stale, then replies once a second with
 * the progress of ft_recorder_maintain. */
bool ft_query_rebuild(struct ft_recorder *recorder, struct ft_query *query, ft_reply *reply);
void ft_query_rebuild_end(struct ft_query *query);

/* The same for an equation in a file of the state directory STATE_FD, which it removes. */
bool ft_query_adopt(struct ft_equation_worker *equations, int state_fd, struct ft_query *query,
                    ft_reply *reply);

#endif
