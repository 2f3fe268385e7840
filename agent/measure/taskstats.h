/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's account of every process that ends on this machine, as it ends: taskstats
 * (Documentation/accounting/taskstats.rst), by netlink. It is the only one that
 * knows how much a process held that nobody has seen alive.
 */
#ifndef FT_MEASURE_TASKSTATS_H
#define FT_MEASURE_TASKSTATS_H

#include "agent/measure/measure.h"

/* A process that ended: its last thread's record. */
struct ft_exit {
  pid_t pid, parent;
  bool forked;        /* it never called exec: what it held began as its parent's pages */
  double high_bytes;  /* its memory's high water mark, of its last exec's on */
  double life_seconds;
  double fault_bytes; /* a page for each minor fault of its last thread */
};

/* What one call of ft_taskstats_read may give. */
enum { FT_EXITS_LIMIT = 1024 };

/*
 * Ask for the record of each process that ends from now on. ROOT_FD is of "/". Returns a
 * descriptor for ft_taskstats_close, or -1 with ERR, which says what is missing.
 */
int ft_taskstats_open(int root_fd, struct ft_error *err);
void ft_taskstats_close(int fd);

/*
 * Put what waits, in the order of the ends, into EXITS, which has room for FT_EXITS_LIMIT; never
 * blocks. Returns how many; MORE tells whether others may wait, LOST whether the kernel could
 * not keep all until now.
 */
size_t ft_taskstats_read(int fd, struct ft_exit *exits, bool *more, bool *lost);

#endif
