/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/socket.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Clients that connect meanwhile wait in the socket's backlog. */
#define BACKOFF_SECONDS 0.5

/* Whether a process listens at ADDRESS. */
static bool has_listener(const struct sockaddr_un *address, int type)
{
  int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool yes;

  if (fd < 0)
    return false;
  yes = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN;
  close(fd);
  return yes;
}

static int make_socket_directory(const char *path, struct ft_error *err)
{
  char directory[PATH_MAX];
  const char *slash = strrchr(path, '/');

  if (!slash || slash == path)
    return 0;
  (void)ft_text_copy(ft_text_of(path, (size_t)(slash - path)), directory, sizeof directory);
  return ft_io_make_path(directory, 0755, err);
}

/* Removes a socket at ADDRESS on which no process listens. Returns 0; -1 and ERR if one does. */
static int remove_dead_socket(const struct sockaddr_un *address, int type, struct ft_error *err)
{
  const char *path = address->sun_path;
  struct stat st;

  if (lstat(path, &st) < 0)
    return 0;
  if (!S_ISSOCK(st.st_mode))
    return ft_error_set(err, "%s: exists and is not a socket", path);
  if (has_listener(address, type))
    return ft_error_set(err, "%s: another process listens on this socket", path);
  (void)unlink(path);
  return 0;
}

int ft_socket_listen(const char *path, int type, mode_t mode, struct ft_error *err)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  mode_t mask;
  int fd, status;

  if (!ft_string_copy(path, address.sun_path, sizeof address.sun_path))
    return ft_error_set(err, "%s: path of a socket is longer than %zu bytes", path,
                        sizeof address.sun_path - 1);
  if (make_socket_directory(path, err) < 0 || remove_dead_socket(&address, type, err) < 0)
    return -1;
  fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return ft_error_errno(err, "%s", path);
  mask = umask(~mode & 0777);
  status = bind(fd, (const struct sockaddr *)&address, sizeof address);
  (void)umask(mask);
  if (status == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  ft_error_errno(err, "%s", path);
  if (status == 0)
    (void)unlink(path);
  close(fd);
  return -1;
}

/* Binds a socket to ADDRESS and listens. Returns its descriptor, or -1 with errno. */
static int bind_and_listen(const struct addrinfo *address)
{
  const int yes = 1, no = 0;
  int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

  if (fd < 0)
    return -1;
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address->ai_family == AF_INET6)
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
    return fd;
  close(fd);
  return -1;
}

int ft_socket_listen_tcp(const char *address, const char *port, struct ft_error *err)
{
  const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
                                  .ai_socktype = SOCK_STREAM };
  /* "::" accepts IPv4, too; "0.0.0.0" is for hosts without IPv6 */
  const char *const all[] = { "::", "0.0.0.0", NULL }, *const one[] = { address, NULL };
  struct addrinfo *found = NULL;
  int fd = -1, status = 0;

  for (const char *const *host = address[0] ? one : all; *host && fd < 0; host++) {
    status = getaddrinfo(*host, port, &hints, &found);
    if (status == 0) {
      fd = bind_and_listen(found);
      freeaddrinfo(found);
    }
  }
  if (fd >= 0)
    return fd;
  return status ? ft_error_set(err, "%s: expected a numeric address", address)
                : ft_error_errno(err, "%s%sport %s", address, address[0] ? ", " : "", port);
}

static void watch_again(void *data)
{
  struct ft_accept_backoff *backoff = data;

  if (ft_loop_watch(backoff->loop, backoff->watch) < 0)
    ft_loop_at(backoff->loop, &backoff->timer, ft_io_monotonic() + BACKOFF_SECONDS);
}

void ft_accept_backoff_begin(struct ft_accept_backoff *backoff, struct ft_loop *loop,
                             struct ft_watch *watch)
{
  backoff->loop = loop;
  backoff->watch = watch;
  backoff->timer.fire = watch_again;
  backoff->timer.data = backoff;
  ft_loop_unwatch(loop, watch);
  ft_loop_at(loop, &backoff->timer, ft_io_monotonic() + BACKOFF_SECONDS);
}

void ft_accept_backoff_end(struct ft_accept_backoff *backoff)
{
  if (backoff->loop)
    ft_loop_cancel(backoff->loop, &backoff->timer);
}
