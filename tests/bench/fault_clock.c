/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded into an agent by tests/bench/faults, into munged by tests/agent/network.sh: adds the
 * seconds in the file named by FT_FAULT_CLOCK (an int64_t in the machine's byte order) to the time
 * of day. The file is mapped, so that a change applies at the next call. Monotonic clocks are
 * unchanged.
 */
#include "config.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Seconds to add; the mapped file. */
static const volatile int64_t no_offset, *offset = &no_offset;

__attribute__((constructor)) static void open_offset(void)
{
  const char *path = getenv("FT_FAULT_CLOCK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, fd, 0);

  if (fd >= 0)
    close(fd);
  if (at == MAP_FAILED)
    abort();
  offset = at;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
  int status = (int)syscall(SYS_clock_gettime, clock, out);

  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    out->tv_sec += *offset;
  return status;
}

time_t time(time_t *out)
{
  struct timespec now;

  if (clock_gettime(CLOCK_REALTIME, &now) < 0)
    return -1;
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}

int gettimeofday(struct timeval *out, void *zone)
{
  struct timespec now;

  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) < 0)
    return -1;
  *out = (struct timeval){ now.tv_sec, (suseconds_t)(now.tv_nsec / 1000) };
  return 0;
}
