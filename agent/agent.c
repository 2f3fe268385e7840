/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent_internal.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "predictor/core/hot.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/*
 * M_MMAP_THRESHOLD (mallopt(3)): larger blocks are mmapped, cost no memory until touched, and
 * return to the kernel when freed. Without it glibc raises the threshold to the size of the first
 * freed block.
 */
#define MAP_BYTES (64 << 10)

/* Time without a process until Slurm is queried whether the job has ended; by judgement. */
#define GRACE_SECONDS 30.0
/* Time from a job's end to the first query: Slurm's epilog and accounting come first. */
#define QUERY_SECONDS 1.0
struct ft_instant ft_agent_now(void)
{
  return (struct ft_instant){ ft_io_monotonic(), ft_io_now() };
}

/* ---- timers ---- */

void ft_agent_arm_sampling(struct ft_agent *agent)
{
  ft_learner_set_busy(agent->learner, ft_jobs_tree_count(agent->jobs) > 0);
  if (!ft_jobs_tree_count(agent->jobs))
    ft_loop_cancel(agent->loop, &agent->sample);
  else if (!agent->sample.armed)
    ft_loop_at(agent->loop, &agent->sample, ft_io_monotonic());
}

/* Releases caches and free memory, so that an idle agent's memory does not depend on its past. */
static void release_idle_memory(struct ft_agent *agent)
{
  ft_learner_release_cache(agent->learner);
  (void)malloc_trim(0);
}

static void tick_jobs(void *data)
{
  struct ft_agent *agent = data;

  ft_loop_at(agent->loop, &agent->tick, ft_jobs_tick(agent->jobs, ft_agent_now()));
  ft_agent_arm_sampling(agent);
  if (!ft_jobs_tree_count(agent->jobs))
    release_idle_memory(agent);
}

FT_HOT static void sample_trees(void *data)
{
  struct ft_agent *agent = data;
  double period = 1 / agent->config.sample_hertz, now;

  ft_measure_sample(agent->measure);
  now = ft_io_monotonic();
  /* a multiple of the period after the due time; missed samples are skipped */
  if (ft_jobs_tree_count(agent->jobs))
    ft_loop_at(agent->loop, &agent->sample,
               agent->sample.due +
                   period * (1 + (double)(uint64_t)((now - agent->sample.due) / period)));
  /* a tick that is due before the next sample needs no wake-up of its own */
  if (agent->tick.armed && agent->tick.due < now + period) {
    ft_loop_cancel(agent->loop, &agent->tick);
    tick_jobs(agent);
  }
}

void ft_agent_tick_soon(struct ft_agent *agent)
{
  ft_loop_at(agent->loop, &agent->tick, ft_io_monotonic());
}

static void retry_delivery(void *data)
{
  struct ft_agent *agent = data;

  if (ft_delivery_retry(agent->delivery))
    ft_loop_at(agent->loop, &agent->retry, ft_io_monotonic() + FT_AGENT_RETRY_SECONDS);
}

/* ---- configuration ---- */

/* Reads the configuration; fails if other users may write it, because it names programs to run. */
static int read_agent_config(const char *path, struct ft_config *config, struct ft_error *err)
{
  ft_config_defaults(config);
  /* without an installed file and without --config, the defaults apply */
  if (!path && access(FT_CONFIG_FILE, F_OK) < 0 && errno == ENOENT)
    return 0;
  if (ft_io_check_owner(path ? path : FT_CONFIG_FILE, err) < 0)
    return -1;
  return ft_config_read(path, config, err);
}

static int deliver_to_learner(const ft_observation *observation, void *data, struct ft_error *err)
{
  struct ft_agent *agent = data;

  return ft_learner_add(agent->learner, observation, err);
}

static void set_agent_rule(struct ft_agent *agent, ft_rule rule)
{
  ft_measure_set_rule(agent->measure, rule);
  ft_jobs_set_rule(agent->jobs, rule);
}

static void apply_cluster(const ft_site *site, uid_t slurmd_uid, uid_t slurm_uid, void *data)
{
  struct ft_agent *agent = data;

  set_agent_rule(agent, site->rule);
  ft_listener_allow(agent->listener, slurmd_uid);
  ft_query_server_allow(agent->queries, slurm_uid);
  release_idle_memory(agent);
}

/* SIGHUP: applies the whole file or, if it is invalid, nothing; start-up settings stay. */
static void reload_config(struct ft_agent *agent)
{
  struct ft_config *config = malloc(sizeof *config);
  struct ft_error err;

  if (!config)
    return;
  if (read_agent_config(agent->config_path, config, &err) < 0) {
    ft_log(LOG_ERR, "%s; the old configuration remains in use", err.text);
    goto out;
  }
  if (strcmp(config->state_directory, agent->config.state_directory) != 0 ||
      strcmp(config->socket, agent->config.socket) != 0 ||
      config->sample_hertz != agent->config.sample_hertz)
    ft_log(LOG_WARNING, "state_dir, socket or sample_hz changed; restart foretelld to apply");
  memcpy(config->state_directory, agent->config.state_directory, sizeof config->state_directory);
  memcpy(config->socket, agent->config.socket, sizeof config->socket);
  config->sample_hertz = agent->config.sample_hertz;
  agent->config = *config;
  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  ft_learner_configure(agent->learner, &agent->config);
  set_agent_rule(agent, ft_learner_site(agent->learner)->rule);
  ft_log(LOG_INFO, "configuration reloaded");
out:
  free(config);
}

