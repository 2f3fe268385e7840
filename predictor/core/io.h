/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads files up to a limit, replaces files atomically, checks owners, waits for descriptors. */
#ifndef FT_CORE_IO_H
#define FT_CORE_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"

/*
 * Opens the regular file NAME under directory DIRFD for reading; never blocks on a FIFO or a
 * device. Follows a symbolic link in the last component only if DIRFD is AT_FDCWD, because users
 * supply such paths. Returns a descriptor with close-on-exec, which the caller closes; -1 on error,
 * sets errno and fills ERR.
 */
int ft_io_open_regular(int dirfd, const char *name, struct ft_error *err);

/*
 * Replaces the contents of BUF with the regular file NAME under directory DIRFD. Returns 0; -1 on
 * error with errno (EFBIG: larger than BUF's limit) and fills ERR.
 */
int ft_io_read_file(int dirfd, const char *name, struct ft_buf *buf, struct ft_error *err);

/* Appends the unread bytes of FD to BUF. Returns as ft_io_read_file. */
int ft_io_read_fd(int fd, struct ft_buf *buf, struct ft_error *err);

/*
 * Replaces the file NAME under DIRFD with LENGTH bytes of DATA and permissions MODE: writes a
 * temporary file, syncs and renames it. Readers see the old contents or the new ones. Returns 0; -1
 * on error, sets errno and fills ERR; the old file is then unchanged and the temporary file
 * removed.
 */
int ft_io_write_file(int dirfd, const char *name, const void *data, size_t length, mode_t mode,
                     struct ft_error *err);

/* The same without fdatasync(2): the file survives the process, but not a loss of power within the
 * next 30 s or so. */
int ft_io_write_file_unsynced(int dirfd, const char *name, const void *data, size_t length,
                              mode_t mode, struct ft_error *err);

/*
 * Confirms that what fdatasync(2) has written below DIRFD is on the disk. When an error makes ext4
 * read-only, fdatasync may return 0 although the journal has dropped the change: in 89 of 1,127
 * aborts on Linux 6.18. The file system's next transaction then fails, here one that allocates a
 * block of the file NAME. Returns 0, also without such a file or where blocks cannot be allocated
 * ahead; -1 with errno if nothing can be written.
 */
int ft_io_confirm_sync(int dirfd, const char *name);

/* Root gives the new file FD, whose name is PATH, to the owner of its directory: a daemon that is
 * not root works there. Does nothing for other users. Returns 0; -1 with errno. */
int ft_io_give_to_owner(int fd, const char *path);

/* Opens the directory NAME under DIRFD. The caller closes it with closedir(). Returns NULL on error
 * with errno. */
DIR *ft_io_open_directory(int dirfd, const char *name);

/*
 * Removes the temporary files that killed processes left in ft_io_write_file from directory DIRFD,
 * if older than SECONDS. A younger file may belong to a running call; -INFINITY removes all.
 */
void ft_io_remove_stale(int dirfd, double seconds);

/* Writes all LENGTH bytes of DATA. Returns 0; -1 on error with errno. */
int ft_io_write_all(int fd, const void *data, size_t length);

/* Creates the directory PATH and its missing parents with permissions MODE. Returns 0; -1 on error
 * and fills ERR. */
int ft_io_make_path(const char *path, mode_t mode, struct ft_error *err);

/*
 * Checks that only root and the effective user can change PATH, as sshd(8) does for its files: they
 * own PATH and every directory above it up to TOP, a canonical path, and group and others cannot
 * write to any of them. A directory above PATH may be writable if it has the sticky bit. Returns 0;
 * -1 on error and fills ERR, with errno EPERM if another user could change PATH.
 */
int ft_io_check_owner(const char *path, const char *top, struct ft_error *err);

/* Returns the time of CLOCK_MONOTONIC, seconds. */
double ft_io_monotonic(void);

/* Returns seconds since 1970-01-01 UTC. */
double ft_io_now(void);

/*
 * Waits until FD is ready for EVENTS (poll(2)). Returns true if it is; false after DEADLINE, a time
 * of ft_io_monotonic in seconds, and if poll fails.
 */
bool ft_io_wait_ready(int fd, short events, double deadline);

/* Closes all descriptors from FIRST on. */
void ft_io_close_from(int first);

/*
 * Copies the working directory of a job to OUT, of SIZE bytes. REQUESTED is the value of --chdir
 * (NULL: none). The result is absolute, or REQUESTED itself if the current directory is unknown; ""
 * if neither is known or the path is too long.
 */
void ft_io_job_directory(const char *requested, char *out, size_t size);

#endif
