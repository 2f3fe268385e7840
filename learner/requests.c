/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "daemon/log.h"
#include "learner/access/host_query.h"
#include "learner/metrics/tally.h"
#include "learner/recorder.h"
#include "learner/requests.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Minimum time between two announcements of requests to forget: each makes every agent look up its
 * runs, which takes less than a millisecond of the learner for each. */
#define FORGET_SECONDS 1.0
#define FORGET_SECONDS_PER_AGENT 0.001

/* A query of settings that waits for a change. */
struct settings_request {
  struct ft_received *request;
  uint64_t agent; /* as of ft_settings_query */
  double due;     /* monotonic time of the reply, also without a change */
  TAILQ_ENTRY(settings_request) link;
};

/* A list of runs that waits for the next transaction. */
struct runs_request {
  struct ft_received *request;
  ft_verdicts reply;
  struct ft_error why; /* that of the first run that is not accepted */
  TAILQ_ENTRY(runs_request) link;
};

struct ft_requests {
  struct ft_learner *learner;
  struct ft_loop *loop;
  struct ft_running_queries *running;
  TAILQ_HEAD(, settings_request) settings; /* the newest last */
  size_t settings_count;
  struct ft_timer settings_timer; /* due: that of the first of them */
  struct ft_host_queries *hosts;
  TAILQ_HEAD(runs_requests, runs_request) runs;
  struct ft_timer runs_timer;     /* due if there are runs */
  uint64_t number, forget_number; /* as of ft_settings */
  struct ft_timer forget_timer;   /* of the next announcement of requests to forget */
  double forget_at;               /* monotonic; none before */
  ft_observation observation;
  ft_running answer; /* too large for the stack */
};

static void reject_malformed(struct ft_received *request, const struct ft_error *why)
{
  ft_log(LOG_WARNING, "request %s of a node: %s", ft_exchange_paths[request->exchange], why->text);
  ft_receiver_reject(request, true, why->text);
}

/* ---- settings ---- */

static void fill_settings(const struct ft_requests *requests, ft_settings *out)
{
  *out = (ft_settings){ .schema = FT_SCHEMA,
                        .number = requests->number,
                        .forget_number = requests->forget_number };
  ft_learner_settings_of_nodes(requests->learner, out);
}

static void schedule_settings(struct ft_requests *requests)
{
  const struct settings_request *first = TAILQ_FIRST(&requests->settings);

  if (first)
    ft_loop_at(requests->loop, &requests->settings_timer, first->due);
  else
    ft_loop_cancel(requests->loop, &requests->settings_timer);
}

/* Removes and frees S. Returns its request, for a reply. */
static struct ft_received *release_settings(struct ft_requests *requests,
                                            struct settings_request *s)
{
  struct ft_received *request = s->request;

  TAILQ_REMOVE(&requests->settings, s, link);
  requests->settings_count--;
  if (s->agent)
    ft_running_disconnect(requests->running, s->agent, request);
  free(s);
  return request;
}

/* Replies to all queries of settings that are due at the monotonic time NOW, or whose agents are
 * asked about running jobs. */
static void reply_settings(struct ft_requests *requests, double now)
{
  struct settings_request *next;
  ft_settings settings, asking;

  fill_settings(requests, &settings);
  for (struct settings_request *s = TAILQ_FIRST(&requests->settings); s; s = next) {
    next = TAILQ_NEXT(s, link);
    asking = settings;
    if ((s->agent && ft_running_next(requests->running, s->agent, s->request, &asking)) ||
        s->due <= now)
      ft_receiver_reply(release_settings(requests, s), FT_RECORD_SETTINGS, &asking);
  }
  schedule_settings(requests);
}

static void reply_due_settings(void *data)
{
  reply_settings(data, ft_io_monotonic());
}

static void reply_changed_settings(struct ft_requests *requests)
{
  reply_settings(requests, ft_io_monotonic() + FT_EXCHANGE_HOLD_SECONDS);
}

static void announce_forgotten(void *data)
{
  struct ft_requests *requests = data;

  requests->forget_at = ft_io_monotonic() + FORGET_SECONDS +
                        FORGET_SECONDS_PER_AGENT * (double)requests->settings_count;
  reply_changed_settings(requests);
}

