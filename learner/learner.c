/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "learner/access/user_lookup.h"
#include "learner/cluster/cluster_poll.h"
#include "learner/cluster/job_owner.h"
#include "learner/cluster/joiner.h"
#include "learner/complete.h"
#include "learner/equation_worker.h"
#include "learner/learner.h"
#include "learner/cluster/platform_map.h"
#include "learner/platform_worker.h"
#include "learner/publish.h"
#include "learner/query_file.h"
#include "learner/query_forget.h"
#include "learner/query_rebuild.h"
#include "learner/query_runs.h"
#include "learner/recorder.h"
#include "learner/metrics/tally.h"
#include "learner/cluster/slurm_query.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/waiting.h"
#include "predictor/record/state_files.h"

/* Interval of the checks for runs that other processes stored (foretell import). */
#define MAINTAIN_SECONDS 60.0
/* Interval of the same while a request to forget or to rebuild waits, as for a reader's lock of the
 * store. */
#define MAINTAIN_WAITING_SECONDS 0.5
/* Deadline of the child that overwrites removed runs, and minimum time until the next one. */
#define SCRUB_SECONDS 3600.0
#define SCRUB_PAUSE_SECONDS 60.0
/* Time until the next run that differs from Slurm's record is logged. */
#define COMPLAINT_SECONDS 10.0

struct ft_learner {
  struct ft_learner_settings settings;
  ft_site site;
  bool polled; /* the cluster, by this process; then the next two are known */
  uint32_t slurmd_uid, slurm_uid;
  struct ft_slurm_query *slurm_query;
  struct ft_job_owners *owners;
  struct ft_joiner *joiner;
  double complain_at; /* monotonic; no run that differs is logged before */
  struct ft_cluster_poll *cluster;
  struct ft_platform_map *platforms;
  struct ft_publisher *publisher;
  struct ft_equation_worker *equations;
  struct ft_platform_worker *platform_worker;
  struct ft_recorder *recorder;
  struct ft_timer maintain, publish;
  bool scrubbing;  /* a child overwrites removed runs in the store */
  double scrub_at; /* monotonic; no scrub before */
  struct ft_user_names *names;
};

/* ---- maintenance ---- */

static void scrub_done(const struct ft_subprocess_result *result, void *data)
{
  struct ft_learner *learner = data;

  learner->scrubbing = false;
  learner->scrub_at = ft_io_monotonic() + SCRUB_PAUSE_SECONDS;
  if (!result->ok)
    ft_log(LOG_WARNING, "removed runs are not yet overwritten in the store: %s", result->why);
}

/* Overwrites removed runs; in a child if the store is large, while observations wait in the
 * spool. */
static void scrub_store(struct ft_learner *learner)
{
  char option[PATH_MAX + 16];
  const char *const argv[] = { "/proc/self/exe", option, NULL };
  const char *path;
  struct ft_error err;

  if (learner->scrubbing || ft_io_monotonic() < learner->scrub_at)
    return;
  path = ft_recorder_scrub(learner->recorder);
  if (!path)
    return;
  (void)snprintf(option, sizeof option, "--scrub=%s", path);
  learner->scrubbing = ft_subprocess_run(learner->settings.children, argv, SCRUB_SECONDS,
                                         scrub_done, learner, &err) == 0;
  if (!learner->scrubbing)
    ft_log(LOG_WARNING, "%s", err.text);
}

static void maintain_store(void *data)
{
  struct ft_learner *learner = data;
  double pause = 0;
  bool more = ft_recorder_maintain(learner->recorder);

  if (ft_recorder_was_replaced(learner->recorder)) {
    ft_loop_stop(learner->settings.loop);
    return;
  }
  if (!more) {
    pause =
        ft_recorder_is_forgetting(learner->recorder) ? MAINTAIN_WAITING_SECONDS : MAINTAIN_SECONDS;
    scrub_store(learner);
  }
  ft_loop_at(learner->settings.loop, &learner->maintain, ft_io_monotonic() + pause);
}

void ft_learner_maintain_soon(struct ft_learner *learner)
{
  ft_loop_at(learner->settings.loop, &learner->maintain, ft_io_monotonic());
}

/* ---- publishing ---- */

static void publish_models(void *data)
{
  struct ft_learner *learner = data;
  bool rebuild;
  double due = ft_recorder_publish(learner->recorder, &rebuild);

  ft_loop_at(learner->settings.loop, &learner->publish, due);
  if (rebuild)
    ft_learner_maintain_soon(learner);
}

/* Called after observations were added: publishes their models when the request is replied. */
static void publish_soon(struct ft_learner *learner, bool rebuild)
{
  ft_loop_at(learner->settings.loop, &learner->publish, ft_recorder_publish_due(learner->recorder));
  if (rebuild)
    ft_learner_maintain_soon(learner);
}

