/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/metrics.h"
#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Interval of the writes without a change: Prometheus' scrape_interval is often 15 s. */
#define WRITE_SECONDS 15.0
/* Time from a change to its write, which later changes share. */
#define CHANGE_SECONDS 1.0
/* Time that a stopping agent waits for the removal of the file, ms. */
enum { REMOVAL_MS = 1000 };

/*
 * A child of the agent, forked when the first file is configured, waits for the file's disk, so
 * that the agent need not. Each packet to it is a path, NUL and the new text (none: the file is to
 * be removed); it replies with OK or with the reason, one line.
 */
static const char OK[] = "ok";

struct ft_agent_metrics {
  struct ft_loop *loop;
  int root_fd;
  ft_agent_figures_callback *fill;
  void *data;
  struct ft_timer timer;
  struct ft_watch writer; /* socket to the child; fd -1: none */
  unsigned pending;       /* packets without a reply */
  char path[PATH_MAX];    /* empty: none */
  bool written;           /* the file is this agent's */
  bool warned;            /* that it cannot be written */
};

/* ---- the child ---- */

/* Opens the directory of the file PATH, which is not to be a symbolic link, and sets *NAME to the
 * file's name in it. Returns -1 and ERR. */
static int open_metrics_directory(const char *path, const char **name, struct ft_error *err)
{
  const char *slash = strrchr(path, '/');
  char directory[PATH_MAX];
  int fd;

  *name = slash + 1;
  (void)ft_text_copy(ft_text_of(path, (size_t)(slash - path)), directory, sizeof directory);
  fd = open(directory[0] ? directory : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return fd < 0 ? ft_error_errno(err, "%s", directory) : fd;
}

/* Writes TEXT to the file PATH, or removes the file if there is none. Returns 0; -1 and ERR. */
static int write_metrics_file(const char *path, struct ft_text text, struct ft_error *err)
{
  const char *name;
  int fd = open_metrics_directory(path, &name, err), status = 0;

  if (fd < 0)
    return -1;
  if (ft_text_left(&text))
    status = ft_io_write_file_unsynced(fd, name, text.at, ft_text_left(&text), 0644, err);
  else
    (void)unlinkat(fd, name, 0);
  close(fd);
  return status;
}

/* Executes the packets that arrive at the socket FD, until the agent closes it. The agent's signals
 * stay blocked: a service manager that stops all processes sends them to this one, too. */
static void serve_metrics(int fd)
{
  static char packet[PATH_MAX + FT_LIMIT_METRICS];
  ssize_t got;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dup2(fd, 3) < 0)
    _exit(1);
  /* the lock of the state directory and the sockets are the agent's */
  ft_io_close_from(4);
  while ((got = recv(3, packet, sizeof packet, 0)) > 0) {
    const char *end = memchr(packet, '\0', (size_t)got);
    struct ft_error err = { "" };
    bool done =
        end && write_metrics_file(packet, ft_text_of(end + 1, (size_t)(packet + got - end - 1)),
                                  &err) == 0;
    const char *reply = done ? OK : err.text;

    if (send(3, reply, strlen(reply), MSG_NOSIGNAL) < 0)
      break;
  }
  _exit(0);
}

/* ---- what the file reports ---- */

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
  ft_metric_add(out, "foretell_agent_gpu_driver_blocked",
                "1 while the GPUs' driver does not reply: no GPU is measured.",
                figures.blocked.gpu);
  ft_metric_add(out, "foretell_agent_process_files_blocked",
                "1 while the files of a stuck process cannot be read: neither PSS nor orphans are.",
                figures.blocked.reads);
  ft_metric_add(out, "foretell_agent_blocked_children_total",
                "Children that waited for one of both and were replaced.",
                (double)figures.blocked.replaced);
  add_delivery_figures(out, &figures.delivery);
  ft_metric_add(out, "foretell_agent_learner_last_reply_timestamp_seconds",
                "Time of the learner's latest reply; 0: none since the start. A quiet learner "
                "replies at least once a minute.",
                figures.learner_time);
}

