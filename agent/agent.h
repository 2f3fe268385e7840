/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent as a whole: its parts, put together over one event loop. */
#ifndef FT_AGENT_AGENT_H
#define FT_AGENT_AGENT_H

#include "predictor/core/error.h"

struct ft_agent;

/*
 * Read the configuration at CONFIG_PATH (NULL: the installed one, whose absence
 * means the defaults), take the state folder for ourselves, begin to listen. Returns
 * NULL with ERR; another agent on the same state folder is an error.
 */
struct ft_agent *ft_agent_open(const char *config_path, struct ft_error *err);

/* Serve until SIGTERM or SIGINT; SIGHUP reads the configuration again. */
int ft_agent_run(struct ft_agent *agent, struct ft_error *err);

/* Stop; runs that are not over stay known to the next agent on this state folder. */
void ft_agent_close(struct ft_agent *agent);

#endif
