/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Event loop of a daemon's single thread: descriptors (epoll), timers (epoll's timeout) and
 * signals (signalfd). Callbacks must not block.
 */
#ifndef FT_DAEMON_LOOP_H
#define FT_DAEMON_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/error.h"

struct ft_loop;

/* A descriptor and the callback for when it is readable; owned by the caller. */
struct ft_watch {
  int fd;
  void (*ready)(struct ft_watch *watch);
  void *data;
};

/* A one-shot timer, owned by the caller; zero it before the first use. */
struct ft_timer {
  void (*fire)(void *data);
  void *data;
  double due; /* time of ft_io_monotonic, seconds */
  struct ft_timer *next;
  bool armed;
};

/*
 * Blocks SIGCHLD and SIGNALS (a list that ends with 0), which the loop then receives. Returns NULL
 * and ERR on failure.
 */
struct ft_loop *ft_loop_open(const int *signals, struct ft_error *err);
void ft_loop_close(struct ft_loop *loop);

/* Calls WATCH->ready when the descriptor is readable or hung up. Returns 0, or -1 with errno. */
int ft_loop_watch(struct ft_loop *loop, struct ft_watch *watch);
void ft_loop_unwatch(struct ft_loop *loop, struct ft_watch *watch);

/*
 * Arms TIMER, or re-arms it, for the monotonic time DUE; it fires at most a millisecond late. An
 * infinite DUE disarms TIMER.
 */
void ft_loop_at(struct ft_loop *loop, struct ft_timer *timer, double due);
void ft_loop_cancel(struct ft_loop *loop, struct ft_timer *timer);

/* Sets the callback for signals, and for each child that has ended (status as of waitpid). */
void ft_loop_on_signal(struct ft_loop *loop, void (*call)(int signal, void *data), void *data);
void ft_loop_on_child(struct ft_loop *loop, void (*call)(pid_t pid, int status, void *data),
                      void *data);

/* Runs the callbacks until ft_loop_stop. Returns 0; -1 and ERR if epoll fails. */
int ft_loop_run(struct ft_loop *loop, struct ft_error *err);
void ft_loop_stop(struct ft_loop *loop);

#endif