void ft_requests_settings_changed(struct ft_requests *requests, bool forget)
{
  requests->number++;
  if (!forget) {
    reply_changed_settings(requests);
    return;
  }
  requests->forget_number = requests->number;
  if (!requests->forget_timer.armed)
    ft_loop_at(requests->loop, &requests->forget_timer, requests->forget_at);
}

/* Lets REQUEST of AGENT wait until the settings change. Returns 0; -1 out of memory. */
static int hold_request(struct ft_requests *requests, struct ft_received *request, uint64_t agent)
{
  struct settings_request *s = malloc(sizeof *s);

  if (!s)
    return -1;
  s->request = request;
  s->agent = agent;
  s->due = ft_io_monotonic() + FT_EXCHANGE_HOLD_SECONDS;
  TAILQ_INSERT_TAIL(&requests->settings, s, link);
  requests->settings_count++;
  schedule_settings(requests);
  return 0;
}

static int query_settings(struct ft_requests *requests, struct ft_received *request,
                          struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_settings_query query;
  ft_settings settings;

  if (ft_record_decode(FT_RECORD_SETTINGS_QUERY, body->data, body->length, &query, err) < 0)
    return -1;
  if (query.agent)
    ft_running_connect(requests->running, query.agent, request);
  fill_settings(requests, &settings);
  if (!(query.agent && ft_running_next(requests->running, query.agent, request, &settings)) &&
      query.number == requests->number && hold_request(requests, request, query.agent) == 0)
    return 0;
  if (query.agent)
    ft_running_disconnect(requests->running, query.agent, request);
  ft_receiver_reply(request, FT_RECORD_SETTINGS, &settings);
  return 0;
}

/* ---- agents of the previous release ---- */

static int query_jobs(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_jobs_query query;
  ft_jobs_reply reply = { .schema = FT_SCHEMA };

  (void)requests;
  if (ft_record_decode(FT_RECORD_JOBS_QUERY, body->data, body->length, &query, err) < 0)
    return -1;
  while (reply.job_count < query.job_id_count) {
    reply.job[reply.job_count].job_id = query.job_id[reply.job_count];
    reply.job_count++;
  }
  ft_receiver_reply(request, FT_RECORD_JOBS_REPLY, &reply);
  return 0;
}

/* ---- observations ---- */

static ft_verdict judge_run(struct ft_requests *requests, struct runs_request *runs,
                            struct ft_error *err)
{
  static const ft_verdict by_status[] = { FT_VERDICT_LATER, FT_VERDICT_ACCEPTED,
                                          FT_VERDICT_REFUSED };

  if (runs->request->exchange != FT_EXCHANGE_FORGOTTEN)
    return by_status[1 + ft_learner_add(requests->learner, &requests->observation, err)];
  return ft_learner_is_forgotten(requests->learner, &requests->observation) ? FT_VERDICT_FORGOTTEN
                                                                            : FT_VERDICT_ACCEPTED;
}

/* Decodes the next observation of RUNS and judges it. Returns as ft_exchange_next. */
static int judge_next(struct ft_requests *requests, struct runs_request *runs, size_t *at,
                      ft_verdict *verdict, struct ft_error *err)
{
  const struct ft_buf *body = &runs->request->body;
  int status = ft_exchange_next(body->data, body->length, at, &requests->observation, err);

  if (status == 1)
    *verdict = judge_run(requests, runs, err);
  else if (status == 2)
    *verdict = FT_VERDICT_REFUSED;
  return status;
}

/* Judges the observations of RUNS until the end, an error, or a run for later. Fills its reply, and
 * `why` if a run is not accepted. Returns as ft_exchange_next. */
static int judge_list(struct ft_requests *requests, struct runs_request *runs)
{
  ft_verdicts *reply = &runs->reply;
  ft_verdict verdict = FT_VERDICT_ACCEPTED;
  struct ft_error err;
  size_t at = 0;
  int status = 0;

  *reply = (ft_verdicts){ .schema = FT_SCHEMA };
  runs->why = (struct ft_error){ "" };
  while (reply->verdict.size < FT_EXCHANGE_RUN_LIMIT && verdict != FT_VERDICT_LATER &&
         (status = judge_next(requests, runs, &at, &verdict, &err)) > 0) {
    reply->verdict.bytes[reply->verdict.size++] = (pb_byte_t)verdict;
    if ((verdict == FT_VERDICT_REFUSED || verdict == FT_VERDICT_LATER) && !runs->why.text[0])
      runs->why = err;
  }
  if (status < 0)
    runs->why = err;
  return verdict == FT_VERDICT_LATER ? 0 : status;
}

