/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/slurm_query.h"
#include "agent/cluster_poll.h"
#include "agent/log.h"
#include "predictor/core/io.h"

/* A large, busy slurmctld takes its time; nobody waits for this. */
#define DEADLINE_SECONDS 60.0
/* After no answer, for a start: slurmctld may come up just after us. Doubled up to the usual
 * interval. */
#define AGAIN_SECONDS 2.0

/* As many of Slurm's nodes are on one host: emulated ones of a test. */
#define OWN_NODES 64

enum what { WHAT_CONFIG, WHAT_HOSTNAMES, WHAT_PARTITION, WHAT_ACCOUNTS, WHAT_NODE };

static const char *const words[] = { "config", "hostnames", "partition", "assoc_mgr", "node" };

struct ft_cluster_poll {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_platform_map *map;
  ft_cluster_poll_callback *call;
  void *data;
  struct ft_scontrol_local_node own[OWN_NODES];
  size_t own_count;
  char program[PATH_MAX], host[64], platform[64];
  double seconds, again;
  struct ft_timer timer;
  bool busy, silent;
  enum what what;
  struct ft_slurm_config config;
  struct ft_buf partitions, accounts;
};

static void step(struct ft_cluster_poll *cluster);

static void end(struct ft_cluster_poll *cluster, double seconds)
{
  ft_buf_free(&cluster->partitions);
  ft_buf_free(&cluster->accounts);
  cluster->busy = false;
  ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic() + seconds);
}

static void fail(struct ft_cluster_poll *cluster, const char *why)
{
  double seconds = cluster->again < cluster->seconds ? cluster->again : cluster->seconds;

  if (!cluster->silent)
    ft_log(LOG_WARNING, "Slurm does not say what the cluster is: %s; what was known holds", why);
  cluster->silent = true;
  cluster->again = 2 * seconds;
  end(cluster, seconds);
  cluster->call(NULL, NULL, 0, cluster->data);
}

static void succeed(struct ft_cluster_poll *cluster, struct ft_text nodes)
{
  struct ft_text text = ft_text_of(ft_buf_text(&cluster->partitions), cluster->partitions.length);
  struct ft_scontrol_host host = { cluster->host, cluster->platform, cluster->map };
  ft_partition *partitions = calloc(FT_SCONTROL_PARTITIONS, sizeof *partitions);
  struct ft_error err = { "out of memory" };
  size_t count = 0;

  if (!partitions || ft_scontrol_partitions(text, nodes, &cluster->config, &host, partitions,
                                            FT_SCONTROL_PARTITIONS, &count, &err) < 0) {
    fail(cluster, err.text);
  } else {
    ft_scontrol_add_subaccounts(
        ft_text_of(ft_buf_text(&cluster->accounts), cluster->accounts.length), partitions, count);
    ft_log(cluster->silent ? LOG_INFO : LOG_DEBUG,
           "cluster %s: Slurm %s, %zu partitions, memory %s, rule %s", cluster->config.cluster,
           cluster->config.version, count,
           cluster->config.memory_is_consumable ? "consumable" : "not consumable",
           ft_rule_name(cluster->config.rule));
    cluster->silent = false;
    cluster->again = AGAIN_SECONDS;
    cluster->own_count = ft_scontrol_local_nodes(nodes, &host, cluster->own, OWN_NODES);
    for (size_t i = 0; i < count; i++)
      partitions[i].updated = ft_io_now();
    end(cluster, cluster->seconds);
    cluster->call(&cluster->config, partitions, count, cluster->data);
  }
  free(partitions);
}

static void printed(const struct ft_subprocess_result *result, void *data)
{
  struct ft_cluster_poll *cluster = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  struct ft_error err;

  if (!result->ok && cluster->what != WHAT_HOSTNAMES && cluster->what != WHAT_ACCOUNTS) {
    fail(cluster, result->why);
    return;
  }
  switch (cluster->what) {
  case WHAT_CONFIG:
    if (ft_scontrol_config(text, &cluster->config, &err) < 0) {
      fail(cluster, err.text);
      return;
    }
    break;
  case WHAT_HOSTNAMES:
    /* without them nodes are told by their features and by what ran there */
    if (!result->ok)
      ft_log(LOG_ERR, "the nodes of platform sections: %s", result->why);
    else if (ft_platform_map_set_hosts(cluster->map, text, &err) < 0)
      ft_log(LOG_ERR, "the nodes of platform sections: %s", err.text);
    break;
  case WHAT_PARTITION:
    if (ft_buf_add(&cluster->partitions, result->text, result->length) < 0) {
      fail(cluster, "out of memory");
      return;
    }
    break;
  case WHAT_ACCOUNTS:
    /* without them it is not known which are below those that a partition names */
    if (result->ok && ft_buf_add(&cluster->accounts, result->text, result->length) < 0)
      ft_buf_free(&cluster->accounts);
    break;
  case WHAT_NODE:
    succeed(cluster, text);
    return;
  }
  cluster->what++;
  step(cluster);
}

static void step(struct ft_cluster_poll *cluster)
{
  char lists[FT_PLATFORM_LISTS_SIZE];
  const char *argv[] = { cluster->program, "show", NULL, NULL, NULL, NULL, NULL };
  struct ft_error err;

  if (cluster->what == WHAT_HOSTNAMES && !ft_platform_map_host_lists(cluster->map, lists))
    cluster->what++;
  if (cluster->what == WHAT_ACCOUNTS &&
      (!cluster->config.accounts_are_trees || cluster->config.accounts_are_ignored))
    cluster->what++;
  argv[2] = words[cluster->what];
  if (cluster->what == WHAT_HOSTNAMES)
    argv[3] = lists;
  else if (cluster->what != WHAT_CONFIG)
    argv[3] = "-o";
  if (cluster->what == WHAT_ACCOUNTS) {
    argv[4] = "flags=assoc";
    argv[5] = "users=root"; /* the accounts and root's associations: not all users' */
  }

  if (ft_subprocess_run(cluster->children, argv, DEADLINE_SECONDS, printed, cluster, &err) < 0)
    fail(cluster, err.text);
}

static void begin(void *data)
{
  struct ft_cluster_poll *cluster = data;

  if (cluster->busy)
    return;
  cluster->busy = true;
  cluster->what = WHAT_CONFIG;
  step(cluster);
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
  cluster->again = AGAIN_SECONDS;
  cluster->timer = (struct ft_timer){ .fire = begin, .data = cluster };
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

void ft_cluster_poll_configure(struct ft_cluster_poll *cluster, const char *folder, double seconds,
                               const struct ft_scontrol_host *host)
{
  ft_slurm_query_program(folder, cluster->program, sizeof cluster->program);
  cluster->seconds = seconds;
  (void)ft_string_copy(host->name, cluster->host, sizeof cluster->host);
  (void)ft_string_copy(host->platform, cluster->platform, sizeof cluster->platform);
  cluster->map = host->map;
}

const char *ft_cluster_poll_platform(const struct ft_cluster_poll *cluster, const char *node)
{
  for (size_t i = 0; i < cluster->own_count; i++)
    if (strcmp(cluster->own[i].node, node) == 0 && cluster->own[i].platform[0])
      return cluster->own[i].platform;
  return NULL;
}

void ft_cluster_poll_now(struct ft_cluster_poll *cluster)
{
  if (!cluster->busy)
    ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic());
}
