/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes metrics in Prometheus' text format 0.0.4. By its convention names end in a base unit, and
 * those of counters in "_total"; from that the type follows.
 */
#ifndef FT_DAEMON_METRIC_TEXT_H
#define FT_DAEMON_METRIC_TEXT_H

#include "predictor/core/buf.h"

/* The path of metrics in URLs, and their Content-Type. */
#define FT_METRICS_PATH "/metrics"
#define FT_METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Appends the lines HELP and TYPE of the metric NAME to OUT. Its values follow directly. */
void ft_metric_begin(struct ft_buf *out, const char *name, const char *help);

/* Appends a value of NAME with LABELS, such as "path=\"/runs\",status=\"200\"". */
void ft_metric_value(struct ft_buf *out, const char *name, const char *labels, double value);

/* Appends NAME with its one value. */
void ft_metric_add(struct ft_buf *out, const char *name, const char *help, double value);

/* Appends PREFIX's metrics of this process: version, resident memory and CPU time. ROOT_FD
 * is a descriptor of "/". */
void ft_metric_add_process(struct ft_buf *out, const char *prefix, int root_fd);

#endif
