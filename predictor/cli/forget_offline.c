/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/journal.h"
#include "agent/spool.h"
#include "daemon/lock.h"
#include "daemon/log.h"
#include "learner/complete.h"
#include "learner/query_forget.h"
#include "learner/recorder.h"
#include "predictor/cli/forget_offline.h"
#include "predictor/core/io.h"
#include "predictor/record/state_files.h"

/* Pause between two tries while another process uses the store, and time until giving up. */
#define RETRY_PAUSE_SECONDS 0.1
#define GIVE_UP_AFTER_SECONDS 20.0
enum { SCRUB_WAIT_MILLISECONDS = 60000 };

static int become_owner(int state_fd, const char *path, struct ft_error *err)
{
  struct stat st;

  if (fstat(state_fd, &st) < 0)
    return ft_error_errno(err, "%s", path);
  if (geteuid() != 0 || st.st_uid == 0)
    return 0;
  if (setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 || setuid(st.st_uid) < 0)
    return ft_error_errno(err, "%s: cannot become its owner", path);
  return 0;
}

/* The parts of a learner that a request to forget needs, and the spool of an agent. */
struct offline {
  int state_fd;
  struct ft_publisher *publisher;
  struct ft_recorder *recorder;
  struct ft_spool *spool; /* NULL: an agent runs, which asks the next learner */
  ft_site site;
  ft_observation observation; /* too large for the stack */
};

/* Passes the spooled observations to the recorder, which stores or, by the tombstone, drops them.
 */
static void record_spooled(struct offline *offline)
{
  ft_observation *o = &offline->observation;
  struct ft_error err;
  uint64_t key;
  bool rebuild;

  ft_spool_remove_damaged(offline->spool);
  ft_spool_begin(offline->spool);
  while (ft_spool_next(offline->spool, o, &key)) {
    ft_complete_observation(&offline->site, offline->state_fd, NULL, o);
    if (ft_recorder_add(offline->recorder, o, &rebuild, &err) == 0)
      ft_spool_remove(offline->spool, key);
  }
}

/*
 * Configures the recorder as the last agent did, from its published files: another rule or failure
 * cost would rebuild every model, and other declared apps would remove pooled models.
 */
static int load_settings(struct offline *offline, struct ft_error *err)
{
  struct ft_recorder *recorder = offline->recorder;
  int state_fd = offline->state_fd;
  ft_site *site = &offline->site;
  ft_apps *apps = malloc(sizeof *apps);
  int status = -1;

  if (!apps) {
    ft_error_errno(err, "forget");
  } else if (ft_state_read_site(state_fd, site, err) < 0) {
    /* without a site file no agent has ever run, and there are no models */
    status = errno == ENOENT ? 0 : -1;
  } else if (ft_state_read_apps(state_fd, site, apps, err) == 0) {
    ft_recorder_set_rule(recorder, site->rule);
    if (site->policy.has_failure_price)
      ft_recorder_set_failure_cost(recorder, site->policy.failure_price);
    ft_recorder_set_shared(recorder, apps->apps, apps->apps_count);
    status = 0;
  }
  free(apps);
  return status;
}

/* ---- journal of jobs that had not ended when the last agent stopped ---- */

struct journal_check {
  struct ft_journal *journal;
  struct ft_recorder *recorder;
  ft_observation observation;
};

static void check_partial(const ft_observation *o, void *data)
{
  struct journal_check *j = data;

  if (ft_recorder_is_forgotten(j->recorder, o))
    ft_journal_remove(j->journal, o->job_id);
}

static void check_journal_packet(const ft_announcement *a, pid_t peer, double utc, void *data)
{
  struct journal_check *j = data;
  ft_observation *o = &j->observation;
  const uint8_t *submission = NULL;
  pb_size_t length = 0;

  (void)peer;
  *o = (ft_observation){ .schema = FT_SCHEMA,
                         .job_id = a->job_id,
                         .array_job_id = a->array_job_id,
                         .array_task_id = a->array_task_id,
                         .uid = a->uid,
                         .start_time = utc };
  if (a->which_event == ft_announcement_job_start_tag) {
    submission = a->event.job_start.submission.bytes;
    length = a->event.job_start.submission.size;
  } else if (a->which_event == ft_announcement_task_start_tag) {
    submission = a->event.task_start.submission.bytes;
    length = a->event.task_start.submission.size;
  }
  if (length)
    (void)ft_record_decode(FT_RECORD_SUBMISSION, submission, length, &o->submission, NULL);
  check_partial(o, j);
}

