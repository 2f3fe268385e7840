/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A child process for calls that may block for ever: a GPU's driver, and files of /proc that wait
 * for the mmap lock of a process stuck on a file system. The caller waits for a limited time. A
 * child that does not reply is killed and replaced, after pauses that grow. Request and reply are
 * in memory that both share.
 */
#ifndef FT_MEASURE_SUPERVISED_H
#define FT_MEASURE_SUPERVISED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zero-initialise, then set the first four. */
struct ft_supervised {
  /* runs in the child for each request: replaces the request in SHARED with its reply */
  void (*serve)(void *shared, const struct ft_supervised *child);
  size_t size;      /* of the shared memory, bytes */
  const void *data; /* of `serve` */
  int descriptor;   /* that the child keeps, as FT_SUPERVISED_FD; -1: none */

  void *shared;
  int fd; /* socket to the child; valid if pid */
  pid_t pid;
  bool busy;            /* the child has not replied to the latest request */
  double asked;         /* time of that request, ft_io_monotonic */
  double retry_at;      /* no child is started before */
  double retry_seconds; /* the pause after the next failure; 0: the shortest */
  uint64_t replaced;    /* children that did not reply */
};

/* The descriptor that a child keeps. */
enum { FT_SUPERVISED_FD = 4 };

/* Time that a caller waits for a reply, and time without one until the child is killed, seconds.
 * Tests set others. */
extern struct ft_supervised_limits {
  double wait_seconds, stuck_seconds;
} ft_supervised_limits;

/*
 * Returns the shared memory for a request; starts the child if none runs. Returns NULL if an
 * earlier request is under way, or no child can be started now.
 */
void *ft_supervised_begin(struct ft_supervised *child);

/* Sends the request and waits at most SECONDS for the reply. Returns 0; -1 with errno, ETIMEDOUT if
 * there is none yet. */
int ft_supervised_finish(struct ft_supervised *child, double seconds);

/* Whether the latest request has had no reply, or a child was killed for that a moment ago. */
bool ft_supervised_is_blocked(const struct ft_supervised *child);

/* Returns the processor time that the child, which calls it, has used, in seconds. */
double ft_supervised_cpu_seconds(void);

/* Ends the child. The structure can be used again. */
void ft_supervised_close(struct ft_supervised *child);

#endif
