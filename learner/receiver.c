/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/metric_text.h"
#include "daemon/passed_socket.h"
#include "daemon/socket.h"
#include "daemon/transfer.h"
#include "learner/access/peers.h"
#include "learner/metrics/tally.h"
#include "learner/receiver.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Connections of one address over TCP. */
#define ADDRESS_LIMIT 128u
/* Places that are kept for new connections: as many of the oldest that have not proved their sender
 * are dropped. libmicrohttpd accepts fewer at once. */
enum { FREE_PLACES = 64 };
/* Bytes of a connection for headers and pieces of bodies: several times what foretell-courier sends
 * as headers. libmicrohttpd touches all of them. */
#define CONNECTION_BYTES ((size_t)4096)
/* More than a credential over a digest has, about 250 bytes. */
enum { SIGNATURE_BYTES = 1024 };
/* Time until the next rejected request is logged, seconds. */
#define COMPLAINT_SECONDS 10.0
/* Time until a silent connection is closed; longer than the learner holds a reply. */
#define CONNECTION_SECONDS 120u

/* Older versions are weak (RFC 8996). */
#define TLS_VERSIONS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct connection {
  struct ft_received received; /* first: ft_receiver_reply gets its address */
  struct ft_receiver *receiver;
  struct MHD_Connection *http;
  size_t body_bytes;                /* that the sender has announced */
  struct ft_transfer_digest digest; /* that the body must have, with MUNGE */
  struct ft_buf reply;
  char signature[SIGNATURE_BYTES]; /* of the reply; empty: none */
  unsigned status;                 /* of HTTP; 0: no reply yet */
  bool suspended;
  bool granted; /* access, over TCP */
};

struct ft_receiver {
  struct ft_loop *loop;
  struct MHD_Daemon *http;
  struct ft_watch watch;
  struct ft_timer timer; /* libmicrohttpd's next deadline */
  ft_receiver_handler *handler;
  void *data;
  void (*write_metrics)(struct ft_buf *out, void *data); /* NULL: none */
  void *metrics_data;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* empty: TCP */
  struct ft_access *access;                               /* NULL: a Unix socket */
  struct ft_peers peers;
  double complain_at; /* monotonic; no rejected request is logged before */
  bool running;       /* inside MHD_run */
  bool closing;       /* the handler's data and the access are freed already */
};

static void run_http(struct ft_receiver *receiver)
{
  MHD_UNSIGNED_LONG_LONG milliseconds;

  receiver->running = true;
  (void)MHD_run(receiver->http);
  receiver->running = false;
  if (MHD_get_timeout(receiver->http, &milliseconds) == MHD_YES)
    ft_loop_at(receiver->loop, &receiver->timer, ft_io_monotonic() + 1e-3 * (double)milliseconds);
  else
    ft_loop_cancel(receiver->loop, &receiver->timer);
}

static void http_ready(struct ft_watch *watch)
{
  run_http(watch->data);
}

static void http_due(void *data)
{
  run_http(data);
}

/* Called by libmicrohttpd for each connection over TCP, at its begin and its end. */
static void peer_changed(void *data, struct MHD_Connection *http, void **context,
                         enum MHD_ConnectionNotificationCode code)
{
  struct ft_receiver *receiver = data;

  if (receiver->access || code == MHD_CONNECTION_NOTIFY_CLOSED)
    ft_peer_changed(&receiver->peers, http, context, code);
}

/* Returns the peer of C; NULL on a Unix socket, or out of memory. */
static struct ft_peer *find_peer(const struct connection *c)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(c->http, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

  return info ? info->socket_context : NULL;
}

static bool is_peer_allowed(struct MHD_Connection *http)
{
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(http, MHD_CONNECTION_INFO_CONNECTION_FD);
  struct ucred peer;
  socklen_t length = sizeof peer;

  return info && getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == 0 || peer.uid == geteuid());
}

/* Lets C, whose reply or whose access was awaited, go on. */
static void resume_connection(struct connection *c)
{
  struct ft_receiver *receiver = c->receiver;

  if (!c->suspended)
    return;
  c->suspended = false;
  MHD_resume_connection(c->http);
  if (!receiver->running)
    ft_loop_at(receiver->loop, &receiver->timer, ft_io_monotonic());
}