static int clean_journal(int state_fd, struct ft_recorder *recorder, struct ft_error *err)
{
  struct journal_check *j = calloc(1, sizeof *j);
  const struct ft_journal_callbacks calls = { check_journal_packet, check_partial, j };
  int status = -1;

  if (!j)
    return ft_error_errno(err, "forget");
  j->recorder = recorder;
  j->journal = ft_journal_open(state_fd, err);
  if (j->journal) {
    ft_journal_replay(j->journal, &calls);
    status = 0;
  }
  ft_journal_close(j->journal);
  free(j);
  return status;
}

/* ---- removal ---- */

static int count_runs(struct ft_recorder *recorder, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err)
{
  struct ft_forget_pass pass = { 0 };
  int status = ft_recorder_count_begin(recorder, what, &pass, err) < 0 ? -1 : 1;

  while (status > 0)
    status = ft_recorder_count_step(recorder, &pass, err);
  *out = (ft_forgotten){ .runs = pass.runs, .apps = pass.app_count, .kept = pass.stripped };
  ft_forget_pass_free(&pass);
  return status;
}

static int complete_forget(struct ft_recorder *recorder, struct ft_forget_report *report,
                           struct ft_error *err)
{
  const struct timespec pause = { .tv_nsec = (long)(RETRY_PAUSE_SECONDS * 1e9) };
  double deadline = ft_io_monotonic() + GIVE_UP_AFTER_SECONDS;

  while (!report->done) {
    if (ft_recorder_maintain(recorder)) {
      deadline = ft_io_monotonic() + GIVE_UP_AFTER_SECONDS;
      continue;
    }
    if (ft_io_monotonic() >= deadline)
      return ft_error_set(err, "removal is not complete, foretelld will continue: %s",
                          report->failing ? report->why.text : "the store is in use");
    if (!report->done)
      (void)nanosleep(&pause, NULL);
  }
  return 0;
}

static int add_and_complete(struct offline *offline, const ft_forget *what, ft_forgotten *out,
                            struct ft_error *err)
{
  struct ft_forget_report report = { 0 };
  int status = -1;

  if (ft_recorder_forget(offline->recorder, what, &report, err) < 0)
    return -1;
  if (offline->spool)
    record_spooled(offline);
  if (!offline->spool || clean_journal(offline->state_fd, offline->recorder, err) == 0)
    status = complete_forget(offline->recorder, &report, err);
  ft_recorder_drop_report(offline->recorder, &report);
  *out = report.total;
  return status;
}

/* AGENT_RUNS: the journal and the spool belong to it. */
static int open_and_forget(int state_fd, const char *path, bool agent_runs, const ft_forget *what,
                           ft_forgotten *out, struct ft_error *err)
{
  struct offline *offline = calloc(1, sizeof *offline);
  int status = -1;

  if (!offline)
    return ft_error_errno(err, "forget");
  offline->state_fd = state_fd;
  offline->publisher = ft_publisher_open(state_fd, err);
  if (offline->publisher)
    offline->recorder = ft_recorder_open(state_fd, path, offline->publisher, err);
  if (offline->recorder && !agent_runs)
    offline->spool = ft_spool_open(state_fd, err);
  if (offline->recorder && (agent_runs || offline->spool) && load_settings(offline, err) == 0)
    status = what->dry_run ? count_runs(offline->recorder, what, out, err)
                           : add_and_complete(offline, what, out, err);
  ft_spool_close(offline->spool);
  ft_recorder_close(offline->recorder);
  ft_publisher_close(offline->publisher);
  free(offline);
  return status;
}

int ft_forget_offline(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err)
{
  ft_forget checked = *what;
  char store[PATH_MAX + 16];
  int lock, agent_lock, status;
  struct ft_error why;

  if (ft_forget_check_permission(&checked, geteuid(), true, err) < 0 ||
      become_owner(state_fd, path, err) < 0)
    return -1;
  lock = ft_lock_state(state_fd, path, FT_STATE_LEARNER_LOCK, err);
  if (lock < 0)
    return -1;
  agent_lock = ft_lock_state(state_fd, path, FT_STATE_AGENT_LOCK, &why);
  ft_log_warnings_only();
  status = open_and_forget(state_fd, path, agent_lock < 0, &checked, out, err);
  if (status == 0 && !checked.dry_run) {
    (void)snprintf(store, sizeof store, "%s/" FT_STATE_STORE, path);
    status = ft_store_scrub_file(store, SCRUB_WAIT_MILLISECONDS, err);
  }
  if (agent_lock >= 0)
    close(agent_lock);
  close(lock);
  return status;
}
