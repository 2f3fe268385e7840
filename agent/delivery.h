/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Delivery of finished observations to the learner, at least once: what the learner does not accept
 * waits in the spool. An observation is lost only if disk and memory are full.
 */
#ifndef FT_AGENT_DELIVERY_H
#define FT_AGENT_DELIVERY_H

#include <stdbool.h>

#include "predictor/record/record.h"

struct ft_delivery;

/*
 * Delivers OBSERVATION. Returns 0 if it needs no further delivery; 1 and ERR if it is refused but
 * others may be accepted; -1 and ERR if none is accepted now.
 */
typedef int ft_delivery_callback(const ft_observation *observation, void *data,
                                 struct ft_error *err);

/* Opens the spool below the state directory STATE_FD. Returns NULL and ERR out of memory. */
struct ft_delivery *ft_delivery_open(int state_fd, ft_delivery_callback *deliver, void *data,
                                     struct ft_error *err);

/* Writes the observations in memory to the spool's files. */
void ft_delivery_close(struct ft_delivery *delivery);

/* Delivers OBSERVATION, or spools it. */
void ft_delivery_add(struct ft_delivery *delivery, const ft_observation *observation);

/* Delivers the spooled observations. Returns whether any remain. */
bool ft_delivery_retry(struct ft_delivery *delivery);

/* As ft_delivery_retry, after a request to forget: damaged files, which may contain forgotten runs,
 * are removed. */
void ft_delivery_forget(struct ft_delivery *delivery);

/* Whether observations wait in the spool. */
bool ft_delivery_is_waiting(const struct ft_delivery *delivery);

#endif
