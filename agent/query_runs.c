/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/log.h"
#include "agent/query_runs.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/pages.h"
#include "predictor/history/rejections.h"

/* Runs and apps that are looked at in one part: 2 ms at most. */
#define RUNS_AT_ONCE 16
#define APPS_AT_ONCE 32

/* How far an answer has come. */
struct tell {
  const ft_run_query *wanted;
  bool one_user, one_app; /* only of these */
  uint32_t uid;
  char app[sizeof((ft_run_query *)NULL)->app];
  struct ft_store_cursor cursor;
  bool in_app;   /* its runs are being told */
  unsigned live; /* of those that go on, told */
  struct ft_rejections rejected; /* told last */
  struct ft_buf run;
};

/* What is told of a run goes behind the others in REPLY. Returns false where it has no room. */
static bool add(struct tell *tell, const ft_observation *o, ft_reply *reply)
{
  enum { ROOM = sizeof reply->record.bytes, HEAD = 4 };
  uint8_t *at = &reply->record.bytes[reply->record.size];
  size_t length;

  tell->run.length = 0;
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, &tell->run, NULL) < 0)
    return true;
  length = tell->run.length;
  if (reply->record.size + HEAD + length > ROOM)
    return reply->record.size == 0; /* what no packet holds is left out */
  for (int i = 0; i < HEAD; i++)
    at[i] = (uint8_t)(length >> 8 * i);
  memcpy(at + HEAD, tell->run.data, length);
  reply->record.size = (pb_size_t)(reply->record.size + HEAD + length);
  return true;
}

static bool is_wanted(const ft_run_query *w, const ft_observation *o)
{
  if (!w->job_id)
    return true;
  if (w->has_array_task_id)
    return o->array_job_id == w->job_id && o->array_task_id == w->array_task_id;
  return o->job_id == w->job_id || o->array_job_id == w->job_id;
}

struct page {
  struct tell *tell;
  ft_reply *reply;
};

static bool tell_run(const ft_observation *o, void *data)
{
  struct page *page = data;

  return !is_wanted(page->tell->wanted, o) || add(page->tell, o, page->reply);
}

/* The next app whose runs are wanted. Returns 1, 0 behind the last or while more is to be looked at
 * (*LAST tells), -1 with ERR. */
static int next_app(struct tell *tell, struct ft_store *store, bool *last, struct ft_error *err)
{
  *last = tell->one_app && tell->one_user;
  for (int i = 0; i < APPS_AT_ONCE && !*last; i++) {
    int status = ft_store_next_app(store, tell->one_user, &tell->uid, tell->app, err);

    if (status < 0)
      return -1;
    *last = status == 0;
    if (status && (!tell->one_app || strcmp(tell->app, tell->wanted->app) == 0))
      return 1;
  }
  return 0;
}

static void begin_app(struct tell *tell)
{
  tell->in_app = true;
  tell->cursor = (struct ft_store_cursor){ INFINITY, 0 };
}

/* Returns 0; -1 with ERR. */
static int tell_stored(struct tell *tell, struct ft_store *store, ft_reply *reply,
                       struct ft_error *err)
{
  struct page page = { tell, reply };
  bool last;
  int status;

  if (tell->in_app) {
    status = ft_store_page(store, tell->uid, tell->app, tell->wanted->since, &tell->cursor,
                           RUNS_AT_ONCE, tell_run, &page, err);
    tell->in_app = status > 0;
    return status < 0 ? -1 : 0;
  }
  status = next_app(tell, store, &last, err);
  if (status > 0)
    begin_app(tell);
  reply->last = last;
  return status < 0 ? -1 : 0;
}

static void tell_live(struct tell *tell, struct ft_jobs *jobs, struct ft_instant now,
                      ft_reply *reply)
{
  ft_observation *o = malloc(sizeof *o);
  double now_bytes;

  reply->last = true;
  while (o && ft_jobs_running(jobs, tell->live, now, o, &now_bytes)) {
    tell->live++;
    if ((tell->one_user && o->uid != tell->uid) || !is_wanted(tell->wanted, o) ||
        (tell->one_app && strcmp(o->submission.app, tell->wanted->app) != 0))
      continue;
    (void)add(tell, o, reply);
    reply->has_now_bytes = now_bytes >= 0;
    reply->now_bytes = reply->has_now_bytes ? (uint64_t)now_bytes : 0;
    reply->last = false; /* one a packet */
    break;
  }
  free(o);
}

