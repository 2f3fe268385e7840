/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query_forget.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Between two packets that tell how far it is: the command waits as long as they come. */
#define PROGRESS_SECONDS 1.0
/* After so long without getting on the user is told; the agent goes on trying. */
#define PATIENCE_SECONDS 20.0

/* What is being done. */
struct deed {
  struct ft_forget_pass pass;     /* of a dry run */
  struct ft_forget_report report; /* else */
  double progress_at, failing_since;
};

int ft_forget_check_permission(ft_forget *what, uid_t uid, bool privileged, struct ft_error *err)
{
  if (!what->app[0] && !what->has_uid && !what->job_id && !(what->before > 0))
    return ft_error_set(err, "expected an app, a job, a user or a time");
  if (what->has_array_task_id && !what->job_id)
    return ft_error_set(err, "expected a job array beside its element");
  if (what->before > ft_io_now())
    return ft_error_set(err, "the time before which runs are to be forgotten is in the future");
  if (privileged)
    return 0;
  if (what->has_uid && what->uid != uid)
    return ft_error_set(err, "only root, SlurmUser and the owner of the state folder may forget"
                             " what is another user's");
  what->has_uid = true;
  what->uid = uid;
  return 0;
}

static bool refuse(ft_reply *reply, const struct ft_error *err)
{
  (void)ft_text_copy(ft_text_of(err->text, strnlen(err->text, sizeof reply->error - 1)),
                     reply->error, sizeof reply->error);
  return true;
}

static int begin(struct ft_recorder *ledger, struct ft_query *asked, struct ft_error *err)
{
  ft_forget what = asked->question->asked.forget;
  struct deed *deed;

  if (ft_forget_check_permission(&what, asked->uid, asked->privileged, err) < 0)
    return -1;
  deed = calloc(1, sizeof *deed);
  if (!deed)
    return ft_error_errno(err, "forget");
  deed->progress_at = ft_io_monotonic() + PROGRESS_SECONDS;
  if ((what.dry_run ? ft_recorder_count_begin(ledger, &what, &deed->pass, err)
                    : ft_recorder_forget(ledger, &what, &deed->report, err)) < 0) {
    free(deed);
    return -1;
  }
  asked->data = deed;
  return 0;
}

static void show(ft_reply *reply, const ft_forgotten *total, bool last)
{
  reply->has_forgotten = true;
  reply->forgotten = *total;
  reply->last = last;
}

/* The next step of a dry run. */
static bool count(struct ft_recorder *ledger, struct deed *deed, ft_reply *reply)
{
  struct ft_forget_pass *pass = &deed->pass;
  struct ft_error err;
  int status = ft_recorder_count_step(ledger, pass, &err);

  if (status < 0)
    return refuse(reply, &err);
  if (status > 0)
    return false;
  show(reply, &(ft_forgotten){ .runs = pass->runs, .apps = pass->app_count, .kept = pass->kept },
       true);
  return true;
}

/* How far ft_recorder_maintain is. */
static bool follow(struct deed *deed, ft_reply *reply)
{
  const struct ft_forget_report *report = &deed->report;
  double now = ft_io_monotonic();
  struct ft_error err;

  if (!report->failing)
    deed->failing_since = now;
  if (!report->over && report->failing && now - deed->failing_since > PATIENCE_SECONDS) {
    ft_error_set(&err, "not all is removed yet, and foretelld goes on trying: %.180s",
                 report->why.text);
    return refuse(reply, &err);
  }
  if (!report->over && now < deed->progress_at)
    return false;
  deed->progress_at = now + PROGRESS_SECONDS;
  show(reply, &report->total, report->over);
  return true;
}

bool ft_query_forget(struct ft_recorder *ledger, struct ft_query *asked, ft_reply *reply,
                     void (*told)(void *data), void *data)
{
  struct deed *deed = asked->data;
  struct ft_error err;

  if (deed)
    return asked->question->asked.forget.dry_run ? count(ledger, deed, reply) : follow(deed, reply);
  if (begin(ledger, asked, &err) < 0)
    return refuse(reply, &err);
  told(data);
  return false;
}

void ft_query_forget_end(struct ft_recorder *ledger, struct ft_query *asked)
{
  struct deed *deed = asked->data;

  if (!deed)
    return;
  ft_recorder_drop_report(ledger, &deed->report);
  ft_forget_pass_free(&deed->pass);
  free(deed);
  asked->data = NULL;
}