static void count_verdicts(const ft_verdicts *reply)
{
  for (pb_size_t i = 0; i < reply->verdict.size; i++)
    ft_tally_add(reply->verdict.bytes[i] == FT_VERDICT_ACCEPTED  ? FT_TALLY_RUNS_ACCEPTED
                 : reply->verdict.bytes[i] == FT_VERDICT_REFUSED ? FT_TALLY_RUNS_REFUSED
                                                                 : FT_TALLY_RUNS_LATER,
                 1);
}

static bool has_verdict(const ft_verdicts *reply, ft_verdict verdict)
{
  return memchr(reply->verdict.bytes, verdict, reply->verdict.size) != NULL;
}

/* Sends the verdicts on RUNS, for which judge_list returned STATUS. */
static void reply_verdicts(struct runs_request *runs, int status)
{
  struct ft_received *request = runs->request;
  ft_verdicts *reply = &runs->reply;
  const char *why = runs->why.text;

  if (request->exchange == FT_EXCHANGE_RUNS)
    count_verdicts(reply);
  if (status < 0 && !reply->verdict.size) {
    reject_malformed(request, &runs->why);
    return;
  }
  if (has_verdict(reply, FT_VERDICT_REFUSED) || has_verdict(reply, FT_VERDICT_LATER))
    (void)ft_text_copy(ft_text_of(why, strlen(why)), reply->why, sizeof reply->why);
  /* an error, so that the courier makes sure that the spool is on the disk */
  if (reply->verdict.size == 1 && has_verdict(reply, FT_VERDICT_LATER))
    ft_receiver_reject(request, false, why);
  else
    ft_receiver_reply(request, FT_RECORD_VERDICTS, reply);
}

static void store_soon(struct ft_requests *requests)
{
  if (!TAILQ_EMPTY(&requests->runs))
    ft_loop_at(requests->loop, &requests->runs_timer, ft_io_monotonic());
}

/* Judges RUNS one by one, each in a transaction of its own. */
static void judge_each(struct ft_requests *requests, struct runs_request *runs)
{
  reply_verdicts(runs, judge_list(requests, runs));
  free(runs);
}

/* Adds RUNS to the open transaction. Returns whether it may be committed. */
static bool add_runs(struct ft_requests *requests, struct runs_request *runs)
{
  return judge_list(requests, runs) == 0 && !has_verdict(&runs->reply, FT_VERDICT_LATER);
}

/* Stores the runs of the first requests, as many as a transaction takes, and moves the requests to
 * GROUP. Returns whether they are stored. */
static bool store_group(struct ft_requests *requests, struct runs_requests *group)
{
  struct runs_request *runs = TAILQ_FIRST(&requests->runs);
  bool good = ft_learner_begin(requests->learner, &runs->why) == 0, begun = good;
  size_t count = 0;

  while (runs && count + FT_EXCHANGE_RUN_LIMIT <= FT_RECORDER_TOGETHER) {
    TAILQ_REMOVE(&requests->runs, runs, link);
    TAILQ_INSERT_TAIL(group, runs, link);
    good = good && add_runs(requests, runs);
    count += runs->reply.verdict.size;
    runs = good ? TAILQ_FIRST(&requests->runs) : NULL;
  }
  if (good)
    return ft_learner_commit(requests->learner, &TAILQ_FIRST(group)->why) == 0;
  if (begun)
    ft_learner_rollback(requests->learner);
  return false;
}

/* Stores some of the runs that have arrived: those of many nodes in one transaction, which takes
 * one write to the disk. */
static void store_runs(void *data)
{
  struct ft_requests *requests = data;
  struct runs_requests group = TAILQ_HEAD_INITIALIZER(group);
  bool stored = store_group(requests, &group);
  struct runs_request *runs;

  while ((runs = TAILQ_FIRST(&group))) {
    TAILQ_REMOVE(&group, runs, link);
    /* the store may refuse one run only */
    if (stored) {
      reply_verdicts(runs, 0);
      free(runs);
    } else {
      judge_each(requests, runs);
    }
  }
  store_soon(requests);
}

