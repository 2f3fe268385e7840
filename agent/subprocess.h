/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command run beside the loop: what it prints, bounded, before a deadline. */
#ifndef FT_AGENT_CHILD_H
#define FT_AGENT_CHILD_H

#include "agent/loop.h"
#include "predictor/core/buf.h"

struct ft_subprocesses;

/*
 * How a command ended: OK when it exited 0 in time. TEXT, LENGTH is what it
 * printed on both outputs; WHY says in one line what went wrong otherwise.
 */
struct ft_subprocess_result {
  bool ok;
  const char *text;
  size_t length;
  char why[256];
};

typedef void ft_subprocess_callback(const struct ft_subprocess_result *result, void *data);

/* All commands of LOOP, whose SIGCHLD they take. NULL out of memory. */
struct ft_subprocesses *ft_subprocesses_open(struct ft_loop *loop);

/* Kill what still runs, without a call. */
void ft_subprocesses_close(struct ft_subprocesses *children);

/*
 * Run ARGV (argv[0] is looked up in PATH unless it has a slash; at most 15
 * words) for at most SECONDS, then CALL once, never from inside this function.
 * Returns 0, or -1 with ERR when it cannot be started; CALL is then not called.
 */
int ft_subprocess_run(struct ft_subprocesses *children, const char *const *argv, double seconds,
                      ft_subprocess_callback *call, void *data, struct ft_error *err);

/* What a forked copy of the agent does; it has DATA, FD (a folder), and prints on standard output.
 */
typedef int ft_subprocess_main(int fd, void *data);

/*
 * The same with WORK in place of a command: it runs in a fork of us, at the lowest priority and
 * with nothing of ours open but FD, uses at most CPU_SECONDS, and its result is the exit status.
 */
int ft_subprocess_fork(struct ft_subprocesses *children, const char *name, ft_subprocess_main *work,
                       int fd, void *work_data, double cpu_seconds, double seconds,
                       ft_subprocess_callback *call, void *data, struct ft_error *err);

#endif
