/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/access/user_lookup.h"
#include "learner/metrics/tally.h"
#include "learner/recorder.h"
#include "learner/requests.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Minimum time between two announcements of requests to forget: each makes every agent look up its
 * runs, which takes less than a millisecond of the learner for each. By judgement. */
#define FORGET_SECONDS 1.0
#define FORGET_SECONDS_PER_AGENT 0.001

/* A query of settings that waits for a change. */
struct held {
  struct ft_received *request;
  uint64_t agent; /* as of ft_settings_query */
  double due;     /* monotonic time of the reply, also without a change */
  TAILQ_ENTRY(held) link;
};

/* A query of jobs that waits for Slurm's records. */
struct pending {
  struct ft_received *request;
  ft_jobs_query query; /* a job whose record has arrived is 0 */
  ft_jobs_reply reply;
  TAILQ_ENTRY(pending) link;
};

/* A list of runs that waits for the next transaction. */
struct delivery {
  struct ft_received *request;
  ft_verdicts reply;
  struct ft_error why;
  TAILQ_ENTRY(delivery) link;
};

/* A query of this host that waits for the lookup of users. */
struct asked {
  struct ft_requests *requests;
  struct ft_received *request;
  double time; /* ft_io_now when it arrived */
  TAILQ_ENTRY(asked) link;
};

struct ft_requests {
  struct ft_learner *learner;
  struct ft_subprocesses *children;
  struct ft_loop *loop;
  struct ft_running_queries *running;
  TAILQ_HEAD(, held) held; /* the newest last */
  size_t held_count;
  struct ft_timer hold; /* due: that of the first of held */
  TAILQ_HEAD(, pending) pending;
  TAILQ_HEAD(, asked) asked;
  TAILQ_HEAD(deliveries, delivery) delivered;
  struct ft_timer deliver;        /* due if there are deliveries */
  uint64_t number, forget_number; /* as of ft_settings */
  struct ft_timer forget;         /* of the next announcement of requests to forget */
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

static void arm_hold(struct ft_requests *requests)
{
  const struct held *first = TAILQ_FIRST(&requests->held);

  if (first)
    ft_loop_at(requests->loop, &requests->hold, first->due);
  else
    ft_loop_cancel(requests->loop, &requests->hold);
}

/* Removes and frees HELD. Returns its request, for a reply. */
static struct ft_received *release_held(struct ft_requests *requests, struct held *held)
{
  struct ft_received *request = held->request;

