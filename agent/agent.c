/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/passed_socket.h"
#include "daemon/program.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/*
 * M_MMAP_THRESHOLD (mallopt(3)): larger blocks are mmapped, cost no memory until touched, and
 * return to the kernel when freed. Without it glibc raises the threshold to the size of the first
 * freed block.
 */
#define MAP_BYTES (64 << 10)

/* A batch script whose end is not announced has ended after this time without a process. */
#define GRACE_SECONDS 30.0

/* ---- configuration and settings ---- */

static void set_agent_rule(struct ft_agent *agent, ft_rule rule)
{
  ft_measure_set_rule(agent->measure, rule);
  ft_jobs_set_rule(agent->jobs, rule);
}

static void apply_node_settings(const ft_settings *settings, void *data)
{
  struct ft_agent *agent = data;

  set_agent_rule(agent, settings->rule);
  if (settings->has_slurmd_uid)
    ft_listener_allow(agent->listener, settings->slurmd_uid);
  if (settings->has_slurm_uid)
    ft_query_server_allow(agent->queries, settings->slurm_uid);
}

static void learner_connected(void *data)
{
  struct ft_agent *agent = data;

  ft_delivery_retry(agent->delivery);
  ft_agent_metrics_changed(agent->metrics);
}

static void forget_accepted(void *data)
{
  struct ft_agent *agent = data;

  ft_delivery_forget(agent->delivery);
}

static void apply_agent_config(void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  ft_jobs_set_counters(agent->jobs, agent->config.counters, agent->config.counter_runs);
  ft_agent_metrics_set_path(agent->metrics, agent->config.metrics_file);
}

static void fill_figures(struct ft_agent_figures *out, void *data)
{
  const struct ft_agent *agent = data;

  *out = (struct ft_agent_figures){ .jobs = ft_jobs_tree_count(agent->jobs),
                                    .processes = ft_measure_process_count(agent->measure),
                                    .samples = agent->samples,
                                    .sampling_seconds = agent->sampling_seconds,
                                    .blocked = ft_measure_blocked(agent->measure),
                                    .learner_time = ft_uplink_reply_time(agent->uplink),
                                    .delivery = ft_delivery_figures(agent->delivery) };
}

static void agent_signalled(int signal, void *data)
{
  struct ft_agent *agent = data;

  if (signal == SIGHUP) {
    ft_daemon_reload_config(agent->config_path, &agent->config, apply_agent_config, agent);
    return;
  }
  ft_log(LOG_INFO, "stopping");
  ft_loop_stop(agent->loop);
}

/* ---- opening ---- */

/* Prefixes ERR with the path of the state directory. Returns -1. */
static int prefix_state_directory(const struct ft_agent *agent, struct ft_error *err)
{
  struct ft_error why = *err;

  return ft_error_set(err, "%s: %s", agent->config.state_directory, why.text);
}

/* Returns the memory rule that the learner published last; unknown if none is readable here. */
static ft_rule last_rule(const struct ft_agent *agent)
{
  ft_site *site = malloc(sizeof *site);
  ft_rule rule = FT_RULE_UNKNOWN;

  if (site && ft_state_read_site(agent->state_fd, site, NULL) == 0)
    rule = site->rule;
  free(site);
  return rule;
}

/* Opens what exchanges messages with the learner. */
static int open_uplink(struct ft_agent *agent, struct ft_error *err)
{
  agent->uplink = ft_uplink_open(agent->loop, &agent->config, agent->state_fd);
  if (!agent->uplink)
    return ft_error_set(err, "out of memory");
  agent->delivery = ft_delivery_open(agent->loop, agent->uplink, agent->state_fd, err);
  return agent->delivery ? 0 : -1;
}

/* Opens what measures the jobs of this node. */
static int open_jobs(struct ft_agent *agent, struct ft_error *err)
{
  ft_rule rule = last_rule(agent);
  struct ft_measure_settings measure = { .seconds = 1 / agent->config.sample_hertz, .rule = rule };
  struct ft_jobs_settings jobs = { .rule = rule, .grace_seconds = GRACE_SECONDS };

  ft_agent_set_job_callbacks(agent, &jobs);
  agent->root_fd = measure.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (agent->root_fd < 0)
    return ft_error_errno(err, "/");
  agent->measure = jobs.measure = ft_measure_open(&measure, err);
  if (!agent->measure)
    return -1;
  agent->journal = ft_journal_open(agent->state_fd, err);
  if (!agent->journal)
    return prefix_state_directory(agent, err);
  agent->jobs = ft_jobs_open(&jobs, err);
  if (!agent->jobs)
    return -1;
  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  ft_jobs_set_counters(agent->jobs, agent->config.counters, agent->config.counter_runs);
  agent->metrics = ft_agent_metrics_open(agent->loop, agent->root_fd, fill_figures, agent);
  return agent->metrics ? 0 : ft_error_set(err, "out of memory");
}

