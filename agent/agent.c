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

#include "agent/agent.h"
#include "agent/query_forget.h"
#include "agent/slurm_query.h"
#include "agent/subprocess.h"
#include "agent/cluster_poll.h"
#include "agent/node_info.h"
#include "agent/jobs.h"
#include "agent/journal.h"
#include "agent/recorder.h"
#include "agent/listener.h"
#include "agent/lock.h"
#include "agent/log.h"
#include "agent/loop.h"
#include "agent/measure/measure.h"
#include "agent/platform_map.h"
#include "agent/publish.h"
#include "agent/query_server.h"
#include "agent/platform_worker.h"
#include "agent/equation_worker.h"
#include "agent/query_runs.h"
#include "predictor/core/hot.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"
#include "predictor/site/conf.h"

/*
 * From so many bytes on memory is the kernel's own pages, which are zero, cost nothing before they
 * are touched and go back when freed: glibc would raise its bound to the first that was freed.
 */
#define MAP_BYTES (64 << 10)

/* Between two tries of what the store would not take. */
#define RETRY_SECONDS 5.0
/* Without a process, before Slurm is asked whether the job is over. */
#define GRACE_SECONDS 30.0
/* After a job's end, before Slurm's record is worth a look: its own epilog and accounting come
 * first. */
#define ASK_SECONDS 1.0
/* Between two looks at whether others have put runs into the store. */
#define FOLLOW_SECONDS 60.0
/* The same while a question to forget runs is under way and the store is locked by a reader. */
#define FORGET_SECONDS 0.5
/* For another process to make the store anew, at most, and between two such. */
#define SCRUB_SECONDS 3600.0
#define SCRUB_PAUSE_SECONDS 60.0
/* Between two steps of publishing them, of 2 ms or so each, while jobs run here. */
#define FOLLOW_PAUSE_SECONDS 0.008

struct ft_agent {
  const char *config_path;
  struct ft_config config;
  ft_site site;
  struct ft_node_info host;
  int state_fd, lock_fd, root_fd;
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_slurm_query *asker;
  struct ft_cluster_poll *cluster;
  struct ft_platform_map *platforms;
  struct ft_publisher *publisher;
  struct ft_equation_worker *seeker;
  struct ft_platform_worker *relater;
  struct ft_recorder *ledger;
  struct ft_measure *measure;
  struct ft_jobs *jobs;
  struct ft_journal *journal;
  struct ft_listener *listener;
  struct ft_query_server *questions; /* NULL: the socket could not be opened */
  struct ft_timer sample, tick, retry, follow;
  bool scrubbing;  /* a child makes the store anew */
  double scrub_at; /* not before, monotonic */
  ft_observation finished;
};

static struct ft_instant instant(void)
{
  return (struct ft_instant){ ft_io_monotonic(), ft_io_now() };
}

/* ---- timers ---- */

/* Samples are taken only while there is something to see: an idle node is not woken. */
static void arm_sampling(struct ft_agent *agent)
{
  if (!ft_jobs_tree_count(agent->jobs))
    ft_loop_cancel(agent->loop, &agent->sample);
  else if (!agent->sample.armed)
    ft_loop_at(agent->loop, &agent->sample, ft_io_monotonic());
}

/* What an idle agent holds does not depend on what it did before. */
static void rest(struct ft_agent *agent)
{
  ft_recorder_release_cache(agent->ledger);
  (void)malloc_trim(0);
}

static void tick(void *data)
{
  struct ft_agent *agent = data;

  ft_loop_at(agent->loop, &agent->tick, ft_jobs_tick(agent->jobs, instant()));
  arm_sampling(agent);
  if (!ft_jobs_tree_count(agent->jobs))
    rest(agent);
}

FT_HOT static void sample(void *data)
{
  struct ft_agent *agent = data;
  double period = 1 / agent->config.sample_hertz, now;

  ft_measure_sample(agent->measure);
  now = ft_io_monotonic();
  /* in step with the clock; instants that were missed are not made up for */
  if (ft_jobs_tree_count(agent->jobs))
    ft_loop_at(agent->loop, &agent->sample,
               agent->sample.due +
                   period * (1 + (double)(uint64_t)((now - agent->sample.due) / period)));
  /* what is due before the next sample does not wake us for itself */
  if (agent->tick.armed && agent->tick.due < now + period) {
    ft_loop_cancel(agent->loop, &agent->tick);
    tick(agent);
  }
}