  TAILQ_REMOVE(&requests->held, held, link);
  requests->held_count--;
  if (held->agent)
    ft_running_disconnect(requests->running, held->agent, request);
  free(held);
  return request;
}

/* Replies to all queries of settings that are due at the monotonic time NOW, or whose agents are
 * asked about running jobs. */
static void reply_settings(struct ft_requests *requests, double now)
{
  struct held *next;
  ft_settings settings, asking;

  fill_settings(requests, &settings);
  for (struct held *held = TAILQ_FIRST(&requests->held); held; held = next) {
    next = TAILQ_NEXT(held, link);
    asking = settings;
    if ((held->agent && ft_running_next(requests->running, held->agent, held->request, &asking)) ||
        held->due <= now)
      ft_receiver_reply(release_held(requests, held), FT_RECORD_SETTINGS, &asking);
  }
  arm_hold(requests);
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

  requests->forget_at =
      ft_io_monotonic() + FORGET_SECONDS + FORGET_SECONDS_PER_AGENT * (double)requests->held_count;
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
  if (!requests->forget.armed)
    ft_loop_at(requests->loop, &requests->forget, requests->forget_at);
}

/* Holds REQUEST of AGENT until the settings change. Returns 0; -1 out of memory. */
static int hold_request(struct ft_requests *requests, struct ft_received *request, uint64_t agent)
{
  struct held *held = malloc(sizeof *held);

  if (!held)
    return -1;
  held->request = request;
  held->agent = agent;
  held->due = ft_io_monotonic() + FT_EXCHANGE_HOLD_SECONDS;
  TAILQ_INSERT_TAIL(&requests->held, held, link);
  requests->held_count++;
  arm_hold(requests);
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

/* ---- Slurm's records ---- */

/* Removes PENDING and replies: with the records, or that there are none now because of WHY. */
static void end_pending(struct ft_requests *requests, struct pending *pending, const char *why)
{
  TAILQ_REMOVE(&requests->pending, pending, link);
  if (why)
    ft_receiver_reject(pending->request, false, why);
  else
    ft_receiver_reply(pending->request, FT_RECORD_JOBS_REPLY, &pending->reply);
  free(pending);
}

static int query_jobs(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  struct pending *pending = calloc(1, sizeof *pending);
  const ft_jobs_query *query;

  if (!pending)
    return ft_error_set(err, "out of memory");
  query = &pending->query;
  if (ft_record_decode(FT_RECORD_JOBS_QUERY, body->data, body->length, &pending->query, err) < 0) {
    free(pending);
    return -1;
  }
  pending->request = request;
  pending->reply.schema = FT_SCHEMA;
  TAILQ_INSERT_TAIL(&requests->pending, pending, link);
  if (ft_learner_query_slurm(requests->learner, query->job_id, query->job_id_count) < 0)
    end_pending(requests, pending, "too many queries wait for Slurm");
  else if (!query->job_id_count)
    end_pending(requests, pending, NULL);
  return 0;
}

/* Adds RECORD to the reply of PENDING. Returns whether that has waited for it. */
static bool take_record(struct pending *pending, uint32_t job_id, const ft_slurm_job *record)
{
  ft_slurm_job *out;
  pb_size_t i = 0;

  while (i < pending->query.job_id_count && pending->query.job_id[i] != job_id)
    i++;
  if (i == pending->query.job_id_count)
    return false;
  pending->query.job_id[i] = 0;
  out = &pending->reply.job[pending->reply.job_count++];
  *out = record ? *record : (ft_slurm_job){ 0 };
  out->job_id = job_id;
  out->known = record != NULL;
  return true;
}

void ft_requests_slurm_reply(uint32_t job_id, const ft_slurm_job *record, void *data)
{
  struct ft_requests *requests = data;
  struct pending *pending;

  TAILQ_FOREACH(pending, &requests->pending, link)
  {
    if (!take_record(pending, job_id, record))
      continue;
    if (pending->reply.job_count == pending->query.job_id_count)
      end_pending(requests, pending, NULL);
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

/* Replies REPLY to a list whose judgement ended with STATUS, as judge_list; WHY is that of the
 * first run that is not accepted. */
static void reply_verdicts(struct ft_received *request, int status, ft_verdicts *reply,
                           const struct ft_error *why)
{
  if (request->exchange == FT_EXCHANGE_RUNS)
    count_verdicts(reply);
  if (status < 0 && !reply->verdict.size) {
    reject_malformed(request, why);
    return;
  }
  if (has_verdict(reply, FT_VERDICT_REFUSED) || has_verdict(reply, FT_VERDICT_LATER))
    (void)ft_text_copy(ft_text_of(why->text, strlen(why->text)), reply->why, sizeof reply->why);
  /* an error, so that the courier makes sure that the spool is on the disk */
  if (reply->verdict.size == 1 && has_verdict(reply, FT_VERDICT_LATER))
    ft_receiver_reject(request, false, why->text);
  else
    ft_receiver_reply(request, FT_RECORD_VERDICTS, reply);
}

/* Judges the runs of REQUEST one by one, each in a transaction of its own, and replies. */
static void judge_each(struct ft_requests *requests, struct ft_received *request)
{
  ft_verdicts reply;
  struct ft_error why;
  int status = judge_list(requests, request, &reply, &why);

  reply_verdicts(request, status, &reply, &why);
}

/* Adds the runs of DELIVERY to the open transaction. Returns whether it may be committed. */
static bool add_delivery(struct ft_requests *requests, struct delivery *d)
{
  return judge_list(requests, d->request, &d->reply, &d->why) == 0 &&
         !has_verdict(&d->reply, FT_VERDICT_LATER);
}

/* Stores the first deliveries, as many as a transaction takes, and moves them to GROUP. Returns
 * whether they are stored. */
static bool store_group(struct ft_requests *requests, struct deliveries *group)
{
  struct delivery *d = TAILQ_FIRST(&requests->delivered);
  bool good = ft_learner_begin(requests->learner, &d->why) == 0, begun = good;
  size_t runs = 0;

  while (d && runs + FT_EXCHANGE_RUN_LIMIT <= FT_RECORDER_TOGETHER) {
    TAILQ_REMOVE(&requests->delivered, d, link);
    TAILQ_INSERT_TAIL(group, d, link);
    good = good && add_delivery(requests, d);
    runs += d->reply.verdict.size;
    d = good ? TAILQ_FIRST(&requests->delivered) : NULL;
  }
  if (good)
    return ft_learner_commit(requests->learner, &TAILQ_FIRST(group)->why) == 0;
  if (begun)
    ft_learner_rollback(requests->learner);
  return false;
}

static void deliver_soon(struct ft_requests *requests)
{
  if (!TAILQ_EMPTY(&requests->delivered))
    ft_loop_at(requests->loop, &requests->deliver, ft_io_monotonic());
}

/* Handles some of the deliveries that have arrived: those of many nodes in one transaction, which
 * takes one write to the disk. */
static void store_delivered(void *data)
{
  struct ft_requests *requests = data;
  struct deliveries group = TAILQ_HEAD_INITIALIZER(group);
  bool stored = store_group(requests, &group);
  struct delivery *d;

  while ((d = TAILQ_FIRST(&group))) {
    TAILQ_REMOVE(&group, d, link);
    /* the store may refuse one run only */
    if (stored)
      reply_verdicts(d->request, 0, &d->reply, &d->why);
    else
      judge_each(requests, d->request);
    free(d);
  }
  deliver_soon(requests);
}

static int take_delivery(struct ft_requests *requests, struct ft_received *request,
                         struct ft_error *err)
{
  struct delivery *d = malloc(sizeof *d);

  if (!d)
    return ft_error_set(err, "out of memory");
  d->request = request;
  TAILQ_INSERT_TAIL(&requests->delivered, d, link);
  deliver_soon(requests);
  return 0;
}

static int judge_forgotten(struct ft_requests *requests, struct ft_received *request,
                           struct ft_error *err)
{
  (void)err;
  judge_each(requests, request);
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

/* ---- this host ---- */

/* Adds USER, unless REPLY has it or is full. */
static void add_host_user(ft_host *reply, const ft_host_user *user)
{
  for (pb_size_t i = 0; i < reply->user_count; i++)
    if (strcmp(reply->user[i].name, user->name) == 0)
      return;
  if (reply->user_count < sizeof reply->user / sizeof *reply->user)
    reply->user[reply->user_count++] = *user;
}

static void users_found(const struct ft_subprocess_result *result, void *data)
{
  struct asked *asked = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  ft_host reply = { .schema = FT_SCHEMA, .version = PACKAGE_VERSION };
  ft_host_user user;

  while (ft_user_lookup_next(&text, &user))
    add_host_user(&reply, &user);
  /* the middle of the time that the lookup took, as the peer takes the middle of its own */
  reply.time = (asked->time + ft_io_now()) / 2;
  TAILQ_REMOVE(&asked->requests->asked, asked, link);
  ft_receiver_reply(asked->request, FT_RECORD_HOST, &reply);
  free(asked);
}

static int query_host(struct ft_requests *requests, struct ft_received *request,
                      struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  struct asked *asked;
  char own[16], slurm[16];
  const char *users[FT_USER_LOOKUP_LIMIT] = { NULL };
  ft_settings settings = { 0 };
  ft_host_query query;
  size_t count = 0;

  if (ft_record_decode(FT_RECORD_HOST_QUERY, body->data, body->length, &query, err) < 0)
    return -1;
  for (pb_size_t i = 0; i < query.user_count; i++)
    users[count++] = query.user[i];
  (void)snprintf(own, sizeof own, "%lu", (unsigned long)geteuid());
  users[count++] = own;
  ft_learner_settings_of_nodes(requests->learner, &settings);
  (void)snprintf(slurm, sizeof slurm, "%" PRIu32, settings.slurm_uid);
  if (settings.has_slurm_uid)
    users[count++] = slurm;
  asked = malloc(sizeof *asked);
  if (!asked)
    return ft_error_set(err, "out of memory");
  *asked = (struct asked){ .requests = requests, .request = request, .time = ft_io_now() };
  TAILQ_INSERT_TAIL(&requests->asked, asked, link);
  if (ft_user_lookup(requests->children, users, count, users_found, asked, err) < 0)
    users_found(&(struct ft_subprocess_result){ .text = "" }, asked);
  return 0;
}

void ft_requests_handle(struct ft_received *request, void *data)
{
  static int (*const handlers[FT_EXCHANGE_COUNT])(struct ft_requests *, struct ft_received *,
                                                  struct ft_error *) = {
    [FT_EXCHANGE_RUNS] = take_delivery,   [FT_EXCHANGE_FORGOTTEN] = judge_forgotten,
    [FT_EXCHANGE_JOBS] = query_jobs,      [FT_EXCHANGE_SETTINGS] = query_settings,
    [FT_EXCHANGE_RUNNING] = take_running, [FT_EXCHANGE_HOST] = query_host,
  };
  struct ft_error err;

  if (handlers[request->exchange](data, request, &err) < 0)
    reject_malformed(request, &err);
}

size_t ft_requests_agents(const struct ft_requests *requests)
{
  return requests->held_count;
}

/* ---- opening ---- */

struct ft_requests *ft_requests_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                     struct ft_learner *learner)
{
  struct ft_requests *requests = calloc(1, sizeof *requests);

  if (!requests)
    return NULL;
  TAILQ_INIT(&requests->held);
  TAILQ_INIT(&requests->pending);
  TAILQ_INIT(&requests->asked);
  TAILQ_INIT(&requests->delivered);
  requests->loop = loop;
  requests->children = children;
  requests->learner = learner;
  requests->forget = (struct ft_timer){ .fire = announce_forgotten, .data = requests };
  requests->hold = (struct ft_timer){ .fire = reply_due_settings, .data = requests };
  requests->deliver = (struct ft_timer){ .fire = store_delivered, .data = requests };
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
  static const char why[] = "foretell-learnd is stopping";
  struct delivery *d;
  struct asked *asked;

  if (!requests)
    return;
  while (!TAILQ_EMPTY(&requests->held))
    ft_receiver_reject(release_held(requests, TAILQ_FIRST(&requests->held)), false, why);
  while (!TAILQ_EMPTY(&requests->pending))
    end_pending(requests, TAILQ_FIRST(&requests->pending), why);
  while ((asked = TAILQ_FIRST(&requests->asked))) {
    TAILQ_REMOVE(&requests->asked, asked, link);
    ft_receiver_reject(asked->request, false, why);
    free(asked);
  }
  while ((d = TAILQ_FIRST(&requests->delivered))) {
    TAILQ_REMOVE(&requests->delivered, d, link);
    ft_receiver_reject(d->request, false, why);
    free(d);
  }
  ft_loop_cancel(requests->loop, &requests->deliver);
  ft_loop_cancel(requests->loop, &requests->hold);
  ft_loop_cancel(requests->loop, &requests->forget);
  ft_running_close(requests->running);
  free(requests);
}
