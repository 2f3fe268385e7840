/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's exit records of all processes on this machine: taskstats
 * (Documentation/accounting/taskstats.rst), over netlink. The only source of the peak memory of a
 * process that ended between two samples.
 */
#ifndef FT_MEASURE_TASKSTATS_H
#define FT_MEASURE_TASKSTATS_H

#include "agent/measure/measure.h"

/* Exit record of a process: that of its last thread. */
struct ft_exit {
  pid_t pid, parent;
  bool forked;       /* never called exec: its memory began as its parent's pages */
  double peak_rss_bytes; /* peak RSS since its last exec */
  double life_seconds;
  double fault_bytes; /* one page per minor fault of its last thread */
};

/* Maximum number of records per ft_taskstats_read. */
enum { FT_EXITS_LIMIT = 1024 };

/*
 * Subscribes to the exit records of all processors. ROOT_FD is the descriptor of "/". Returns a
 * descriptor, which ft_taskstats_close closes; -1 and ERR.
 */
int ft_taskstats_open(int root_fd, struct ft_error *err);
void ft_taskstats_close(int fd);

/*
 * Reads pending records, in the order of the ends, into EXITS of FT_EXITS_LIMIT entries, without
 * blocking. Returns their number. Sets MORE if further ones may be pending, LOST if the kernel
 * dropped some.
 */
size_t ft_taskstats_read(int fd, struct ft_exit *exits, bool *more, bool *lost);

#endif
