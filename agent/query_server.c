/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/log.h"
#include "agent/query_server.h"
#include "agent/socket.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Before an answer that waits, for the store or for the peer, is looked at again. */
#define PAUSE_SECONDS 0.004
/* How long a peer may take to ask, or to take a packet that was sent. */
#define PATIENCE_SECONDS 30.0

struct connection {
  struct ft_watch watch;
  struct ft_query_server *questions;
  struct ft_query asked;
  ft_question question;
  bool asks;            /* the question has come */
  bool begun;           /* its answer */
  bool over;            /* packet is the last one */
  struct ft_buf packet; /* that the peer had no room for yet */
  double until;         /* of the peer's patience, monotonic */
  struct connection *next;
};

struct ft_query_server {
  struct ft_loop *loop;
  struct ft_watch watch;
  struct ft_accept_backoff rest;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
  struct ft_query_handler answerer;
  uid_t extra_uid; /* (uid_t)-1: none */
  struct connection *list;
  unsigned connections;
  struct ft_timer timer;
  ft_reply reply;
};

/*
 * Send what C's packet holds. Returns 1 when the peer has it, 0 when it has no room for it yet, -1
 * when it has gone.
 */
static int send_packet(struct connection *c)
{
  ssize_t sent =
      send(c->watch.fd, ft_buf_text(&c->packet), c->packet.length, MSG_DONTWAIT | MSG_NOSIGNAL);

  if (sent < 0)
    return (errno == EAGAIN || errno == EINTR) && ft_io_monotonic() < c->until ? 0 : -1;
  ft_buf_free(&c->packet);
  ft_buf_init(&c->packet, FT_LIMIT_RECORD);
  c->until = ft_io_monotonic() + PATIENCE_SECONDS;
  return 1;
}

/* Whether the peer is there still: it sends nothing more, so that only its end can be read. */
static bool is_there(const struct connection *c)
{
  char byte;

  return recv(c->watch.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

/*
 * The next packet of C's answer. Returns 1 when there is one, 0 when not yet, -1 when it has ended.
 * It begins though the peer has left: the plugin tells, and waits for nothing.
 */
static int next_packet(struct connection *c)
{
  struct ft_query_server *q = c->questions;
  ft_reply *reply = &q->reply;
  struct ft_error err;

  if (c->over || (c->begun && !is_there(c)))
    return -1;
  c->begun = true;
  memset(reply, 0, sizeof *reply);
  reply->schema = FT_SCHEMA;
  if (!q->answerer.answer(&c->asked, reply, q->answerer.data))
    return 0;
  c->over = reply->last = reply->last || reply->error[0];
  if (ft_record_encode(FT_RECORD_REPLY, reply, &c->packet, &err) == 0)
    return 1;
  ft_log(LOG_WARNING, "%s: %s", q->path, err.text);
  return -1;
}

/* A part of C's answer. Returns 1 when it is under way, 0 when it waits, -1 when C is done with. */
static int step(struct connection *c)
{
  int status = c->packet.length ? 1 : next_packet(c);

  return status > 0 ? send_packet(c) : status;
}

static void append(struct connection *c)
{
  struct connection **at = &c->questions->list;

  while (*at)
    at = &(*at)->next;
  c->next = NULL;
  *at = c;
}

static void unlink_from_list(struct connection *c)
{
  struct connection **at = &c->questions->list;

  while (*at != c)
    at = &(*at)->next;
  *at = c->next;
}

static void drop(struct connection *c)
{
  struct ft_query_server *q = c->questions;

  unlink_from_list(c);
  q->connections--;
  if (c->asks)
    q->answerer.ended(&c->asked, q->answerer.data);
  else
    ft_loop_unwatch(q->loop, &c->watch);
  close(c->watch.fd);
  ft_buf_free(&c->packet);
  free(c);
}

/*
 * One part of one answer, then as long a pause as that took: questions take no more than half of
 * the agent's time.
 */
static void work(void *data)
{
  struct ft_query_server *q = data;
  double began = ft_io_monotonic(), now, pause;
  struct connection *c = q->list;
  int status;

  while (c && !c->asks)
    c = c->next;
  if (!c)
    return;
  /* the others have their turn first */
  unlink_from_list(c);
  append(c);
  status = step(c);
  if (status < 0)
    drop(c);
  now = ft_io_monotonic();
  pause = status == 0 && !q->list->next ? PAUSE_SECONDS : now - began;
  ft_loop_at(q->loop, &q->timer, now + pause);
}

/* The question, of which there is one a connection. */
static void receive(struct ft_watch *watch)
{
  struct connection *c = watch->data;
  struct ft_query_server *q = c->questions;
  unsigned char packet[FT_QUERY_PACKET_BYTES];
  ssize_t got = recv(watch->fd, packet, sizeof packet, MSG_DONTWAIT | MSG_TRUNC);
  struct ft_error err;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got <= 0 || (size_t)got > sizeof packet ||
      ft_record_decode(FT_RECORD_QUESTION, packet, (size_t)got, &c->question, &err) < 0) {
    drop(c);
    return;
  }
  ft_loop_unwatch(q->loop, watch);
  c->asks = true;
  c->until = ft_io_monotonic() + PATIENCE_SECONDS;
  ft_loop_at(q->loop, &q->timer, ft_io_monotonic());
}

static bool is_privileged(const struct ft_query_server *q, uid_t uid)
{
  return uid == 0 || uid == geteuid() || (q->extra_uid != (uid_t)-1 && uid == q->extra_uid);
}

/* Whether UID may ask once more. Who has connected and asks nothing makes way. */
static bool has_room(struct ft_query_server *q, uid_t uid)
{
  double now = ft_io_monotonic();
  unsigned own = 0;
  struct connection *next;

  for (struct connection *c = q->list; c; c = next) {
    next = c->next;
    if (!c->asks && now >= c->until)
      drop(c);
    else
      own += c->asked.uid == uid;
  }
  return q->connections < FT_QUERY_CONNECTIONS &&
         (own < FT_QUERY_USER_CONNECTIONS || is_privileged(q, uid));
}

static struct connection *begin(struct ft_query_server *q, int fd)
{
  struct ucred peer;
  socklen_t length = sizeof peer;
  struct connection *c;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 || !has_room(q, peer.uid))
    return NULL;
  c = calloc(1, sizeof *c);
  if (!c)
    return NULL;
  c->watch = (struct ft_watch){ fd, receive, c };
  c->questions = q;
  c->asked = (struct ft_query){ .question = &c->question,
                                .uid = peer.uid,
                                .privileged = is_privileged(q, peer.uid) };
  c->until = ft_io_monotonic() + PATIENCE_SECONDS;
  ft_buf_init(&c->packet, FT_LIMIT_RECORD);
  return c;
}

