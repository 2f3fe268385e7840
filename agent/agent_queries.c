/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatches users' queries to their handlers. */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>

#include "agent/agent_internal.h"
#include "agent/query_running.h"
#include "daemon/log.h"
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

/* A request to forget is accepted: removes matching jobs' journals and spooled runs. */
static void forget_accepted(void *data)
{
  struct ft_agent *agent = data;

  ft_jobs_forget(agent->jobs, ft_agent_is_forgotten, agent);
  ft_delivery_forget(agent->delivery);
}

static bool is_about_running(const ft_question *q)
{
  return q->which_asked == ft_question_run_query_tag && q->asked.run_query.live;
}

static bool step_query(struct ft_query *query, ft_reply *reply, void *data)
{
  struct ft_agent *agent = data;

  if (!is_own_state(agent, query->question, reply))
    return true;
  if (is_about_running(query->question))
    return ft_query_running(query, agent->jobs, ft_agent_now(), reply);
  return ft_learner_step_query(agent->learner, query, reply, forget_accepted, agent);
}

static void end_query(struct ft_query *query, void *data)
{
  struct ft_agent *agent = data;

  if (is_about_running(query->question))
    ft_query_running_end(query);
  else
    ft_learner_end_query(agent->learner, query);
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
