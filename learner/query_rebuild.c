/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "learner/query_rebuild.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/state_files.h"

/* Interval of the progress packets, as long as which arrive the command waits. */
#define PROGRESS_SECONDS 1.0
/* Interval at which the progress is looked at: a request for few models ends soon. */
#define CHECK_SECONDS 0.05
/* Time without progress until the user gets an error: longer than the largest app takes. */
#define STUCK_SECONDS 600.0

struct rebuild_query {
  struct ft_mark_pass pass;
  bool marked;              /* all models are */
  bool extended;            /* the pass was, to marks that may have replaced its own */
  uint64_t failures_before; /* of the recorder */
  uint64_t left;            /* when it changed last, and the time of that */
  double changed_at;
  double check_at, progress_at; /* monotonic */
};

/* Marks some more models. Returns 0; -1 and ERR. */
static int mark_models(struct ft_recorder *recorder, struct rebuild_query *q, struct ft_error *err)
{
  int status = ft_recorder_mark_step(recorder, &q->pass, err);

  q->marked = status == 0;
  return status < 0 ? -1 : 0;
}

static int check_rebuild_right(const struct ft_query *query, struct ft_error *err)
{
  return query->privileged
             ? 0
             : ft_error_set(err, "only root, SlurmUser and the learner's user may rebuild models");
}

static int begin_rebuild_query(struct ft_recorder *recorder, struct ft_query *query,
                               struct ft_error *err)
{
  const ft_rebuild_request *what = &query->question->asked.rebuild;
  struct rebuild_query *q;
  ft_rebuild_progress now;

  if (check_rebuild_right(query, err) < 0)
    return -1;
  q = query->data = calloc(1, sizeof *q);
  if (!q)
    return ft_error_errno(err, "rebuild");
  (void)ft_string_copy(what->app, q->pass.app, sizeof q->pass.app);
  q->pass.by_uid = what->has_uid;
  q->pass.uid = what->uid;
  q->changed_at = ft_io_monotonic();
  q->progress_at = q->changed_at + PROGRESS_SECONDS;
  if (ft_recorder_rebuild_progress(recorder, &q->pass, &now, err) < 0)
    return -1;
  q->failures_before = now.failed;
  return mark_models(recorder, q, err);
}

/* Adds the progress to REPLY if it is due. Returns 1 if it was; 0; -1 and ERR. */
static int add_due_progress(struct ft_recorder *recorder, struct rebuild_query *q, ft_reply *reply,
                            struct ft_error *err)
{
  double now = ft_io_monotonic();

  if (now < q->check_at)
    return 0;
  q->check_at = now + CHECK_SECONDS;
  if (ft_recorder_rebuild_progress(recorder, &q->pass, &reply->rebuild, err) < 0)
    return -1;
  /* the pass is extended if none has failed; later failures may be those of other requests */
  reply->rebuild.failed = q->extended ? 0 : reply->rebuild.failed - q->failures_before;
  if (!reply->rebuild.left && !q->extended && !reply->rebuild.failed) {
    q->extended = true;
    return ft_recorder_mark_extend(recorder, &q->pass, err);
  }
  if (reply->rebuild.left != q->left)
    q->changed_at = now;
  q->left = reply->rebuild.left;
  if (now - q->changed_at > STUCK_SECONDS)
    return ft_error_set(err,
                        "models are not rebuilt; foretell-learnd continues to try, see its log");
  if (q->left && now < q->progress_at)
    return 0;
  q->progress_at = now + PROGRESS_SECONDS;
  reply->has_rebuild = true;
  reply->last = !q->left;
  return 1;
}

static void report_failure(ft_reply *reply, const struct ft_error *why)
{
  (void)ft_text_copy(ft_text_of(why->text, strnlen(why->text, sizeof reply->error - 1)),
                     reply->error, sizeof reply->error);
}

bool ft_query_rebuild(struct ft_recorder *recorder, struct ft_query *query, ft_reply *reply)
{
  struct rebuild_query *q = query->data;
  struct ft_error err;
  int status;

  if (!q)
    status = begin_rebuild_query(recorder, query, &err);
  else if (!q->marked)
    status = mark_models(recorder, q, &err);
  else
    status = add_due_progress(recorder, q, reply, &err);
  if (status < 0)
    report_failure(reply, &err);
  return status != 0;
}

void ft_query_rebuild_end(struct ft_query *query)
{
  free(query->data);
  query->data = NULL;
}

bool ft_query_adopt(struct ft_equation_worker *equations, int state_fd, struct ft_query *query,
                    ft_reply *reply)
{
  ft_model *found = malloc(sizeof *found);
  struct ft_history *runs = malloc(sizeof *runs);
  char name[FT_STATE_NAME_SIZE];
  struct ft_error err;
  int status = -1;

  ft_state_search_name(query->question->asked.adopt.number, name);
  if (!found || !runs) {
    ft_error_errno(&err, "%s", name);
  } else if (check_rebuild_right(query, &err) == 0 &&
             ft_model_file_read(state_fd, name, FT_QUANTITY_MEMORY, found, runs, &err) == 0) {
    (void)unlinkat(state_fd, name, 0);
    status = ft_equation_worker_adopt(equations, found, runs, &err);
  }
  free(found);
  free(runs);
  if (status < 0)
    report_failure(reply, &err);
  reply->has_rebuild = reply->last = true;
  reply->rebuild.models = 1;
  reply->rebuild.failed = status == 0;
  return true;
}
