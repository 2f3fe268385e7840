/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/query_running.h"
#include "daemon/run_reply.h"
#include "predictor/core/text.h"

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