static void signal_received(int signal, void *data)
{
  struct ft_agent *agent = data;

  if (signal == SIGHUP) {
    reload_config(agent);
    ft_learner_maintain_soon(agent->learner);
    return;
  }
  ft_log(LOG_INFO, "stopping");
  ft_loop_stop(agent->loop);
}

/* ---- opening ---- */

static int open_state_directory(struct ft_agent *agent, struct ft_error *err)
{
  const char *path = agent->config.state_directory;

  if (ft_io_make_path(path, 0755, err) < 0 || ft_io_check_owner(path, err) < 0)
    return -1;
  agent->state_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (agent->state_fd < 0)
    return ft_error_errno(err, "%s", path);
  agent->lock_fd = ft_lock_state(agent->state_fd, path, err);
  return agent->lock_fd < 0 ? -1 : 0;
}

/* Prefixes ERR with the path of the state directory. Returns -1. */
static int prefix_state_directory(const struct ft_agent *agent, struct ft_error *err)
{
  struct ft_error why = *err;

  return ft_error_set(err, "%s: %s", agent->config.state_directory, why.text);
}

static int open_learner(struct ft_agent *agent, struct ft_error *err)
{
  struct ft_learner_settings settings = { .loop = agent->loop,
                                          .children = agent->children,
                                          .config = &agent->config,
                                          .state_fd = agent->state_fd,
                                          .host = agent->node.name,
                                          .polled = apply_cluster,
                                          .slurm_reply = ft_agent_slurm_reply,
                                          .data = agent };

  agent->learner = ft_learner_open(&settings, err);
  return agent->learner ? 0 : -1;
}

/* Opens what measures the jobs of this node. */
static int open_jobs(struct ft_agent *agent, struct ft_error *err)
{
  ft_rule rule = ft_learner_site(agent->learner)->rule;
  struct ft_measure_settings measure = { .seconds = 1 / agent->config.sample_hertz, .rule = rule };
  struct ft_jobs_settings jobs = { .rule = rule,
                                   .grace_seconds = GRACE_SECONDS,
                                   .query_seconds = QUERY_SECONDS };

  ft_agent_set_job_callbacks(agent, &jobs);
  agent->root_fd = measure.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (agent->root_fd < 0)
    return ft_error_errno(err, "/");
  agent->measure = jobs.measure = ft_measure_open(&measure, err);
  if (!agent->measure)
    return -1;
  agent->delivery = ft_delivery_open(agent->state_fd, deliver_to_learner, agent, err);
  if (!agent->delivery)
    return -1;
  agent->journal = ft_journal_open(agent->state_fd, err);
  if (!agent->journal)
    return prefix_state_directory(agent, err);
  agent->jobs = ft_jobs_open(&jobs, err);
  if (!agent->jobs)
    return -1;
  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  return 0;
}

static int open_components(struct ft_agent *agent, struct ft_error *err)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };

  agent->sample = (struct ft_timer){ .fire = sample_trees, .data = agent };
  agent->tick = (struct ft_timer){ .fire = tick_jobs, .data = agent };
  agent->retry = (struct ft_timer){ .fire = retry_delivery, .data = agent };
  agent->loop = ft_loop_open(signals, err);
  if (!agent->loop)
    return -1;
  ft_loop_on_signal(agent->loop, signal_received, agent);
  agent->children = ft_subprocesses_open(agent->loop);
  if (!agent->children)
    return ft_error_set(err, "out of memory");
  return open_learner(agent, err) < 0 ? -1 : open_jobs(agent, err);
}

static void log_samplers(struct ft_agent *agent)
{
  size_t count;
  const struct ft_measure_report *report = ft_measure_reports(agent->measure, &count);

  for (size_t i = 0; i < count; i++)
    ft_log(report[i].works ? LOG_DEBUG : LOG_INFO, "%s: %s%s", report[i].name,
           report[i].works ? "" : "not measured here: ", report[i].why);
}

struct ft_agent *ft_agent_open(const char *config_path, struct ft_error *err)
{
  struct ft_agent *agent = calloc(1, sizeof *agent);

  if (!agent) {
    ft_error_errno(err, "foretelld");
    return NULL;
  }
  (void)mallopt(M_MMAP_THRESHOLD, MAP_BYTES);
  agent->state_fd = agent->lock_fd = agent->root_fd = -1;
  agent->config_path = config_path;
  if (read_agent_config(config_path, &agent->config, err) < 0)
    goto fail;
  /* before the lock: its child would inherit the lock and could outlive this process */
  ft_node_info_read(&agent->node);
  if (open_state_directory(agent, err) < 0)
    goto fail;
  if (open_components(agent, err) < 0)
    goto fail;
  log_samplers(agent);
  agent->listener =
      ft_listener_open(agent->loop, agent->config.socket, ft_agent_announced, agent, err);
  if (!agent->listener)
    goto fail;
  ft_agent_open_queries(agent);
  ft_agent_restore_jobs(agent);
  retry_delivery(agent);
  ft_log(LOG_INFO, "listening at %s, state in %s", agent->config.socket,
         agent->config.state_directory);
  release_idle_memory(agent);
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
  ft_jobs_close(agent->jobs);
  ft_journal_close(agent->journal);
  ft_measure_close(agent->measure);
  ft_delivery_close(agent->delivery);
  ft_learner_close(agent->learner);
  ft_subprocesses_close(agent->children);
  ft_loop_close(agent->loop);
  if (agent->root_fd >= 0)
    close(agent->root_fd);
  if (agent->lock_fd >= 0)
    close(agent->lock_fd);
  if (agent->state_fd >= 0)
    close(agent->state_fd);
  free(agent);
}
