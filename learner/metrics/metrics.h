/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * HTTP server for GET /metrics on a TCP address (metrics_listen in foretell.conf(5)), in
 * Prometheus' text format. There is no other path and no password. Works in the event
 * loop.
 */
#ifndef FT_LEARNER_METRICS_H
#define FT_LEARNER_METRICS_H

#include "daemon/loop.h"
#include "predictor/core/buf.h"

struct ft_metrics;

/* Appends the metrics to OUT. */
typedef void ft_metrics_callback(struct ft_buf *out, void *data);

/*
 * Listens at ADDRESS, "[ADDRESS:]PORT": "9841" (127.0.0.1), "10.0.0.1:9841" or "[::1]:9841"; port
 * 0: the kernel chooses one. Logs the address. Returns NULL and ERR.
 */
struct ft_metrics *ft_metrics_open(struct ft_loop *loop, const char *address,
                                   ft_metrics_callback *write, void *data, struct ft_error *err);
void ft_metrics_close(struct ft_metrics *metrics);

#endif
