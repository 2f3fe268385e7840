/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "learner/query_file.h"
#include "predictor/record/state_files.h"

bool ft_query_file(int state_fd, struct ft_query *query, ft_reply *reply)
{
  const char *name = query->question->asked.file.name;
  char path[FT_STATE_NAME_SIZE + 32];

  reply->last = true;
  if (!name[0] || name[0] == '.' || strchr(name, '/') || query->uid == FT_STATE_POOLED)
    return true;
  (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%u/%s", (unsigned)query->uid, name);
  query->fd = openat(state_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  return true;
}
