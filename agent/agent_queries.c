/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatches users' queries to their handlers. */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>

#include "agent/agent_internal.h"
#include "agent/log.h"
#include "agent/query_forget.h"
#include "agent/query_runs.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/* Whether Q is about this agent's state directory; sets REPLY's error if not. */
static bool is_own_state(const struct ft_agent *agent, const ft_question *q, ft_reply *reply)
{
  struct stat st;

  if (fstat(agent->state_fd, &st) == 0 && q->state_device == st.st_dev &&
      q->state_inode == st.st_ino)
    return true;
  (void)snprintf(reply->error, sizeof reply->error,
                 "the foretelld of this machine uses another state directory: %.160s",
                 agent->config.state_directory);
  return false;
}

/* The store has the tombstone: removes the journals of matching jobs and begins the removal. */
static void forget_accepted(void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_forget(agent->jobs, ft_agent_is_forgotten, agent);
  ft_agent_maintain_soon(agent);
}

static bool step_query(struct ft_query *query, ft_reply *reply, void *data)
{
  struct ft_agent *agent = data;

  if (!is_own_state(agent, query->question, reply))
    return true;
  switch (query->question->which_asked) {
  case ft_question_forget_tag:
    return ft_query_forget(agent->recorder, query, reply, forget_accepted, agent);
  case ft_question_run_query_tag:
    return ft_query_runs(query, agent->recorder, agent->jobs, ft_agent_now(), reply);
  case ft_question_rejected_tag:
    return ft_query_count_rejection(query, agent->recorder, reply);
  default:
    (void)ft_string_copy("unknown query: this foretelld is of another version", reply->error,
                         sizeof reply->error);
    return true;
  }
}

static void end_query(struct ft_query *query, void *data)
{
  struct ft_agent *agent = data;

  if (query->question->which_asked == ft_question_forget_tag)
    ft_query_forget_end(agent->recorder, query);
  else if (query->question->which_asked == ft_question_run_query_tag)
    ft_query_runs_end(query);
}

void ft_agent_open_queries(struct ft_agent *agent)
{
  const struct ft_query_handler handler = { step_query, end_query, agent };
  char path[sizeof agent->config.socket + sizeof FT_STATE_QUERY_SUFFIX];
  struct ft_error err;

  (void)snprintf(path, sizeof path, "%s" FT_STATE_QUERY_SUFFIX, agent->config.socket);
  agent->queries = ft_query_server_open(agent->loop, path, &handler, &err);
  if (!agent->queries)
    ft_log(LOG_WARNING, "users' queries are not available: %s", err.text);
}
