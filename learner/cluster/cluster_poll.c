/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "learner/cluster/cluster_poll.h"
#include "learner/cluster/slurm_query.h"
#include "learner/metrics/tally.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/random.h"

/* Generous, because no submission waits for it. */
#define POLL_DEADLINE_SECONDS 60.0
/* Time until the retry after a first failure: slurmctld may start just after the learner. Doubled
 * with each failure up to the usual interval. */
#define FIRST_RETRY_SECONDS 2.0
/* Fraction of the interval by which a poll is early at most: learners that started together, as
 * after a power cut, do not ask slurmctld at the same time for ever. */
#define JITTER 0.2

enum query { QUERY_CONFIG, QUERY_HOSTNAMES, QUERY_PARTITION, QUERY_ACCOUNTS, QUERY_NODE };

static const char *const query_words[] = { "config", "hostnames", "partition", "assoc_mgr",
                                           "node" };

struct ft_cluster_poll {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_platform_map *map;
  ft_cluster_poll_callback *call;
  void *data;
  char program[PATH_MAX], host[64], platform[64];
  double seconds, retry_seconds; /* interval; delay after the next failure */
  struct ft_random random;
  struct ft_timer timer;
  bool busy, warned; /* a poll is running; the current failure is logged */
  enum query query;
  struct ft_slurm_config config;
  struct ft_buf partitions, accounts;
};

static void run_query(struct ft_cluster_poll *cluster);

static void end_poll(struct ft_cluster_poll *cluster, double seconds)
{
  ft_tally_add(FT_TALLY_POLLS, 1);
  ft_buf_free(&cluster->partitions);
  ft_buf_free(&cluster->accounts);
  cluster->busy = false;
  ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic() + seconds);
}

static void fail_poll(struct ft_cluster_poll *cluster, const char *why)
{
  double seconds =
      cluster->retry_seconds < cluster->seconds ? cluster->retry_seconds : cluster->seconds;

  if (!cluster->warned)
    ft_log(LOG_WARNING,
           "cannot query the cluster from Slurm: %s; the last known state remains in use", why);
  ft_tally_add(FT_TALLY_POLLS_FAILED, 1);
  cluster->warned = true;
  cluster->retry_seconds = 2 * seconds;
  end_poll(cluster, seconds);
  cluster->call(NULL, NULL, 0, cluster->data);
}

static void complete_poll(struct ft_cluster_poll *cluster, struct ft_text nodes)
{
  struct ft_text text = ft_text_of(ft_buf_text(&cluster->partitions), cluster->partitions.length);
  struct ft_scontrol_host host = { cluster->host, cluster->platform, cluster->map };
  ft_partition *partitions = calloc(FT_SCONTROL_PARTITIONS, sizeof *partitions);
  struct ft_error err = { "out of memory" };
  size_t count = 0;

  if (!partitions || ft_scontrol_partitions(text, nodes, &cluster->config, &host, partitions,
                                            FT_SCONTROL_PARTITIONS, &count, &err) < 0) {
    fail_poll(cluster, err.text);
  } else {
    ft_scontrol_add_subaccounts(
        ft_text_of(ft_buf_text(&cluster->accounts), cluster->accounts.length), partitions, count);
    ft_log(cluster->warned ? LOG_INFO : LOG_DEBUG,
           "cluster %s: Slurm %s, %zu partitions, memory %s, rule %s", cluster->config.cluster,
           cluster->config.version, count,
           cluster->config.memory_is_consumable ? "consumable" : "not consumable",
           ft_rule_name(cluster->config.rule));
    ft_tally_set(FT_TALLY_POLL_TIME, ft_io_now());
    cluster->warned = false;
    cluster->retry_seconds = FIRST_RETRY_SECONDS;
    if (host.map)
      ft_scontrol_assign_platforms(nodes, &host);
    for (size_t i = 0; i < count; i++)
      partitions[i].updated = ft_io_now();
    end_poll(cluster, cluster->seconds * (1 - JITTER * ft_random_double(&cluster->random)));
    cluster->call(&cluster->config, partitions, count, cluster->data);
  }
  free(partitions);
}

