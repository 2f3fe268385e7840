/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/socket.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Who connects meanwhile waits in the socket's queue. */
#define REST_SECONDS 0.5

/* Whether somebody listens at ADDRESS. */
static bool answers(const struct sockaddr_un *address)
{
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  bool yes;

  if (fd < 0)
    return false;
  yes = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 || errno == EAGAIN;
  close(fd);
  return yes;
}

static int make_folder(const char *path, struct ft_error *err)
{
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');

  if (!slash || slash == path)
    return 0;
  (void)ft_text_copy(ft_text_of(path, (size_t)(slash - path)), folder, sizeof folder);
  return ft_io_make_path(folder, 0755, err);
}

/* Remove what a dead agent left at ADDRESS. */
static int make_way(const struct sockaddr_un *address, struct ft_error *err)
{
  const char *path = address->sun_path;
  struct stat st;

  if (lstat(path, &st) < 0)
    return 0;
  if (!S_ISSOCK(st.st_mode))
    return ft_error_set(err, "%s: is there and is no socket", path);
  if (answers(address))
    return ft_error_set(err, "%s: another process listens there", path);
  (void)unlink(path);
  return 0;
}

int ft_socket_listen(const char *path, mode_t mode, struct ft_error *err)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  mode_t mask;
  int fd, status;

  if (!ft_string_copy(path, address.sun_path, sizeof address.sun_path))
    return ft_error_set(err, "%s: longer than the %zu bytes a socket's name may have", path,
                        sizeof address.sun_path - 1);
  if (make_folder(path, err) < 0 || make_way(&address, err) < 0)
    return -1;
  fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
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

static void watch_again(void *data)
{
  struct ft_accept_backoff *rest = data;

  if (ft_loop_watch(rest->loop, rest->watch) < 0)
    ft_loop_at(rest->loop, &rest->timer, ft_io_monotonic() + REST_SECONDS);
}

void ft_accept_backoff_begin(struct ft_accept_backoff *rest, struct ft_loop *loop,
                             struct ft_watch *watch)
{
  rest->loop = loop;
  rest->watch = watch;
  rest->timer.fire = watch_again;
  rest->timer.data = rest;
  ft_loop_unwatch(loop, watch);
  ft_loop_at(loop, &rest->timer, ft_io_monotonic() + REST_SECONDS);
}

void ft_accept_backoff_end(struct ft_accept_backoff *rest)
{
  if (rest->loop)
    ft_loop_cancel(rest->loop, &rest->timer);
}
