/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Observations queried from the daemons. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/store_access_asked.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/text.h"

/* Maximum number of runs in memory, some gigabytes. */
#define MOST_RUNS (4u << 20)

/* A run as received; decoded it takes about 20 times as many bytes. */
struct run {
  double end_time;
  size_t order, length;
  unsigned char *data;
};

struct ft_store_access_asked {
  struct run *run;
  size_t count, room;
  ft_observation *one; /* the run being visited */
};

/* State of a query. */
struct agent_query {
  /* Processes an encoded run of LENGTH bytes. Returns 0; -1 with ERR. */
  int (*take)(const unsigned char *data, size_t length, const ft_reply *reply,
              struct agent_query *hearing);
  struct ft_store_access_asked *asked;
  void (*visit)(const ft_observation *observation, double now_bytes, void *data);
  void *data;
  unsigned silent_agents; /* as the reply has it */
  struct ft_error err;
  bool failed;
};

static bool receive_reply(const ft_reply *reply, void *data)
{
  enum { HEAD = 4 };
  const unsigned char *at = reply->record.bytes, *end = at + reply->record.size;
  struct agent_query *h = data;

  h->silent_agents = reply->silent_agents;
  while (!h->failed && end - at >= HEAD) {
    size_t length = 0;

    for (int i = 0; i < HEAD; i++)
      length |= (size_t)at[i] << 8 * i;
    at += HEAD;
    if (length > (size_t)(end - at)) {
      h->failed = ft_error_set(&h->err, "incomplete run in the reply") < 0;
      break;
    }
    h->failed = h->take(at, length, reply, h) < 0;
    at += length;
  }
  return !h->failed;
}

/* Makes the question for the stored runs that match WANTED. The caller changes it for other data.
 */
static int make_store_question(const struct ft_store_filter *wanted, ft_question *out,
                               struct ft_error *err)
{
  ft_run_query *w = &out->asked.run_query;

  *out = (ft_question){ .which_asked = ft_question_run_query_tag };
  *w = (ft_run_query){ .has_uid = wanted->by_uid,
                       .uid = wanted->uid,
                       .job_id = wanted->job_id,
                       .has_array_task_id = wanted->by_task,
                       .array_task_id = wanted->task_id,
                       .since = wanted->since,
                       .by_node = wanted->by_node };
  if (wanted->app && !ft_string_copy(wanted->app, w->app, sizeof w->app))
    return ft_error_set(err, "%.64s...: too long for the name of an app", wanted->app);
  return 0;
}

static int query_runs(enum ft_daemon daemon, const char *socket, int state_fd,
                      const struct ft_store_filter *wanted, bool live, struct agent_query *h,
                      struct ft_error *err)
{
  ft_question question;

  if (make_store_question(wanted, &question, err) < 0)
    return -1;
  question.asked.run_query.live = live;
  if (ft_daemon_ask(daemon, socket, state_fd, &question, receive_reply, h, err) < 0)
    return -1;
  if (!h->failed)
    return 0;
  errno = EPROTO;
  return ft_error_set(err, "%s", h->err.text);
}

/* ---- runs in the store ---- */

static int store_encoded_run(const unsigned char *data, size_t length, const ft_reply *reply,
                             struct agent_query *h)
{
  struct ft_store_access_asked *asked = h->asked;
  struct run *grown, *run;

  (void)reply;
  if (ft_record_decode(FT_RECORD_OBSERVATION, data, length, asked->one, &h->err) < 0)
    return -1;
  grown = ft_array_grow(asked->run, &asked->room, asked->count, sizeof *grown, MOST_RUNS);
  if (!grown)
    return ft_error_set(&h->err, "out of memory");
  asked->run = grown;
  run = &grown[asked->count];
  *run = (struct run){ asked->one->end_time, asked->count, length, malloc(length) };
  if (!run->data)
    return ft_error_set(&h->err, "out of memory");
  memcpy(run->data, data, length);
  asked->count++;
  return 0;
}

/* Newest first; runs with equal times keep the order in which they arrived. */
static int compare_times(const void *a, const void *b)
{
  const struct run *x = a, *y = b;

  if (x->end_time != y->end_time)
    return x->end_time < y->end_time ? 1 : -1;
  return x->order < y->order ? -1 : 1;
}

struct ft_store_access_asked *ft_store_access_asked_open(const char *socket, int state_fd,
                                                         const struct ft_store_filter *wanted,
                                                         struct ft_error *err)
{
  struct ft_store_access_asked *asked = calloc(1, sizeof *asked);
  struct agent_query h = { .take = store_encoded_run, .asked = asked };
  int saved;

  if (asked)
    asked->one = malloc(sizeof *asked->one);
  if (!asked || !asked->one) {
    ft_error_set(err, "out of memory");
    free(asked);
    return NULL;
  }
  if (query_runs(FT_DAEMON_LEARNER, socket, state_fd, wanted, false, &h, err) < 0) {
    saved = errno;
    ft_store_access_asked_close(asked);
    errno = saved;
    return NULL;
  }
  if (asked->count)
    qsort(asked->run, asked->count, sizeof *asked->run, compare_times);
  return asked;
}

void ft_store_access_asked_close(struct ft_store_access_asked *asked)
{
  if (!asked)
    return;
  for (size_t i = 0; i < asked->count; i++)
    free(asked->run[i].data);
  free(asked->run);
  free(asked->one);
  free(asked);
}

