/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "plugin/packet.h"
#include "predictor/core/text.h"

/* Connects to the socket PATH. Returns -1 after three attempts: the agent empties a full backlog
 * within a fraction of a millisecond. */
static int connect_to_agent(const char *path)
{
  const struct timespec pause = { .tv_nsec = 200000 };
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd;

  if (!ft_string_copy(path, address.sun_path, sizeof address.sun_path))
    return -1;
  fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  for (int i = 0; fd >= 0 && i < 3; i++) {
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
      return fd;
    if (errno != EAGAIN && errno != EINTR)
      break;
    (void)nanosleep(&pause, NULL);
  }
  if (fd >= 0)
    close(fd);
  return -1;
}

void ft_packet_send(const char *path, enum ft_record record, const void *message)
{
  struct ft_buf packet;
  int fd = connect_to_agent(path);

  if (fd < 0)
    return;
  ft_buf_init(&packet, FT_LIMIT_ENVIRONMENT);
  if (ft_record_encode(record, message, &packet, NULL) == 0)
    (void)send(fd, packet.data, packet.length, MSG_NOSIGNAL | MSG_DONTWAIT);
  ft_buf_free(&packet);
  close(fd);
}
