/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bounded reads of /proc and /sys: one read into the caller's array, by a name below a root
 * descriptor or from an open descriptor, of which a limited number is kept.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/io.h"

/* Descriptors reserved for the rest of the process, and for each tree's cgroup: five files and
 * HUGETLB_LIMIT (cgroup.c). */
#define DESCRIPTORS_RESERVED 256
#define DESCRIPTORS_PER_TREE 9

size_t ft_proc_descriptors_limit(void)
{
  struct rlimit limit;

  if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= DESCRIPTORS_RESERVED)
    return 0;
  return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur - DESCRIPTORS_RESERVED;
}

bool ft_proc_may_keep_open(const struct ft_measure *measure)
{
  return measure->descriptors + DESCRIPTORS_PER_TREE * measure->tree_count <
         measure->descriptors_limit;
}

/* Files that the kernel implements by single_open are complete in one read (fs/seq_file.c). */
FT_HOT ssize_t ft_proc_reread(int fd, char *text, size_t size)
{
  ssize_t length;

  do
    length = pread(fd, text, size - 1, 0);
  while (length < 0 && errno == EINTR);
  text[length < 0 ? 0 : length] = '\0';
  return length;
}

int ft_proc_open(int fd, const char *name)
{
  return openat(fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

ssize_t ft_proc_read(int fd, const char *name, char *text, size_t size)
{
  int file = ft_proc_open(fd, name);
  ssize_t length;
  int saved;

  text[0] = '\0';
  if (file < 0)
    return -1;
  length = ft_proc_reread(file, text, size);
  saved = errno;
  close(file);
  errno = saved;
  return length;
}

ssize_t ft_proc_read_pid(const struct ft_measure *measure, pid_t pid, const char *name, char *text,
                         size_t size)
{
  char path[64];

  snprintf(path, sizeof path, "%d/%s", (int)pid, name);
  return ft_proc_read(measure->proc_fd, path, text, size);
}

bool ft_proc_value(const char *text, const char *key, double *value)
{
  struct ft_text rest = ft_text_from(text), line, word;

  while (ft_text_line(&rest, &line)) {
    uint64_t number;

    if (!ft_text_word(&line, &word) || !ft_text_equals(word, key))
      continue;
    if (!ft_text_word(&line, &word) || !ft_text_u64(&word, UINT64_MAX, &number))
      return false;
    *value = (double)number;
    return true;
  }
  return false;
}

bool ft_proc_number(const char *text, double *value)
{
  struct ft_text rest = ft_text_trim(ft_text_from(text));
  uint64_t number;

  if (ft_text_equals(rest, "max")) {
    *value = -1;
    return true;
  }
  if (!ft_text_u64(&rest, UINT64_MAX, &number) || ft_text_left(&rest))
    return false;
  *value = (double)number;
  return true;
}

/* Parses a field of a stat file; 0 if it is no number. */
static int64_t signed_number(struct ft_text word)
{
  bool negative = ft_text_skip(&word, "-");
  uint64_t number = 0;

  if (!ft_text_u64(&word, INT64_MAX, &number))
    return 0;
  return negative ? -(int64_t)number : (int64_t)number;
}

/* Process flag, since Linux 2.6.13 (linux/sched.h). */
enum { PF_FORKNOEXEC = 0x40 };

int ft_stat_parse(const char *text, size_t length, double tick_seconds, struct ft_stat *stat)
{
  /* the command may contain blanks and ')': the last ')' ends it */
  const char *open = memchr(text, '(', length), *close = memrchr(text, ')', length);
  struct ft_text rest, word;
  int64_t field[39] = { 0 };
  int last = 2;

  if (!open || !close || close < open)
    return -1;
  rest = ft_text_of(close + 1, length - (size_t)(close + 1 - text));
  *stat = (struct ft_stat){ 0 };
  ft_text_copy(ft_text_of(open + 1, (size_t)(close - open - 1)), stat->command,
               sizeof stat->command);
  while (last < 38 && ft_text_word(&rest, &word)) {
    field[++last] = signed_number(word);
    stat->stopped = last == 3 ? ft_text_equals(word, "T") : stat->stopped;
  }
  if (last < 38)
    return -1;
  /* proc(5): 4 ppid, 5 pgrp, 6 session, 9 flags, 10-13 faults, 14-17 times, 20 threads, 22 start */
  stat->parent = (pid_t)field[4];
  stat->group = (pid_t)field[5];
  stat->session = (pid_t)field[6];
  stat->threads = (unsigned)field[20];
  stat->start = (uint64_t)field[22];
  stat->forked = field[9] & PF_FORKNOEXEC;
  /* exit_signal is -1 for all threads but the first (kernel/fork.c: copy_process) */
  stat->thread = field[38] == -1;
  stat->own[FT_TOTAL_MINOR_FAULTS] = (double)field[10];
  stat->children[FT_TOTAL_MINOR_FAULTS] = (double)field[11];
  stat->own[FT_TOTAL_MAJOR_FAULTS] = (double)field[12];
  stat->children[FT_TOTAL_MAJOR_FAULTS] = (double)field[13];
  stat->own[FT_TOTAL_CPU_SECONDS] = ((double)field[14] + (double)field[15]) * tick_seconds;
  stat->children[FT_TOTAL_CPU_SECONDS] = ((double)field[16] + (double)field[17]) * tick_seconds;
  stat->own[FT_TOTAL_SYSTEM_SECONDS] = (double)field[15] * tick_seconds;
  stat->children[FT_TOTAL_SYSTEM_SECONDS] = (double)field[17] * tick_seconds;
  return 0;
}

int ft_stat_read(const struct ft_measure *measure, pid_t pid, struct ft_stat *stat)
{
  char text[1024];
  ssize_t length = ft_proc_read_pid(measure, pid, "stat", text, sizeof text);

  return length < 0 ? -1 : ft_stat_parse(text, (size_t)length, measure->tick_seconds, stat);
}

size_t ft_proc_threads(const struct ft_measure *measure, pid_t pid, pid_t *tids, size_t limit)
{
  char name[32];
  size_t count = 0;
  struct dirent *entry;
  DIR *dir;

  snprintf(name, sizeof name, "%d/task", (int)pid);
  dir = ft_io_open_directory(measure->proc_fd, name);
  if (!dir)
    return 0;
  while (count < limit && (entry = readdir(dir))) {
    struct ft_text text = ft_text_from(entry->d_name);
    uint64_t tid;

    if (ft_text_u64(&text, INT32_MAX, &tid) && !ft_text_left(&text))
      tids[count++] = (pid_t)tid;
  }
  closedir(dir);
  return count;
}

uint64_t ft_proc_ticks(const struct ft_measure *measure)
{
  struct timespec now;

  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)(((double)now.tv_sec + 1e-9 * (double)now.tv_nsec) / measure->tick_seconds);
}

bool ft_measure_capabilities(int proc_fd, const char *process, uint64_t *set)
{
  char text[8192], name[32];
  const char *at;

  (void)snprintf(name, sizeof name, "%s/status", process);
  if (ft_proc_read(proc_fd, name, text, sizeof text) < 0 || !(at = strstr(text, "\nCapEff:")))
    return false;
  *set = strtoull(at + strlen("\nCapEff:"), NULL, 16);
  return true;
}

bool ft_proc_may_trace(const struct ft_measure *measure)
{
  uint64_t set;

  return !ft_measure_capabilities(measure->proc_fd, "self", &set) ||
         set & FT_CAPABILITY(CAP_SYS_PTRACE);
}

bool ft_proc_may_open(const struct ft_measure *measure)
{
  uint64_t set;

  return !ft_measure_capabilities(measure->proc_fd, "self", &set) ||
         (set & FT_CAPABILITY(CAP_SYS_PTRACE) &&
          set & (FT_CAPABILITY(CAP_DAC_OVERRIDE) | FT_CAPABILITY(CAP_DAC_READ_SEARCH)));
}