/* Returns the status of HTTP for RESULT, 0 if access is granted, and logs WHY it is not. */
static unsigned access_status(struct ft_receiver *receiver, enum ft_access_result result,
                              const struct ft_error *why)
{
  static const unsigned statuses[] = {
    [FT_ACCESS_UNPROVED] = MHD_HTTP_UNAUTHORIZED,
    [FT_ACCESS_DENIED] = MHD_HTTP_FORBIDDEN,
    [FT_ACCESS_UNKNOWN] = MHD_HTTP_SERVICE_UNAVAILABLE,
  };

  if (result == FT_ACCESS_GRANTED)
    return 0;
  if (ft_io_monotonic() >= receiver->complain_at) {
    ft_log(LOG_WARNING, "request rejected: %s", why->text);
    receiver->complain_at = ft_io_monotonic() + COMPLAINT_SECONDS;
  }
  return statuses[result];
}

/* Continues C, whose sender is known at last. */
static void access_checked(enum ft_access_result result, const struct ft_transfer_digest *digest,
                           const struct ft_error *why, void *data)
{
  struct connection *c = data;

  c->status = access_status(c->receiver, result, why);
  c->granted = !c->status;
  c->digest = *digest;
  if (!c->granted)
    ft_peer_rejected(&c->receiver->peers, find_peer(c));
  if (c->status)
    (void)ft_buf_printf(&c->reply, "%s\n", why->text);
  resume_connection(c);
}

static const char *find_header(const struct connection *c, const char *name)
{
  return MHD_lookup_connection_value(c->http, MHD_HEADER_KIND, name);
}

/* Describes the request of C, over TCP. Its peer is NULL if that is unknown. */
static struct ft_access_request describe_request(const struct connection *c)
{
  const union MHD_ConnectionInfo *peer =
      MHD_get_connection_info(c->http, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  const union MHD_ConnectionInfo *tls =
      MHD_get_connection_info(c->http, MHD_CONNECTION_INFO_GNUTLS_SESSION);

  return (struct ft_access_request){
    .exchange = c->received.exchange,
    .authorization = find_header(c, MHD_HTTP_HEADER_AUTHORIZATION),
    .peer = peer ? peer->client_addr : NULL,
    .tls = tls ? tls->tls_session : NULL,
  };
}

/* Checks the sender of C over TCP. Returns as ft_access_check. */
static enum ft_access_result check_sender(struct connection *c, struct ft_error *err)
{
  const struct ft_access_request request = describe_request(c);

  if (!request.peer) {
    (void)ft_error_set(err, "the sender's address is unknown");
    return FT_ACCESS_UNKNOWN;
  }
  return ft_access_check(c->receiver->access, &request, access_checked, c, err);
}

/* Decompresses the body of C as its header demands. Returns 0; else the status of HTTP, and ERR. */
static unsigned decompress_body(struct connection *c, struct ft_error *err)
{
  const char *encoding = find_header(c, MHD_HTTP_HEADER_CONTENT_ENCODING);

  if (!encoding)
    return 0;
  if (strcmp(encoding, "deflate") != 0) {
    (void)ft_error_set(err, "unknown content encoding");
    return MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
  }
  return ft_transfer_inflate(&c->received.body, err) < 0 ? MHD_HTTP_BAD_REQUEST : 0;
}

static enum MHD_Result queue_reply(struct connection *c)
{
  struct MHD_Response *response = MHD_create_response_from_buffer(
      c->reply.length, (void *)(uintptr_t)ft_buf_text(&c->reply), MHD_RESPMEM_MUST_COPY);
  enum MHD_Result result;

