/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "learner/query_forget.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Interval of the progress packets, as long as which arrive the command waits. */
#define PROGRESS_SECONDS 1.0
/* Time without progress until the user gets an error; the learner continues to try. */
#define FAILING_SECONDS 20.0

/* Progress of a request. */
struct forget_progress {
  struct ft_forget_pass pass;     /* for a dry run */
  struct ft_forget_report report; /* otherwise */
  bool begun;                     /* false: Slurm is asked about the owner */
  struct ft_job_owner owner;
  double progress_at, failing_since;
};

int ft_forget_check_permission(ft_forget *what, uid_t uid, bool privileged, struct ft_error *err)
{
  if (!what->app[0] && !what->has_uid && !what->job_id && !(what->before > 0))
    return ft_error_set(err, "expected an app, a job, a user or a time");
  if (what->has_array_task_id && !what->job_id)
    return ft_error_set(err, "expected the ID of a job array with its task ID");
  if (what->before > ft_io_now())
    return ft_error_set(err, "expected a time in the past, before which runs are forgotten");
  if (privileged)
    return 0;
  if (what->has_uid && what->uid != uid)
    return ft_error_set(err, "only root, SlurmUser and the owner of the state directory may forget"
                             " the runs of other users");
  what->has_uid = true;
  what->uid = uid;
  return 0;
}

static bool reply_error(ft_reply *reply, const struct ft_error *err)
{
  (void)ft_text_copy(ft_text_of(err->text, strnlen(err->text, sizeof reply->error - 1)),
                     reply->error, sizeof reply->error);
  return true;
}

/* Begins the removal or the count. Returns 0; -1 and ERR. */
static int begin_forget(struct ft_recorder *recorder, struct forget_progress *forget_progress,
                        const ft_forget *what, struct ft_error *err)
{
  forget_progress->begun = true;
  forget_progress->progress_at = ft_io_monotonic() + PROGRESS_SECONDS;
  return what->dry_run ? ft_recorder_count_begin(recorder, what, &forget_progress->pass, err)
                       : ft_recorder_forget(recorder, what, &forget_progress->report, err);
}

/* Whether WHAT is accepted without a question to Slurm: it adds to the store no record of a job
 * that the store does not know. Returns 1, 0; -1 and ERR. */
static int is_acceptable(struct ft_recorder *recorder, const struct ft_query *query,
                         const ft_forget *what, struct ft_error *err)
{
  return query->privileged || what->dry_run || !what->job_id
             ? 1
             : ft_recorder_has_job(recorder, what->job_id, query->uid, err);
}

/* Continues a request that has not begun. Returns 1 if it begins now, 0 if not yet, 2 if Slurm does
 * not say that the job is the user's; -1 and ERR. */
static int try_to_begin(struct ft_recorder *recorder, struct ft_job_owners *owners,
                        struct ft_query *query, struct ft_error *err)
{
  struct forget_progress *forget_progress = query->data;
  ft_forget what = query->question->asked.forget;
  int status;

  if (ft_forget_check_permission(&what, query->uid, query->privileged, err) < 0)
    return -1;
  if (!forget_progress) {
    forget_progress = query->data = calloc(1, sizeof *forget_progress);
    if (!forget_progress)
      return ft_error_errno(err, "forget");
    forget_progress->owner = (struct ft_job_owner){ .job_id = what.job_id, .uid = query->uid };
    status = is_acceptable(recorder, query, &what, err);
  } else if (forget_progress->owner.answered) {
    status = forget_progress->owner.is_owner ? 1 : 2;
  } else {
    status = 0;
  }
  if (status == 0)
    ft_job_owner_ask(owners, &forget_progress->owner);
  if (status == 1 && begin_forget(recorder, forget_progress, &what, err) < 0)
    return -1;
  return status;
}

static void reply_progress(ft_reply *reply, const ft_forgotten *total, bool last)
{
  reply->has_forgotten = true;
  reply->forgotten = *total;
  reply->last = last;
}

/* Does the next step of a dry run. */
static bool step_dry_run(struct ft_recorder *recorder, struct forget_progress *forget_progress,
                         ft_reply *reply)
{
  struct ft_forget_pass *pass = &forget_progress->pass;
  struct ft_error err;
  int status = ft_recorder_count_step(recorder, pass, &err);

  if (status < 0)
    return reply_error(reply, &err);
  if (status > 0)
    return false;
  reply_progress(
      reply, &(ft_forgotten){ .runs = pass->runs, .apps = pass->app_count, .kept = pass->stripped },
      true);
  return true;
}

/* Replies with the progress of ft_recorder_maintain, once per PROGRESS_SECONDS. */
static bool report_removal(struct forget_progress *forget_progress, ft_reply *reply)
{
  const struct ft_forget_report *report = &forget_progress->report;
  double now = ft_io_monotonic();
  struct ft_error err;

  if (!report->failing)
    forget_progress->failing_since = now;
  if (!report->done && report->failing && now - forget_progress->failing_since > FAILING_SECONDS) {
    ft_error_set(&err, "removal is not complete, foretelld continues to try: %.180s",
                 report->why.text);
    return reply_error(reply, &err);
  }
  if (!report->done && now < forget_progress->progress_at)
    return false;
  forget_progress->progress_at = now + PROGRESS_SECONDS;
  reply_progress(reply, &report->total, report->done);
  return true;
}

bool ft_query_forget(struct ft_recorder *recorder, struct ft_job_owners *owners,
                     struct ft_query *query, ft_reply *reply, bool *accepted)
{
  struct forget_progress *forget_progress = query->data;
  bool dry_run = query->question->asked.forget.dry_run;
  struct ft_error err;
  int status;

  *accepted = false;
  if (forget_progress && forget_progress->begun)
    return dry_run ? step_dry_run(recorder, forget_progress, reply)
                   : report_removal(forget_progress, reply);
  status = try_to_begin(recorder, owners, query, &err);
  *accepted = status == 1 && !dry_run;
  if (status < 0)
    return reply_error(reply, &err);
  if (status == 2)
    reply_progress(reply, &(ft_forgotten){ 0 }, true);
  return status == 2;
}

void ft_query_forget_end(struct ft_recorder *recorder, struct ft_job_owners *owners,
                         struct ft_query *query)
{
  struct forget_progress *forget_progress = query->data;

  if (!forget_progress)
    return;
  ft_job_owner_drop(owners, &forget_progress->owner);
  ft_recorder_drop_report(recorder, &forget_progress->report);
  ft_forget_pass_free(&forget_progress->pass);
  free(forget_progress);
  query->data = NULL;
}
