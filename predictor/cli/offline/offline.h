/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a learner, for commands that change the state directory while no learner runs. */
#ifndef FT_CLI_OFFLINE_H
#define FT_CLI_OFFLINE_H

#include "learner/recorder.h"

struct ft_offline {
  int state_fd;
  struct ft_publisher *publisher;
  struct ft_recorder *recorder;
  ft_site site;
};

/* Whether the caller may work in the state directory STATE_FD itself: no learner runs, and the
 * caller is root or owns the directory. */
bool ft_offline_is_possible(int state_fd);

/*
 * Locks the state directory STATE_FD, whose path is PATH, against a learner. A root process
 * permanently becomes the directory's owner, so that new files have this owner. Limits the log to
 * warnings. Returns the lock's descriptor; -1 and ERR.
 */
int ft_offline_lock(int state_fd, const char *path, struct ft_error *err);

/* Opens the recorder with the settings that the last learner published. OFFLINE is zeroed before.
 * Returns 0; -1 and ERR. The caller calls ft_offline_close in either case. */
int ft_offline_open(struct ft_offline *offline, int state_fd, const char *path,
                    struct ft_error *err);
void ft_offline_close(struct ft_offline *offline);

#endif
