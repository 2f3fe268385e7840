/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "learner/metrics/metrics.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Limits, by judgement: a few Prometheus servers, which send some hundred bytes. */
#define CONNECTION_LIMIT 16u
#define CONNECTION_BYTES ((size_t)16 << 10)
/* Time until a silent connection is closed. */
#define CONNECTION_SECONDS 10u
#define BACKLOG 16

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
};

struct ft_metrics {
  struct ft_loop *loop;
  ft_metrics_callback *write;
  void *data;
  struct MHD_Daemon *http;
  struct ft_watch watch;
  struct ft_timer timer; /* libmicrohttpd's next deadline */
};

/* ---- address ---- */

/* Parses TEXT, "[ADDRESS:]PORT", into OUT. Returns its length; -1 and ERR. */
static int parse_listen_address(const char *text, union address *out, struct ft_error *err)
{
  const char *colon = strrchr(text, ':');
  struct ft_text port = ft_text_from(colon ? colon + 1 : text),
                 host = ft_text_of(text, colon ? (size_t)(colon - text) : 0);
  bool bracketed = ft_text_skip(&host, "[");
  char name[INET6_ADDRSTRLEN];
  uint64_t number;

  memset(out, 0, sizeof *out);
  if (bracketed && ft_text_left(&host) && host.end[-1] == ']')
    host.end--;
  else if (bracketed)
    goto malformed;
  if (!ft_text_u64(&port, UINT16_MAX, &number) || ft_text_left(&port) ||
      !ft_text_copy(ft_text_left(&host) ? host : ft_text_from("127.0.0.1"), name, sizeof name))
    goto malformed;
  if (!bracketed && inet_pton(AF_INET, name, &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)number);
    return sizeof out->v4;
  }
  if (bracketed && inet_pton(AF_INET6, name, &out->v6.sin6_addr) == 1) {
    out->v6.sin6_family = AF_INET6;
    out->v6.sin6_port = htons((uint16_t)number);
    return sizeof out->v6;
  }
malformed:
  return ft_error_set(err, "expected PORT, ADDRESS:PORT or [ADDRESS]:PORT, such as 127.0.0.1:9841");
}

/* Logs the address of the socket FD. */
static void log_metrics_address(int fd)
{
  union address bound;
  socklen_t length = sizeof bound;
  char name[INET6_ADDRSTRLEN] = "";
  bool v6;

  if (getsockname(fd, &bound.any, &length) < 0)
    return;
  v6 = bound.any.sa_family == AF_INET6;
  (void)inet_ntop(bound.any.sa_family,
                  v6 ? (const void *)&bound.v6.sin6_addr : (const void *)&bound.v4.sin_addr, name,
                  sizeof name);
  ft_log(LOG_INFO, "metrics at http://%s%s%s:%u" FT_METRICS_PATH, v6 ? "[" : "", name,
         v6 ? "]" : "", (unsigned)ntohs(v6 ? bound.v6.sin6_port : bound.v4.sin_port));
}

/* Returns a listening socket at TEXT; -1 and ERR. */
static int listen_at(const char *text, struct ft_error *err)
{
  const int yes = 1;
  union address address;
  struct ft_error why;
  int length = parse_listen_address(text, &address, &why), fd;

  if (length < 0)
    return ft_error_set(err, "metrics_listen %s: %s", text, why.text);
  fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
      bind(fd, &address.any, (socklen_t)length) == 0 && listen(fd, BACKLOG) == 0)
    return fd;
  ft_error_errno(err, "metrics_listen %s", text);
  if (fd >= 0)
    close(fd);
  return -1;
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

/* Starts libmicrohttpd on the listening socket FD, which it owns from then on. */
static int start_metrics(struct ft_metrics *metrics, int fd, struct ft_error *err)
{
  const union MHD_DaemonInfo *info;

  metrics->http = MHD_start_daemon(
      MHD_USE_EPOLL, 0, NULL, NULL, handle_metrics_request, metrics, MHD_OPTION_LISTEN_SOCKET, fd,
      MHD_OPTION_CONNECTION_LIMIT, CONNECTION_LIMIT, MHD_OPTION_CONNECTION_TIMEOUT,
      CONNECTION_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES, MHD_OPTION_END);
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
  fd = listen_at(address, err);
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
  free(metrics);
}