static int open_components(struct ft_agent *agent, struct ft_error *err)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };

  agent->loop = ft_loop_open(signals, err);
  if (!agent->loop)
    return -1;
  ft_loop_on_signal(agent->loop, agent_signalled, agent);
  return open_uplink(agent, err) < 0 ? -1 : open_jobs(agent, err);
}

static void log_samplers(struct ft_agent *agent)
{
  size_t count;
  const struct ft_measure_report *report = ft_measure_reports(agent->measure, &count);

  for (size_t i = 0; i < count; i++)
    ft_log(report[i].blocked ? LOG_WARNING
           : report[i].works ? LOG_DEBUG
                             : LOG_INFO,
           "%s: %s%s", report[i].name, report[i].works ? "" : "not measured here: ", report[i].why);
}

static void answer_remote(const ft_settings *settings, void *data)
{
  struct ft_agent *agent = data;

  ft_remote_query_answer(agent->remote, settings);
}

static int open_settings(struct ft_agent *agent, struct ft_error *err)
{
  uint64_t number =
      ft_node_number(agent->state_fd, agent->node.name, agent->config.state_directory);
  const struct ft_node_settings_callbacks calls = { .changed = apply_node_settings,
                                                    .connected = learner_connected,
                                                    .each_run = ft_agent_each_run,
                                                    .forget = ft_agent_forget,
                                                    .forgotten = forget_accepted,
                                                    .asked = answer_remote,
                                                    .data = agent };

  agent->remote = ft_remote_query_open(agent->uplink, agent->jobs, number);
  if (agent->remote)
    agent->settings = ft_node_settings_open(agent->loop, agent->uplink, number, &calls);
  return agent->settings ? 0 : ft_error_set(err, "out of memory");
}

struct ft_agent *ft_agent_open(const char *config_path, struct ft_error *err)
{
  struct ft_agent *agent = calloc(1, sizeof *agent);
  unsigned passed;

  if (!agent) {
    ft_error_errno(err, "foretelld");
    return NULL;
  }
  (void)mallopt(M_MMAP_THRESHOLD, MAP_BYTES);
  passed = ft_passed_sockets();
  agent->state_fd = agent->lock_fd = agent->root_fd = -1;
  agent->config_path = config_path;
  if (ft_daemon_read_config(config_path, &agent->config, err) < 0)
    goto fail;
  /* before the lock: its child would inherit the lock and could outlive this process */
  ft_node_info_read(&agent->node);
  agent->state_fd = ft_daemon_open_state(agent->config.state_directory, FT_STATE_AGENT_LOCK,
                                         &agent->lock_fd, err);
  if (agent->state_fd < 0)
    goto fail;
  if (open_components(agent, err) < 0)
    goto fail;
  log_samplers(agent);
  agent->listener =
      ft_listener_open(agent->loop, agent->config.socket, passed, ft_agent_announced, agent, err);
  if (!agent->listener)
    goto fail;
  ft_agent_open_queries(agent);
  ft_agent_restore_jobs(agent);
  if (open_settings(agent, err) < 0)
    goto fail;
  ft_delivery_retry(agent->delivery);
  ft_notify_watchdog(agent->loop);
  ft_agent_metrics_set_path(agent->metrics, agent->config.metrics_file);
  ft_log(LOG_INFO, "listening at %s, state in %s", agent->config.socket,
         agent->config.state_directory);
  (void)malloc_trim(0);
  return agent;
fail:
  ft_agent_close(agent);
  return NULL;
}

int ft_agent_run(struct ft_agent *agent, struct ft_error *err)
{
  return ft_loop_run(agent->loop, err);
}

void ft_agent_close(struct ft_agent *agent)
{
  if (!agent)
    return;
  ft_query_server_close(agent->queries);
  ft_listener_close(agent->listener);
  ft_remote_query_close(agent->remote);
  ft_jobs_close(agent->jobs);
  ft_journal_close(agent->journal);
  ft_measure_close(agent->measure);
  ft_node_settings_close(agent->settings);
  ft_delivery_close(agent->delivery);
  ft_uplink_close(agent->uplink);
  ft_agent_metrics_close(agent->metrics);
  ft_loop_close(agent->loop);
  if (agent->root_fd >= 0)
    close(agent->root_fd);
  if (agent->lock_fd >= 0)
    close(agent->lock_fd);
  if (agent->state_fd >= 0)
    close(agent->state_fd);
  free(agent);
}
