/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/query_server.h"
#include "daemon/socket.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

/* Interval of the tries to continue an answer that waits for the store or for the peer. */
#define POLL_SECONDS 0.004
/* Deadline of a peer for sending its question and for reading each reply. */
#define PEER_SECONDS 30.0

struct query_connection {
  struct ft_watch watch;
  struct ft_query_server *server;
  struct ft_query query;
  ft_question question;
  bool received; /* the question; it is in the queue for answers */
  bool answer_begun;
  bool answer_complete; /* `packet` is the last one */
  struct ft_buf packet; /* reply that does not fit into the socket's buffer yet */
  double deadline;      /* the peer's deadline, monotonic */
  struct query_connection *next;
};

struct ft_query_server {
  struct ft_loop *loop;
  struct ft_watch watch;
  struct ft_accept_backoff backoff;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
  struct ft_query_handler handler;
  uid_t extra_uid; /* (uid_t)-1: none */
  struct query_connection *list;
  unsigned connections;
  unsigned idle_steps; /* in a row, without anything to send */
  struct ft_timer timer;
  ft_reply reply;
};

/* Sends C's packet with its descriptor, if there is one. Returns as send(2). */
static ssize_t send_packet(struct query_connection *c)
{
  struct iovec part = { (void *)(uintptr_t)ft_buf_text(&c->packet), c->packet.length };
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control = { .bytes = { 0 } };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

  if (c->query.fd >= 0) {
    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.head), &c->query.fd, sizeof(int));
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof control.bytes;
  }
  return sendmsg(c->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void close_descriptor(struct query_connection *c)
{
  if (c->query.fd >= 0)
    close(c->query.fd);
  c->query.fd = -1;
}

/*
 * Sends C's packet. Returns 1; 0 if the socket's buffer is full; -1 if the peer has disconnected or
 * its deadline has passed.
 */
static int send_reply(struct query_connection *c)
{
  if (send_packet(c) < 0)
    return (errno == EAGAIN || errno == EINTR) && ft_io_monotonic() < c->deadline ? 0 : -1;
  close_descriptor(c);
  ft_buf_free(&c->packet);
  ft_buf_init(&c->packet, FT_LIMIT_RECORD);
  c->deadline = ft_io_monotonic() + PEER_SECONDS;
  return 1;
}

/* Whether the peer is connected. It sends nothing after its question, so that only end-of-file can
 * be read. */
static bool is_peer_connected(const struct query_connection *c)
{
  char byte;

  return recv(c->watch.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/*
 * Encodes the next packet of C's answer. Returns 1; 0 if there is none yet; -1 if the answer is
 * complete or the peer disconnected. The first step runs even then: the plugin does not wait.
 */
static int next_reply(struct query_connection *c)
{
  struct ft_query_server *q = c->server;
  ft_reply *reply = &q->reply;
  struct ft_error err;

  if (c->answer_complete || (c->answer_begun && !is_peer_connected(c)))
    return -1;
  c->answer_begun = true;
  memset(reply, 0, sizeof *reply);
  reply->schema = FT_SCHEMA;
  if (!q->handler.step(&c->query, reply, q->handler.data))
    return 0;
  c->answer_complete = reply->last = reply->last || reply->error[0];
  if (ft_record_encode(FT_RECORD_REPLY, reply, &c->packet, &err) == 0)
    return 1;
  ft_log(LOG_WARNING, "%s: %s", q->path, err.text);
  return -1;
}

/* Continues C's answer. Returns 1 if a packet was sent, 0 if the answer waits, -1 if C is done. */
static int step_answer(struct query_connection *c)
{
  int status = c->packet.length ? 1 : next_reply(c);

  return status > 0 ? send_reply(c) : status;
}

static void append_query(struct query_connection *c)
{
  struct query_connection **at = &c->server->list;

  while (*at)
    at = &(*at)->next;
  c->next = NULL;
  *at = c;
}

static void unlink_query(struct query_connection *c)
{
  struct query_connection **at = &c->server->list;

  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
}

static void close_query(struct query_connection *c)
{
  struct ft_query_server *q = c->server;

  unlink_query(c);
  q->connections--;
  if (c->received)
    q->handler.end(&c->query, q->handler.data);
  else
    ft_loop_unwatch(q->loop, &c->watch);
  close(c->watch.fd);
  close_descriptor(c);
  ft_buf_free(&c->packet);
  free(c);
}

/*
 * Does one step of one answer, then pauses for the same time: queries take at most half of the
 * daemon's time. When all wait, they pause longer.
 */
static void work_on_next(void *data)
{
  struct ft_query_server *q = data;
  double began = ft_io_monotonic(), now;
  struct query_connection *c = q->list;
  bool all_wait;
  int status;

  while (c && !c->received)
    c = c->next;
  if (!c)
    return;
  /* round robin */
  unlink_query(c);
  append_query(c);
  status = step_answer(c);
  if (status < 0)
    close_query(c);
  now = ft_io_monotonic();
  q->idle_steps = status == 0 ? q->idle_steps + 1 : 0;
  all_wait = q->idle_steps && q->idle_steps >= q->connections;
  if (all_wait)
    q->idle_steps = 0;
  ft_loop_at(q->loop, &q->timer, now + (all_wait ? POLL_SECONDS : now - began));
}

/* Receives the only question of a connection. */
static void receive_question(struct ft_watch *watch)
{
  struct query_connection *c = watch->data;
  struct ft_query_server *q = c->server;
  unsigned char packet[FT_QUERY_PACKET_BYTES];
  ssize_t got = recv(watch->fd, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
  struct ft_error err;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0 || (size_t)got > sizeof packet ||
      ft_record_decode(FT_RECORD_QUESTION, packet, (size_t)got, &c->question, &err) < 0) {
    close_query(c);
    return;
  }
  ft_loop_unwatch(q->loop, watch);
  c->received = true;
  c->deadline = ft_io_monotonic() + PEER_SECONDS;
  ft_loop_at(q->loop, &q->timer, ft_io_monotonic());
}

static bool is_privileged(const struct ft_query_server *q, uid_t uid)
{
  return uid == 0 || uid == geteuid() || (q->extra_uid != (uid_t)-1 && uid == q->extra_uid);
}

static unsigned count_connections(const struct ft_query_server *q, uid_t uid)
{
  unsigned count = 0;

  for (const struct query_connection *c = q->list; c; c = c->next)
    count += c->query.uid == uid;
  return count;
}

/* Returns the connection that has waited longest for its peer, which has not sent its question or
 * does not read the reply; NULL: none. PRIVILEGED ones count only if that is set. */
static struct query_connection *find_silent(const struct ft_query_server *q, bool privileged)
{
  struct query_connection *found = NULL;

  for (struct query_connection *c = q->list; c; c = c->next)
    if ((!c->received || c->packet.length) && (privileged || !c->query.privileged) &&
        (!found || c->deadline < found->deadline))
      found = c;
  return found;
}

/* Returns a connection of the unprivileged user who has most of them, if they are more than OWN +
 * 1; else NULL. */
static struct query_connection *find_largest(const struct ft_query_server *q, unsigned own)
{
  struct query_connection *found = NULL;
  unsigned most = own + 1;

  for (struct query_connection *c = q->list; c; c = c->next) {
    unsigned count = c->query.privileged ? 0 : count_connections(q, c->query.uid);

    if (count > most) {
      most = count;
      found = c;
    }
  }
  return found;
}

/* Closes the connections without a question after their deadline. Returns the number of those of
 * unprivileged users that remain. */
static unsigned close_late_queries(struct ft_query_server *q)
{
  double now = ft_io_monotonic();
  unsigned unprivileged = 0;
  struct query_connection *next;

  for (struct query_connection *c = q->list; c; c = next) {
    next = c->next;
    if (!c->received && now >= c->deadline)
      close_query(c);
    else
      unprivileged += !c->query.privileged;
  }
  return unprivileged;
}

/* Whether the limits permit another connection of UID, for which another may be closed. */
static bool make_query_room(struct ft_query_server *q, uid_t uid)
{
  bool privileged = is_privileged(q, uid);
  unsigned unprivileged = close_late_queries(q), own = count_connections(q, uid);
  struct query_connection *victim;

  if (!privileged && own >= FT_QUERY_USER_CONNECTIONS)
    return false;
  if (privileged ? q->connections < FT_QUERY_CONNECTIONS
                 : unprivileged < FT_QUERY_CONNECTIONS - FT_QUERY_PRIVILEGED_CONNECTIONS)
    return true;
  victim = find_silent(q, false);
  if (!victim)
    victim = find_largest(q, privileged ? 0 : own);
  if (!victim && privileged)
    victim = find_silent(q, true);
  if (!victim)
    return false;
  close_query(victim);
  return true;
}

static struct query_connection *new_query(struct ft_query_server *q, int fd)
{
  struct ucred peer;
  socklen_t length = sizeof peer;
  struct query_connection *c;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || !make_query_room(q, peer.uid))
    return NULL;
  c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  c->watch = (struct ft_watch){ fd, receive_question, c };
  c->server = q;
  c->query = (struct ft_query){
    .question = &c->question, .uid = peer.uid, .privileged = is_privileged(q, peer.uid), .fd = -1
  };
  c->deadline = ft_io_monotonic() + PEER_SECONDS;
  ft_buf_init(&c->packet, FT_LIMIT_RECORD);
  return c;
}

/* Accepts a connection, or closes it at once, which the command reports to its user. */
static void accept_query(struct ft_watch *watch)
{
  struct ft_query_server *q = watch->data;
  int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  struct query_connection *c;

  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      ft_accept_backoff_begin(&q->backoff, q->loop, watch);
    return;
  }
  c = new_query(q, fd);
  if (c && ft_loop_watch(q->loop, &c->watch) == 0) {
    append_query(c);
    q->connections++;
    return;
  }
  free(c);
  close(fd);
}

struct ft_query_server *ft_query_server_open(struct ft_loop *loop, const char *socket,
                                             const struct ft_query_handler *handler)
{
  struct ft_query_server *q = calloc(1, sizeof *q);
  struct ft_error err;
  char path[sizeof q->path];

  (void)snprintf(path, sizeof path, "%s" FT_STATE_QUERY_SUFFIX, socket);
  if (!q) {
    ft_error_errno(&err, "%s", path);
    goto failed;
  }
  q->loop = loop;
  q->handler = *handler;
  q->extra_uid = (uid_t)-1;
  q->timer = (struct ft_timer){ .fire = work_on_next, .data = q };
  q->watch =
      (struct ft_watch){ ft_socket_listen(path, SOCK_SEQPACKET, 0666, &err), accept_query, q };
  if (q->watch.fd >= 0) {
    (void)ft_string_copy(path, q->path, sizeof q->path);
    if (ft_loop_watch(loop, &q->watch) == 0)
      return q;
    ft_error_errno(&err, "%s", path);
  }
failed:
  ft_query_server_close(q);
  ft_log(LOG_WARNING, "users' queries are not available: %s", err.text);
  return NULL;
}

void ft_query_server_allow(struct ft_query_server *server, uid_t uid)
{
  if (server)
    server->extra_uid = uid;
}

void ft_query_server_close(struct ft_query_server *q)
{
  if (!q)
    return;
  while (q->list)
    close_query(q->list);
  ft_loop_cancel(q->loop, &q->timer);
  ft_accept_backoff_end(&q->backoff);
  if (q->watch.fd >= 0) {
    ft_loop_unwatch(q->loop, &q->watch);
    close(q->watch.fd);
  }
  if (q->path[0])
    (void)unlink(q->path);
  free(q);
}
