/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "daemon/socket.h"
#include "learner/access/peers.h"
#include "learner/metrics/metrics.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/site/address.h"

/* Limits: a few Prometheus servers, which send some hundred bytes. Above it the oldest connection
 * is dropped; libmicrohttpd, which notices that later, has a higher one. */
#define CONNECTION_LIMIT 16u
#define ACCEPT_LIMIT (2 * CONNECTION_LIMIT)
#define CONNECTION_BYTES ((size_t)16 << 10)
/* Time until a silent connection is closed. */
#define CONNECTION_SECONDS 10u

struct ft_metrics {
  struct ft_loop *loop;
  ft_metrics_callback *write;
  void *data;
  struct MHD_Daemon *http;
  struct ft_watch watch;
  struct ft_timer timer; /* libmicrohttpd's next deadline */
  struct ft_peers peers; /* none of them can prove its identity */
};

/* ---- address ---- */

/* Logs the address of the socket FD. */
static void log_metrics_address(int fd)
{
  struct sockaddr_storage bound;
  socklen_t length = sizeof bound;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  bool bracketed;

  if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0 ||
      getnameinfo((struct sockaddr *)&bound, length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return;
  bracketed = strchr(host, ':') != NULL;
  ft_log(LOG_INFO, "metrics at http://%s%s%s:%s" FT_METRICS_PATH, bracketed ? "[" : "", host,
         bracketed ? "]" : "", port);
}

/* Returns a listening socket at TEXT; -1 and ERR. */
static int listen_for_metrics(const char *text, struct ft_error *err)
{
  struct ft_address address;
  struct ft_error why;
  int fd = -1;

  if (ft_address_parse_metrics(ft_text_from(text), &address, &why) == 0)
    fd = ft_socket_listen_tcp(address.host, address.port, &why);
  return fd < 0 ? ft_error_set(err, "metrics_listen: %s", why.text) : fd;
}

/* ---- HTTP ---- */

static void run_metrics(struct ft_metrics *metrics)
{
  MHD_UNSIGNED_LONG_LONG milliseconds;

  (void)MHD_run(metrics->http);
  if (MHD_get_timeout(metrics->http, &milliseconds) == MHD_YES)
    ft_loop_at(metrics->loop, &metrics->timer, ft_io_monotonic() + 1e-3 * (double)milliseconds);
  else
    ft_loop_cancel(metrics->loop, &metrics->timer);
}

static void metrics_ready(struct ft_watch *watch)
{
  run_metrics(watch->data);
}

static void metrics_timer_due(void *data)
{
  run_metrics(data);
}

static enum MHD_Result send_metrics(struct ft_metrics *metrics, struct MHD_Connection *http,
                                    unsigned status)
{
  struct MHD_Response *response;
  enum MHD_Result result = MHD_NO;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_METRICS);
  if (status == MHD_HTTP_OK)
    metrics->write(&text, metrics->data);
  if (text.failed)
    status = MHD_HTTP_INTERNAL_SERVER_ERROR;
  response = MHD_create_response_from_buffer(text.length, (void *)(uintptr_t)ft_buf_text(&text),
                                             MHD_RESPMEM_MUST_COPY);
  if (response) {
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, FT_METRICS_TYPE);
    result = MHD_queue_response(http, status, response);
    MHD_destroy_response(response);
  }
  ft_buf_free(&text);
  return result;
}

/* Called by libmicrohttpd: at first, with each part of a body, and at its end. */
static enum MHD_Result handle_metrics_request(void *data, struct MHD_Connection *http,
                                              const char *url, const char *method,
                                              const char *version, const char *body, size_t *length,
                                              void **state)
{
  (void)version;
  (void)body;
  (void)state;
  if (*length)
    return MHD_NO;
  if (strcmp(url, FT_METRICS_PATH) != 0)
    return send_metrics(data, http, MHD_HTTP_NOT_FOUND);
  return send_metrics(data, http,
                      strcmp(method, MHD_HTTP_METHOD_GET) == 0 ? MHD_HTTP_OK
                                                               : MHD_HTTP_METHOD_NOT_ALLOWED);
}

/* Called by libmicrohttpd for each connection, at its begin and its end. */
static void metrics_peer_changed(void *data, struct MHD_Connection *http, void **context,
                                 enum MHD_ConnectionNotificationCode code)
{
  struct ft_metrics *metrics = data;

  ft_peer_changed(&metrics->peers, http, context, code);
}

/* Starts libmicrohttpd on the listening socket FD, which it owns from then on. */
static int start_metrics(struct ft_metrics *metrics, int fd, struct ft_error *err)
{
  const union MHD_DaemonInfo *info;

  metrics->http = MHD_start_daemon(
      MHD_USE_EPOLL, 0, NULL, NULL, handle_metrics_request, metrics, MHD_OPTION_LISTEN_SOCKET, fd,
      MHD_OPTION_CONNECTION_LIMIT, ACCEPT_LIMIT, MHD_OPTION_NOTIFY_CONNECTION, metrics_peer_changed,
      metrics, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_END);
  if (!metrics->http) {
    close(fd);
    return ft_error_set(err, "metrics_listen: libmicrohttpd does not start");
  }
  info = MHD_get_daemon_info(metrics->http, MHD_DAEMON_INFO_EPOLL_FD);
  metrics->watch = (struct ft_watch){ info ? info->epoll_fd : -1, metrics_ready, metrics };
  if (info && ft_loop_watch(metrics->loop, &metrics->watch) == 0)
    return 0;
  metrics->watch.fd = -1;
  return ft_error_errno(err, "metrics_listen");
}

struct ft_metrics *ft_metrics_open(struct ft_loop *loop, const char *address,
                                   ft_metrics_callback *write, void *data, struct ft_error *err)
{
  struct ft_metrics *metrics = calloc(1, sizeof *metrics);
  int fd;

  if (!metrics) {
    ft_error_errno(err, "metrics_listen");
    return NULL;
  }
  *metrics = (struct ft_metrics){ .loop = loop, .write = write, .data = data, .watch.fd = -1 };
  metrics->timer = (struct ft_timer){ .fire = metrics_timer_due, .data = metrics };
  ft_peers_init(&metrics->peers, loop, CONNECTION_LIMIT, metrics_timer_due, metrics);
  fd = listen_for_metrics(address, err);
  if (fd >= 0 && start_metrics(metrics, fd, err) == 0) {
    log_metrics_address(fd);
    return metrics;
  }
  ft_metrics_close(metrics);
  return NULL;
}

void ft_metrics_close(struct ft_metrics *metrics)
{
  if (!metrics)
    return;
  ft_loop_cancel(metrics->loop, &metrics->timer);
  if (metrics->watch.fd >= 0)
    ft_loop_unwatch(metrics->loop, &metrics->watch);
  if (metrics->http)
    MHD_stop_daemon(metrics->http);
  ft_peers_close(&metrics->peers);
  free(metrics);
}
