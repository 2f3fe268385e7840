/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs received from the daemons by a user who may not read the store, held in memory. */
#ifndef FT_CLI_STORE_ACCESS_ASKED_H
#define FT_CLI_STORE_ACCESS_ASKED_H

#include <stdbool.h>

#include "predictor/cli/question.h"
#include "predictor/core/error.h"
#include "predictor/history/rejections.h"
#include "predictor/history/store.h"

struct ft_store_access_asked;

/*
 * Queries the learner at SOCKET, which serves the state directory STATE_FD, for the runs of WANTED,
 * ignoring its limit. Returns NULL and fills ERR on failure, with errno 0 if the learner has denied
 * access.
 */
struct ft_store_access_asked *ft_store_access_asked_open(const char *socket, int state_fd,
                                                         const struct ft_store_filter *wanted,
                                                         struct ft_error *err);
void ft_store_access_asked_close(struct ft_store_access_asked *asked);

/* Like ft_store_each and ft_store_each_app. */
int ft_store_access_asked_each(struct ft_store_access_asked *asked,
                               const struct ft_store_filter *filter,
                               bool (*visit)(const ft_observation *observation, void *data),
                               void *data, struct ft_error *err);
int ft_store_access_asked_apps(struct ft_store_access_asked *asked,
                               bool (*visit)(const struct ft_store_app *app, void *data),
                               void *data, struct ft_error *err);

/* Like ft_store_access_rejections. */
int ft_store_access_asked_rejections(const char *socket, int state_fd,
                                     const struct ft_store_filter *wanted,
                                     bool (*visit)(const struct ft_rejections *one, void *data),
                                     void *data, struct ft_error *err);

/* Like ft_store_access_live, but asks only DAEMON, at SOCKET. Returns 0 if it does not answer. */
unsigned ft_store_access_asked_live(
    enum ft_daemon daemon, const char *socket, int state_fd, const struct ft_store_filter *wanted,
    void (*visit)(const ft_observation *observation, double now_bytes, void *data), void *data);

#endif
