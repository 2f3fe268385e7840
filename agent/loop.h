/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The agent's one thread waits here: descriptors (epoll), timers (its time-out),
 * signals (signalfd). Nothing called from it may block.
 */
#ifndef FT_AGENT_LOOP_H
#define FT_AGENT_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/error.h"

struct ft_loop;

/* A descriptor and what to call when it is ready; owned by whoever watches. */
struct ft_watch {
  int fd;
  void (*ready)(struct ft_watch *watch);
  void *data;
};

/* Something to call at a time of ft_io_monotonic, once; zero it before its first use. */
struct ft_timer {
  void (*fire)(void *data);
  void *data;
  double due;
  struct ft_timer *next;
  bool armed;
};

/* Block SIGNALS (ended by 0) and SIGCHLD and get them from the loop. NULL with ERR on failure. */
struct ft_loop *ft_loop_open(const int *signals, struct ft_error *err);
void ft_loop_close(struct ft_loop *loop);

/* Call WATCH when its descriptor can be read or is hung up. Returns 0 or -1 with errno. */
int ft_loop_watch(struct ft_loop *loop, struct ft_watch *watch);
void ft_loop_unwatch(struct ft_loop *loop, struct ft_watch *watch);

/* Arm TIMER for DUE, or move it there; it fires up to a millisecond late. */
void ft_loop_at(struct ft_loop *loop, struct ft_timer *timer, double due);
void ft_loop_cancel(struct ft_loop *loop, struct ft_timer *timer);

/* Whom to tell of a signal; of SIGCHLD for each child that has ended. */
void ft_loop_on_signal(struct ft_loop *loop, void (*call)(int signal, void *data), void *data);
void ft_loop_on_child(struct ft_loop *loop, void (*call)(pid_t pid, int status, void *data),
                      void *data);

/* Wait and call until ft_loop_stop. */
int ft_loop_run(struct ft_loop *loop, struct ft_error *err);
void ft_loop_stop(struct ft_loop *loop);

#endif
