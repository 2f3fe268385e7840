/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/requests.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* A request whose reply waits: for Slurm's records, or for a change of the settings. */
struct waiting {
  struct ft_received *request;
  ft_jobs_query query; /* FT_EXCHANGE_JOBS; a job whose record has arrived is 0 */
  ft_jobs_reply reply;
  double due;     /* FT_EXCHANGE_SETTINGS: monotonic time of the reply, also without a change */
  uint64_t agent; /* FT_EXCHANGE_SETTINGS: as of ft_settings_query */
  struct waiting *next;
};

struct ft_requests {
  struct ft_learner *learner;
  struct ft_loop *loop;
  struct ft_running_queries *running;
  struct waiting *list;           /* the newest last */
  struct ft_timer hold;           /* due: that of the oldest query of settings */
  uint64_t number, forget_number; /* as of ft_settings */
  ft_observation observation;
  ft_running answer; /* too large for the stack */
};

/* ---- waiting requests ---- */

/* Adds a waiting entry for REQUEST. Returns NULL out of memory. */
static struct waiting *add_waiting(struct ft_requests *requests, struct ft_received *request)
{
  struct waiting **at = &requests->list, *w = calloc(1, sizeof *w);

  if (!w)
    return NULL;
  w->request = request;
  while (*at)
    at = &(*at)->next;
  *at = w;
  return w;
}

static void unlink_waiting(struct ft_requests *requests, const struct waiting *w)
{
  struct waiting **at = &requests->list;

  if (w->agent)
    ft_running_disconnect(requests->running, w->agent, w->request);
  while (*at != w)
    at = &(*at)->next;
  *at = w->next;
}

/* Removes W from the list, replies with MESSAGE, and frees W. */
static void reply_waiting(struct ft_requests *requests, struct waiting *w, enum ft_record record,
                          const void *message)
{
  unlink_waiting(requests, w);
  ft_receiver_reply(w->request, record, message);
  free(w);
}

/* Removes W from the list, replies that there is no answer now, and frees W. */
static void reject_waiting(struct ft_requests *requests, struct waiting *w, const char *why)
{
  unlink_waiting(requests, w);
  ft_receiver_reject(w->request, false, why);
  free(w);
}

/* ---- settings ---- */

static void fill_settings(const struct ft_requests *requests, ft_settings *out)
{
  *out = (ft_settings){ .schema = FT_SCHEMA,
                        .number = requests->number,
                        .forget_number = requests->forget_number };
  ft_learner_settings_of_nodes(requests->learner, out);
}

static void arm_hold(struct ft_requests *requests)
{
  for (const struct waiting *w = requests->list; w; w = w->next)
    if (w->request->exchange == FT_EXCHANGE_SETTINGS) {
      ft_loop_at(requests->loop, &requests->hold, w->due);
      return;
    }
  ft_loop_cancel(requests->loop, &requests->hold);
}

/* Replies to all queries of settings that are due at the monotonic time NOW, or whose agents are
 * asked about running jobs. */
static void reply_settings(struct ft_requests *requests, double now)
{
  struct waiting *next;
  ft_settings settings, asking;

  fill_settings(requests, &settings);
  for (struct waiting *w = requests->list; w; w = next) {
    next = w->next;
    if (w->request->exchange != FT_EXCHANGE_SETTINGS)
      continue;
    asking = settings;
    if ((w->agent && ft_running_next(requests->running, w->agent, w->request, &asking)) ||
        w->due <= now)
      reply_waiting(requests, w, FT_RECORD_SETTINGS, &asking);
  }
  arm_hold(requests);
}

static void reply_due_settings(void *data)
{
  reply_settings(data, ft_io_monotonic());
}

void ft_requests_settings_changed(struct ft_requests *requests, bool forget)
{
  requests->number++;
  if (forget)
    requests->forget_number = requests->number;
  reply_settings(requests, ft_io_monotonic() + FT_EXCHANGE_HOLD_SECONDS);
}

static int query_settings(struct ft_requests *requests, struct ft_received *request,
                          struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_settings_query query;
  ft_settings settings;
  struct waiting *w;

  if (ft_record_decode(FT_RECORD_SETTINGS_QUERY, body->data, body->length, &query, err) < 0)
    return -1;
  if (query.agent)
    ft_running_connect(requests->running, query.agent, request);
  fill_settings(requests, &settings);
  if (!(query.agent && ft_running_next(requests->running, query.agent, request, &settings)) &&
      query.number == requests->number && (w = add_waiting(requests, request))) {
    w->due = ft_io_monotonic() + FT_EXCHANGE_HOLD_SECONDS;
    w->agent = query.agent;
    arm_hold(requests);
    return 0;
  }
  if (query.agent)
    ft_running_disconnect(requests->running, query.agent, request);
  ft_receiver_reply(request, FT_RECORD_SETTINGS, &settings);
  return 0;
}

