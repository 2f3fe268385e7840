/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/passed_socket.h"
#include "predictor/core/text.h"

enum { FIRST_PASSED = 3 }; /* SD_LISTEN_FDS_START */

/* Returns the number in the environment variable NAME; 0: none. */
static uint64_t number_in(const char *name)
{
  struct ft_text text = ft_text_from(getenv(name));
  uint64_t number = 0;

  return ft_text_u64(&text, INT32_MAX, &number) && !ft_text_left(&text) ? number : 0;
}

unsigned ft_passed_sockets(void)
{
  uint64_t count = number_in("LISTEN_PID") == (uint64_t)getpid() ? number_in("LISTEN_FDS") : 0;

  (void)unsetenv("LISTEN_PID");
  (void)unsetenv("LISTEN_FDS");
  (void)unsetenv("LISTEN_FDNAMES");
  if (count > FT_PASSED_SOCKETS)
    count = FT_PASSED_SOCKETS;
  for (int i = 0; i < (int)count; i++)
    (void)fcntl(FIRST_PASSED + i, F_SETFD, FD_CLOEXEC);
  return (unsigned)count;
}

/* Whether the socket FD is of TYPE and listens; fills BOUND with its address. */
static bool is_listening(int fd, int type, struct sockaddr_storage *bound, socklen_t *length)
{
  socklen_t size = sizeof(int);
  int is = 0, listening = 0;

  *bound = (struct sockaddr_storage){ 0 };
  return getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &size) == 0 && is == type &&
         getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening &&
         getsockname(fd, (struct sockaddr *)bound, length) == 0;
}

/* Whether the socket FD listens at ADDRESS with TCP. */
static bool listens_at(int fd, const struct ft_address *address)
{
  static const char mapped[] = "::ffff:"; /* an IPv4 address on an IPv6 socket */
  struct sockaddr_storage bound;
  socklen_t length = sizeof bound;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  const char *name = host;

  if (!is_listening(fd, SOCK_STREAM, &bound, &length) || bound.ss_family == AF_UNIX ||
      getnameinfo((struct sockaddr *)&bound, length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return false;
  if (strncmp(name, mapped, sizeof mapped - 1) == 0)
    name += sizeof mapped - 1;
  return strcmp(port, address->port) == 0 &&
         (!address->host[0] || strcmp(name, address->host) == 0);
}

int ft_passed_socket_find(unsigned count, const struct ft_address *address, struct ft_error *err)
{
  for (int fd = FIRST_PASSED; fd < FIRST_PASSED + (int)count; fd++)
    if (listens_at(fd, address)) {
      (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      return fd;
    }
  return ft_error_set(err,
                      "none of the %u sockets that systemd passes is at %s%sport %s; compare "
                      "ListenStream in foretell-learnd.socket",
                      count, address->host, address->host[0] ? ", " : "", address->port);
}

int ft_passed_socket_find_path(unsigned count, const char *path, int type, struct ft_error *err)
{
  union {
    struct sockaddr_storage any;
    struct sockaddr_un local;
  } bound;

  for (int fd = FIRST_PASSED; fd < FIRST_PASSED + (int)count; fd++) {
    socklen_t length = sizeof bound.any - 1; /* the path may have no NUL */

    if (is_listening(fd, type, &bound.any, &length) && bound.any.ss_family == AF_UNIX &&
        strcmp(bound.local.sun_path, path) == 0) {
      (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
      /* peers then see the credentials of this process, not the service manager's */
      (void)listen(fd, SOMAXCONN);
      return fd;
    }
  }
  return ft_error_set(err,
                      "none of the %u sockets that systemd passes is %s; compare "
                      "ListenSequentialPacket in foretelld.socket",
                      count, path);
}