static void tick_soon(struct ft_agent *agent)
{
  ft_loop_at(agent->loop, &agent->tick, ft_io_monotonic());
}

static void retry(void *data)
{
  struct ft_agent *agent = data;

  if (ft_recorder_retry(agent->ledger))
    ft_loop_at(agent->loop, &agent->retry, ft_io_monotonic() + RETRY_SECONDS);
}

static void scrubbed(const struct ft_subprocess_result *result, void *data)
{
  struct ft_agent *agent = data;

  agent->scrubbing = false;
  agent->scrub_at = ft_io_monotonic() + SCRUB_PAUSE_SECONDS;
  if (!result->ok)
    ft_log(LOG_WARNING, "what was removed is in the store's file still: %s", result->why);
}

/* A large store is made anew by another process; what jobs tell waits in the spool meanwhile. */
static void scrub(struct ft_agent *agent)
{
  char option[PATH_MAX + 16];
  const char *const argv[] = { "/proc/self/exe", option, NULL };
  const char *path;
  struct ft_error err;

  if (agent->scrubbing || ft_io_monotonic() < agent->scrub_at)
    return;
  path = ft_recorder_scrub(agent->ledger);
  if (!path)
    return;
  (void)snprintf(option, sizeof option, "--scrub=%s", path);
  agent->scrubbing =
      ft_subprocess_run(agent->children, argv, SCRUB_SECONDS, scrubbed, agent, &err) == 0;
  if (!agent->scrubbing)
    ft_log(LOG_WARNING, "%s", err.text);
}

static void follow(void *data)
{
  struct ft_agent *agent = data;
  double pause = 0;

  if (!ft_recorder_maintain(agent->ledger)) {
    pause = ft_recorder_is_forgetting(agent->ledger) ? FORGET_SECONDS : FOLLOW_SECONDS;
    scrub(agent);
  } else if (ft_jobs_tree_count(agent->jobs))
    pause = FOLLOW_PAUSE_SECONDS;
  ft_loop_at(agent->loop, &agent->follow, ft_io_monotonic() + pause);
}

static void follow_soon(struct ft_agent *agent)
{
  ft_loop_at(agent->loop, &agent->follow, ft_io_monotonic());
}

/* ---- jobs ---- */

static void finished(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;
  ft_observation *o = &agent->finished;
  const char *platform = ft_cluster_poll_platform(agent->cluster, observation->node);

  *o = *observation;
  ft_node_info_fill(&agent->host, &agent->site, agent->state_fd,
                    platform ? platform : agent->config.node_platform, o);
  ft_platform_map_observe(agent->platforms, o->node, o->platform, o->end_time);
  if (ft_recorder_add(agent->ledger, o))
    follow_soon(agent);
  if (ft_recorder_has_spooled(agent->ledger) && !agent->retry.armed)
    ft_loop_at(agent->loop, &agent->retry, ft_io_monotonic() + RETRY_SECONDS);
}

static void ask(uint32_t job_id, void *data)
{
  struct ft_agent *agent = data;

  ft_slurm_query_submit(agent->asker, job_id);
}

static void forget(uint32_t job_id, void *data)
{
  struct ft_agent *agent = data;

  ft_journal_remove(agent->journal, job_id);
}

static bool suspend(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;
  struct ft_error err;

  if (ft_journal_save_partial(agent->journal, observation, &err) == 0)
    return true;
  ft_log(LOG_ERR, "job %" PRIu32 ": the next agent will not find it again: %s", observation->job_id,
         err.text);
  return false;
}

static void answered(uint32_t job_id, const struct ft_slurm_job *answer, void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_slurm_reply(agent->jobs, job_id, answer, instant());
  tick_soon(agent);
}

static void announced(const ft_announcement *announcement, pid_t peer, const void *packet,
                      size_t length, void *data)
{
  struct ft_agent *agent = data;
  struct ft_instant now = instant();
  struct ft_error err;

  /*
   * The kernel may have put the agent into the place of who announces, on whose CPU it was woken:
   * slurmstepd, which would wait for as long as the agent works. It goes on first.
   */
  (void)sched_yield();
  if (ft_jobs_announce(agent->jobs, announcement, peer, false, now) &&
      ft_journal_add(agent->journal, announcement, peer, now.utc, packet, length, &err) < 0)
    ft_log(LOG_WARNING, "job %" PRIu32 ": not found again should the agent be restarted: %s",
           announcement->job_id, err.text);
  arm_sampling(agent);
  tick_soon(agent);
}

