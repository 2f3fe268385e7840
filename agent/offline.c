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

#include "agent/offline.h"
#include "agent/query_forget.h"
#include "agent/journal.h"
#include "agent/recorder.h"
#include "agent/lock.h"
#include "agent/log.h"
#include "predictor/core/io.h"
#include "predictor/record/state_files.h"

/* While another process is in the way: between two tries, and before it is given up. */
#define PAUSE_SECONDS 0.1
#define PATIENCE_SECONDS 20.0
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

/*
 * As the agent that worked here last had it, by what it published: another rule or price would make
 * every model anew, and other declared apps remove those that are shared.
 */
static int set_up(struct ft_recorder *ledger, int state_fd, struct ft_error *err)
{
  ft_site *site = malloc(sizeof *site);
  ft_apps *apps = malloc(sizeof *apps);
  int status = -1;

  if (!site || !apps) {
    ft_error_errno(err, "forget");
  } else if (ft_state_read_site(state_fd, site, err) < 0) {
    /* where none ever worked there is no model either */
    status = errno == ENOENT ? 0 : -1;
  } else if (ft_state_read_apps(state_fd, site, apps, err) == 0) {
    ft_recorder_set_rule(ledger, site->rule);
    if (site->policy.has_failure_price)
      ft_recorder_set_failure_cost(ledger, site->policy.failure_price);
    ft_recorder_set_shared(ledger, apps->apps, apps->apps_count);
    status = 0;
  }
  free(site);
  free(apps);
  return status;
}

/* ---- journals of jobs that an agent saw and did not see end ---- */

struct journals {
  struct ft_journal *journal;
  struct ft_recorder *ledger;
  ft_observation observation;
};

static void look_at_run(const ft_observation *o, void *data)
{
  struct journals *j = data;

  if (ft_recorder_is_forgotten(j->ledger, o))
    ft_journal_remove(j->journal, o->job_id);
}

static void look_at_packet(const ft_announcement *a, pid_t peer, double utc, void *data)
{
  struct journals *j = data;
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
  look_at_run(o, j);
}

static int clean_journals(int state_fd, struct ft_recorder *ledger, struct ft_error *err)
{
  struct journals *j = calloc(1, sizeof *j);
  const struct ft_journal_callbacks calls = { look_at_packet, look_at_run, j };
  int status = -1;

  if (!j)
    return ft_error_errno(err, "forget");
  j->ledger = ledger;
  j->journal = ft_journal_open(state_fd, err);
  if (j->journal) {
    ft_journal_replay(j->journal, &calls);
    status = 0;
  }
  ft_journal_close(j->journal);
  free(j);
  return status;
}

/* ---- the deed ---- */

static int count(struct ft_recorder *ledger, const ft_forget *what, ft_forgotten *out,
                 struct ft_error *err)
{
  struct ft_forget_pass pass = { 0 };
  int status = ft_recorder_count_begin(ledger, what, &pass, err) < 0 ? -1 : 1;

  while (status > 0)
    status = ft_recorder_count_step(ledger, &pass, err);
  *out = (ft_forgotten){ .runs = pass.runs, .apps = pass.app_count, .kept = pass.kept };
  ft_forget_pass_free(&pass);
  return status;
}

static int carry_out(struct ft_recorder *ledger, struct ft_forget_report *report,
                     struct ft_error *err)
{
  const struct timespec pause = { .tv_nsec = (long)(PAUSE_SECONDS * 1e9) };
  double until = ft_io_monotonic() + PATIENCE_SECONDS;

  while (!report->over) {
    if (ft_recorder_maintain(ledger)) {
      until = ft_io_monotonic() + PATIENCE_SECONDS;
      continue;
    }
    if (ft_io_monotonic() >= until)
      return ft_error_set(err, "not all is removed yet; foretelld goes on with it: %s",
                          report->failing ? report->why.text : "the store is in use");
    if (!report->over)
      (void)nanosleep(&pause, NULL);
  }
  return 0;
}

static int forget(int state_fd, struct ft_recorder *ledger, const ft_forget *what,
                  ft_forgotten *out, struct ft_error *err)
{
  struct ft_forget_report report = { 0 };
  int status = -1;

  if (ft_recorder_forget(ledger, what, &report, err) < 0)
    return -1;
  if (clean_journals(state_fd, ledger, err) == 0)
    status = carry_out(ledger, &report, err);
  ft_recorder_drop_report(ledger, &report);
  *out = report.total;
  return status;
}

int ft_offline_scrub(const char *store_path, struct ft_error *err)
{
  struct ft_store *store = ft_store_open(store_path, true, err);
  int status = -1;

  if (store) {
    ft_store_set_wait(store, SCRUB_WAIT_MILLISECONDS);
    status = ft_store_scrub(store, UINT64_MAX, err);
  }
  ft_store_close(store);
  return status;
}

static int work(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                struct ft_error *err)
{
  struct ft_publisher *publisher = ft_publisher_open(state_fd, err);
  struct ft_recorder *ledger = publisher ? ft_recorder_open(state_fd, path, publisher, err) : NULL;
  int status = -1;

  if (ledger && set_up(ledger, state_fd, err) == 0)
    status =
        what->dry_run ? count(ledger, what, out, err) : forget(state_fd, ledger, what, out, err);
  ft_recorder_close(ledger);
  ft_publisher_close(publisher);
  return status;
}

int ft_offline_forget(int state_fd, const char *path, const ft_forget *what, ft_forgotten *out,
                      struct ft_error *err)
{
  ft_forget checked = *what;
  char store[PATH_MAX + 16];
  int lock, status;

  if (ft_forget_check_permission(&checked, geteuid(), true, err) < 0 ||
      become_owner(state_fd, path, err) < 0)
    return -1;
  lock = ft_lock_state(state_fd, path, err);
  if (lock < 0)
    return -1;
  ft_log_warnings_only();
  status = work(state_fd, path, &checked, out, err);
  if (status == 0 && !checked.dry_run) {
    (void)snprintf(store, sizeof store, "%s/" FT_STATE_STORE, path);
    status = ft_offline_scrub(store, err);
  }
  close(lock);
  return status;
}
