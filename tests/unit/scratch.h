/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A private directory of a test. */
#ifndef FT_TESTS_UNIT_SCRATCH_H
#define FT_TESTS_UNIT_SCRATCH_H

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCRATCH_SIZE = 32 };

/* Creates the directory and writes its path into PATH. Returns a descriptor of it. */
static inline int scratch_open(char path[SCRATCH_SIZE])
{
  int fd;

  (void)snprintf(path, SCRATCH_SIZE, "/tmp/foretell-test-XXXXXX");
  assert_non_null(mkdtemp(path));
  fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  assert_true(fd >= 0);
  return fd;
}

static inline int scratch_drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
  (void)st;
  (void)kind;
  (void)at;
  return remove(path);
}

/* Removes the directory PATH with its contents. Returns 0; nonzero on error. */
static inline int scratch_remove(const char *path)
{
  return nftw(path, scratch_drop, 16, FTW_DEPTH | FTW_PHYS);
}

/* Closes FD and removes the directory of scratch_open. */
static inline int scratch_close(const char *path, int fd)
{
  close(fd);
  return scratch_remove(path);
}

#endif
