/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/metrics.h"
#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Interval of the writes without a change: Prometheus' scrape_interval is often 15 s. */
#define WRITE_SECONDS 15.0
/* Time from a change to its write, which later changes share; by judgement. */
#define CHANGE_SECONDS 1.0

struct ft_agent_metrics {
  struct ft_loop *loop;
  int root_fd;
  ft_agent_figures_callback *fill;
  void *data;
  struct ft_timer timer;
  char path[PATH_MAX]; /* empty: none */
  bool written;        /* the file is this agent's */
  bool warned;         /* that it cannot be written */
};

/* Opens the directory of the file, which is not to be a symbolic link, and sets *NAME to the file's
 * name in it. Returns -1 and ERR. */
static int open_metrics_directory(const struct ft_agent_metrics *metrics, const char **name,
                                  struct ft_error *err)
{
  const char *slash = strrchr(metrics->path, '/');
  char directory[PATH_MAX];
  int fd;

  *name = slash + 1;
  (void)ft_text_copy(ft_text_of(metrics->path, (size_t)(slash - metrics->path)), directory,
                     sizeof directory);
  fd = open(directory[0] ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return fd < 0 ? ft_error_errno(err, "%s", directory) : fd;
}

static void add_delivery_figures(struct ft_buf *out, const struct ft_delivery_figures *f)
{
  ft_metric_add(out, "foretell_agent_observations_spooled_total",
                "Observations of ended runs that were put into the spool; one that Slurm's record "
                "completes later counts again.",
                (double)f->spooled);
  ft_metric_add(out, "foretell_agent_observations_delivered_total",
                "Observations that the learner has accepted.", (double)f->delivered);
  ft_metric_add(out, "foretell_agent_observations_refused_total",
                "Refusals of observations by the learner; a refused one stays in the spool and is "
                "sent again.",
                (double)f->refused);
  ft_metric_add(out, "foretell_agent_observations_lost_total",
                "Observations that neither disk nor memory had room for.", (double)f->lost);
  ft_metric_add(out, "foretell_agent_spool_observations", "Observations that wait for the learner.",
                (double)(f->spool.files + f->spool.in_memory));
  ft_metric_add(out, "foretell_agent_spool_memory_observations",
                "Waiting observations that could not be written to a file.",
                (double)f->spool.in_memory);
  ft_metric_add(out, "foretell_agent_spool_bytes", "Size of the waiting observations' files.",
                (double)f->spool.bytes);
}

static void format_figures(const struct ft_agent_metrics *metrics, struct ft_buf *out)
{
  struct ft_agent_figures figures = { 0 };

  metrics->fill(&figures, metrics->data);
  ft_metric_add_process(out, "foretell_agent", metrics->root_fd);
  ft_metric_add(out, "foretell_agent_jobs", "Running jobs that are measured.",
                (double)figures.jobs);
  ft_metric_add(out, "foretell_agent_processes", "Processes of these jobs.",
                (double)figures.processes);
  ft_metric_add(out, "foretell_agent_samples_total", "Instants at which all jobs were sampled.",
                (double)figures.samples);
  ft_metric_add(out, "foretell_agent_sampling_seconds_total", "Time that sampling took.",
                figures.sampling_seconds);
  add_delivery_figures(out, &figures.delivery);
  ft_metric_add(out, "foretell_agent_learner_last_reply_timestamp_seconds",
                "Time of the learner's latest reply; 0: none since the start. A quiet learner "
                "replies at least once a minute.",
                figures.learner_time);
}

static int write_metrics(struct ft_agent_metrics *metrics, struct ft_error *err)
{
  const char *name;
  struct ft_buf text;
  int fd = open_metrics_directory(metrics, &name, err), status;

  if (fd < 0)
    return -1;
  ft_buf_init(&text, FT_LIMIT_METRICS);
  format_figures(metrics, &text);
  status = text.failed ? ft_error_set(err, "out of memory")
                       : ft_io_write_file_unsynced(fd, name, text.data, text.length, 0644, err);
  ft_buf_free(&text);
  close(fd);
  return status;
}

static void metrics_due(void *data)
{
  struct ft_agent_metrics *metrics = data;
  struct ft_error err;

  if (write_metrics(metrics, &err) == 0) {
    metrics->written = true;
    metrics->warned = false;
  } else {
    if (!metrics->warned)
      ft_log(LOG_WARNING, "metrics_file %s cannot be written, trying again: %s", metrics->path,
             err.text);
    metrics->warned = true;
  }
  ft_loop_at(metrics->loop, &metrics->timer, ft_io_monotonic() + WRITE_SECONDS);
}

static void remove_metrics(struct ft_agent_metrics *metrics)
{
  const char *name;
  int fd = metrics->written ? open_metrics_directory(metrics, &name, NULL) : -1;

  metrics->written = false;
  if (fd < 0)
    return;
  (void)unlinkat(fd, name, 0);
  close(fd);
}

void ft_agent_metrics_set_path(struct ft_agent_metrics *metrics, const char *path)
{
  if (strcmp(path, metrics->path) == 0)
    return;
  remove_metrics(metrics);
  metrics->warned = false;
  (void)ft_string_copy(path, metrics->path, sizeof metrics->path);
  if (path[0])
    metrics_due(metrics);
  else
    ft_loop_cancel(metrics->loop, &metrics->timer);
}

void ft_agent_metrics_changed(struct ft_agent_metrics *metrics)
{
  double due = ft_io_monotonic() + CHANGE_SECONDS;

  if (metrics->timer.armed && metrics->timer.due > due)
    ft_loop_at(metrics->loop, &metrics->timer, due);
}

struct ft_agent_metrics *ft_agent_metrics_open(struct ft_loop *loop, int root_fd,
                                               ft_agent_figures_callback *fill, void *data)
{
  struct ft_agent_metrics *metrics = calloc(1, sizeof *metrics);

  if (!metrics)
    return NULL;
  metrics->loop = loop;
  metrics->root_fd = root_fd;
  metrics->fill = fill;
  metrics->data = data;
  metrics->timer = (struct ft_timer){ .fire = metrics_due, .data = metrics };
  return metrics;
}

void ft_agent_metrics_close(struct ft_agent_metrics *metrics)
{
  if (!metrics)
    return;
  ft_loop_cancel(metrics->loop, &metrics->timer);
  remove_metrics(metrics);
  free(metrics);
}
