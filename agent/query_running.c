/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query_running.h"
#include "daemon/log.h"
#include "daemon/run_reply.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* ---- queries from this host ---- */

/* Progress of an answer. */
struct running_progress {
  bool one_user; /* restricted to uid */
  uint32_t uid;
  unsigned next; /* index of the next running job */
  struct ft_buf encoded;
  ft_observation observation;
};

/* Determines the user and allocates query->data. Returns 0; -1 and ERR. */
static int begin_running_query(struct ft_query *query, struct ft_error *err)
{
  struct running_progress *progress;
  bool one_user;
  uint32_t uid;

  if (ft_run_reply_user(query, &one_user, &uid, err) < 0)
    return -1;
  progress = query->data = calloc(1, sizeof *progress);
  if (!progress)
    return ft_error_set(err, "out of memory");
  progress->one_user = one_user;
  progress->uid = uid;
  ft_buf_init(&progress->encoded, FT_LIMIT_RECORD);
  return 0;
}

bool ft_query_running(struct ft_query *query, struct ft_jobs *jobs, struct ft_instant now,
                      ft_reply *reply)
{
  const ft_run_query *wanted = &query->question->asked.run_query;
  struct running_progress *progress;
  struct ft_error err;
  double now_bytes;

  if (!query->data && begin_running_query(query, &err) < 0) {
    (void)snprintf(reply->error, sizeof reply->error, "%.200s", err.text);
    return true;
  }
  progress = query->data;
  reply->last = true;
  while (ft_jobs_running(jobs, progress->next, now, &progress->observation, &now_bytes)) {
    const ft_observation *o = &progress->observation;

    progress->next++;
    if ((progress->one_user && o->uid != progress->uid) || !ft_run_reply_wants(wanted, o) ||
        (wanted->app[0] && strcmp(o->submission.app, wanted->app) != 0))
      continue;
    (void)ft_run_reply_append(reply, o, &progress->encoded);
    reply->has_now_bytes = now_bytes >= 0;
    reply->now_bytes = reply->has_now_bytes ? (uint64_t)now_bytes : 0;
    reply->last = false; /* a packet has one run */
    break;
  }
  return true;
}

void ft_query_running_end(struct ft_query *query)
{
  struct running_progress *progress = query->data;

  if (progress)
    ft_buf_free(&progress->encoded);
  free(progress);
  query->data = NULL;
}

/* ---- queries from the learner ---- */

struct ft_remote_query {
  struct ft_uplink *uplink;
  struct ft_jobs *jobs;
  uint64_t agent;
  uint64_t number, next_number; /* of the question being answered, and of a newer one; 0: none */
  ft_run_query next;
  ft_question question;
  struct ft_query query;
  bool last; /* the part that was sent ends the answer */
};

static void begin_next(struct ft_remote_query *remote);

static void part_sent(const struct ft_uplink_reply *reply, void *data);

/* Sends the next part of the answer. */
static void send_part(struct ft_remote_query *remote)
{
  ft_running *part = calloc(1, sizeof *part);
  const struct ft_instant now = { ft_io_monotonic(), ft_io_now() };
  struct ft_error err = { "out of memory" };
  int status = -1;

  if (part) {
    part->schema = part->reply.schema = FT_SCHEMA;
    part->agent = remote->agent;
    part->question = remote->number;
    (void)ft_query_running(&remote->query, remote->jobs, now, &part->reply);
    remote->last = part->reply.last || part->reply.error[0];
    status = ft_uplink_send_record(remote->uplink, FT_EXCHANGE_RUNNING, FT_RECORD_RUNNING, part,
                                   part_sent, remote, &err);
  }
  free(part);
  if (status == 0)
    return;
  ft_log(LOG_WARNING, "query about running jobs not answered: %s", err.text);
  begin_next(remote);
}

/* Ends the answer, and begins that to the newer question if there is one. */
static void begin_next(struct ft_remote_query *remote)
{
  ft_query_running_end(&remote->query);
  remote->number = remote->next_number;
  remote->next_number = 0;
  if (!remote->number)
    return;
  /* the learner has restricted the question to the runs that its user may read */
  remote->question = (ft_question){ .schema = FT_SCHEMA,
                                    .which_asked = ft_question_run_query_tag,
                                    .asked.run_query = remote->next };
  remote->query = (struct ft_query){ .question = &remote->question, .privileged = true };
  send_part(remote);
}

static void part_sent(const struct ft_uplink_reply *reply, void *data)
{
  struct ft_remote_query *remote = data;
  ft_verdicts verdicts;
  struct ft_error err;
  bool wanted =
      reply->body &&
      ft_record_decode(FT_RECORD_VERDICTS, reply->body, reply->length, &verdicts, &err) == 0 &&
      verdicts.verdict.size == 1 && verdicts.verdict.bytes[0] == FT_VERDICT_ACCEPTED;

  if (wanted && !remote->last && !remote->next_number)
    send_part(remote);
  else
    begin_next(remote);
}

void ft_remote_query_answer(struct ft_remote_query *remote, const ft_settings *settings)
{
  remote->next_number = settings->question;
  remote->next = settings->run_query;
  if (!remote->number)
    begin_next(remote);
}

struct ft_remote_query *ft_remote_query_open(struct ft_uplink *uplink, struct ft_jobs *jobs,
                                             uint64_t agent)
{
  struct ft_remote_query *remote = calloc(1, sizeof *remote);

  if (!remote)
    return NULL;
  remote->uplink = uplink;
  remote->jobs = jobs;
  remote->agent = agent;
  return remote;
}

void ft_remote_query_close(struct ft_remote_query *remote)
{
  if (!remote)
    return;
  ft_query_running_end(&remote->query);
  free(remote);
}