/* ---- configuration and cluster ---- */

static void observe_node(const char *node, const char *platform, double time, void *data)
{
  struct ft_learner *learner = data;

  ft_platform_map_observe(learner->platforms, node, platform, time);
}

static void publish_site_files(struct ft_learner *learner)
{
  ft_apps *apps = calloc(1, sizeof *apps);
  ft_platforms platforms;
  struct ft_error err;

  if (!apps)
    return;
  ft_config_to_platforms(learner->settings.config, &platforms);
  if (ft_publish_platforms(learner->publisher, &platforms, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  ft_config_to_site(learner->settings.config, &learner->site, apps);
  (void)ft_string_copy(learner->settings.config->socket, learner->site.socket,
                       sizeof learner->site.socket);
  (void)ft_string_copy(learner->settings.config->learner_socket, learner->site.learner_socket,
                       sizeof learner->site.learner_socket);
  learner->site.updated = ft_io_now();
  if (ft_publish_site(learner->publisher, &learner->site, apps, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  free(apps);
}

static void set_rule(struct ft_learner *learner)
{
  ft_recorder_set_rule(learner->recorder, learner->site.rule);
  ft_learner_maintain_soon(learner);
}

/* Publishes the result of a poll: the site file and one file per partition. */
static void cluster_polled(const struct ft_slurm_config *config, const ft_partition *partitions,
                           size_t count, void *data)
{
  struct ft_learner *learner = data;
  struct ft_error err;

  if (config)
    ft_slurm_query_set_slurmdbd(learner->slurm_query, config->has_slurmdbd);
  ft_slurm_query_pause(learner->slurm_query, false);
  if (!config)
    return;
  (void)ft_string_copy(config->cluster, learner->site.cluster, sizeof learner->site.cluster);
  (void)ft_string_copy(config->version, learner->site.slurm_version,
                       sizeof learner->site.slurm_version);
  learner->site.rule = config->rule;
  learner->site.memory_is_consumable = config->memory_is_consumable;
  learner->site.default_partition[0] = '\0';
  for (size_t i = 0; i < count; i++) {
    if (partitions[i].is_default)
      (void)ft_string_copy(partitions[i].name, learner->site.default_partition,
                           sizeof learner->site.default_partition);
    if (ft_publish_partition(learner->publisher, &partitions[i], &err) < 0)
      ft_log(LOG_ERR, "%s", err.text);
  }
  if (ft_publish_partition_list(learner->publisher, partitions, count, &err) < 0)
    ft_log(LOG_ERR, "%s", err.text);
  ft_publish_remove_partitions(learner->publisher, partitions, count);
  publish_site_files(learner);
  ft_recorder_each_node(learner->recorder, observe_node, learner);
  ft_recorder_name_platforms(learner->recorder, learner->platforms);
  learner->polled = true;
  learner->slurmd_uid = config->slurmd_uid;
  learner->slurm_uid = config->slurm_uid;
  set_rule(learner);
  learner->settings.changed(false, learner->settings.data);
}

static void apply_config(struct ft_learner *learner)
{
  const struct ft_config *config = learner->settings.config;
  struct ft_scontrol_host host = { learner->settings.host, config->node_platform,
                                   learner->platforms };

  ft_platform_map_set(learner->platforms, config->platforms, config->platform_count);
  ft_cluster_poll_configure(learner->cluster, config->slurm_bin, config->cluster_seconds, &host);
  ft_slurm_query_set_directory(learner->slurm_query, config->slurm_bin);
  ft_recorder_set_max_runs(learner->recorder, config->max_runs);
  ft_recorder_set_expiry(learner->recorder, config->max_age_seconds, config->max_apps);
  ft_recorder_set_borrow(learner->recorder, config->policy.borrow);
  ft_publisher_set_programs(learner->publisher, config->policy.other_users);
  ft_recorder_set_failure_cost(learner->recorder, config->policy.failure_price);
  ft_recorder_set_shared(learner->recorder, config->apps, config->app_count);
  publish_site_files(learner);
  set_rule(learner);
}

void ft_learner_configure(struct ft_learner *learner, const struct ft_config *config)
{
  learner->settings.config = config;
  apply_config(learner);
  ft_cluster_poll_now(learner->cluster);
  learner->settings.changed(false, learner->settings.data);
}

/* ---- joining runs with Slurm's records ---- */

/* Ends this process soon if the store was replaced. */
static void stop_if_replaced(struct ft_learner *learner)
{
  if (ft_recorder_was_replaced(learner->recorder))
    ft_learner_maintain_soon(learner);
}

/* Stores O, which Slurm's record has completed, with what this host knows. Returns as
 * ft_recorder_add. */
static int store_joined(ft_observation *o, void *data, struct ft_error *err)
{
  struct ft_learner *learner = data;
  const char *platform = ft_platform_map_assigned(learner->platforms, o->node);
  bool rebuild;
  int status;

  ft_complete_observation(&learner->site, learner->settings.state_fd, platform, o);
  if (!o->user[0])
    (void)ft_string_copy(ft_user_names_find(learner->names, o->uid), o->user, sizeof o->user);
  ft_platform_map_observe(learner->platforms, o->node, o->platform, o->end_time);
  status = ft_recorder_add(learner->recorder, o, &rebuild, err);
  stop_if_replaced(learner);
  publish_soon(learner, rebuild);
  return status;
}

/* Counts a run that differs from Slurm's record, because of WHY, and logs some of them. */
static void refuse_run(const struct ft_error *why, void *data)
{
  struct ft_learner *learner = data;
  double now = ft_io_monotonic();

  ft_tally_add(FT_TALLY_RUNS_DIFFERENT, 1);
  if (now < learner->complain_at)
    return;
  ft_log(LOG_WARNING, "run refused: %s", why->text);
  learner->complain_at = now + COMPLAINT_SECONDS;
}

int ft_learner_add(struct ft_learner *learner, const ft_observation *observation,
                   struct ft_error *err)
{
  struct ft_store *store;

  if (!observation->job_id) {
    (void)ft_error_set(err, "a run of node %s has no job", observation->node);
    refuse_run(err, learner);
    return 1;
  }
  store = ft_recorder_store(learner->recorder, err);
  stop_if_replaced(learner);
  if (!store || ft_store_wait(store, observation, err) < 0)
    return -1;
  ft_joiner_query_soon(learner->joiner);
  return 0;
}

static int begin_joining(void *data, struct ft_error *err)
{
  return ft_learner_begin(data, err);
}

static int end_joining(bool commit, void *data, struct ft_error *err)
{
  if (commit)
    return ft_learner_commit(data, err);
  ft_learner_rollback(data);
  return 0;
}

/* ---- opening ---- */

static void job_replied(uint32_t job_id, const struct ft_slurm_reply *reply, void *data)
{
  struct ft_learner *learner = data;

  (void)ft_job_owners_reply(learner->owners, job_id, reply->record);
  ft_joiner_replied(learner->joiner, job_id, reply);
}

static int open_parts(struct ft_learner *learner, struct ft_error *err)
{
  const struct ft_learner_settings *s = &learner->settings;
  struct ft_error why;

  learner->slurm_query = ft_slurm_query_open(s->loop, s->children, job_replied, learner);
  learner->owners = ft_job_owners_open(learner->slurm_query);
  learner->cluster = ft_cluster_poll_open(s->loop, s->children, cluster_polled, learner);
  learner->platforms = ft_platform_map_open();
  learner->names = ft_user_names_open(s->children);
  if (!learner->slurm_query || !learner->owners || !learner->cluster || !learner->platforms ||
      !learner->names)
    return ft_error_set(err, "out of memory");
  learner->publisher = ft_publisher_open(s->state_fd, &why);
  if (!learner->publisher)
    return ft_error_set(err, "%s: %s", s->config->state_directory, why.text);
  learner->equations =
      ft_equation_worker_open(s->loop, s->children, s->state_fd, learner->publisher, err);
  if (!learner->equations)
    return -1;
  learner->platform_worker = ft_platform_worker_open(
      s->loop, s->children, s->state_fd, s->config->state_directory, learner->publisher, err);
  if (!learner->platform_worker)
    return -1;
  learner->recorder =
      ft_recorder_open(s->state_fd, s->config->state_directory, learner->publisher, err);
  if (!learner->recorder)
    return -1;
  learner->joiner = ft_joiner_open(&(struct ft_joiner_settings){ .loop = s->loop,
                                                                 .slurm = learner->slurm_query,
                                                                 .recorder = learner->recorder,
                                                                 .begin = begin_joining,
                                                                 .end = end_joining,
                                                                 .store = store_joined,
                                                                 .refuse = refuse_run,
                                                                 .data = learner });
  return learner->joiner ? 0 : ft_error_set(err, "out of memory");
}

struct ft_learner *ft_learner_open(const struct ft_learner_settings *settings, struct ft_error *err)
{
  struct ft_learner *learner = calloc(1, sizeof *learner);
  struct ft_error why;

  if (!learner) {
    ft_error_errno(err, "learner");
    return NULL;
  }
  learner->settings = *settings;
  learner->maintain = (struct ft_timer){ .fire = maintain_store, .data = learner };
  learner->publish = (struct ft_timer){ .fire = publish_models, .data = learner };
  /* the last known state of the cluster, until the first poll */
  if (ft_state_read_site(settings->state_fd, &learner->site, &why) < 0)
    learner->site = (ft_site){ .schema = FT_SCHEMA };
  if (open_parts(learner, err) < 0) {
    ft_learner_close(learner);
    return NULL;
  }
  apply_config(learner);
  ft_recorder_each_node(learner->recorder, observe_node, learner);
  /* the first poll shows whether there is a slurmdbd; and runs are stored only with their submit
   * time, so that they wait for the cluster's name, which is also part of the key */
  ft_slurm_query_pause(learner->slurm_query, true);
  ft_cluster_poll_now(learner->cluster);
  return learner;
}

void ft_learner_close(struct ft_learner *learner)
{
  if (!learner)
    return;
  ft_loop_cancel(learner->settings.loop, &learner->maintain);
  ft_loop_cancel(learner->settings.loop, &learner->publish);
  ft_joiner_close(learner->joiner);
  ft_recorder_close(learner->recorder);
  ft_platform_worker_close(learner->platform_worker);
  ft_equation_worker_close(learner->equations);
  ft_publisher_close(learner->publisher);
  ft_cluster_poll_close(learner->cluster);
  ft_platform_map_close(learner->platforms);
  ft_job_owners_close(learner->owners);
  ft_slurm_query_close(learner->slurm_query);
  ft_user_names_close(learner->names);
  free(learner);
}

int ft_learner_check_store(const struct ft_learner *learner, struct ft_error *err)
{
  return ft_recorder_was_replaced(learner->recorder)
             ? ft_error_set(err,
                            "%s/" FT_STATE_STORE ": replaced while foretell-learnd ran; start it "
                            "again, then run foretell rebuild",
                            learner->settings.config->state_directory)
             : 0;
}

/* ---- observations and queries ---- */

void ft_learner_settings_of_nodes(const struct ft_learner *learner, ft_settings *settings)
{
  settings->rule = learner->site.rule;
  settings->has_slurmd_uid = settings->has_slurm_uid = learner->polled;
  settings->slurmd_uid = learner->slurmd_uid;
  settings->slurm_uid = learner->slurm_uid;
}

int ft_learner_begin(struct ft_learner *learner, struct ft_error *err)
{
  int status = ft_recorder_begin(learner->recorder, err);

  stop_if_replaced(learner);
  return status;
}

int ft_learner_commit(struct ft_learner *learner, struct ft_error *err)
{
  bool rebuild;
  int status = ft_recorder_commit(learner->recorder, &rebuild, err);

  publish_soon(learner, rebuild);
  return status;
}

void ft_learner_rollback(struct ft_learner *learner)
{
  ft_recorder_rollback(learner->recorder);
}

bool ft_learner_is_forgotten(struct ft_learner *learner, const ft_observation *observation)
{
  return ft_recorder_is_forgotten(learner->recorder, observation);
}

bool ft_learner_step_query(struct ft_learner *learner, struct ft_query *query, ft_reply *reply)
{
  bool known = query->data != NULL, done, accepted;

  switch (query->question->which_asked) {
  case ft_question_forget_tag:
    done = ft_query_forget(learner->recorder, learner->owners, query, reply, &accepted);
    if (accepted) {
      ft_learner_maintain_soon(learner);
      learner->settings.changed(true, learner->settings.data);
    }
    return done;
  case ft_question_rebuild_tag:
    done = ft_query_rebuild(learner->recorder, query, reply);
    if (!known && query->data)
      ft_learner_maintain_soon(learner);
    else if (learner->maintain.due > ft_io_monotonic() + MAINTAIN_WAITING_SECONDS)
      ft_loop_at(learner->settings.loop, &learner->maintain,
                 ft_io_monotonic() + MAINTAIN_WAITING_SECONDS);
    return done;
  case ft_question_adopt_tag:
    return ft_query_adopt(learner->equations, learner->settings.state_fd, query, reply);
  case ft_question_run_query_tag:
    return ft_query_runs(query, learner->recorder, reply);
  case ft_question_file_tag:
    return ft_query_file(learner->settings.state_fd, query, reply);
  case ft_question_rejected_tag:
    return ft_query_count_rejection(query, learner->recorder, reply);
  default:
    (void)ft_string_copy("unknown query: this foretell-learnd is of another version", reply->error,
                         sizeof reply->error);
    return true;
  }
}

void ft_learner_end_query(struct ft_learner *learner, struct ft_query *query)
{
  if (query->question->which_asked == ft_question_forget_tag)
    ft_query_forget_end(learner->recorder, learner->owners, query);
  else if (query->question->which_asked == ft_question_rebuild_tag)
    ft_query_rebuild_end(query);
  else if (query->question->which_asked == ft_question_run_query_tag)
    ft_query_runs_end(query);
}
