/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast apps are where they have not run: when an app's run times were published, a forked child
 * asks the site's model (relative.model) of its other platforms, and what it says is published with
 * them. After enough runs of apps that are at home on several platforms, the child learns that
 * model anew first; all apps are then told by it, some at a time.
 */
#ifndef FT_AGENT_RELATE_H
#define FT_AGENT_RELATE_H

#include "agent/subprocess.h"
#include "agent/publish.h"

struct ft_platform_worker;

/*
 * For what PUBLISHER publishes under the state folder STATE_FD (all borrowed), called STATE_PATH.
 * NULL with ERR.
 */
struct ft_platform_worker *ft_platform_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   const char *state_path,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err);

/* A child that still works ends with its ft_subprocesses. */
void ft_platform_worker_close(struct ft_platform_worker *relater);

#endif
