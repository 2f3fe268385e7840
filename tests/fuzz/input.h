/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target's input as a file. */
#ifndef FT_TESTS_FUZZ_INPUT_H
#define FT_TESTS_FUZZ_INPUT_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/io.h"

static inline void fuzz_must(int holds)
{
  if (!holds)
    abort();
}

static inline void fuzz_fill(int fd, const uint8_t *data, size_t size)
{
  fuzz_must(fd >= 0 && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
            ft_io_write_all(fd, data, size) == 0 && lseek(fd, 0, SEEK_SET) == 0);
}

/* Returns a descriptor at the start of a file with SIZE bytes of DATA; the same descriptor at
 * every call. */
static inline int fuzz_fd(const uint8_t *data, size_t size)
{
  static int fd = -1;

  if (fd < 0)
    fd = memfd_create("fuzz", MFD_CLOEXEC);
  fuzz_fill(fd, data, size);
  return fd;
}

/* Creates a directory, in memory if such a file system exists, for inputs that must be named
 * files. */
static inline void fuzz_folder(char out[64])
{
  static const char *const places[] = { "/dev/shm", "/tmp" };
  bool made = false;

  for (int i = 0; i < 2 && !made; i++) {
    (void)snprintf(out, 64, "%s/foretell-fuzz-XXXXXX", places[i]);
    made = mkdtemp(out) != NULL;
  }
  fuzz_must(made);
}

/* Asserts that a reader's error is one line. */
static inline void fuzz_refused(const struct ft_error *err)
{
  for (const char *p = err->text; *p; p++)
    fuzz_must(*p != '\n');
  fuzz_must(err->text[0] != '\0');
}

#endif