/* What an agent before us was told, at its own time. */
static void replayed(const ft_announcement *announcement, pid_t peer, double utc, void *data)
{
  struct ft_agent *agent = data;
  struct ft_instant now = instant();
  double ago = utc < now.utc ? now.utc - utc : 0;

  (void)ft_jobs_announce(agent->jobs, announcement, peer, true,
                         (struct ft_instant){ now.monotonic - ago, now.utc - ago });
}

static void resumed(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_restore(agent->jobs, observation);
}

static bool is_forgotten(const ft_observation *observation, void *data)
{
  struct ft_agent *agent = data;

  return ft_recorder_is_forgotten(agent->ledger, observation);
}

static void resume(struct ft_agent *agent)
{
  const struct ft_journal_callbacks calls = { replayed, resumed, agent };
  size_t watched;

  ft_journal_replay(agent->journal, &calls);
  /* an agent before us may have been told and killed at once */
  ft_jobs_forget(agent->jobs, is_forgotten, agent);
  watched = ft_jobs_tree_count(agent->jobs);
  if (watched)
    ft_log(LOG_INFO, "%zu job%s found again", watched, watched == 1 ? "" : "s");
  arm_sampling(agent);
  tick_soon(agent);
}

/* ---- questions of users ---- */

/* Whether Q is of the state folder that this agent works in; else REPLY says so. */
static bool is_ours(const struct ft_agent *agent, const ft_question *q, ft_reply *reply)
{
  struct stat st;

  if (fstat(agent->state_fd, &st) == 0 && q->state_device == st.st_dev &&
      q->state_inode == st.st_ino)
    return true;
  (void)snprintf(reply->error, sizeof reply->error,
                 "the foretelld of this machine works in another state folder: %.160s",
                 agent->config.state_directory);
  return false;
}

/* The store does not take it any more; what is left is to be removed, and kept of jobs that run. */
static void told_to_forget(void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_forget(agent->jobs, is_forgotten, agent);
  follow_soon(agent);
}

static bool answer(struct ft_query *asked, ft_reply *reply, void *data)
{
  struct ft_agent *agent = data;

  if (!is_ours(agent, asked->question, reply))
    return true;
  switch (asked->question->which_asked) {
  case ft_question_forget_tag:
    return ft_query_forget(agent->ledger, asked, reply, told_to_forget, agent);
  case ft_question_run_query_tag:
    return ft_query_runs(asked, agent->ledger, agent->jobs, instant(), reply);
  case ft_question_rejected_tag:
    return ft_query_count_rejection(asked, agent->ledger, reply);
  default:
    (void)ft_string_copy("this foretelld is of another version and does not know the question",
                         reply->error, sizeof reply->error);
    return true;
  }
}

static void answer_ended(struct ft_query *asked, void *data)
{
  struct ft_agent *agent = data;

  if (asked->question->which_asked == ft_question_forget_tag)
    ft_query_forget_end(agent->ledger, asked);
  else if (asked->question->which_asked == ft_question_run_query_tag)
    ft_query_runs_end(asked);
}

/* Without the socket jobs are measured all the same. */
static void open_questions(struct ft_agent *agent)
{
  const struct ft_query_handler answerer = { answer, answer_ended, agent };
  char path[sizeof agent->config.socket + sizeof FT_STATE_QUERY_SUFFIX];
  struct ft_error err;

  (void)snprintf(path, sizeof path, "%s" FT_STATE_QUERY_SUFFIX, agent->config.socket);
  agent->questions = ft_query_server_open(agent->loop, path, &answerer, &err);
  if (!agent->questions)
    ft_log(LOG_WARNING, "users cannot ask: %s", err.text);
}

/* ---- configuration ---- */

/* The file names programs that the agent runs, so nobody else may change it. */
static int read_config(const char *path, struct ft_config *config, struct ft_error *err)
{
  ft_config_defaults(config);
  /* without a file of his own choice, a user has the defaults */
  if (!path && access(FT_CONFIG_FILE, F_OK) < 0 && errno == ENOENT)
    return 0;
  if (ft_io_check_owner(path ? path : FT_CONFIG_FILE, err) < 0)
    return -1;
  return ft_config_read(path, config, err);
}

