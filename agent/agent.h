/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent as a whole: all components on one event loop. */
#ifndef FT_AGENT_AGENT_H
#define FT_AGENT_AGENT_H

#include "predictor/core/error.h"

struct ft_agent;

/*
 * Reads the configuration CONFIG_PATH (NULL: the installed one, or the defaults if that is
 * missing), locks the state directory and begins to listen. Returns NULL and ERR, also if another
 * agent uses the state directory.
 */
struct ft_agent *ft_agent_open(const char *config_path, struct ft_error *err);

/* Runs until SIGTERM or SIGINT; SIGHUP reloads the configuration. Returns 0; -1 and ERR. */
int ft_agent_run(struct ft_agent *agent, struct ft_error *err);

/* Stops the agent; the next agent on this state directory continues with the running jobs. */
void ft_agent_close(struct ft_agent *agent);

#endif
