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
#include "agent/lock.h"
#include "agent/log.h"
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
/* Interval of the checks for runs that other processes stored (foretell import). */
#define MAINTAIN_SECONDS 60.0
/* Interval of the same while a request to forget waits for a reader's lock of the store. */
#define MAINTAIN_FORGET_SECONDS 0.5
/* Deadline of the child that overwrites removed runs, and minimum time until the next one. */
#define SCRUB_SECONDS 3600.0
#define SCRUB_PAUSE_SECONDS 60.0
/* Pause between two steps of maintenance, about 2 ms each, while jobs run on this node. */
#define MAINTAIN_PAUSE_SECONDS 0.008

struct ft_instant ft_agent_now(void)
{
  return (struct ft_instant){ ft_io_monotonic(), ft_io_now() };
}

/* ---- timers ---- */

void ft_agent_arm_sampling(struct ft_agent *agent)
{
  if (!ft_jobs_tree_count(agent->jobs))
    ft_loop_cancel(agent->loop, &agent->sample);
  else if (!agent->sample.armed)
    ft_loop_at(agent->loop, &agent->sample, ft_io_monotonic());
}

/* Releases caches and free memory, so that an idle agent's memory does not depend on its past. */
static void release_idle_memory(struct ft_agent *agent)
{
  ft_recorder_release_cache(agent->recorder);
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

static void retry_spool(void *data)
{
  struct ft_agent *agent = data;

  if (ft_recorder_retry(agent->recorder))
    ft_loop_at(agent->loop, &agent->retry, ft_io_monotonic() + FT_AGENT_RETRY_SECONDS);
}

static void scrub_done(const struct ft_subprocess_result *result, void *data)
{
  struct ft_agent *agent = data;

  agent->scrubbing = false;
  agent->scrub_at = ft_io_monotonic() + SCRUB_PAUSE_SECONDS;
  if (!result->ok)
    ft_log(LOG_WARNING, "removed runs are not yet overwritten in the store: %s", result->why);
}

/* Overwrites removed runs; in a child if the store is large, while observations wait in the
 * spool. */
static void scrub_store(struct ft_agent *agent)
{
  char option[PATH_MAX + 16];
  const char *const argv[] = { "/proc/self/exe", option, NULL };
  const char *path;
  struct ft_error err;

  if (agent->scrubbing || ft_io_monotonic() < agent->scrub_at)
    return;
  path = ft_recorder_scrub(agent->recorder);
  if (!path)
    return;
  (void)snprintf(option, sizeof option, "--scrub=%s", path);
  agent->scrubbing =
      ft_subprocess_run(agent->children, argv, SCRUB_SECONDS, scrub_done, agent, &err) == 0;
  if (!agent->scrubbing)
    ft_log(LOG_WARNING, "%s", err.text);
}

static void maintain_store(void *data)
{
  struct ft_agent *agent = data;
  double pause = 0;

  if (!ft_recorder_maintain(agent->recorder)) {
    pause = ft_recorder_is_forgetting(agent->recorder) ? MAINTAIN_FORGET_SECONDS : MAINTAIN_SECONDS;
    scrub_store(agent);
  } else if (ft_jobs_tree_count(agent->jobs))
    pause = MAINTAIN_PAUSE_SECONDS;
  ft_loop_at(agent->loop, &agent->maintain, ft_io_monotonic() + pause);
}

void ft_agent_maintain_soon(struct ft_agent *agent)
{
  ft_loop_at(agent->loop, &agent->maintain, ft_io_monotonic());
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

static void observe_node(const char *node, const char *platform, double time, void *data)
{
  struct ft_agent *agent = data;

  ft_platform_map_observe(agent->platforms, node, platform, time);
}

static void publish_site_files(struct ft_agent *agent)
{
  ft_apps *apps = calloc(1, sizeof *apps);
  ft_platforms platforms;
  struct ft_error err;

  if (!apps)
    return;
  ft_config_to_platforms(&agent->config, &platforms);
  if (ft_publish_platforms(agent->publisher, &platforms, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  ft_config_to_site(&agent->config, &agent->site, apps);
  (void)ft_string_copy(agent->config.socket, agent->site.socket, sizeof agent->site.socket);
  agent->site.updated = ft_io_now();
  if (ft_publish_site(agent->publisher, &agent->site, apps, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  free(apps);
}

static void set_rule(struct ft_agent *agent)
{
  ft_measure_set_rule(agent->measure, agent->site.rule);
  ft_jobs_set_rule(agent->jobs, agent->site.rule);
  ft_recorder_set_rule(agent->recorder, agent->site.rule);
  ft_agent_maintain_soon(agent);
}

/* Publishes the result of a poll: the site file and one file per partition. */
static void cluster_polled(const struct ft_slurm_config *config, const ft_partition *partitions,
                           size_t count, void *data)
{
  struct ft_agent *agent = data;
  struct ft_error err;

  ft_slurm_query_pause(agent->slurm_query, false);
  if (!config)
    return;
  (void)ft_string_copy(config->cluster, agent->site.cluster, sizeof agent->site.cluster);
  (void)ft_string_copy(config->version, agent->site.slurm_version,
                       sizeof agent->site.slurm_version);
  agent->site.rule = config->rule;
  agent->site.memory_is_consumable = config->memory_is_consumable;
  agent->site.default_partition[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    if (partitions[i].is_default)
      (void)ft_string_copy(partitions[i].name, agent->site.default_partition,
                           sizeof agent->site.default_partition);
    if (ft_publish_partition(agent->publisher, &partitions[i], &err) < 0)
      ft_log(LOG_ERR, "%s", err.text);
  }
  if (ft_publish_partition_list(agent->publisher, partitions, count, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  ft_publish_remove_partitions(agent->publisher, partitions, count);
  publish_site_files(agent);
  ft_recorder_each_node(agent->recorder, observe_node, agent);
  set_rule(agent);
  ft_listener_allow(agent->listener, config->slurmd_uid);
  ft_query_server_allow(agent->queries, config->slurm_uid);
  release_idle_memory(agent);
}

static void apply_config(struct ft_agent *agent)
{
  struct ft_scontrol_host host = { agent->node.name, agent->config.node_platform,
                                   agent->platforms };

  ft_platform_map_set(agent->platforms, agent->config.platforms, agent->config.platform_count);
  ft_cluster_poll_configure(agent->cluster, agent->config.slurm_bin, agent->config.cluster_seconds,
                            &host);
  ft_slurm_query_set_directory(agent->slurm_query, agent->config.slurm_bin);
  ft_recorder_set_max_runs(agent->recorder, agent->config.max_runs);
  ft_recorder_set_expiry(agent->recorder, agent->config.max_age_seconds, agent->config.max_apps);
  ft_recorder_set_borrow(agent->recorder, agent->config.policy.borrow);
  ft_recorder_set_failure_cost(agent->recorder, agent->config.policy.failure_price);
  ft_recorder_set_shared(agent->recorder, agent->config.apps, agent->config.app_count);
  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  publish_site_files(agent);
  set_rule(agent);
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
  apply_config(agent);
  ft_cluster_poll_now(agent->cluster);
  ft_log(LOG_INFO, "configuration reloaded");
out:
  free(config);
}

static void signal_received(int signal, void *data)
{
  struct ft_agent *agent = data;

  if (signal == SIGHUP) {
    reload_config(agent);
    ft_agent_maintain_soon(agent);
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

static int open_components(struct ft_agent *agent, struct ft_error *err)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
  struct ft_measure_settings measure = { .seconds = 1 / agent->config.sample_hertz,
                                         .rule = agent->site.rule };
  struct ft_jobs_settings jobs = { .rule = agent->site.rule,
                                   .grace_seconds = GRACE_SECONDS,
                                   .query_seconds = QUERY_SECONDS };

  ft_agent_set_job_callbacks(agent, &jobs);
  agent->root_fd = measure.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (agent->root_fd < 0)
    return ft_error_errno(err, "/");
  agent->loop = ft_loop_open(signals, err);
  if (!agent->loop)
    return -1;
  ft_loop_on_signal(agent->loop, signal_received, agent);
  agent->sample = (struct ft_timer){ .fire = sample_trees, .data = agent };
  agent->tick = (struct ft_timer){ .fire = tick_jobs, .data = agent };
  agent->retry = (struct ft_timer){ .fire = retry_spool, .data = agent };
  agent->maintain = (struct ft_timer){ .fire = maintain_store, .data = agent };
  agent->children = ft_subprocesses_open(agent->loop);
  agent->slurm_query = agent->children ? ft_slurm_query_open(agent->loop, agent->children,
                                                             ft_agent_slurm_reply, agent)
                                       : NULL;
  if (agent->slurm_query)
    agent->cluster = ft_cluster_poll_open(agent->loop, agent->children, cluster_polled, agent);
  if (!agent->cluster)
    return ft_error_set(err, "out of memory");
  agent->platforms = ft_platform_map_open();
  if (!agent->platforms)
    return ft_error_set(err, "out of memory");
  agent->publisher = ft_publisher_open(agent->state_fd, err);
  if (!agent->publisher)
    return prefix_state_directory(agent, err);
  agent->equations =
      ft_equation_worker_open(agent->loop, agent->children, agent->state_fd, agent->publisher, err);
  if (!agent->equations)
    return -1;
  agent->platform_worker =
      ft_platform_worker_open(agent->loop, agent->children, agent->state_fd,
                              agent->config.state_directory, agent->publisher, err);
  if (!agent->platform_worker)
    return -1;
  agent->recorder =
      ft_recorder_open(agent->state_fd, agent->config.state_directory, agent->publisher, err);
  if (!agent->recorder)
    return -1;
  agent->measure = jobs.measure = ft_measure_open(&measure, err);
  if (!agent->measure)
    return -1;
  agent->journal = ft_journal_open(agent->state_fd, err);
  if (!agent->journal)
    return prefix_state_directory(agent, err);
  agent->jobs = ft_jobs_open(&jobs, err);
  return agent->jobs ? 0 : -1;
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
  struct ft_error why;

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
  /* the last known state of the cluster, until the first poll */
  if (ft_state_read_site(agent->state_fd, &agent->site, &why) < 0)
    agent->site = (ft_site){ .schema = FT_SCHEMA };
  if (open_components(agent, err) < 0)
    goto fail;
  apply_config(agent);
  log_samplers(agent);
  agent->listener =
      ft_listener_open(agent->loop, agent->config.socket, ft_agent_announced, agent, err);
  if (!agent->listener)
    goto fail;
  ft_agent_open_queries(agent);
  ft_agent_restore_jobs(agent);
  retry_spool(agent);
  ft_recorder_each_node(agent->recorder, observe_node, agent);
  /* runs are stored only with their submit time, so a pause of the queries makes them wait for
   * the cluster's name, which is also part of the key */
  ft_slurm_query_pause(agent->slurm_query, !agent->site.cluster[0]);
  ft_cluster_poll_now(agent->cluster);
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
  ft_recorder_close(agent->recorder);
  ft_platform_worker_close(agent->platform_worker);
  ft_equation_worker_close(agent->equations);
  ft_publisher_close(agent->publisher);
  ft_cluster_poll_close(agent->cluster);
  ft_platform_map_close(agent->platforms);
  ft_slurm_query_close(agent->slurm_query);
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