/* Who cannot be heard now is closed on, and its command says so. */
static void accept_one(struct ft_watch *watch)
{
  struct ft_query_server *q = watch->data;
  int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  struct connection *c;

  if (fd < 0) {
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      ft_accept_backoff_begin(&q->rest, q->loop, watch);
    return;
  }
  c = begin(q, fd);
  if (c && ft_loop_watch(q->loop, &c->watch) == 0) {
    append(c);
    q->connections++;
    return;
  }
  free(c);
  close(fd);
}

struct ft_query_server *ft_query_server_open(struct ft_loop *loop, const char *path,
                                             const struct ft_query_handler *answerer,
                                             struct ft_error *err)
{
  struct ft_query_server *q = calloc(1, sizeof *q);

  if (!q) {
    ft_error_errno(err, "%s", path);
    return NULL;
  }
  q->loop = loop;
  q->answerer = *answerer;
  q->extra_uid = (uid_t)-1;
  q->timer = (struct ft_timer){ .fire = work, .data = q };
  q->watch = (struct ft_watch){ ft_socket_listen(path, 0666, err), accept_one, q };
  if (q->watch.fd >= 0) {
    (void)ft_string_copy(path, q->path, sizeof q->path);
    if (ft_loop_watch(loop, &q->watch) == 0)
      return q;
    ft_error_errno(err, "%s", path);
  }
  ft_query_server_close(q);
  return NULL;
}

void ft_query_server_allow(struct ft_query_server *questions, uid_t uid)
{
  if (questions)
    questions->extra_uid = uid;
}

void ft_query_server_close(struct ft_query_server *q)
{
  if (!q)
    return;
  while (q->list)
    drop(q->list);
  ft_loop_cancel(q->loop, &q->timer);
  ft_accept_backoff_end(&q->rest);
  if (q->watch.fd >= 0) {
    ft_loop_unwatch(q->loop, &q->watch);
    close(q->watch.fd);
  }
  if (q->path[0])
    (void)unlink(q->path);
  free(q);
}