/* ---- Slurm's records ---- */

static int query_jobs(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_jobs_query query;
  struct waiting *w;

  if (ft_record_decode(FT_RECORD_JOBS_QUERY, body->data, body->length, &query, err) < 0)
    return -1;
  w = add_waiting(requests, request);
  if (!w)
    return ft_error_set(err, "out of memory");
  w->query = query;
  w->reply.schema = FT_SCHEMA;
  if (ft_learner_query_slurm(requests->learner, query.job_id, query.job_id_count) < 0)
    reject_waiting(requests, w, "too many queries wait for Slurm");
  else if (!query.job_id_count)
    reply_waiting(requests, w, FT_RECORD_JOBS_REPLY, &w->reply);
  return 0;
}

/* Adds RECORD to W's reply. Returns whether W has waited for it. */
static bool take_record(struct waiting *w, uint32_t job_id, const ft_slurm_job *record)
{
  ft_slurm_job *out;
  pb_size_t i = 0;

  while (i < w->query.job_id_count && w->query.job_id[i] != job_id)
    i++;
  if (i == w->query.job_id_count)
    return false;
  w->query.job_id[i] = 0;
  out = &w->reply.job[w->reply.job_count++];
  *out = record ? *record : (ft_slurm_job){ 0 };
  out->job_id = job_id;
  out->known = record != NULL;
  return true;
}

void ft_requests_slurm_reply(uint32_t job_id, const ft_slurm_job *record, void *data)
{
  struct ft_requests *requests = data;

  for (struct waiting *w = requests->list; w; w = w->next)
    if (w->request->exchange == FT_EXCHANGE_JOBS && take_record(w, job_id, record)) {
      if (w->reply.job_count == w->query.job_id_count)
        reply_waiting(requests, w, FT_RECORD_JOBS_REPLY, &w->reply);
      return;
    }
}

/* ---- observations ---- */

static ft_verdict judge_run(struct ft_requests *requests, enum ft_exchange exchange,
                            struct ft_error *err)
{
  static const ft_verdict by_status[] = { FT_VERDICT_LATER, FT_VERDICT_ACCEPTED,
                                          FT_VERDICT_REFUSED };

  if (exchange == FT_EXCHANGE_FORGOTTEN)
    return ft_learner_is_forgotten(requests->learner, &requests->observation) ? FT_VERDICT_FORGOTTEN
                                                                              : FT_VERDICT_ACCEPTED;
  return by_status[1 + ft_learner_add(requests->learner, &requests->observation, err)];
}

/* Decodes the next observation of LIST and judges it. Returns as ft_exchange_next. */
static int judge_next(struct ft_requests *requests, const struct ft_received *request, size_t *at,
                      ft_verdict *verdict, struct ft_error *err)
{
  int status =
      ft_exchange_next(request->body.data, request->body.length, at, &requests->observation, err);

  if (status == 1)
    *verdict = judge_run(requests, request->exchange, err);
  else if (status == 2)
    *verdict = FT_VERDICT_REFUSED;
  return status;
}

/* Judges the observations of REQUEST until the end, an error, or a run for later. Fills REPLY, and
 * WHY if a run is not accepted. Returns as ft_exchange_next. */