static void see_node(const char *node, const char *platform, double time, void *data)
{
  struct ft_agent *agent = data;

  ft_platform_map_observe(agent->platforms, node, platform, time);
}

static void publish_site(struct ft_agent *agent)
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

static void apply_rule(struct ft_agent *agent)
{
  ft_measure_set_rule(agent->measure, agent->site.rule);
  ft_jobs_set_rule(agent->jobs, agent->site.rule);
  ft_recorder_set_rule(agent->ledger, agent->site.rule);
  follow_soon(agent);
}

/* Slurm has said what the cluster is: the site file and a file a partition. */
static void cluster_known(const struct ft_slurm_config *config, const ft_partition *partitions,
                          size_t count, void *data)
{
  struct ft_agent *agent = data;
  struct ft_error err;

  ft_slurm_query_pause(agent->asker, false);
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
  publish_site(agent);
  ft_recorder_each_node(agent->ledger, see_node, agent);
  apply_rule(agent);
  ft_listener_allow(agent->listener, config->slurmd_uid);
  ft_query_server_allow(agent->questions, config->slurm_uid);
  rest(agent);
}

static void apply_config(struct ft_agent *agent)
{
  struct ft_scontrol_host host = { agent->host.name, agent->config.node_platform,
                                   agent->platforms };

  ft_platform_map_set(agent->platforms, agent->config.platforms, agent->config.platform_count);
  ft_cluster_poll_configure(agent->cluster, agent->config.slurm_bin, agent->config.cluster_seconds,
                            &host);
  ft_slurm_query_set_directory(agent->asker, agent->config.slurm_bin);
  ft_recorder_set_max_runs(agent->ledger, agent->config.max_runs);
  ft_recorder_set_expiry(agent->ledger, agent->config.max_age_seconds, agent->config.max_apps);
  ft_recorder_set_borrow(agent->ledger, agent->config.policy.borrow);
  ft_recorder_set_failure_cost(agent->ledger, agent->config.policy.failure_price);
  ft_recorder_set_shared(agent->ledger, agent->config.apps, agent->config.app_count);
  ft_jobs_set_apps(agent->jobs, agent->config.apps, agent->config.app_count);
  publish_site(agent);
  apply_rule(agent);
}

/* SIGHUP: all of the file or nothing of it; what is taken once at the start stays. */
static void reload(struct ft_agent *agent)
{
  struct ft_config *config = malloc(sizeof *config);
  struct ft_error err;

  if (!config)
    return;
  if (read_config(agent->config_path, config, &err) < 0) {
    ft_log(LOG_ERR, "%s; the old configuration stays", err.text);
    goto out;
  }
  if (strcmp(config->state_directory, agent->config.state_directory) != 0 ||
      strcmp(config->socket, agent->config.socket) != 0 ||
      config->sample_hertz != agent->config.sample_hertz)
    ft_log(LOG_WARNING, "state folder, socket and sampling rate stay as they are until a restart");
  memcpy(config->state_directory, agent->config.state_directory, sizeof config->state_directory);
  memcpy(config->socket, agent->config.socket, sizeof config->socket);
  config->sample_hertz = agent->config.sample_hertz;
  agent->config = *config;
  apply_config(agent);
  ft_cluster_poll_now(agent->cluster);
  ft_log(LOG_INFO, "configuration read again");
out:
  free(config);
}

static void signalled(int signal, void *data)
{
  struct ft_agent *agent = data;

  if (signal == SIGHUP) {
    reload(agent);
    follow_soon(agent);
    return;
  }
  ft_log(LOG_INFO, "stopping");
  ft_loop_stop(agent->loop);
}

/* ---- opening ---- */

static int take_state_folder(struct ft_agent *agent, struct ft_error *err)
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

/* ERR, which names what is in the state folder, with that folder. */
static int in_state(const struct ft_agent *agent, struct ft_error *err)
{
  struct ft_error why = *err;

  return ft_error_set(err, "%s: %s", agent->config.state_directory, why.text);
}