/* ---- the agent ---- */

static void drop_writer(struct ft_agent_metrics *metrics)
{
  if (metrics->writer.fd < 0)
    return;
  ft_loop_unwatch(metrics->loop, &metrics->writer);
  close(metrics->writer.fd);
  metrics->writer.fd = -1;
  metrics->pending = 0;
}

static void warn_unwritable(struct ft_agent_metrics *metrics, const char *why)
{
  if (!metrics->warned)
    ft_log(LOG_WARNING, "metrics_file %s cannot be written, trying again: %s", metrics->path, why);
  metrics->warned = true;
}

static void writer_replied(struct ft_watch *watch)
{
  struct ft_agent_metrics *metrics = watch->data;
  char reply[sizeof(struct ft_error) + 1];
  ssize_t got = recv(watch->fd, reply, sizeof reply - 1, MSG_DONTWAIT);

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0) {
    drop_writer(metrics);
    return;
  }
  reply[got] = '\0';
  metrics->pending--;
  if (strcmp(reply, OK) != 0)
    warn_unwritable(metrics, reply);
  else if (!metrics->pending)
    metrics->warned = false;
}

static int start_writer(struct ft_agent_metrics *metrics, struct ft_error *err)
{
  int ends[2];
  pid_t pid;

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return ft_error_errno(err, "socketpair");
  pid = fork();
  if (pid == 0)
    serve_metrics(ends[1]);
  close(ends[1]);
  metrics->writer = (struct ft_watch){ ends[0], writer_replied, metrics };
  if (pid > 0 && ft_loop_watch(metrics->loop, &metrics->writer) == 0)
    return 0;
  ft_error_errno(err, "fork");
  close(ends[0]);
  metrics->writer.fd = -1;
  return -1;
}

/* Sends the child the order to write TEXT to the file. Returns 0; -1 and ERR. */
static int order_write(struct ft_agent_metrics *metrics, struct ft_text text, struct ft_error *err)
{
  struct iovec parts[] = { { metrics->path, strlen(metrics->path) + 1 },
                           { (void *)(uintptr_t)text.at, ft_text_left(&text) } };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  if (metrics->writer.fd < 0 && start_writer(metrics, err) < 0)
    return -1;
  if (sendmsg(metrics->writer.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return ft_error_errno(err, "its writer");
  metrics->pending++;
  return 0;
}

static int write_metrics(struct ft_agent_metrics *metrics, struct ft_error *err)
{
  struct ft_buf text;
  int status;

  ft_buf_init(&text, FT_LIMIT_METRICS);
  format_figures(metrics, &text);
  status = text.failed ? ft_error_set(err, "out of memory")
                       : order_write(metrics, ft_text_of(ft_buf_text(&text), text.length), err);
  ft_buf_free(&text);
  return status;
}

static void metrics_due(void *data)
{
  struct ft_agent_metrics *metrics = data;
  struct ft_error err;

  /* a child that waits for the disk gets no further order, but one after a removal */
  if (metrics->pending <= 1) {
    metrics->written = true;
    if (write_metrics(metrics, &err) < 0)
      warn_unwritable(metrics, err.text);
  }
  ft_loop_at(metrics->loop, &metrics->timer, ft_io_monotonic() + WRITE_SECONDS);
}

static void remove_metrics(struct ft_agent_metrics *metrics)
{
  struct ft_error err;

  if (metrics->written)
    (void)order_write(metrics, ft_text_of("", 0), &err);
  metrics->written = false;
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
  metrics->writer.fd = -1;
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
  while (metrics->pending &&
         poll(&(struct pollfd){ .fd = metrics->writer.fd, .events = POLLIN }, 1, REMOVAL_MS) > 0)
    writer_replied(&metrics->writer);
  drop_writer(metrics);
  free(metrics);
}
