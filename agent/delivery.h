/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Delivery of finished observations to the learner, at least once: each waits in the spool until
 * the learner has accepted it. An observation is lost only if disk and memory are full.
 */
#ifndef FT_AGENT_DELIVERY_H
#define FT_AGENT_DELIVERY_H

#include "agent/spool.h"
#include "agent/uplink.h"
#include "predictor/record/record.h"

struct ft_delivery;

/* Counts since the agent's start, and what waits now. */
struct ft_delivery_figures {
  uint64_t spooled, delivered; /* observations */
  uint64_t refused;            /* verdicts: a refused observation is sent again */
  uint64_t lost;               /* observations that the spool had no room for */
  struct ft_spool_usage spool;
};

/* Opens the spool below the state directory STATE_FD. Returns NULL and ERR out of memory. */
struct ft_delivery *ft_delivery_open(struct ft_loop *loop, struct ft_uplink *uplink, int state_fd,
                                     struct ft_error *err);

/* Writes the observations in memory to the spool's files. Closed before UPLINK. */
void ft_delivery_close(struct ft_delivery *delivery);

/* Spools OBSERVATION, and delivers it. */
void ft_delivery_add(struct ft_delivery *delivery, const ft_observation *observation);

/* Returns the figures. Reads no file. */
struct ft_delivery_figures ft_delivery_figures(const struct ft_delivery *delivery);

/* Delivers the spooled observations now: the learner answers again. */
void ft_delivery_retry(struct ft_delivery *delivery);

/* As ft_delivery_retry, after a request to forget: damaged files, which may contain forgotten runs,
 * are removed. */
void ft_delivery_forget(struct ft_delivery *delivery);

#endif
