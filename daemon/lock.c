/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "predictor/record/state_files.h"

int ft_lock_state(int state_fd, const char *path, const char *name, struct ft_error *err)
{
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int fd = openat(state_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

  if (fd < 0)
    return ft_error_errno(err, "%s/%s", path, name);
  /* an open file description lock: F_OFD_GETLK tests for it without taking it */
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
    return fd;
  if (errno == EAGAIN || errno == EACCES)
    ft_error_set(err, "%s: another %s uses this state directory", path,
                 strcmp(name, FT_STATE_AGENT_LOCK) == 0 ? "foretelld" : "foretell-learnd");
  else
    ft_error_errno(err, "%s/%s", path, name);
  close(fd);
  return -1;
}
