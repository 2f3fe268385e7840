/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "daemon/run_reply.h"
#include "learner/query_runs.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/pages.h"
#include "predictor/history/rejections.h"

/* Limits per step, at most 2 ms. */
#define RUNS_PER_STEP 16
#define APPS_PER_STEP 32

/* Progress of an answer. */
struct progress {
  const ft_run_query *wanted;
  bool one_user, one_app; /* restricted to uid, to app */
  uint32_t uid;
  char app[sizeof((ft_run_query *)NULL)->app];
  struct ft_store_cursor cursor;
  bool in_app;                          /* cursor is among the app's runs */
  struct ft_rejections last_rejections; /* row of the previous reply */
  struct ft_buf encoded;                /* buffer for one run */
};

struct page_target {
  struct progress *progress;
  ft_reply *reply;
};

static bool append_if_wanted(const ft_observation *o, void *data)
{
  struct page_target *page = data;

  return !ft_run_reply_wants(page->progress->wanted, o) ||
         ft_run_reply_append(page->reply, o, &page->progress->encoded);
}

/* Finds the next app that the query covers. Returns 1; 0 after APPS_PER_STEP others, or after the
 * last app (*LAST is true); -1 and ERR. */
static int next_wanted_app(struct progress *progress, struct ft_store *store, bool *last,
                           struct ft_error *err)
{
  *last = progress->one_app && progress->one_user;
  for (int i = 0; i < APPS_PER_STEP && !*last; i++) {
    int status = ft_store_next_app(store, progress->one_user, &progress->uid, progress->app, err);

    if (status < 0)
      return -1;
    *last = status == 0;
    if (status && (!progress->one_app || strcmp(progress->app, progress->wanted->app) == 0))
      return 1;
  }
  return 0;
}

static void begin_wanted_app(struct progress *progress)
{
  progress->in_app = true;
  progress->cursor = (struct ft_store_cursor){ INFINITY, 0 };
}

/* Does one step of a reply from the store. Returns 0; -1 and ERR. */
static int reply_stored(struct progress *progress, struct ft_store *store, ft_reply *reply,
                        struct ft_error *err)
{
  struct page_target page = { progress, reply };
  bool last;
  int status;

  if (progress->in_app) {
    status = ft_store_page(store, progress->uid, progress->app, progress->wanted->since,
                           progress->wanted->by_node, &progress->cursor, RUNS_PER_STEP,
                           append_if_wanted, &page, err);
    progress->in_app = status > 0;
    return status < 0 ? -1 : 0;
  }
  status = next_wanted_app(progress, store, &last, err);
  if (status > 0)
    begin_wanted_app(progress);
  reply->last = last;
  return status < 0 ? -1 : 0;
}

/* Replies with the next count of rejected submissions. Returns 0; -1 and ERR. */
static int reply_rejections(struct progress *progress, struct ft_store *store, ft_reply *reply,
                            struct ft_error *err)
{
  struct ft_rejections *row = &progress->last_rejections;
  int status;

  if (progress->one_user)
    row->uid = progress->uid;
  status = ft_store_next_rejections(store, progress->one_user, progress->wanted->since, row, err);
  reply->last = status == 0;
  if (status <= 0 || (progress->one_app && strcmp(row->app, progress->wanted->app) != 0))
    return status < 0 ? -1 : 0;
  reply->has_rejections = true;
  reply->rejections = (ft_rejections){ .uid = row->uid, .count = row->count };
  (void)ft_string_copy(row->app, reply->rejections.app, sizeof reply->rejections.app);
  return 0;
}

/* Determines the user and the app. Returns 1; 0 if there are no such runs; -1 and ERR. */
static int begin_run_query(struct progress *progress, const struct ft_query *query,
                           struct ft_recorder *recorder, struct ft_error *err)
{
  const ft_run_query *w = progress->wanted;
  struct ft_store *store;
  int found;

  progress->one_app = w->app[0] != '\0';
  if (ft_run_reply_user(query, &progress->one_user, &progress->uid, err) < 0)
    return -1;
  if (w->rejections)
    return 1;
  store = ft_recorder_store(recorder, err);
  if (!store)
    return -1;
  if (w->job_id) {
    found =
        ft_store_find_job(store, w->job_id, progress->one_user, &progress->uid, progress->app, err);
    if (found <= 0)
      return found;
    if (progress->one_app && strcmp(progress->app, w->app) != 0)
      return 0;
    progress->one_user = progress->one_app = true;
    begin_wanted_app(progress);
  } else if (progress->one_app && progress->one_user) {
    (void)ft_string_copy(w->app, progress->app, sizeof progress->app);
    begin_wanted_app(progress);
  }
  return 1;
}

bool ft_query_runs(struct ft_query *query, struct ft_recorder *recorder, ft_reply *reply)
{
  struct progress *progress = query->data;
  struct ft_store *store = NULL;
  struct ft_error err = { "" };
  int status = 1;

  if (!progress) {
    progress = query->data = calloc(1, sizeof *progress);
    if (!progress) {
      (void)ft_string_copy("out of memory", reply->error, sizeof reply->error);
      return true;
    }
    progress->wanted = &query->question->asked.run_query;
    ft_buf_init(&progress->encoded, FT_LIMIT_RECORD);
    status = begin_run_query(progress, query, recorder, &err);
    reply->last = status == 0;
  }
  if (status > 0) {
    store = ft_recorder_store(recorder, &err);
    if (!store)
      status = -1;
    else
      status = (progress->wanted->rejections ? reply_rejections : reply_stored)(progress, store,
                                                                                reply, &err);
  }
  if (status < 0)
    (void)snprintf(reply->error, sizeof reply->error, "%.200s", err.text);
  return reply->last || reply->error[0] || reply->record.size || reply->has_rejections;
}

bool ft_query_count_rejection(const struct ft_query *query, struct ft_recorder *recorder,
                              ft_reply *reply)
{
  const char *app = query->question->asked.rejected.app;
  struct ft_error err;
  struct ft_store *store = ft_recorder_store(recorder, &err);

  if (!store || ft_store_count_rejection(store, query->uid, app, ft_io_now(), &err) < 0)
    ft_log(LOG_WARNING, "rejected submission of %s by user %u not counted: %s", app,
           (unsigned)query->uid, err.text);
  reply->last = true;
  return true;
}

void ft_query_runs_end(struct ft_query *query)
{
  struct progress *progress = query->data;

  if (progress)
    ft_buf_free(&progress->encoded);
  free(progress);
  query->data = NULL;
}