/* Returns a list of runs to be judged; NULL and ERR out of memory. */
static struct runs_request *new_runs(struct ft_received *request, struct ft_error *err)
{
  struct runs_request *runs = calloc(1, sizeof *runs);

  if (runs)
    runs->request = request;
  else
    (void)ft_error_set(err, "out of memory");
  return runs;
}

static int queue_runs(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  struct runs_request *runs = new_runs(request, err);

  if (!runs)
    return -1;
  TAILQ_INSERT_TAIL(&requests->runs, runs, link);
  store_soon(requests);
  return 0;
}

static int judge_forgotten(struct ft_requests *requests, struct ft_received *request,
                           struct ft_error *err)
{
  struct runs_request *runs = new_runs(request, err);

  if (!runs)
    return -1;
  judge_each(requests, runs);
  return 0;
}

/* ---- running jobs ---- */

static int pass_running(struct ft_requests *requests, struct ft_received *request,
                        struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_verdicts reply = { .schema = FT_SCHEMA, .verdict.size = 1 };

  if (ft_record_decode(FT_RECORD_RUNNING, body->data, body->length, &requests->answer, err) < 0)
    return -1;
  reply.verdict.bytes[0] = ft_running_add_answer(requests->running, &requests->answer)
                               ? FT_VERDICT_ACCEPTED
                               : FT_VERDICT_REFUSED;
  ft_receiver_reply(request, FT_RECORD_VERDICTS, &reply);
  return 0;
}

struct ft_running_queries *ft_requests_running(const struct ft_requests *requests)
{
  return requests->running;
}

static int query_host(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  return ft_host_query_begin(requests->hosts, request, err);
}

void ft_requests_handle(struct ft_received *request, void *data)
{
  static int (*const handlers[FT_EXCHANGE_COUNT])(struct ft_requests *, struct ft_received *,
                                                  struct ft_error *) = {
    [FT_EXCHANGE_RUNS] = queue_runs,      [FT_EXCHANGE_FORGOTTEN] = judge_forgotten,
    [FT_EXCHANGE_JOBS] = query_jobs,      [FT_EXCHANGE_SETTINGS] = query_settings,
    [FT_EXCHANGE_RUNNING] = pass_running, [FT_EXCHANGE_HOST] = query_host,
  };
  struct ft_error err;

  if (handlers[request->exchange](data, request, &err) < 0)
    reject_malformed(request, &err);
}

size_t ft_requests_agents(const struct ft_requests *requests)
{
  return requests->settings_count;
}

/* ---- opening ---- */

struct ft_requests *ft_requests_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                     struct ft_learner *learner)
{
  struct ft_requests *requests = calloc(1, sizeof *requests);

  if (!requests)
    return NULL;
  TAILQ_INIT(&requests->settings);
  TAILQ_INIT(&requests->runs);
  requests->loop = loop;
  requests->learner = learner;
  requests->forget_timer = (struct ft_timer){ .fire = announce_forgotten, .data = requests };
  requests->settings_timer = (struct ft_timer){ .fire = reply_due_settings, .data = requests };
  requests->runs_timer = (struct ft_timer){ .fire = store_runs, .data = requests };
  requests->running = ft_running_open(reply_due_settings, requests);
  requests->hosts = ft_host_queries_open(children, learner);
  if (!requests->running || !requests->hosts) {
    ft_requests_close(requests);
    return NULL;
  }
  /* differs from the numbers of an earlier process: nodes learn of the new one's settings */
  requests->number = (uint64_t)(1e6 * ft_io_now());
  return requests;
}

void ft_requests_close(struct ft_requests *requests)
{
  static const char why[] = "foretell-learnd is stopping";
  struct runs_request *runs;

  if (!requests)
    return;
  while (!TAILQ_EMPTY(&requests->settings))
    ft_receiver_reject(release_settings(requests, TAILQ_FIRST(&requests->settings)), false, why);
  ft_host_queries_close(requests->hosts, why);
  while ((runs = TAILQ_FIRST(&requests->runs))) {
    TAILQ_REMOVE(&requests->runs, runs, link);
    ft_receiver_reject(runs->request, false, why);
    free(runs);
  }
  ft_loop_cancel(requests->loop, &requests->runs_timer);
  ft_loop_cancel(requests->loop, &requests->settings_timer);
  ft_loop_cancel(requests->loop, &requests->forget_timer);
  ft_running_close(requests->running);
  free(requests);
}
