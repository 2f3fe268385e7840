/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Equations are sought beside the loop: one child at a time, at the lowest priority, for the
 * apps whose published models justify it. What a child finds goes into the model that is
 * published by then, if it is still of the same runs.
 */
#ifndef FT_AGENT_SEEK_H
#define FT_AGENT_SEEK_H

#include "agent/subprocess.h"
#include "agent/publish.h"

struct ft_equation_worker;

/* For what PUBLISHER publishes under the state folder STATE_FD (all borrowed). NULL with ERR. */
struct ft_equation_worker *ft_equation_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err);

/* A child that still seeks ends with its ft_subprocesses. */
void ft_equation_worker_close(struct ft_equation_worker *seeker);

#endif
