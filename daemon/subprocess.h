/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands and forked functions beside the event loop, with a deadline and bounded output. */
#ifndef FT_DAEMON_SUBPROCESS_H
#define FT_DAEMON_SUBPROCESS_H

#include <sys/resource.h>

#include "daemon/loop.h"
#include "predictor/core/buf.h"

struct ft_subprocesses;

/* Result of a subprocess; valid during the callback. */
struct ft_subprocess_result {
  bool ok;          /* exited with 0 before the deadline */
  bool too_long;    /* killed, because it printed more than FT_LIMIT_COMMAND */
  const char *text; /* standard output and standard error, LENGTH bytes */
  size_t length;
  char why[256]; /* unless ok: one line with the reason */
};

typedef void ft_subprocess_callback(const struct ft_subprocess_result *result, void *data);

/* Manages all subprocesses of LOOP and takes its SIGCHLD callback. Returns NULL out of memory. */
struct ft_subprocesses *ft_subprocesses_open(struct ft_loop *loop);

/* Kills the subprocesses that still run, without calling their callbacks. */
void ft_subprocesses_close(struct ft_subprocesses *children);

/*
 * Runs ARGV (at most 15 arguments; argv[0] is looked up in PATH unless it contains a slash) for at
 * most SECONDS, then calls CALL once, never from inside this function. Returns 0; -1 and ERR if the
 * command cannot be started, and CALL is not called.
 */
int ft_subprocess_run(struct ft_subprocesses *children, const char *const *argv, double seconds,
                      ft_subprocess_callback *call, void *data, struct ft_error *err);

/* As ft_subprocess_run, with LENGTH bytes of INPUT as the standard input; otherwise it is empty. */
int ft_subprocess_run_input(struct ft_subprocesses *children, const char *const *argv,
                            const char *input, size_t length, double seconds,
                            ft_subprocess_callback *call, void *data, struct ft_error *err);

/* Memory that a forked copy may allocate, against a loop that allocates without end. */
#define FT_SUBPROCESS_FORK_BYTES ((rlim_t)1 << 30)

/*
 * Function that a forked copy of the daemon runs, with FD, a directory, and DATA. It prints its
 * result on standard output and returns the exit status.
 */
typedef int ft_subprocess_main(int fd, void *data);

/*
 * As ft_subprocess_run, but runs ENTRY in a fork of the daemon, which runs while a processor is
 * idle (SCHED_IDLE), with at most CPU_SECONDS of processor time and FT_SUBPROCESS_FORK_BYTES more
 * memory than the daemon. All descriptors except FD are closed in the fork. NAME stands in
 * messages.
 */
int ft_subprocess_fork(struct ft_subprocesses *children, const char *name,
                       ft_subprocess_main *entry, int fd, void *entry_data, double cpu_seconds,
                       double seconds, ft_subprocess_callback *call, void *data,
                       struct ft_error *err);

#endif
