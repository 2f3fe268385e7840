/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "learner/access/user_lookup.h"
#include "learner/access/host_query.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* A query that waits for the lookup of users. */
struct host_request {
  struct ft_host_queries *queries;
  struct ft_received *request;
  double time; /* ft_io_now when it arrived */
  TAILQ_ENTRY(host_request) link;
};

struct ft_host_queries {
  struct ft_subprocesses *children;
  const struct ft_learner *learner;
  TAILQ_HEAD(, host_request) waiting;
};

struct ft_host_queries *ft_host_queries_open(struct ft_subprocesses *children,
                                             const struct ft_learner *learner)
{
  struct ft_host_queries *queries = calloc(1, sizeof *queries);

  if (!queries)
    return NULL;
  queries->children = children;
  queries->learner = learner;
  TAILQ_INIT(&queries->waiting);
  return queries;
}

static void remove_host_request(struct host_request *host)
{
  TAILQ_REMOVE(&host->queries->waiting, host, link);
  free(host);
}

void ft_host_queries_close(struct ft_host_queries *queries, const char *why)
{
  struct host_request *host;

  if (!queries)
    return;
  while ((host = TAILQ_FIRST(&queries->waiting))) {
    ft_receiver_reject(host->request, false, why);
    remove_host_request(host);
  }
  free(queries);
}

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
  struct host_request *host = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  ft_host reply = { .schema = FT_SCHEMA, .version = PACKAGE_VERSION };
  ft_host_user user;

  while (ft_user_lookup_next(&text, &user))
    add_host_user(&reply, &user);
  /* the middle of the time that the lookup took, as the peer takes the middle of its own */
  reply.time = (host->time + ft_io_now()) / 2;
  ft_receiver_reply(host->request, FT_RECORD_HOST, &reply);
  remove_host_request(host);
}

int ft_host_query_begin(struct ft_host_queries *queries, struct ft_received *request,
                        struct ft_error *err)
{
  const struct ft_buf *body = &request->body;
  struct host_request *host;
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
  ft_learner_settings_of_nodes(queries->learner, &settings);
  (void)snprintf(slurm, sizeof slurm, "%" PRIu32, settings.slurm_uid);
  if (settings.has_slurm_uid)
    users[count++] = slurm;
  host = malloc(sizeof *host);
  if (!host)
    return ft_error_set(err, "out of memory");
  *host = (struct host_request){ .queries = queries, .request = request, .time = ft_io_now() };
  TAILQ_INSERT_TAIL(&queries->waiting, host, link);
  if (ft_user_lookup(queries->children, users, count, users_found, host, err) < 0)
    users_found(&(struct ft_subprocess_result){ .text = "" }, host);
  return 0;
}
