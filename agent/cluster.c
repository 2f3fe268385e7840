/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <stdlib.h>

#include "agent/ask.h"
#include "agent/cluster.h"
#include "agent/log.h"
#include "predictor/core/io.h"

/* A large, busy slurmctld takes its time; nobody waits for this. */
#define DEADLINE_SECONDS 60.0
/* After no answer, for a start: slurmctld may come up just after us. Doubled up to the usual
 * interval. */
#define AGAIN_SECONDS 2.0

enum what { WHAT_CONFIG, WHAT_PARTITION, WHAT_NODE };

static const char *const words[] = { "config", "partition", "node" };

struct ft_cluster {
  struct ft_loop *loop;
  struct ft_children *children;
  ft_cluster_call *call;
  void *data;
  char program[PATH_MAX], host[64], platform[64];
  double seconds, again;
  struct ft_timer timer;
  bool busy, silent;
  enum what what;
  struct ft_slurm_config config;
  struct ft_buf partitions;
};

static void step(struct ft_cluster *cluster);

static void end(struct ft_cluster *cluster, double seconds)
{
  ft_buf_free(&cluster->partitions);
  cluster->busy = false;
  ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic() + seconds);
}

static void fail(struct ft_cluster *cluster, const char *why)
{
  double seconds = cluster->again < cluster->seconds ? cluster->again : cluster->seconds;

  if (!cluster->silent)
    ft_log(LOG_WARNING, "Slurm does not say what the cluster is: %s; what was known holds", why);
  cluster->silent = true;
  cluster->again = 2 * seconds;
  end(cluster, seconds);
  cluster->call(NULL, NULL, 0, cluster->data);
}

static void succeed(struct ft_cluster *cluster, struct ft_text nodes)
{
  struct ft_text text = ft_text_of(ft_buf_text(&cluster->partitions), cluster->partitions.length);
  struct ft_scontrol_host host = { cluster->host, cluster->platform };
  ft_partition *partitions = calloc(FT_SCONTROL_PARTITIONS, sizeof *partitions);
  struct ft_error err = { "out of memory" };
  size_t count = 0;

  if (!partitions || ft_scontrol_partitions(text, nodes, &cluster->config, &host, partitions,
                                            FT_SCONTROL_PARTITIONS, &count, &err) < 0) {
    fail(cluster, err.text);
  } else {
    ft_log(cluster->silent ? LOG_INFO : LOG_DEBUG,
           "cluster %s: Slurm %s, %zu partitions, memory %s, rule %s", cluster->config.cluster,
           cluster->config.version, count,
           cluster->config.memory_is_consumable ? "consumable" : "not consumable",
           ft_rule_name(cluster->config.rule));
    cluster->silent = false;
    cluster->again = AGAIN_SECONDS;
    end(cluster, cluster->seconds);
    cluster->call(&cluster->config, partitions, count, cluster->data);
  }
  free(partitions);
}

static void printed(const struct ft_child_result *result, void *data)
{
  struct ft_cluster *cluster = data;
  struct ft_text text = ft_text_of(result->text, result->length);
  struct ft_error err;

  if (!result->ok) {
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
  case WHAT_PARTITION:
    if (ft_buf_add(&cluster->partitions, result->text, result->length) < 0) {
      fail(cluster, "out of memory");
      return;
    }
    break;
  case WHAT_NODE:
    succeed(cluster, text);
    return;
  }
  cluster->what++;
  step(cluster);
}

static void step(struct ft_cluster *cluster)
{
  const char *argv[] = { cluster->program, "show", words[cluster->what],
                         cluster->what == WHAT_CONFIG ? NULL : "-o", NULL };
  struct ft_error err;

  if (ft_child_run(cluster->children, argv, DEADLINE_SECONDS, printed, cluster, &err) < 0)
    fail(cluster, err.text);
}

static void begin(void *data)
{
  struct ft_cluster *cluster = data;

  if (cluster->busy)
    return;
  cluster->busy = true;
  cluster->what = WHAT_CONFIG;
  step(cluster);
}

struct ft_cluster *ft_cluster_open(struct ft_loop *loop, struct ft_children *children,
                                   ft_cluster_call *call, void *data)
{
  struct ft_cluster *cluster = calloc(1, sizeof *cluster);

  if (!cluster)
    return NULL;
  cluster->loop = loop;
  cluster->children = children;
  cluster->call = call;
  cluster->data = data;
  cluster->again = AGAIN_SECONDS;
  cluster->timer = (struct ft_timer){ .fire = begin, .data = cluster };
  ft_buf_init(&cluster->partitions, FT_LIMIT_COMMAND);
  return cluster;
}

void ft_cluster_close(struct ft_cluster *cluster)
{
  if (!cluster)
    return;
  ft_loop_cancel(cluster->loop, &cluster->timer);
  ft_buf_free(&cluster->partitions);
  free(cluster);
}

void ft_cluster_set(struct ft_cluster *cluster, const char *folder, double seconds,
                    const struct ft_scontrol_host *host)
{
  ft_ask_program(folder, cluster->program, sizeof cluster->program);
  cluster->seconds = seconds;
  (void)ft_string_copy(host->name, cluster->host, sizeof cluster->host);
  (void)ft_string_copy(host->platform, cluster->platform, sizeof cluster->platform);
}

void ft_cluster_refresh(struct ft_cluster *cluster)
{
  if (!cluster->busy)
    ft_loop_at(cluster->loop, &cluster->timer, ft_io_monotonic());
}
