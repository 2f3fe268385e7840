/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/exchange.h"
#include "daemon/run_reply.h"
#include "learner/cluster/running.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/io.h"

/* An agent that has not connected for so long, in seconds, is no longer missed: its node was
 * removed. Twice the time for which a query of settings is held. */
#define MISSED_SECONDS (2 * FT_EXCHANGE_HOLD_SECONDS)
/* Limit of the answers to one query that wait for the user's command, bytes: about 1,000 jobs. */
#define WAITING_BYTES ((size_t)1 << 20)
/* Pause after a query of an unprivileged user, in seconds for each agent asked: to check two
 * requests takes the learner half of it, so that queries take at most half its time. */
#define PAUSE_SECONDS 0.002

struct agent {
  uint64_t number;
  const void *connection; /* NULL: it is not connected */
  double time;            /* monotonic, of its last connection's begin or end */
};

enum state { PENDING, ASKED, ANSWERED, REFUSED };

/* An encoded part of an answer. */
struct part {
  struct part *next;
  bool has_now_bytes;
  uint64_t now_bytes;
  size_t size;
  uint8_t bytes[];
};

/* A query of a user. */
struct question {
  uint64_t number;
  ft_run_query wanted; /* with the user who may see the jobs */
  double due;          /* monotonic */
  struct {
    uint64_t number;
    enum state state;
  } agent[FT_RUNNING_AGENTS];
  size_t agents, not_asked; /* the latter are above the limit, or do not connect */
  struct part *first, **end;
  size_t waiting; /* bytes of the parts */
  struct question *next;
};

struct ft_running_queries {
  void (*ask)(void *data);
  void *data;
  struct agent *agent;
  size_t agents, room;
  struct question *list; /* the newest last */
  double pause_end;      /* monotonic; no unprivileged query begins before */
  ft_observation one;
};

/* ---- agents ---- */

static struct agent *find_agent(struct ft_running_queries *queries, uint64_t number)
{
  for (size_t i = 0; i < queries->agents; i++)
    if (queries->agent[i].number == number)
      return &queries->agent[i];
  return NULL;
}

static bool is_missed(const struct agent *a, double now)
{
  return a->connection || now < a->time + MISSED_SECONDS;
}

/* Returns a new entry, which may have been that of an agent that is no longer missed; NULL out of
 * memory. */
static struct agent *add_agent(struct ft_running_queries *queries, uint64_t number, double now)
{
  struct agent *grown, *a = NULL;

  for (size_t i = 0; !a && i < queries->agents; i++)
    if (!is_missed(&queries->agent[i], now))
      a = &queries->agent[i];
  if (!a) {
    grown = ft_array_grow(queries->agent, &queries->room, queries->agents, sizeof *grown,
                          FT_EXCHANGE_CONNECTIONS);
    if (!grown)
      return NULL;
    queries->agent = grown;
    a = &grown[queries->agents++];
  }
  *a = (struct agent){ .number = number };
  return a;
}

void ft_running_connect(struct ft_running_queries *queries, uint64_t agent, const void *connection)
{
  double now = ft_io_monotonic();
  struct agent *a = find_agent(queries, agent);

  if (!a)
    a = add_agent(queries, agent, now);
  if (!a)
    return;
  a->connection = connection;
  a->time = now;
}

void ft_running_disconnect(struct ft_running_queries *queries, uint64_t agent,
                           const void *connection)
{
  struct agent *a = find_agent(queries, agent);

  if (!a || a->connection != connection)
    return;
  a->connection = NULL;
  a->time = ft_io_monotonic();
}

/* ---- questions ---- */

/* Returns the place of agent NUMBER in Q; Q's number of agents if it is not asked. */
static size_t find_asked(const struct question *q, uint64_t number)
{
  size_t i = 0;

  while (i < q->agents && q->agent[i].number != number)
    i++;
  return i;
}

bool ft_running_next(struct ft_running_queries *queries, uint64_t agent, const void *connection,
                     ft_settings *settings)
{
  const struct agent *a;

  for (struct question *q = queries->list; q; q = q->next) {
    size_t i = find_asked(q, agent);

    if (i == q->agents || q->agent[i].state == ANSWERED || q->agent[i].state == REFUSED)
      continue;
    /* an agent answers one question after another */
    a = q->agent[i].state == PENDING ? find_agent(queries, agent) : NULL;
    if (!a || a->connection != connection)
      return false;
    q->agent[i].state = ASKED;
    settings->question = q->number;
    settings->run_query = q->wanted;
    return true;
  }
  return false;
}

/* Selects the agents that Q goes to: the connected ones, and those that are about to connect
 * again. */
static void choose_agents(const struct ft_running_queries *queries, struct question *q, double now)
{
  for (size_t i = 0; i < queries->agents; i++) {
    const struct agent *a = &queries->agent[i];

    if (!is_missed(a, now))
      continue;
    if (q->agents < FT_RUNNING_AGENTS && (a->connection || now < a->time + FT_RUNNING_SECONDS))
      q->agent[q->agents++].number = a->number;
    else
      q->not_asked++;
  }
}

/* Begins to ask for what QUERY wants. Returns 1; 0 if it must wait; -1 and ERR. */
static int begin_question(struct ft_running_queries *queries, struct ft_query *query,
                          struct ft_error *err)
{
  struct question **at = &queries->list, *q;
  double now = ft_io_monotonic();
  bool one_user;
  uint32_t uid;