static int judge_list(struct ft_requests *requests, const struct ft_received *request,
                      ft_verdicts *reply, struct ft_error *why)
{
  ft_verdict verdict = FT_VERDICT_ACCEPTED;
  struct ft_error err;
  size_t at = 0;
  int status = 0;

  *reply = (ft_verdicts){ .schema = FT_SCHEMA };
  *why = (struct ft_error){ "" };
  while (reply->verdict.size < FT_EXCHANGE_RUN_LIMIT && verdict != FT_VERDICT_LATER &&
         (status = judge_next(requests, request, &at, &verdict, &err)) > 0) {
    reply->verdict.bytes[reply->verdict.size++] = (pb_byte_t)verdict;
    if ((verdict == FT_VERDICT_REFUSED || verdict == FT_VERDICT_LATER) && !why->text[0])
      *why = err;
  }
  if (status < 0)
    *why = err;
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

/* Stores the observations of REQUEST in one transaction. Returns as judge_list, with false in
 * STORED if it stored none. */
static int judge_together(struct ft_requests *requests, const struct ft_received *request,
                          ft_verdicts *reply, struct ft_error *why, bool *stored)
{
  int status;

  *stored = false;
  if (ft_learner_begin(requests->learner, why) < 0)
    return 0;
  status = judge_list(requests, request, reply, why);
  if (has_verdict(reply, FT_VERDICT_LATER))
    ft_learner_rollback(requests->learner);
  else
    *stored = ft_learner_commit(requests->learner, why) == 0;
  return status;
}

static int judge_runs(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  ft_verdicts reply;
  struct ft_error why;
  bool done = false;
  int status = 0;

  if (request->exchange == FT_EXCHANGE_RUNS)
    status = judge_together(requests, request, &reply, &why, &done);
  /* one by one: the store may refuse one run only */
  if (!done)
    status = judge_list(requests, request, &reply, &why);
  if (request->exchange == FT_EXCHANGE_RUNS)
    count_verdicts(&reply);
  if (status < 0 && !reply.verdict.size)
    return ft_error_set(err, "%.200s", why.text);
  if (has_verdict(&reply, FT_VERDICT_REFUSED) || has_verdict(&reply, FT_VERDICT_LATER))
    (void)ft_text_copy(ft_text_of(why.text, strlen(why.text)), reply.why, sizeof reply.why);
  /* an error, so that the courier makes sure that the spool is on the disk */
  if (reply.verdict.size == 1 && has_verdict(&reply, FT_VERDICT_LATER))
    ft_receiver_reject(request, false, why.text);
  else
    ft_receiver_reply(request, FT_RECORD_VERDICTS, &reply);
  return 0;
}

/* ---- running jobs ---- */

static int take_running(struct ft_requests *requests, struct ft_received *request,
                        struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  ft_verdicts reply = { .schema = FT_SCHEMA, .verdict.size = 1 };

  if (ft_record_decode(FT_RECORD_RUNNING, body->data, body->length, &requests->answer, err) < 0)
    return -1;
  reply.verdict.bytes[0] = ft_running_take(requests->running, &requests->answer)
                               ? FT_VERDICT_ACCEPTED
                               : FT_VERDICT_REFUSED;
  ft_receiver_reply(request, FT_RECORD_VERDICTS, &reply);
  return 0;
}

struct ft_running_queries *ft_requests_running(const struct ft_requests *requests)
{
  return requests->running;
}

void ft_requests_handle(struct ft_received *request, void *data)
{
  static int (*const handlers[FT_EXCHANGE_COUNT])(struct ft_requests *, struct ft_received *,
                                                  struct ft_error *) = {
    [FT_EXCHANGE_RUNS] = judge_runs,      [FT_EXCHANGE_FORGOTTEN] = judge_runs,
    [FT_EXCHANGE_JOBS] = query_jobs,      [FT_EXCHANGE_SETTINGS] = query_settings,
    [FT_EXCHANGE_RUNNING] = take_running,
  };
  const char *path = ft_exchange_paths[request->exchange];
  struct ft_error err;

  if (handlers[request->exchange](data, request, &err) == 0)
    return;
  ft_log(LOG_WARNING, "request %s of a node: %s", path, err.text);
  ft_receiver_reject(request, true, err.text);
}

size_t ft_requests_agents(const struct ft_requests *requests)
{
  size_t count = 0;

  for (const struct waiting *w = requests->list; w; w = w->next)
    count += w->request->exchange == FT_EXCHANGE_SETTINGS;
  return count;
}

/* ---- opening ---- */

struct ft_requests *ft_requests_open(struct ft_loop *loop, struct ft_learner *learner)
{
  struct ft_requests *requests = calloc(1, sizeof *requests);

  if (!requests)
    return NULL;
  requests->loop = loop;
  requests->learner = learner;
  requests->hold = (struct ft_timer){ .fire = reply_due_settings, .data = requests };
  requests->running = ft_running_open(reply_due_settings, requests);
  if (!requests->running) {
    free(requests);
    return NULL;
  }
  /* differs from the numbers of an earlier process: nodes learn of the new one's settings */
  requests->number = (uint64_t)(1e6 * ft_io_now());
  return requests;
}

void ft_requests_close(struct ft_requests *requests)
{
  if (!requests)
    return;
  while (requests->list)
    reject_waiting(requests, requests->list, "foretell-learnd is stopping");
  ft_loop_cancel(requests->loop, &requests->hold);
  ft_running_close(requests->running);
  free(requests);
}