static void query_done(const struct ft_subprocess_result *result, void *data)
{
  struct ft_cluster_poll *cluster = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  struct ft_error err;

  if (!result->ok && cluster->query != QUERY_HOSTNAMES && cluster->query != QUERY_ACCOUNTS) {
    fail_poll(cluster, result->why);
    return;
  }
  switch (cluster->query) {
  case QUERY_CONFIG:
    if (ft_scontrol_config(text, &cluster->config, &err) < 0) {
      fail_poll(cluster, err.text);
      return;
    }
    break;
  case QUERY_HOSTNAMES:
    /* without host names, platforms follow from features and from earlier runs */
    if (!result->ok)
      ft_log(LOG_ERR, "cannot expand the node lists of the platform sections: %s", result->why);
    else if (ft_platform_map_set_hosts(cluster->map, text, &err) < 0)
      ft_log(LOG_ERR, "cannot expand the node lists of the platform sections: %s", err.text);
    break;
  case QUERY_PARTITION:
    if (ft_buf_add(&cluster->partitions, result->text, result->length) < 0) {
      fail_poll(cluster, "out of memory");
      return;
    }
    break;
  case QUERY_ACCOUNTS:
    /* without them, the sub-accounts of a partition's accounts are unknown */
    if (result->ok && ft_buf_add(&cluster->accounts, result->text, result->length) < 0)
      ft_buf_free(&cluster->accounts);
    break;
  case QUERY_NODE:
    complete_poll(cluster, text);
    return;
  }
  cluster->query++;
  run_query(cluster);
}

static void run_query(struct ft_cluster_poll *cluster)
{
  char lists[FT_PLATFORM_LISTS_SIZE];
  const char *argv[] = { cluster->program, "show", NULL, NULL, NULL, NULL, NULL };
  struct ft_error err;

  if (cluster->query == QUERY_HOSTNAMES && !ft_platform_map_host_lists(cluster->map, lists))
    cluster->query++;
  if (cluster->query == QUERY_ACCOUNTS &&
      (!cluster->config.accounts_are_trees || cluster->config.accounts_are_ignored))
    cluster->query++;
  argv[2] = query_words[cluster->query];
  if (cluster->query == QUERY_HOSTNAMES)
    argv[3] = lists;
  else if (cluster->query != QUERY_CONFIG)
    argv[3] = "-o";
  if (cluster->query == QUERY_ACCOUNTS) {
    argv[4] = "flags=assoc";
    argv[5] = "users=root"; /* all accounts, but of the users' associations only root's */
  }

  if (ft_subprocess_run(cluster->children, argv, POLL_DEADLINE_SECONDS, query_done, cluster, &err) <
      0)
    fail_poll(cluster, err.text);
}

static void begin_poll(void *data)
{
  struct ft_cluster_poll *cluster = data;

  if (cluster->busy)
    return;
  cluster->busy = true;
  cluster->query = QUERY_CONFIG;
  run_query(cluster);
}

struct ft_cluster_poll *ft_cluster_poll_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                             ft_cluster_poll_callback *call, void *data)
{
  struct ft_cluster_poll *cluster = calloc(1, sizeof *cluster);

  if (!cluster)
    return NULL;
  cluster->loop = loop;
  cluster->children = children;
  cluster->call = call;
  cluster->data = data;
  cluster->retry_seconds = FIRST_RETRY_SECONDS;
  cluster->timer = (struct ft_timer){ .fire = begin_poll, .data = cluster };
  ft_buf_init(&cluster->partitions, FT_LIMIT_COMMAND);
  ft_buf_init(&cluster->accounts, FT_LIMIT_COMMAND);
  return cluster;
}

void ft_cluster_poll_close(struct ft_cluster_poll *cluster)
{
  if (!cluster)
    return;
  ft_loop_cancel(cluster->loop, &cluster->timer);
  ft_buf_free(&cluster->partitions);
  ft_buf_free(&cluster->accounts);
  free(cluster);
}

void ft_cluster_poll_configure(struct ft_cluster_poll *cluster, const char *directory,
                               double seconds, const struct ft_scontrol_host *host)
{
  ft_slurm_query_program(directory, "scontrol", cluster->program, sizeof cluster->program);
  cluster->seconds = seconds;
  (void)ft_string_copy(host->name, cluster->host, sizeof cluster->host);
  ft_random_seed(&cluster->random, ft_hash64(FT_HASH_SEED, host->name, strlen(host->name)) ^
                                       (uint64_t)(1e6 * ft_io_now()));
  (void)ft_string_copy(host->platform, cluster->platform, sizeof cluster->platform);
  cluster->map = host->map;
}

void ft_cluster_poll_now(struct ft_cluster_poll *cluster)
{
  if (!cluster->busy)
    ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic());
}
