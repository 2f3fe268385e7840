/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading files with a bound and writing them so that no half is ever seen. */
#ifndef FT_CORE_IO_H
#define FT_CORE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"

/*
 * Open NAME under directory DIRFD for reading if it is a regular file; never
 * waits for a FIFO or a device. The last part may be a link only where DIRFD is
 * AT_FDCWD: somebody named that path.
 * Returns a descriptor with close-on-exec; -1 with errno (ENOENT: not there).
 */
int ft_io_open_regular(int dirfd, const char *name, struct ft_error *err);

/*
 * Read a whole regular file, at most BUF's limit, into BUF (emptied first).
 * Returns 0; -1 with errno, EFBIG when it is larger.
 */
int ft_io_read_file(int dirfd, const char *name, struct ft_buf *buf, struct ft_error *err);

/* Read all that FD still gives, at most BUF's limit. Returns as above. */
int ft_io_read_fd(int fd, struct ft_buf *buf, struct ft_error *err);

/*
 * Put DATA into NAME under DIRFD with MODE: written beside it under a name of
 * its own, synced, then renamed. Readers see the old file or the new one.
 * On failure the old file stands and nothing is left beside it.
 */
int ft_io_write_file(int dirfd, const char *name, const void *data, size_t length, mode_t mode,
                     struct ft_error *err);

/* The folder NAME below DIRFD, to be read and closed with closedir(); NULL with errno. */
DIR *ft_io_open_directory(int dirfd, const char *name);

/*
 * Remove from folder DIRFD what ft_io_write_file has left there because it was killed: what is
 * older than SECONDS, which nobody is still writing; -INFINITY where nobody writes anything.
 */
void ft_io_remove_stale(int dirfd, double seconds);

/* Write everything or fail with errno. */
int ft_io_write_all(int fd, const void *data, size_t length);

/* Make PATH and its missing parents with MODE, as mkdir -p. */
int ft_io_make_path(const char *path, mode_t mode, struct ft_error *err);

/*
 * Whether nobody but root and the running user can change what PATH names, as sshd asks of its
 * files: they own it and all folders above it, and no group or others may write to any of them,
 * except to folders with the sticky bit above it. Returns 0; -1 with ERR, errno being EPERM where
 * somebody can.
 */
int ft_io_check_owner(const char *path, struct ft_error *err);

/* Seconds on CLOCK_MONOTONIC; seconds since the epoch (UTC). */
double ft_io_monotonic(void);
double ft_io_now(void);

/*
 * Wait until FD is ready for EVENTS, poll(2)'s; false once DEADLINE, of ft_io_monotonic, has
 * passed, or where FD cannot be waited for.
 */
bool ft_io_wait_ready(int fd, short events, double deadline);

/* Close FIRST and all descriptors above it. */
void ft_io_close_from(int first);

/*
 * Write the directory of a job that asked for ASKED (NULL: for none) into OUT, absolute as far as the
 * current one is known; "" where it is not or has no room.
 */
void ft_io_job_directory(const char *asked, char *out, size_t size);

#endif
