/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How fast apps are where they have not run: when an app's run times were published, a forked child
 * asks the site's model (relative.model) of its other platforms, and what it says is published with
 * them. After enough runs of apps that are at home on several platforms, the child learns that
 * model anew first; all apps are then told by it, some at a time.
 */
#ifndef FT_AGENT_RELATE_H
#define FT_AGENT_RELATE_H

#include "agent/child.h"
#include "agent/publish.h"

struct ft_relater;

/*
 * For what PUBLISHER publishes under the state folder STATE_FD (all borrowed), called STATE_PATH.
 * NULL with ERR.
 */
struct ft_relater *ft_relater_open(struct ft_loop *loop, struct ft_children *children, int state_fd,
                                   const char *state_path, struct ft_publisher *publisher,
                                   struct ft_error *err);

/* A child that still works ends with its ft_children. */
void ft_relater_close(struct ft_relater *relater);

#endif
