/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Users' queries about running jobs. */
#include "config.h"

#include "agent/agent_internal.h"
#include "agent/query_running.h"
#include "daemon/program.h"
#include "predictor/core/text.h"

static bool is_about_running(const ft_question *q)
{
  return q->which_asked == ft_question_run_query_tag && q->asked.run_query.live;
}

static bool step_query(struct ft_query *query, ft_reply *reply, void *data)
{
  struct ft_agent *agent = data;

  if (!ft_daemon_is_own_state(agent->state_fd, "foretelld", agent->config.state_directory,
                              query->question, reply))
    return true;
  if (is_about_running(query->question))
    return ft_query_running(query, agent->jobs, ft_agent_now(), reply);
  (void)ft_string_copy("unknown query: this foretelld is of another version", reply->error,
                       sizeof reply->error);
  return true;
}

static void end_query(struct ft_query *query, void *data)
{
  (void)data;
  if (is_about_running(query->question))
    ft_query_running_end(query);
}

void ft_agent_open_queries(struct ft_agent *agent)
{
  const struct ft_query_handler handler = { step_query, end_query, agent };

  agent->queries = ft_query_server_open(agent->loop, agent->config.socket, &handler);
}
