/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's metrics in a file for the textfile collector of Prometheus' node_exporter
 * (metrics_file in foretell.conf(5)). The file is replaced every 15 s, and a second after a change,
 * by a child process, so that a slow disk does not delay the agent.
 */
#ifndef FT_AGENT_METRICS_H
#define FT_AGENT_METRICS_H

#include "agent/delivery.h"
#include "agent/measure/measure.h"
#include "daemon/loop.h"

struct ft_agent_metrics;

/* What the file reports besides the process itself. */
struct ft_agent_figures {
  size_t jobs, processes;  /* that are measured */
  uint64_t samples;        /* of all jobs at one instant */
  double sampling_seconds; /* that these took */
  struct ft_measure_blocked blocked;
  double learner_time; /* of the learner's latest reply, as ft_io_now; 0: none yet */
  struct ft_delivery_figures delivery;
};

typedef void ft_agent_figures_callback(struct ft_agent_figures *out, void *data);

/* Begins without a file. ROOT_FD, a descriptor of "/", is borrowed. Returns NULL out of memory. */
struct ft_agent_metrics *ft_agent_metrics_open(struct ft_loop *loop, int root_fd,
                                               ft_agent_figures_callback *fill, void *data);

/* Removes the file; waits for that at most a second per file that it has had. */
void ft_agent_metrics_close(struct ft_agent_metrics *metrics);

/* Writes to the file PATH (copied; empty: to none) from now on; removes another one. */
void ft_agent_metrics_set_path(struct ft_agent_metrics *metrics, const char *path);

/* A figure has changed. */
void ft_agent_metrics_changed(struct ft_agent_metrics *metrics);

#endif