  if (ft_run_reply_user(query, &one_user, &uid, err) < 0)
    return -1;
  if (!query->privileged && now < queries->pause_end)
    return 0;
  q = query->data = calloc(1, sizeof *q);
  if (!q)
    return ft_error_set(err, "out of memory");
  /* agents answer by it, so that none may guess it; and they may still answer questions of an
     earlier process */
  if (getrandom(&q->number, sizeof q->number, 0) != sizeof q->number || !q->number) {
    free(q);
    query->data = NULL;
    return ft_error_set(err, "no random numbers");
  }
  q->wanted = query->question->asked.run_query;
  q->wanted.has_uid = one_user;
  q->wanted.uid = uid;
  q->due = now + FT_RUNNING_SECONDS;
  q->end = &q->first;
  while (*at)
    at = &(*at)->next;
  *at = q;
  choose_agents(queries, q, now);
  if (!query->privileged)
    queries->pause_end = now + PAUSE_SECONDS * (double)q->agents;
  queries->ask(queries->data);
  return 1;
}

/* Whether every run of ANSWER is one that Q may show. */
static bool is_answer_wanted(struct ft_running_queries *queries, const struct question *q,
                             const ft_reply *answer)
{
  const ft_observation *o = &queries->one;
  struct ft_error err;
  size_t at = 0;
  int status;

  while ((status = ft_exchange_next(answer->record.bytes, answer->record.size, &at, &queries->one,
                                    &err)) == 1)
    if ((q->wanted.has_uid && o->uid != q->wanted.uid) || !ft_run_reply_wants(&q->wanted, o))
      return false;
  return status == 0;
}

/* Adds ANSWER's run to the answers that wait for the user. Returns false if it cannot. */
static bool add_part(struct question *q, const ft_reply *answer)
{
  size_t size = answer->record.size;
  struct part *part;

  if (!size)
    return true;
  part = size <= WAITING_BYTES - q->waiting ? malloc(sizeof *part + size) : NULL;
  if (!part)
    return false;
  *part = (struct part){ .has_now_bytes = answer->has_now_bytes,
                         .now_bytes = answer->now_bytes,
                         .size = size };
  memcpy(part->bytes, answer->record.bytes, size);
  *q->end = part;
  q->end = &part->next;
  q->waiting += size;
  return true;
}

bool ft_running_add_answer(struct ft_running_queries *queries, const ft_running *answer)
{
  const ft_reply *reply = &answer->reply;
  struct question *q = queries->list;
  size_t i;

  while (q && q->number != answer->question)
    q = q->next;
  if (!q)
    return false;
  i = find_asked(q, answer->agent);
  if (i == q->agents || q->agent[i].state != ASKED)
    return false;
  if (reply->error[0] || !is_answer_wanted(queries, q, reply) || !add_part(q, reply))
    q->agent[i].state = REFUSED;
  else if (reply->last)
    q->agent[i].state = ANSWERED;
  else
    return true;
  /* the next question may wait for this agent */
  if (q->next)
    queries->ask(queries->data);
  return q->agent[i].state == ANSWERED;
}

/* ---- users' queries ---- */

/* Moves the first part that waits to REPLY. */
static void pop_part(struct question *q, ft_reply *reply)
{
  struct part *part = q->first;

  q->first = part->next;
  if (!q->first)
    q->end = &q->first;
  q->waiting -= part->size;
  memcpy(reply->record.bytes, part->bytes, part->size);
  reply->record.size = (pb_size_t)part->size;
  reply->has_now_bytes = part->has_now_bytes;
  reply->now_bytes = part->now_bytes;
  free(part);
}

bool ft_running_step(struct ft_running_queries *queries, struct ft_query *query, ft_reply *reply)
{
  struct question *q = query->data;
  size_t open = 0, refused = 0;
  struct ft_error err;
  int status;

  if (!q) {
    status = begin_question(queries, query, &err);
    if (status < 0)
      (void)snprintf(reply->error, sizeof reply->error, "%.200s", err.text);
    return status < 0;
  }
  if (q->first) {
    pop_part(q, reply);
    return true;
  }
  for (size_t i = 0; i < q->agents; i++) {
    open += q->agent[i].state == PENDING || q->agent[i].state == ASKED;
    refused += q->agent[i].state == REFUSED;
  }
  if (open && ft_io_monotonic() < q->due)
    return false;
  reply->last = true;
  reply->silent_agents = (uint32_t)(q->not_asked + open + refused);
  return true;
}

void ft_running_end(struct ft_running_queries *queries, struct ft_query *query)
{
  struct question *q = query->data, **at = &queries->list;
  struct part *next;

  query->data = NULL;
  if (!q)
    return;
  while (*at != q)
    at = &(*at)->next;
  *at = q->next;
  for (struct part *part = q->first; part; part = next) {
    next = part->next;
    free(part);
  }
  free(q);
}

/* ---- opening ---- */

struct ft_running_queries *ft_running_open(void (*ask)(void *data), void *data)
{
  struct ft_running_queries *queries = calloc(1, sizeof *queries);

  if (!queries)
    return NULL;
  queries->ask = ask;
  queries->data = data;
  return queries;
}

void ft_running_close(struct ft_running_queries *queries)
{
  if (!queries)
    return;
  free(queries->agent);
  free(queries);
}
