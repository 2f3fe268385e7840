/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/courier.h"
#include "agent/uplink.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/utf8.h"

/* Of the courier, its name included. */
enum { ARGUMENT_LIMIT = 6 };

struct ft_uplink {
  struct ft_loop *loop;
  char *argv[ARGUMENT_LIMIT + 1]; /* of the courier */
  int state_fd;
  struct ft_watch watch; /* fd -1: no courier runs */
  double reply_time;     /* ft_io_now of the latest reply; 0: none yet */
  struct errand {
    ft_uplink_callback *call; /* NULL: none under way */
    void *data;
  } errand[FT_EXCHANGE_COUNT];
};

/* Ends the courier, and the requests under way with WHY. */
static void drop_courier(struct ft_uplink *uplink, const char *why)
{
  struct errand lost[FT_EXCHANGE_COUNT];

  memcpy(lost, uplink->errand, sizeof lost);
  memset(uplink->errand, 0, sizeof uplink->errand);
  ft_loop_unwatch(uplink->loop, &uplink->watch);
  close(uplink->watch.fd);
  uplink->watch.fd = -1;
  /* these may send the next requests, by a new courier */
  for (int i = 0; i < FT_EXCHANGE_COUNT; i++)
    if (lost[i].call)
      lost[i].call(&(struct ft_uplink_reply){ .why = why }, lost[i].data);
}

static void packet_ready(struct ft_watch *watch)
{
  enum { HTTP_OK = 200, HTTP_BAD_REQUEST = 400 };
  struct ft_uplink *uplink = watch->data;
  struct ft_courier_packet *packet = malloc(sizeof *packet + 1);
  ssize_t got = packet ? recv(watch->fd, packet, sizeof *packet, MSG_DONTWAIT) : 0;
  size_t length = (size_t)got - FT_COURIER_HEAD;
  char why[256] = "";
  struct ft_uplink_reply reply = { .why = why };
  struct errand e;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    goto out;
  if (got < (ssize_t)FT_COURIER_HEAD || packet->exchange >= FT_EXCHANGE_COUNT) {
    drop_courier(uplink, packet ? "foretell-courier has ended" : "out of memory");
    goto out;
  }
  e = uplink->errand[packet->exchange];
  uplink->errand[packet->exchange].call = NULL;
  packet->body[length] = '\0';
  if (!e.call)
    goto out;
  if (packet->status == HTTP_OK) {
    uplink->reply_time = ft_io_now();
    reply.body = packet->body;
    reply.length = length;
  } else {
    (void)ft_text_copy(ft_text_of(packet->body, strcspn(packet->body, "\n")), why, sizeof why);
    ft_utf8_make_printable(why);
  }
  reply.synced = packet->synced;
  reply.malformed = packet->status == HTTP_BAD_REQUEST;
  e.call(&reply, e.data);
out:
  free(packet);
}

/* Writes the path of the courier to OUT: beside this program, as in a build tree, or installed. */
static void find_courier(char out[PATH_MAX])
{
  static const char name[] = "/foretell-courier";
  ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - sizeof name);
  char *slash;

  out[length > 0 ? length : 0] = '\0';
  slash = strrchr(out, '/');
  if (slash) {
    memcpy(slash, name, sizeof name);
    if (access(out, X_OK) == 0)
      return;
  }
  (void)ft_string_copy(FT_COURIER, out, PATH_MAX);
}

/* Starts the courier with the socket FD as its standard input and the state directory as
 * FT_COURIER_STATE_FD. Returns 0, or an errno. */
static int spawn_courier(struct ft_uplink *uplink, int fd)
{
  char program[PATH_MAX];
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  pid_t pid;
  int status;

  find_courier(program);
  sigemptyset(&none);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, uplink->state_fd, FT_COURIER_STATE_FD);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  status = posix_spawn(&pid, program, &actions, &attributes, uplink->argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return status;
}

static int start_courier(struct ft_uplink *uplink, struct ft_error *err)
{
  int ends[2], status;

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
    return ft_error_errno(err, "foretell-courier");
  status = spawn_courier(uplink, ends[1]);
  close(ends[1]);
  uplink->watch = (struct ft_watch){ ends[0], packet_ready, uplink };
  if (status == 0 && ft_loop_watch(uplink->loop, &uplink->watch) == 0)
    return 0;
  close(ends[0]);
  uplink->watch.fd = -1;
  errno = status ? status : errno;
  return ft_error_errno(err, "foretell-courier");
}

int ft_uplink_send(struct ft_uplink *uplink, enum ft_exchange exchange, const void *body,
                   size_t length, ft_uplink_callback *call, void *data, struct ft_error *err)
{
  const struct ft_courier_packet head = { .exchange = exchange };
  struct iovec parts[] = { { (void *)(uintptr_t)&head, FT_COURIER_HEAD },
                           { (void *)(uintptr_t)body, length } };
  struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

  if (uplink->watch.fd < 0 && start_courier(uplink, err) < 0)
    return -1;
  if (sendmsg(uplink->watch.fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
    return ft_error_errno(err, "foretell-courier");
  uplink->errand[exchange] = (struct errand){ call, data };
  return 0;
}

int ft_uplink_send_record(struct ft_uplink *uplink, enum ft_exchange exchange,
                          enum ft_record record, const void *message, ft_uplink_callback *call,
                          void *data, struct ft_error *err)
{
  struct ft_buf body;
  int status;

  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  status = ft_record_encode(record, message, &body, err);
  if (status == 0)
    status = ft_uplink_send(uplink, exchange, body.data, body.length, call, data, err);
  ft_buf_free(&body);
  return status;
}

/* Sets the courier's arguments (agent/courier.h). Returns 0; -1 out of memory. */
static int set_arguments(struct ft_uplink *uplink, const struct ft_config *config)
{
  const struct ft_config_network *n = &config->network;
  const char *const local[] = { "foretell-courier", config->learner_socket, NULL };
  const char *const munge[] = { local[0],        n->learners,      "munge",
                                n->munge_socket, n->learner_users, NULL };
  const char *const tls[] = { local[0],   n->learners, "tls", n->tls_certificate,
                              n->tls_key, n->tls_ca,   NULL };
  const char *const *from = !n->learners[0] ? local : n->auth == FT_AUTH_TLS ? tls : munge;

  for (int i = 0; from[i]; i++)
    if (!(uplink->argv[i] = strdup(from[i])))
      return -1;
  return 0;
}

struct ft_uplink *ft_uplink_open(struct ft_loop *loop, const struct ft_config *config, int state_fd)
{
  struct ft_uplink *uplink = calloc(1, sizeof *uplink);

  if (!uplink)
    return NULL;
  uplink->loop = loop;
  uplink->state_fd = state_fd;
  uplink->watch.fd = -1;
  if (set_arguments(uplink, config) == 0)
    return uplink;
  ft_uplink_close(uplink);
  return NULL;
}

double ft_uplink_reply_time(const struct ft_uplink *uplink)
{
  return uplink->reply_time;
}

void ft_uplink_close(struct ft_uplink *uplink)
{
  if (!uplink)
    return;
  if (uplink->watch.fd >= 0) {
    ft_loop_unwatch(uplink->loop, &uplink->watch);
    close(uplink->watch.fd);
  }
  for (int i = 0; i < ARGUMENT_LIMIT; i++)
    free(uplink->argv[i]);
  free(uplink);
}