  if (!response)
    return MHD_NO;
  if (c->signature[0])
    (void)MHD_add_response_header(response, FT_TRANSFER_REPLY_HEADER, c->signature);
  if (c->receiver->access && !c->granted)
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  ft_tally_add_reply(c->received.exchange, c->status);
  result = MHD_queue_response(c->http, c->status, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result reject_request(struct connection *c, unsigned status, const char *why)
{
  c->status = status;
  (void)ft_buf_printf(&c->reply, "%s\n", why);
  return queue_reply(c);
}

/* Finds the exchange of URL and METHOD. Returns 0; else the status of HTTP. */
static unsigned find_exchange(const char *url, const char *method, enum ft_exchange *out)
{
  size_t i = FT_TABLE_FIND(ft_exchange_paths, url);

  if (i == FT_EXCHANGE_COUNT)
    return MHD_HTTP_NOT_FOUND;
  *out = (enum ft_exchange)i;
  return strcmp(method, MHD_HTTP_METHOD_POST) == 0 ? 0 : MHD_HTTP_METHOD_NOT_ALLOWED;
}

static enum MHD_Result reply_metrics(struct connection *c)
{
  c->receiver->write_metrics(&c->reply, c->receiver->metrics_data);
  c->status = c->reply.failed ? MHD_HTTP_INTERNAL_SERVER_ERROR : MHD_HTTP_OK;
  return queue_reply(c);
}

static enum MHD_Result suspend_connection(struct connection *c)
{
  c->suspended = true;
  MHD_suspend_connection(c->http);
  return MHD_YES;
}

/* Finds the number of bytes of C's body. Returns 0; else the status of HTTP, and ERR. */
static unsigned find_body_length(struct connection *c, struct ft_error *err)
{
  struct ft_text text = ft_text_from(find_header(c, MHD_HTTP_HEADER_CONTENT_LENGTH));
  uint64_t length = 0;

  if (find_header(c, MHD_HTTP_HEADER_TRANSFER_ENCODING) ||
      (ft_text_left(&text) && (!ft_text_u64(&text, UINT64_MAX, &length) || ft_text_left(&text)))) {
    (void)ft_error_set(err, "expected a Content-Length");
    return MHD_HTTP_LENGTH_REQUIRED;
  }
  c->body_bytes = length;
  if (length <= FT_EXCHANGE_BYTES)
    return 0;
  (void)ft_error_set(err, "the body is too long: expected at most %d bytes", FT_EXCHANGE_BYTES);
  return MHD_HTTP_CONTENT_TOO_LARGE;
}

/* Checks a request of which nothing but the headers has arrived. */
static enum MHD_Result check_headers(struct connection *c, const char *url, const char *method)
{
  enum ft_access_result result = FT_ACCESS_GRANTED;
  struct ft_error err = { "unknown request: this learner is of another version" };
  unsigned status = find_exchange(url, method, &c->received.exchange);

  if (!status && c->receiver->closing) {
    status = MHD_HTTP_SERVICE_UNAVAILABLE;
    (void)ft_error_set(&err, "foretell-learnd is stopping");
  }
  if (!status)
    status = find_body_length(c, &err);
  if (!status && c->receiver->access) {
    result = check_sender(c, &err);
    if (result == FT_ACCESS_PENDING || result == FT_ACCESS_GRANTED)
      ft_peer_sent(&c->receiver->peers, find_peer(c));
    if (result == FT_ACCESS_PENDING)
      return suspend_connection(c);
    status = access_status(c->receiver, result, &err);
    c->granted = !status;
  }
  return status ? reject_request(c, status, err.text) : MHD_YES;
}

static enum MHD_Result begin_request(struct ft_receiver *receiver, struct MHD_Connection *http,
                                     const char *url, const char *method, void **state)
{
  struct connection *c = calloc(1, sizeof *c);

  if (!c)
    return MHD_NO;
  *state = c;
  c->receiver = receiver;
  c->http = http;
  c->received.exchange = (enum ft_exchange)FT_EXCHANGE_COUNT; /* none of them */
  ft_buf_init(&c->received.body, FT_EXCHANGE_BYTES);
  ft_buf_init(&c->reply, FT_LIMIT_RECORD);
  if (!receiver->access && !is_peer_allowed(http))
    return reject_request(c, MHD_HTTP_FORBIDDEN, "only root and the learner's user may send this");
  if (receiver->write_metrics && !receiver->closing && strcmp(url, FT_METRICS_PATH) == 0 &&
      strcmp(method, MHD_HTTP_METHOD_GET) == 0)
    return reply_metrics(c);
  return check_headers(c, url, method);
}

/* Passes a request, whose sender may send it, to the handler. */
static enum MHD_Result accept_request(struct ft_receiver *receiver, struct connection *c)
{
  struct ft_error err = { "" };
  unsigned status = decompress_body(c, &err);

  if (status)
    return reject_request(c, status, err.text);
  receiver->handler(&c->received, receiver->data);
  return c->status ? queue_reply(c) : suspend_connection(c);
}

/* Checks a request whose body is complete. */
static enum MHD_Result end_request(struct ft_receiver *receiver, struct connection *c)
{
  enum ft_access_result result = FT_ACCESS_GRANTED;
  struct ft_error err = { "" };
  struct ft_access_request request;

  if (receiver->closing)
    return reject_request(c, MHD_HTTP_SERVICE_UNAVAILABLE, "foretell-learnd is stopping");
  if (c->received.body.failed)
    return reject_request(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
  if (receiver->access) {
    request = describe_request(c);
    result = ft_access_check_body(&request, &c->received.body, &c->digest, &err);
  }
  return result == FT_ACCESS_GRANTED
             ? accept_request(receiver, c)
             : reject_request(c, access_status(receiver, result, &err), err.text);
}

/* Called by libmicrohttpd: at first, with each part of the body, at its end, and after a pause,
 * which is before the body or after it. */
static enum MHD_Result handle_request(void *data, struct MHD_Connection *http, const char *url,
                                      const char *method, const char *version, const char *body,
                                      size_t *length, void **state)
{
  struct ft_receiver *receiver = data;
  struct connection *c = *state;

  (void)version;
  if (!c)
    return begin_request(receiver, http, url, method, state);
  if (*length) {
    (void)ft_buf_add(&c->received.body, body, *length); /* checked at the end */
    *length = 0;
    return MHD_YES;
  }
  if (c->status)
    return queue_reply(c);
  return c->received.body.length == c->body_bytes || c->received.body.failed
             ? end_request(receiver, c)
             : MHD_YES;
}

static void request_completed(void *data, struct MHD_Connection *http, void **state,
                              enum MHD_RequestTerminationCode code)
{
  struct connection *c = *state;

  (void)data;
  (void)http;
  (void)code;
  if (!c)
    return;
  ft_buf_free(&c->received.body);
  ft_buf_free(&c->reply);
  free(c);
  *state = NULL;
}

/* Ends the pause of C, whose reply is complete. */
static void set_status(struct connection *c, unsigned status)
{
  c->status = status;
  resume_connection(c);
}

/* Replaces the reply of C by an error, which this host has. */
static void fail_reply(struct connection *c, const char *why)
{
  c->reply.length = 0;
  c->reply.failed = false;
  (void)ft_buf_printf(&c->reply, "%s\n", why);
  set_status(c, MHD_HTTP_SERVICE_UNAVAILABLE);
}

static void signature_ready(const char *authorization, const struct ft_error *why, void *data)
{
  struct connection *c = data;

  if (authorization && ft_string_copy(authorization, c->signature, sizeof c->signature))
    set_status(c, MHD_HTTP_OK);
  else
    fail_reply(c, why->text);
}

/* Completes the reply of C, signed if it crosses the network with MUNGE. */
static void sign_reply(struct connection *c)
{
  struct ft_access *access = c->receiver->access;
  struct ft_error err;

  if (!access || !ft_access_signs(access))
    set_status(c, MHD_HTTP_OK);
  else if (ft_access_sign(access, find_header(c, MHD_HTTP_HEADER_AUTHORIZATION), &c->reply,
                          signature_ready, c, &err) < 0)
    fail_reply(c, err.text);
}

void ft_receiver_reply(struct ft_received *request, enum ft_record record, const void *message)
{
  struct connection *c = (struct connection *)request;
  struct ft_error err;

  if (ft_record_encode(record, message, &c->reply, &err) < 0)
    set_status(c, MHD_HTTP_INTERNAL_SERVER_ERROR);
  else
    sign_reply(c);
}

void ft_receiver_reject(struct ft_received *request, bool malformed, const char *why)
{
  struct connection *c = (struct connection *)request;

  (void)ft_buf_printf(&c->reply, "%s\n", why);
  set_status(c, malformed ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_SERVICE_UNAVAILABLE);
}

void ft_receiver_on_metrics(struct ft_receiver *receiver,
                            void (*write)(struct ft_buf *out, void *data), void *data)
{
  receiver->write_metrics = write;
  receiver->metrics_data = data;
}

/* Starts libmicrohttpd on the listening socket FD of ADDRESS, which it owns from then on. Returns
 * 0; -1 and ERR. */
static int start_http(struct ft_receiver *receiver, int fd, const char *address,
                      struct ft_error *err)
{
  const struct ft_access_tls *tls = receiver->access ? ft_access_tls(receiver->access) : NULL;
  const struct MHD_OptionItem no_tls[] = { { MHD_OPTION_END, 0, NULL } };
  const struct MHD_OptionItem with_tls[] = {
    { MHD_OPTION_HTTPS_MEM_CERT, 0, tls ? (void *)(uintptr_t)tls->certificate : NULL },
    { MHD_OPTION_HTTPS_MEM_KEY, 0, tls ? (void *)(uintptr_t)tls->key : NULL },
    { MHD_OPTION_HTTPS_MEM_TRUST, 0, tls ? (void *)(uintptr_t)tls->ca : NULL },
    { MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)TLS_VERSIONS },
    { MHD_OPTION_END, 0, NULL },
  };
  const union MHD_DaemonInfo *info;

  receiver->http = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
      handle_request, receiver, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
      FT_EXCHANGE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
      MHD_OPTION_PER_IP_CONNECTION_LIMIT, receiver->access ? ADDRESS_LIMIT : 0u,
      MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS, MHD_OPTION_NOTIFY_COMPLETED,
      request_completed, NULL, MHD_OPTION_NOTIFY_CONNECTION, peer_changed, receiver,
      MHD_OPTION_ARRAY, tls ? with_tls : no_tls, MHD_OPTION_END);
  if (!receiver->http) {
    close(fd);
    return ft_error_set(err, "%s: libmicrohttpd does not start", address);
  }
  info = MHD_get_daemon_info(receiver->http, MHD_DAEMON_INFO_EPOLL_FD);
  receiver->watch = (struct ft_watch){ info ? info->epoll_fd : -1, http_ready, receiver };
  if (!info || ft_loop_watch(receiver->loop, &receiver->watch) < 0) {
    receiver->watch.fd = -1;
    return ft_error_errno(err, "%s", address);
  }
  return 0;
}

static struct ft_receiver *new_receiver(struct ft_loop *loop, ft_receiver_handler *handler,
                                        void *data, struct ft_error *err)
{
  struct ft_receiver *receiver = calloc(1, sizeof *receiver);

  if (!receiver) {
    ft_error_errno(err, "receiver");
    return NULL;
  }
  receiver->loop = loop;
  receiver->handler = handler;
  receiver->data = data;
  receiver->watch.fd = -1;
  receiver->timer = (struct ft_timer){ .fire = http_due, .data = receiver };
  ft_peers_init(&receiver->peers, loop, FT_EXCHANGE_CONNECTIONS - FREE_PLACES, http_due, receiver);
  return receiver;
}

struct ft_receiver *ft_receiver_open(struct ft_loop *loop, const char *path,
                                     ft_receiver_handler *handler, void *data, struct ft_error *err)
{
  struct ft_receiver *receiver = new_receiver(loop, handler, data, err);
  int fd = receiver ? ft_socket_listen(path, SOCK_STREAM, 0600, err) : -1;

  if (fd >= 0) {
    (void)ft_string_copy(path, receiver->path, sizeof receiver->path);
    if (start_http(receiver, fd, path, err) == 0)
      return receiver;
  }
  ft_receiver_close(receiver);
  return NULL;
}

struct ft_receiver *ft_receiver_open_network(struct ft_loop *loop, const char *listen,
                                             unsigned passed, struct ft_access *access,
                                             ft_receiver_handler *handler, void *data,
                                             struct ft_error *err)
{
  struct ft_receiver *receiver = new_receiver(loop, handler, data, err);
  struct ft_address address;
  struct ft_error why = { "out of memory" };
  int fd = -1;

  if (receiver && ft_address_parse_listen(ft_text_from(listen), &address, &why) == 0)
    fd = passed ? ft_passed_socket_find(passed, &address, &why)
                : ft_socket_listen_tcp(address.host, address.port, &why);
  if (fd < 0)
    (void)ft_error_set(err, "listen: %s", why.text);
  if (fd >= 0) {
    receiver->access = access;
    if (start_http(receiver, fd, listen, err) == 0)
      return receiver;
  }
  ft_receiver_close(receiver);
  return NULL;
}

void ft_receiver_close(struct ft_receiver *receiver)
{
  if (!receiver)
    return;
  receiver->closing = true;
  ft_loop_cancel(receiver->loop, &receiver->timer);
  if (receiver->watch.fd >= 0)
    ft_loop_unwatch(receiver->loop, &receiver->watch);
  if (receiver->http) {
    /* closes the suspended connections that have a reply */
    (void)MHD_run(receiver->http);
    MHD_stop_daemon(receiver->http);
  }
  ft_peers_close(&receiver->peers);
  if (receiver->path[0])
    (void)unlink(receiver->path);
  free(receiver);
}
