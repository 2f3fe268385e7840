/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by agent.c (timers, configuration), agent_jobs.c and agent_queries.c. */
#ifndef FT_AGENT_AGENT_INTERNAL_H
#define FT_AGENT_AGENT_INTERNAL_H

#include "agent/agent.h"
#include "agent/cluster_poll.h"
#include "agent/equation_worker.h"
#include "agent/jobs.h"
#include "agent/journal.h"
#include "agent/listener.h"
#include "agent/node_info.h"
#include "agent/platform_map.h"
#include "agent/platform_worker.h"
#include "agent/publish.h"
#include "agent/query_server.h"
#include "agent/recorder.h"
#include "agent/slurm_query.h"
#include "predictor/site/conf.h"

struct ft_agent {
  const char *config_path;
  struct ft_config config;
  ft_site site;
  struct ft_node_info node;
  int state_fd, lock_fd, root_fd;
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_slurm_query *slurm_query;
  struct ft_cluster_poll *cluster;
  struct ft_platform_map *platforms;
  struct ft_publisher *publisher;
  struct ft_equation_worker *equations;
  struct ft_platform_worker *platform_worker;
  struct ft_recorder *recorder;
  struct ft_measure *measure;
  struct ft_jobs *jobs;
  struct ft_journal *journal;
  struct ft_listener *listener;
  struct ft_query_server *queries; /* NULL: the socket could not be opened */
  struct ft_timer sample, tick, retry, maintain;
  bool scrubbing;          /* a child overwrites removed runs in the store */
  double scrub_at;         /* monotonic; no scrub before */
  ft_observation finished; /* the observation being recorded: too large for the stack */
};

/* Time between two tries to store spooled observations; chosen by judgement. */
#define FT_AGENT_RETRY_SECONDS 5.0

/* Returns the current time on both clocks. */
struct ft_instant ft_agent_now(void);

/* Starts or stops the sample timer: an idle node is not woken. */
void ft_agent_arm_sampling(struct ft_agent *agent);

/* Schedules ft_jobs_tick, or ft_recorder_maintain, for the next iteration of the loop. */
void ft_agent_tick_soon(struct ft_agent *agent);
void ft_agent_maintain_soon(struct ft_agent *agent);

/* Sets up the callbacks of SETTINGS, whose data is AGENT. */
void ft_agent_set_job_callbacks(struct ft_agent *agent, struct ft_jobs_settings *settings);

/* Callbacks of the listener and of Slurm queries; DATA is the agent. */
ft_listener_callback ft_agent_announced;
ft_slurm_query_callback ft_agent_slurm_reply;

/* Restores the running jobs from the journal. */
void ft_agent_restore_jobs(struct ft_agent *agent);

/* Whether a request to forget covers OBSERVATION's run; DATA is the agent. */
bool ft_agent_is_forgotten(const ft_observation *observation, void *data);

/* Opens the socket for users' queries. Logs a failure; the agent works without it. */
void ft_agent_open_queries(struct ft_agent *agent);

#endif
