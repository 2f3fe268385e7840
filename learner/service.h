/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell-learnd as a whole: the learner, its receiver and users' queries on one event loop. */
#ifndef FT_LEARNER_SERVICE_H
#define FT_LEARNER_SERVICE_H

#include "predictor/core/error.h"

struct ft_service;

/*
 * Reads the configuration CONFIG_PATH (NULL: the installed one, or the defaults if that is
 * missing), locks the state directory and begins to listen. Returns NULL and ERR, also if another
 * learner uses the state directory.
 */
struct ft_service *ft_service_open(const char *config_path, struct ft_error *err);

/* Runs until SIGTERM or SIGINT; SIGHUP reloads the configuration. Returns 0; -1 and ERR. */
int ft_service_run(struct ft_service *service, struct ft_error *err);

void ft_service_close(struct ft_service *service);

#endif