static bool matches_filter(const struct ft_store_filter *f, const ft_observation *o)
{
  if ((f->app && strcmp(f->app, o->submission.app) != 0) || (f->by_uid && f->uid != o->uid) ||
      (f->since > 0 && o->end_time < f->since))
    return false;
  if (!f->job_id)
    return true;
  if (f->by_task)
    return o->array_job_id == f->job_id && o->array_task_id == f->task_id;
  return o->job_id == f->job_id || o->array_job_id == f->job_id;
}

int ft_store_access_asked_each(struct ft_store_access_asked *asked,
                               const struct ft_store_filter *filter,
                               bool (*visit)(const ft_observation *observation, void *data),
                               void *data, struct ft_error *err)
{
  uint64_t left = filter->limit ? filter->limit : UINT64_MAX;

  for (size_t i = 0; i < asked->count && left; i++) {
    /* with a limit the newest come first, else the oldest */
    const struct run *run = &asked->run[filter->limit ? i : asked->count - 1 - i];

    if (ft_record_decode(FT_RECORD_OBSERVATION, run->data, run->length, asked->one, err) < 0)
      return -1;
    if (!matches_filter(filter, asked->one))
      continue;
    if (!visit(asked->one, data))
      break;
    left--;
  }
  return 0;
}

/* ---- apps ---- */

struct apps {
  struct ft_store_app *app;
  size_t count, room;
  bool failed;
};

static bool count_app_run(const ft_observation *o, void *data)
{
  struct apps *apps = data;
  double peak = ft_observation_peak(o, o->rule);
  struct ft_store_app *a = apps->app, *end = apps->count ? a + apps->count : a;

  while (a < end && !(a->uid == o->uid && strcmp(a->app, o->submission.app) == 0))
    a++;
  if (a == end) {
    struct ft_store_app *grown =
        ft_array_grow(apps->app, &apps->room, apps->count, sizeof *grown, MOST_RUNS);

    apps->failed = !grown;
    if (!grown)
      return false;
    apps->app = grown;
    a = &grown[apps->count++];
    *a = (struct ft_store_app){ .uid = o->uid };
    (void)ft_string_copy(o->submission.app, a->app, sizeof a->app);
  }
  if (o->user[0])
    (void)ft_string_copy(o->user, a->user, sizeof a->user);
  a->runs++;
  a->completed += o->outcome == FT_OUTCOME_COMPLETED;
  a->censored += o->censored;
  a->last_time = fmax(a->last_time, o->end_time);
  a->max_bytes = fmax(a->max_bytes, peak);
  if (o->outcome == FT_OUTCOME_COMPLETED && peak > 0)
    a->min_bytes = a->min_bytes > 0 ? fmin(a->min_bytes, peak) : peak;
  return true;
}

int ft_store_access_asked_apps(struct ft_store_access_asked *asked,
                               bool (*visit)(const struct ft_store_app *app, void *data),
                               void *data, struct ft_error *err)
{
  const struct ft_store_filter newest_first = { .limit = UINT64_MAX };
  struct apps apps = { .count = 0 };
  int status = ft_store_access_asked_each(asked, &newest_first, count_app_run, &apps, err);

  if (apps.failed)
    status = ft_error_set(err, "out of memory");
  for (size_t i = 0; status == 0 && i < apps.count; i++)
    if (!visit(&apps.app[i], data))
      break;
  free(apps.app);
  return status;
}

/* ---- running jobs ---- */

static int visit_live_run(const unsigned char *data, size_t length, const ft_reply *reply,
                          struct agent_query *h)
{
  ft_observation *o = malloc(sizeof *o);
  int status = -1;

  if (!o)
    return ft_error_set(&h->err, "out of memory");
  if (ft_record_decode(FT_RECORD_OBSERVATION, data, length, o, &h->err) == 0) {
    h->visit(o, reply->has_now_bytes ? (double)reply->now_bytes : -1, h->data);
    status = 0;
  }
  free(o);
  return status;
}

unsigned ft_store_access_asked_live(
    enum ft_daemon daemon, const char *socket, int state_fd, const struct ft_store_filter *wanted,
    void (*visit)(const ft_observation *observation, double now_bytes, void *data), void *data)
{
  struct agent_query h = { .take = visit_live_run, .visit = visit, .data = data };
  struct ft_error err;

  return query_runs(daemon, socket, state_fd, wanted, true, &h, &err) < 0 ? 0 : h.silent_agents;
}

/* ---- rejections ---- */

struct rejection_visit {
  bool (*visit)(const struct ft_rejections *one, void *data);
  void *data;
};

static bool receive_rejections(const ft_reply *reply, void *data)
{
  struct rejection_visit *r = data;
  struct ft_rejections one = { .uid = reply->rejections.uid, .count = reply->rejections.count };

  if (!reply->has_rejections)
    return true;
  (void)ft_string_copy(reply->rejections.app, one.app, sizeof one.app);
  return r->visit(&one, r->data);
}

int ft_store_access_asked_rejections(const char *socket, int state_fd,
                                     const struct ft_store_filter *wanted,
                                     bool (*visit)(const struct ft_rejections *one, void *data),
                                     void *data, struct ft_error *err)
{
  struct rejection_visit rejections = { visit, data };
  ft_question question;

  if (make_store_question(wanted, &question, err) < 0)
    return -1;
  question.asked.run_query.rejections = true;
  return ft_daemon_ask(FT_DAEMON_LEARNER, socket, state_fd, &question, receive_rejections,
                       &rejections, err);
}