static int open_parts(struct ft_agent *agent, struct ft_error *err)
{
  static const int signals[] = { SIGTERM, SIGINT, SIGHUP, 0 };
  struct ft_measure_settings measure = { .seconds = 1 / agent->config.sample_hertz,
                                         .rule = agent->site.rule };
  struct ft_jobs_settings jobs = { .rule = agent->site.rule,
                                   .grace_seconds = GRACE_SECONDS,
                                   .ask_seconds = ASK_SECONDS,
                                   .finished = finished,
                                   .ask = ask,
                                   .forget = forget,
                                   .suspend = suspend,
                                   .data = agent };

  agent->root_fd = measure.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (agent->root_fd < 0)
    return ft_error_errno(err, "/");
  agent->loop = ft_loop_open(signals, err);
  if (!agent->loop)
    return -1;
  ft_loop_on_signal(agent->loop, signalled, agent);
  agent->sample = (struct ft_timer){ .fire = sample, .data = agent };
  agent->tick = (struct ft_timer){ .fire = tick, .data = agent };
  agent->retry = (struct ft_timer){ .fire = retry, .data = agent };
  agent->follow = (struct ft_timer){ .fire = follow, .data = agent };
  agent->children = ft_subprocesses_open(agent->loop);
  agent->asker =
      agent->children ? ft_slurm_query_open(agent->loop, agent->children, answered, agent) : NULL;
  if (agent->asker)
    agent->cluster = ft_cluster_poll_open(agent->loop, agent->children, cluster_known, agent);
  if (!agent->cluster)
    return ft_error_set(err, "out of memory");
  agent->platforms = ft_platform_map_open();
  if (!agent->platforms)
    return ft_error_set(err, "out of memory");
  agent->publisher = ft_publisher_open(agent->state_fd, err);
  if (!agent->publisher)
    return in_state(agent, err);
  agent->seeker =
      ft_equation_worker_open(agent->loop, agent->children, agent->state_fd, agent->publisher, err);
  if (!agent->seeker)
    return -1;
  agent->relater = ft_platform_worker_open(agent->loop, agent->children, agent->state_fd,
                                           agent->config.state_directory, agent->publisher, err);
  if (!agent->relater)
    return -1;
  agent->ledger =
      ft_recorder_open(agent->state_fd, agent->config.state_directory, agent->publisher, err);
  if (!agent->ledger)
    return -1;
  agent->measure = jobs.measure = ft_measure_open(&measure, err);
  if (!agent->measure)
    return -1;
  agent->journal = ft_journal_open(agent->state_fd, err);
  if (!agent->journal)
    return in_state(agent, err);
  agent->jobs = ft_jobs_open(&jobs, err);
  return agent->jobs ? 0 : -1;
}

static void say_reports(struct ft_agent *agent)
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
  if (read_config(config_path, &agent->config, err) < 0)
    goto fail;
  /* first: its child would hold the lock for as long as it lives, be this process there or not */
  ft_node_info_read(&agent->host);
  if (take_state_folder(agent, err) < 0)
    goto fail;
  /* what the cluster was holds until Slurm says what it is */
  if (ft_state_read_site(agent->state_fd, &agent->site, &why) < 0)
    agent->site = (ft_site){ .schema = FT_SCHEMA };
  if (open_parts(agent, err) < 0)
    goto fail;
  apply_config(agent);
  say_reports(agent);
  agent->listener = ft_listener_open(agent->loop, agent->config.socket, announced, agent, err);
  if (!agent->listener)
    goto fail;
  open_questions(agent);
  resume(agent);
  retry(agent);
  ft_recorder_each_node(agent->ledger, see_node, agent);
  /* no run is stored without its submit time: nor then without the cluster, which its key has too */
  ft_slurm_query_pause(agent->asker, !agent->site.cluster[0]);
  ft_cluster_poll_now(agent->cluster);
  ft_log(LOG_INFO, "listening at %s, state in %s", agent->config.socket,
         agent->config.state_directory);
  rest(agent);
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
  ft_query_server_close(agent->questions);
  ft_listener_close(agent->listener);
  ft_jobs_close(agent->jobs);
  ft_journal_close(agent->journal);
  ft_measure_close(agent->measure);
  ft_recorder_close(agent->ledger);
  ft_platform_worker_close(agent->relater);
  ft_equation_worker_close(agent->seeker);
  ft_publisher_close(agent->publisher);
  ft_cluster_poll_close(agent->cluster);
  ft_platform_map_close(agent->platforms);
  ft_slurm_query_close(agent->asker);
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
