/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/notify.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

void ft_notify(const char *state)
{
  struct sockaddr_un to = { .sun_family = AF_UNIX };
  const char *path = getenv("NOTIFY_SOCKET");
  int fd;

  if (!path || !ft_string_copy(path, to.sun_path, sizeof to.sun_path))
    return;
  if (to.sun_path[0] == '@') /* an abstract name */
    to.sun_path[0] = '\0';
  fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return;
  (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
               (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path)));
  close(fd);
}

static struct watchdog {
  struct ft_loop *loop;
  struct ft_timer timer;
  double seconds; /* between two messages */
} watchdog;

static void watchdog_due(void *data)
{
  struct watchdog *w = data;

  ft_notify("WATCHDOG=1");
  ft_loop_at(w->loop, &w->timer, ft_io_monotonic() + w->seconds);
}

/* Returns the number in the environment variable NAME; 0: none. */
static uint64_t environment_number(const char *name)
{
  struct ft_text text = ft_text_from(getenv(name));
  uint64_t number = 0;

  return ft_text_u64(&text, INT64_MAX, &number) && !ft_text_left(&text) ? number : 0;
}

void ft_notify_watchdog(struct ft_loop *loop)
{
  uint64_t microseconds = environment_number("WATCHDOG_USEC"),
           pid = environment_number("WATCHDOG_PID");

  if (!microseconds || (pid && pid != (uint64_t)getpid()))
    return;
  watchdog = (struct watchdog){ .loop = loop,
                                .timer = { .fire = watchdog_due, .data = &watchdog },
                                .seconds = 0.5e-6 * (double)microseconds };
  watchdog_due(&watchdog);
}
