/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "predictor/core/hot.h"
#include "predictor/core/io.h"

struct ft_loop {
  int epoll_fd;
  struct ft_watch signals;
  struct ft_timer *timers; /* list sorted by due */
  void (*on_signal)(int signal, void *data);
  void *signal_data;
  void (*on_child)(pid_t pid, int status, void *data);
  void *child_data;
  bool stop;
};

/*
 * Returns epoll's timeout in milliseconds, rounded up: timers fire up to 1 ms late. A timerfd would
 * be exact, but costs two more system calls per sample.
 */
FT_HOT static int wait_milliseconds(const struct ft_loop *loop)
{
  double wait = loop->timers ? 1e3 * (loop->timers->due - ft_io_monotonic()) : -1;

  if (!loop->timers)
    return -1;
  if (wait <= 0)
    return 0;
  return wait < INT_MAX - 1 ? (int)wait + 1 : INT_MAX;
}

FT_HOT void ft_loop_cancel(struct ft_loop *loop, struct ft_timer *timer)
{
  if (!timer->armed)
    return;
  for (struct ft_timer **at = &loop->timers; *at; at = &(*at)->next)
    if (*at == timer) {
      *at = timer->next;
      break;
    }
  timer->armed = false;
}

FT_HOT void ft_loop_at(struct ft_loop *loop, struct ft_timer *timer, double due)
{
  struct ft_timer **at = &loop->timers;

  ft_loop_cancel(loop, timer);
  if (!isfinite(due))
    return;
  timer->due = due;
  timer->armed = true;
  while (*at && (*at)->due <= due)
    at = &(*at)->next;
  timer->next = *at;
  *at = timer;
}

/* Fires at most one timer per iteration, so that a timer that is always late cannot starve
 * descriptors. */
FT_HOT static void fire_due(struct ft_loop *loop)
{
  struct ft_timer *timer = loop->timers;

  if (loop->stop || !timer || timer->due > ft_io_monotonic())
    return;
  ft_loop_cancel(loop, timer);
  timer->fire(timer->data);
}

static void signal_ready(struct ft_watch *watch)
{
  struct ft_loop *loop = watch->data;
  struct signalfd_siginfo info;
  pid_t pid;
  int status;

  while (read(watch->fd, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo != SIGCHLD) {
      if (loop->on_signal)
        loop->on_signal((int)info.ssi_signo, loop->signal_data);
      continue;
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
      if (loop->on_child)
        loop->on_child(pid, status, loop->child_data);
  }
}

int ft_loop_watch(struct ft_loop *loop, struct ft_watch *watch)
{
  struct epoll_event event = { .events = EPOLLIN, .data.ptr = watch };

  return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, watch->fd, &event);
}

void ft_loop_unwatch(struct ft_loop *loop, struct ft_watch *watch)
{
  (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
}

struct ft_loop *ft_loop_open(const int *signals, struct ft_error *err)
{
  struct ft_loop *loop = calloc(1, sizeof *loop);
  sigset_t set;

  if (!loop) {
    ft_error_errno(err, "event loop");
    return NULL;
  }
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (; *signals; signals++)
    sigaddset(&set, *signals);
  (void)sigprocmask(SIG_BLOCK, &set, NULL);
  loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  loop->signals =
      (struct ft_watch){ signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC), signal_ready, loop };
  if (loop->epoll_fd < 0 || loop->signals.fd < 0 || ft_loop_watch(loop, &loop->signals) < 0) {
    ft_error_errno(err, "event loop");
    ft_loop_close(loop);
    return NULL;
  }
  return loop;
}

void ft_loop_close(struct ft_loop *loop)
{
  if (!loop)
    return;
  if (loop->signals.fd >= 0)
    close(loop->signals.fd);
  if (loop->epoll_fd >= 0)
    close(loop->epoll_fd);
  free(loop);
}

void ft_loop_on_signal(struct ft_loop *loop, void (*call)(int signal, void *data), void *data)
{
  loop->on_signal = call;
  loop->signal_data = data;
}

void ft_loop_on_child(struct ft_loop *loop, void (*call)(pid_t pid, int status, void *data),
                      void *data)
{
  loop->on_child = call;
  loop->child_data = data;
}

FT_HOT int ft_loop_run(struct ft_loop *loop, struct ft_error *err)
{
  loop->stop = false;
  while (!loop->stop) {
    struct epoll_event event;
    /* one event at a time: its callback may free any other watch */
    int got = epoll_wait(loop->epoll_fd, &event, 1, wait_milliseconds(loop));

    if (got < 0 && errno != EINTR)
      return ft_error_errno(err, "epoll_wait");
    if (got == 1) {
      struct ft_watch *watch = event.data.ptr;

      watch->ready(watch);
    }
    fire_due(loop);
  }
  return 0;
}

void ft_loop_stop(struct ft_loop *loop)
{
  loop->stop = true;
}
