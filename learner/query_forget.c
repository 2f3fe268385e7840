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
/* Time without progress until the user gets an error; the learner continues to try. By judgement.
 */
#define FAILING_SECONDS 20.0

/* Progress of a request. */
struct forget_progress {
  struct ft_forget_pass pass;     /* for a dry run */
  struct ft_forget_report report; /* otherwise */
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

static int begin_forget(struct ft_recorder *recorder, struct ft_query *query, struct ft_error *err)
{
  ft_forget what = query->question->asked.forget;
  struct forget_progress *forget_progress;

  if (ft_forget_check_permission(&what, query->uid, query->privileged, err) < 0)
    return -1;
  forget_progress = calloc(1, sizeof *forget_progress);
  if (!forget_progress)
    return ft_error_errno(err, "forget");
  forget_progress->progress_at = ft_io_monotonic() + PROGRESS_SECONDS;
  if ((what.dry_run ? ft_recorder_count_begin(recorder, &what, &forget_progress->pass, err)
                    : ft_recorder_forget(recorder, &what, &forget_progress->report, err)) < 0) {
    free(forget_progress);
    return -1;
  }
  query->data = forget_progress;
  return 0;
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

bool ft_query_forget(struct ft_recorder *recorder, struct ft_query *query, ft_reply *reply)
{
  struct forget_progress *forget_progress = query->data;
  struct ft_error err;

  if (forget_progress)
    return query->question->asked.forget.dry_run ? step_dry_run(recorder, forget_progress, reply)
                                                 : report_removal(forget_progress, reply);
  return begin_forget(recorder, query, &err) < 0 && reply_error(reply, &err);
}

void ft_query_forget_end(struct ft_recorder *recorder, struct ft_query *query)
{
  struct forget_progress *forget_progress = query->data;

  if (!forget_progress)
    return;
  ft_recorder_drop_report(recorder, &forget_progress->report);
  ft_forget_pass_free(&forget_progress->pass);
  free(forget_progress);
  query->data = NULL;
}
