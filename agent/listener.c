/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/listener.h"
#include "daemon/log.h"
#include "daemon/passed_socket.h"
#include "daemon/socket.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Minimum time between two log lines about rejected packets. */
#define REJECTION_LOG_SECONDS 60.0

struct connection {
  struct ft_watch watch;
  struct ft_listener *listener;
  pid_t peer;
  struct connection *next, *previous;
};

struct ft_listener {
  struct ft_loop *loop;
  struct ft_watch watch;
  struct ft_accept_backoff backoff;
  char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
  ft_listener_callback *call;
  void *data;
  bool passed;            /* the socket is the service manager's, and stays */
  uid_t extra_uid;        /* (uid_t)-1: none */
  struct connection list; /* head of a ring, oldest connection first */
  unsigned connections;
  unsigned rejected; /* packets and connections since the last log line */
  double next_log;   /* monotonic seconds */
  ft_announcement announcement;
  unsigned char packet[FT_LISTENER_PACKET_BYTES];
};

static void log_rejection(struct ft_listener *listener, const char *why)
{
  double now = ft_io_monotonic();

  listener->rejected++;
  if (now < listener->next_log)
    return;
  ft_log(LOG_WARNING, "%s: dropped %u packet%s or connection%s, last reason: %s", listener->path,
         listener->rejected, ft_plural(listener->rejected), ft_plural(listener->rejected), why);
  listener->rejected = 0;
  listener->next_log = now + REJECTION_LOG_SECONDS;
}

static void close_announcer(struct connection *c)
{
  ft_loop_unwatch(c->listener->loop, &c->watch);
  close(c->watch.fd);
  c->previous->next = c->next;
  c->next->previous = c->previous;
  c->listener->connections--;
  free(c);
}

static void append_announcer(struct ft_listener *listener, struct connection *c)
{
  c->previous = listener->list.previous;
  c->next = &listener->list;
  c->previous->next = c;
  listener->list.previous = c;
}

static void receive_announcements(struct ft_watch *watch)
{
  struct connection *c = watch->data;
  struct ft_listener *listener = c->listener;
  struct ft_error err;
  ssize_t got;

  for (;;) {
    got = recv(c->watch.fd, listener->packet, sizeof listener->packet, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return;
    if (got <= 0)
      break;
    if ((size_t)got > sizeof listener->packet) {
      log_rejection(listener, "packet is longer than any announcement");
      continue;
    }
    if (ft_record_decode(FT_RECORD_ANNOUNCEMENT, listener->packet, (size_t)got,
                         &listener->announcement, &err) < 0) {
      log_rejection(listener, err.text);
      continue;
    }
    listener->call(&listener->announcement, c->peer, listener->packet, (size_t)got, listener->data);
  }
  close_announcer(c);
}

/*
 * Reads all pending packets in the order of the connections: the end of a task, on a later
 * connection, may be accepted while the packet with its start is still unread.
 */
static void receive_from_all(struct ft_listener *listener)
{
  struct connection *next;

  for (struct connection *c = listener->list.next; c != &listener->list; c = next) {
    next = c->next;
    receive_announcements(&c->watch);
  }
}

static bool may_announce(const struct ft_listener *listener, int fd, struct ucred *peer)
{
  socklen_t length = sizeof *peer;

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length) < 0)
    return false;
  return peer->uid == 0 || peer->uid == geteuid() ||
         (listener->extra_uid != (uid_t)-1 && peer->uid == listener->extra_uid);
}

static void accept_announcer(struct ft_watch *watch)
{
  struct ft_listener *listener = watch->data;
  int fd = accept4(watch->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  struct connection *c;
  struct ucred peer;

  if (fd < 0) {
    int why = errno;

    if (why == EAGAIN || why == EINTR || why == ECONNABORTED)
      return;
    log_rejection(listener, strerror(why));
    /* out of descriptors: close a connection, else none could be accepted again */
    if ((why == EMFILE || why == ENFILE) && listener->connections)
      close_announcer(listener->list.next);
    else
      ft_accept_backoff_begin(&listener->backoff, listener->loop, watch);
    return;
  }
  if (!may_announce(listener, fd, &peer)) {
    log_rejection(listener, "the peer is neither root nor SlurmdUser");
    close(fd);
    return;
  }
  c = calloc(1, sizeof *c);
  if (!c) {
    log_rejection(listener, "out of memory");
    close(fd);
    return;
  }
  if (listener->connections >= FT_LISTENER_CONNECTIONS) {
    log_rejection(listener, "too many connections at once");
    close_announcer(listener->list.next);
  }
  *c = (struct connection){ .watch = { fd, receive_announcements, c },
                            .listener = listener,
                            .peer = peer.pid };
  append_announcer(listener, c);
  listener->connections++;
  if (ft_loop_watch(listener->loop, &c->watch) < 0) {
    log_rejection(listener, strerror(errno));
    close_announcer(c);
    return;
  }
  receive_from_all(listener);
}

struct ft_listener *ft_listener_open(struct ft_loop *loop, const char *path, unsigned passed,
                                     ft_listener_callback *call, void *data, struct ft_error *err)
{
  struct ft_listener *listener = calloc(1, sizeof *listener);

  if (!listener) {
    ft_error_errno(err, "%s", path);
    return NULL;
  }
  listener->loop = loop;
  listener->call = call;
  listener->data = data;
  listener->extra_uid = (uid_t)-1;
  listener->list.next = listener->list.previous = &listener->list;
  listener->watch = (struct ft_watch){ -1, accept_announcer, listener };
  listener->passed = passed > 0;
  listener->watch.fd = passed ? ft_passed_socket_find_path(passed, path, SOCK_SEQPACKET, err)
                              : ft_socket_listen(path, SOCK_SEQPACKET, 0600, err);
  if (listener->watch.fd >= 0) {
    (void)ft_string_copy(path, listener->path, sizeof listener->path);
    if (ft_loop_watch(loop, &listener->watch) == 0)
      return listener;
    ft_error_errno(err, "%s", path);
  }
  ft_listener_close(listener);
  return NULL;
}

void ft_listener_allow(struct ft_listener *listener, uid_t uid)
{
  if (listener->extra_uid == uid || uid == 0 || uid == geteuid())
    return;
  /* every peer is checked; the mode only keeps the others from trying */
  if (chmod(listener->path, 0666) < 0) {
    ft_log(LOG_WARNING, "%s: cannot let SlurmdUser (uid %u) connect: %s", listener->path,
           (unsigned)uid, strerror(errno));
    return;
  }
  listener->extra_uid = uid;
}

void ft_listener_close(struct ft_listener *listener)
{
  if (!listener)
    return;
  while (listener->list.next != &listener->list)
    close_announcer(listener->list.next);
  ft_accept_backoff_end(&listener->backoff);
  if (listener->watch.fd >= 0) {
    ft_loop_unwatch(listener->loop, &listener->watch);
    close(listener->watch.fd);
  }
  if (listener->path[0] && !listener->passed)
    (void)unlink(listener->path);
  free(listener);
}
