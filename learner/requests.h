/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers the requests of agents: the learner's side of daemon/exchange.h. */
#ifndef FT_LEARNER_REQUESTS_H
#define FT_LEARNER_REQUESTS_H

#include "learner/learner.h"
#include "learner/receiver.h"
#include "learner/cluster/running.h"

struct ft_requests;

/* Serves the requests of RECEIVER's handler from LEARNER. Returns NULL out of memory. */
struct ft_requests *ft_requests_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                     struct ft_learner *learner);

/* Replies to all waiting requests that the learner stops, and frees REQUESTS. The loop does not run
 * again before ft_subprocesses_close. */
void ft_requests_close(struct ft_requests *requests);

/* Handler of the receiver; DATA is the ft_requests. */
ft_receiver_handler ft_requests_handle;

/* The settings of nodes have changed; FORGET: a request to forget was accepted, which agents learn
 * soon, one announcement for all requests of a moment. */
void ft_requests_settings_changed(struct ft_requests *requests, bool forget);

/* Returns the queries about running jobs, which these requests answer; valid until
 * ft_requests_close. */
struct ft_running_queries *ft_requests_running(const struct ft_requests *requests);

/* Returns the number of agents that wait for a change of the settings. */
size_t ft_requests_agents(const struct ft_requests *requests);

#endif
