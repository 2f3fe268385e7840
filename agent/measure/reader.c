/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads files of /proc for which the kernel takes a process's mmap lock, in a supervised child. A
 * process that waits for a page of a hung file system may hold this lock for ever. The files of the
 * processes on which a reader was stuck are not read for a while.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "agent/measure/supervised.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"

/* Time for which a stuck process is not read again, in seconds, and the number of such processes
 * that are remembered. By judgement. */
#define STUCK_REST_SECONDS 60.0
enum { STUCK_LIMIT = 64 };

/* In shared memory: the request, then its reply. */
struct reading {
  char name[64]; /* below /proc */
  ssize_t length;
  int error; /* errno if length is negative */
  double cpu_seconds;
  char text[FT_LIMIT_ENVIRON + 1];
};

struct ft_reader {
  struct ft_supervised child;
  pid_t read; /* by the latest request */
  struct {
    pid_t pid;
    double until;
  } stuck[STUCK_LIMIT]; /* ring buffer */
  size_t oldest;
};

/* Runs in the child. */
static void serve_reading(void *shared, const struct ft_supervised *child)
{
  struct reading *r = shared;
  double begun = ft_supervised_cpu_seconds();
  int fd = ft_proc_open(FT_SUPERVISED_FD, r->name);
  ssize_t got = fd < 0 ? -1 : 0;

  (void)child;
  r->length = 0;
  while (fd >= 0 && r->length < FT_LIMIT_ENVIRON &&
         (got = read(fd, r->text + r->length, FT_LIMIT_ENVIRON - (size_t)r->length)) > 0)
    r->length += got;
  r->error = got < 0 ? errno : 0;
  if (got < 0 && !r->length)
    r->length = -1;
  r->text[r->length < 0 ? 0 : r->length] = '\0';
  if (fd >= 0)
    close(fd);
  r->cpu_seconds = ft_supervised_cpu_seconds() - begun;
}

struct ft_reader *ft_reader_new(int proc_fd)
{
  struct ft_reader *reader = calloc(1, sizeof *reader);

  if (reader)
    reader->child = (struct ft_supervised){ .serve = serve_reading,
                                            .size = sizeof(struct reading),
                                            .descriptor = proc_fd };
  return reader;
}

void ft_reader_rest(struct ft_reader *reader)
{
  if (reader)
    ft_supervised_close(&reader->child);
}

void ft_reader_free(struct ft_reader *reader)
{
  ft_reader_rest(reader);
  free(reader);
}

const struct ft_supervised *ft_reader_child(const struct ft_reader *reader)
{
  return &reader->child;
}

static bool is_stuck(const struct ft_reader *reader, pid_t pid)
{
  double now = ft_io_monotonic();

  for (size_t i = 0; i < STUCK_LIMIT; i++)
    if (reader->stuck[i].pid == pid && now < reader->stuck[i].until)
      return true;
  return false;
}

/* Starts a request, or the next child. Returns the memory for it; NULL: none can be made now. */
static struct reading *begin_reading(struct ft_reader *reader)
{
  uint64_t replaced = reader->child.replaced;
  struct reading *r = ft_supervised_begin(&reader->child);

  if (reader->child.replaced > replaced) {
    reader->stuck[reader->oldest].pid = reader->read;
    reader->stuck[reader->oldest].until = ft_io_monotonic() + STUCK_REST_SECONDS;
    reader->oldest = (reader->oldest + 1) % STUCK_LIMIT;
  }
  return r;
}

ssize_t ft_reader_read(const struct ft_measure *measure, pid_t pid, const char *name,
                       const char **text, double *cpu_seconds)
{
  struct ft_reader *reader = measure->reader;
  struct reading *r = is_stuck(reader, pid) ? NULL : begin_reading(reader);

  *text = "";
  if (!r) {
    errno = is_stuck(reader, pid) ? ETIMEDOUT : EAGAIN;
    return -1;
  }
  (void)snprintf(r->name, sizeof r->name, "%d/%s", (int)pid, name);
  reader->read = pid;
  if (ft_supervised_finish(&reader->child, ft_supervised_limits.wait_seconds) < 0) {
    errno = ETIMEDOUT;
    return -1;
  }
  if (cpu_seconds)
    *cpu_seconds = r->cpu_seconds;
  *text = r->text;
  errno = r->error;
  return r->length;
}