/* Returns 0; -1 with ERR. */
static int tell_rejections(struct tell *tell, struct ft_store *store, ft_reply *reply,
                           struct ft_error *err)
{
  struct ft_rejections *row = &tell->rejected;
  int status;

  if (tell->one_user)
    row->uid = tell->uid;
  status = ft_store_next_rejections(store, tell->one_user, tell->wanted->since, row, err);
  reply->last = status == 0;
  if (status <= 0 || (tell->one_app && strcmp(row->app, tell->wanted->app) != 0))
    return status < 0 ? -1 : 0;
  reply->has_rejections = true;
  reply->rejections = (ft_rejections){ .uid = row->uid, .count = row->count };
  (void)ft_string_copy(row->app, reply->rejections.app, sizeof reply->rejections.app);
  return 0;
}

/* Whose runs, and of which app. Returns 1; 0 where there are none to tell; -1 with ERR. */
static int begin(struct tell *tell, const struct ft_query *asked, struct ft_recorder *ledger,
                 struct ft_error *err)
{
  const ft_run_query *w = tell->wanted;
  struct ft_store *store;
  int found;

  tell->one_user = w->has_uid || !asked->privileged;
  tell->one_app = w->app[0] != '\0';
  tell->uid = w->has_uid ? w->uid : tell->one_user ? asked->uid : 0;
  if (!asked->privileged && tell->uid != asked->uid)
    return ft_error_set(err, "another user's runs are seen by root and SlurmUser alone");
  if (w->live || w->rejections)
    return 1;
  store = ft_recorder_store(ledger, err);
  if (!store)
    return -1;
  if (w->job_id) {
    found = ft_store_find_job(store, w->job_id, tell->one_user, &tell->uid, tell->app, err);
    if (found <= 0)
      return found;
    if (tell->one_app && strcmp(tell->app, w->app) != 0)
      return 0;
    tell->one_user = tell->one_app = true;
    begin_app(tell);
  } else if (tell->one_app && tell->one_user) {
    (void)ft_string_copy(w->app, tell->app, sizeof tell->app);
    begin_app(tell);
  }
  return 1;
}

bool ft_query_runs(struct ft_query *asked, struct ft_recorder *ledger, struct ft_jobs *jobs,
                   struct ft_instant now, ft_reply *reply)
{
  struct tell *tell = asked->data;
  struct ft_store *store = NULL;
  struct ft_error err = { "" };
  int status = 1;

  if (!tell) {
    tell = asked->data = calloc(1, sizeof *tell);
    if (!tell) {
      (void)ft_string_copy("out of memory", reply->error, sizeof reply->error);
      return true;
    }
    tell->wanted = &asked->question->asked.run_query;
    ft_buf_init(&tell->run, FT_LIMIT_RECORD);
    status = begin(tell, asked, ledger, &err);
    reply->last = status == 0;
  }
  if (status > 0 && tell->wanted->live) {
    tell_live(tell, jobs, now, reply);
  } else if (status > 0) {
    store = ft_recorder_store(ledger, &err);
    if (!store)
      status = -1;
    else
      status = (tell->wanted->rejections ? tell_rejections : tell_stored)(tell, store, reply, &err);
  }
  if (status < 0)
    (void)snprintf(reply->error, sizeof reply->error, "%.200s", err.text);
  return reply->last || reply->error[0] || reply->record.size || reply->has_rejections;
}

bool ft_query_count_rejection(const struct ft_query *asked, struct ft_recorder *ledger,
                              ft_reply *reply)
{
  const char *app = asked->question->asked.rejected.app;
  struct ft_error err;
  struct ft_store *store = ft_recorder_store(ledger, &err);

  if (!store || ft_store_count_rejection(store, asked->uid, app, ft_io_now(), &err) < 0)
    ft_log(LOG_WARNING, "that a submission of %s by user %u was refused is not counted: %s", app,
           (unsigned)asked->uid, err.text);
  reply->last = true;
  return true;
}

void ft_query_runs_end(struct ft_query *asked)
{
  struct tell *tell = asked->data;

  if (tell)
    ft_buf_free(&tell->run);
  free(tell);
  asked->data = NULL;
}
