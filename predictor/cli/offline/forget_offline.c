/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/journal.h"
#include "agent/spool.h"
#include "daemon/lock.h"
#include "learner/complete.h"
#include "learner/query_forget.h"
#include "learner/recorder.h"
#include "predictor/cli/offline/forget_offline.h"
#include "predictor/cli/offline/offline.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/* Pause between two tries while another process uses the store, and time until giving up. */
#define RETRY_PAUSE_SECONDS 0.1
#define GIVE_UP_AFTER_SECONDS 20.0
enum { SCRUB_WAIT_MILLISECONDS = 60000 };

/* What a request to forget needs of a learner, and the spool of an agent. */
struct forget_offline {
  struct ft_offline learner;
  struct ft_spool *spool;     /* NULL: an agent runs, which asks the next learner */
  ft_observation observation; /* too large for the stack */
};

/* Passes the spooled observations to the recorder, which stores or, by the tombstone, drops them.
 */
static void record_spooled(struct forget_offline *offline)
{
  struct ft_offline *learner = &offline->learner;
  ft_observation *o = &offline->observation;
  const struct passwd *user;
  struct ft_error err;
  uint64_t key;
  bool rebuild;

  ft_spool_remove_damaged(offline->spool);
  ft_spool_begin(offline->spool);
  while (ft_spool_next(offline->spool, o, &key)) {
    ft_complete_observation(&learner->site, learner->state_fd, NULL, o);
    user = o->user[0] ? NULL : getpwuid(o->uid);
    if (user)
      (void)ft_string_copy(user->pw_name, o->user, sizeof o->user);
    if (ft_recorder_add(learner->recorder, o, &rebuild, &err) == 0)
      ft_spool_remove(offline->spool, key);
  }
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

static int add_and_complete(struct forget_offline *offline, const ft_forget *what,
                            ft_forgotten *out, struct ft_error *err)
{
  struct ft_recorder *recorder = offline->learner.recorder;
  struct ft_forget_report report = { 0 };
  int status = -1;

  if (ft_recorder_forget(recorder, what, &report, err) < 0)
    return -1;
  if (offline->spool)
    record_spooled(offline);
  if (!offline->spool || clean_journal(offline->learner.state_fd, recorder, err) == 0)
    status = complete_forget(recorder, &report, err);
  ft_recorder_drop_report(recorder, &report);
  *out = report.total;
  return status;
}

/* AGENT_RUNS: the journal and the spool belong to it. */
static int open_and_forget(int state_fd, const char *path, bool agent_runs, const ft_forget *what,
                           ft_forgotten *out, struct ft_error *err)
{
  struct forget_offline *offline = calloc(1, sizeof *offline);
  int status = -1;

  if (!offline)
    return ft_error_errno(err, "forget");
  if (ft_offline_open(&offline->learner, state_fd, path, err) == 0 &&
      (agent_runs || (offline->spool = ft_spool_open(state_fd, err))))
    status = what->dry_run ? count_runs(offline->learner.recorder, what, out, err)
                           : add_and_complete(offline, what, out, err);
  ft_spool_close(offline->spool);
  ft_offline_close(&offline->learner);
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

  if (ft_forget_check_permission(&checked, geteuid(), true, err) < 0)
    return -1;
  lock = ft_offline_lock(state_fd, path, err);
  if (lock < 0)
    return -1;
  agent_lock = ft_lock_state(state_fd, path, FT_STATE_AGENT_LOCK, &why);
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
