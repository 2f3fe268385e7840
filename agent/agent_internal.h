/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by agent.c (opening, configuration), agent_jobs.c and agent_queries.c. */
#ifndef FT_AGENT_AGENT_INTERNAL_H
#define FT_AGENT_AGENT_INTERNAL_H

#include "agent/agent.h"
#include "agent/delivery.h"
#include "agent/jobs.h"
#include "agent/journal.h"
#include "agent/listener.h"
#include "agent/metrics.h"
#include "agent/node_info.h"
#include "agent/query_running.h"
#include "agent/settings.h"
#include "daemon/query_server.h"
#include "predictor/site/conf.h"

struct ft_agent {
  const char *config_path;
  struct ft_config config;
  struct ft_node_info node;
  int state_fd, lock_fd, root_fd;
  struct ft_loop *loop;
  struct ft_uplink *uplink;
  struct ft_delivery *delivery;
  struct ft_node_settings *settings;
  struct ft_remote_query *remote;
  struct ft_measure *measure;
  struct ft_jobs *jobs;
  struct ft_journal *journal;
  struct ft_listener *listener;    /* NULL until the rest is open */
  struct ft_query_server *queries; /* NULL: the socket could not be opened */
  struct ft_agent_metrics *metrics;
  struct ft_timer sample, tick;
  uint64_t samples; /* taken so far, and the seconds that they took */
  double sampling_seconds;
  struct ft_measure_blocked blocked; /* as logged last */
  ft_observation finished;           /* the observation being delivered: too large for the stack */
};

/* Returns the current time on both clocks. */
struct ft_instant ft_agent_now(void);

/* Sets up AGENT's timers, and the callbacks of SETTINGS, whose data is AGENT. */
void ft_agent_set_job_callbacks(struct ft_agent *agent, struct ft_jobs_settings *settings);

/* Callback of the listener; DATA is the agent. */
ft_listener_callback ft_agent_announced;

/* Restores the running jobs from the journal. */
void ft_agent_restore_jobs(struct ft_agent *agent);

/* Callbacks of the settings about undelivered runs; DATA is the agent. */
void ft_agent_each_run(void (*visit)(const ft_observation *run, void *to), void *to, void *data);
void ft_agent_forget(const ft_observation *run, void *data);

/* Opens the socket for users' queries. Logs a failure; the agent works without it. */
void ft_agent_open_queries(struct ft_agent *agent);

#endif
