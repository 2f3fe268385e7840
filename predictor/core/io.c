/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "predictor/core/hot.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

int ft_io_open_regular(int dirfd, const char *name, struct ft_error *err)
{
  int fd =
      openat(dirfd, name,
             O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (dirfd == AT_FDCWD ? 0 : O_NOFOLLOW));
  struct stat st;

  if (fd < 0)
    return ft_error_errno(err, "%s", name);
  if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
    close(fd);
    errno = EINVAL;
    return ft_error_set(err, "%s: not a regular file", name);
  }
  return fd;
}

int ft_io_read_fd(int fd, struct ft_buf *buf, struct ft_error *err)
{
  char chunk[16384];

  for (;;) {
    ssize_t got = read(fd, chunk, sizeof chunk);

    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ft_error_errno(err, "read");
    if (got == 0)
      return 0;
    if (ft_buf_add(buf, chunk, (size_t)got) < 0) {
      errno = EFBIG;
      return ft_error_set(err, "larger than %zu bytes", buf->limit);
    }
  }
}

int ft_io_read_file(int dirfd, const char *name, struct ft_buf *buf, struct ft_error *err)
{
  struct ft_error why;
  int fd = ft_io_open_regular(dirfd, name, err), status, saved;

  if (fd < 0)
    return -1;
  ft_buf_free(buf);
  status = ft_io_read_fd(fd, buf, &why);
  saved = errno;
  close(fd);
  errno = saved;
  return status < 0 ? ft_error_set(err, "%s: %s", name, why.text) : 0;
}

int ft_io_write_all(int fd, const void *data, size_t length)
{
  const char *p = data;

  while (length) {
    ssize_t put = write(fd, p, length);

    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return -1;
    p += put;
    length -= (size_t)put;
  }
  return 0;
}

static int replace_file(int dirfd, const char *name, const void *data, size_t length, mode_t mode,
                        bool sync, struct ft_error *err)
{
  char temporary[NAME_MAX + 1];
  int fd, saved;

  if ((size_t)snprintf(temporary, sizeof temporary, ".%s.%ld", name, (long)getpid()) >=
      sizeof temporary) {
    errno = ENAMETOOLONG;
    return ft_error_errno(err, "%s", name);
  }
  (void)unlinkat(dirfd, temporary, 0);
  fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0)
    return ft_error_errno(err, "%s", name);
  if (fchmod(fd, mode) < 0 || ft_io_write_all(fd, data, length) < 0 || (sync && fdatasync(fd) < 0))
    goto fail;
  if (close(fd) < 0) {
    fd = -1;
    goto fail;
  }
  fd = -1;
  if (renameat(dirfd, temporary, dirfd, name) < 0)
    goto fail;
  return 0;
fail:
  saved = errno;
  if (fd >= 0)
    close(fd);
  (void)unlinkat(dirfd, temporary, 0);
  errno = saved;
  return ft_error_errno(err, "%s", name);
}

int ft_io_write_file(int dirfd, const char *name, const void *data, size_t length, mode_t mode,
                     struct ft_error *err)
{
  return replace_file(dirfd, name, data, length, mode, true, err);
}

int ft_io_confirm_sync(int dirfd, const char *name)
{
  int fd = openat(dirfd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), saved = errno;

  if (fd >= 0) {
    saved = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1) < 0 ? errno : 0;
    close(fd);
  }
  errno = saved;
  return saved == EROFS || saved == EIO || saved == ESHUTDOWN ? -1 : 0;
}

int ft_io_write_file_unsynced(int dirfd, const char *name, const void *data, size_t length,
                              mode_t mode, struct ft_error *err)
{
  return replace_file(dirfd, name, data, length, mode, false, err);
}

int ft_io_give_to_owner(int fd, const char *path)
{
  const char *slash = strrchr(path, '/');
  char directory[PATH_MAX];
  struct stat st;

  if (geteuid() != 0)
    return 0;
  if (!ft_text_copy(slash ? ft_text_of(path, (size_t)(slash - path) + 1) : ft_text_from("."),
                    directory, sizeof directory)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  if (stat(directory, &st) < 0)
    return -1;
  return st.st_uid == 0 ? 0 : fchown(fd, st.st_uid, st.st_gid);
}

/* Returns whether NAME has the form ".FILE.PID" of ft_io_write_file's temporary files. */
static bool is_temporary_name(const char *name)
{
  const char *pid = strrchr(name, '.');

  return name[0] == '.' && pid > name + 1 && pid[1] && !pid[1 + strspn(pid + 1, "0123456789")];
}

DIR *ft_io_open_directory(int dirfd, const char *name)
{
  int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), saved;
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);

  if (!folder && fd >= 0) {
    saved = errno;
    close(fd);
    errno = saved;
  }
  return folder;
}

void ft_io_remove_stale(int dirfd, double seconds)
{
  DIR *folder = ft_io_open_directory(dirfd, ".");
  double now = ft_io_now();
  struct dirent *entry;
  struct stat st;

  while (folder && (entry = readdir(folder)))
    if (is_temporary_name(entry->d_name) &&
        fstatat(dirfd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        now - (double)st.st_mtime > seconds)
      (void)unlinkat(dirfd, entry->d_name, 0);
  if (folder)
    closedir(folder);
}

int ft_io_make_path(const char *path, mode_t mode, struct ft_error *err)
{
  char part[PATH_MAX];
  size_t length = strlen(path);

  if (length >= sizeof part) {
    errno = ENAMETOOLONG;
    return ft_error_errno(err, "%s", path);
  }
  for (size_t i = 1; i <= length; i++) {
    if (path[i] != '/' && path[i] != '\0')
      continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (mkdir(part, mode) < 0 && errno != EEXIST)
      return ft_error_errno(err, "mkdir %s", part);
  }
  return 0;
}

static int check_path_owner(const char *path, bool above, struct ft_error *err)
{
  struct stat st;

  if (lstat(path, &st) < 0)
    return ft_error_errno(err, "%s", path);
  if (st.st_uid != 0 && st.st_uid != geteuid()) {
    errno = EPERM;
    return ft_error_set(err, "%s: owned by user %u; expected root or user %u", path,
                        (unsigned)st.st_uid, (unsigned)geteuid());
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(above && st.st_mode & S_ISVTX)) {
    errno = EPERM;
    return ft_error_set(err, "%s: writable by group or others (mode %04o); use chmod go-w", path,
                        (unsigned)(st.st_mode & 07777));
  }
  return 0;
}

int ft_io_check_owner(const char *path, const char *top, struct ft_error *err)
{
  char *real = realpath(path, NULL);
  int status = real ? check_path_owner(real, false, err) : ft_error_errno(err, "%s", path);

  while (status == 0 && strcmp(real, top) != 0 && strcmp(real, "/") != 0) {
    char *slash = strrchr(real, '/');

    slash[slash == real] = '\0';
    status = check_path_owner(real, true, err);
  }
  free(real);
  return status;
}

static double clock_seconds(clockid_t clock)
{
  struct timespec t;

  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

FT_HOT double ft_io_monotonic(void)
{
  return clock_seconds(CLOCK_MONOTONIC);
}

FT_HOT double ft_io_now(void)
{
  return clock_seconds(CLOCK_REALTIME);
}

bool ft_io_wait_ready(int fd, short events, double deadline)
{
  for (;;) {
    double left = deadline - ft_io_monotonic();
    struct pollfd p = { .fd = fd, .events = events };
    int n;

    if (left <= 0)
      return false;
    n = poll(&p, 1, (int)(left * 1000) + 1);
    if (n > 0)
      return true;
    if (n < 0 && errno != EINTR)
      return false;
  }
}

void ft_io_close_from(int first)
{
#ifdef SYS_close_range
  if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
    return;
#endif
  for (int fd = first; fd < 4096; fd++)
    close(fd);
}

void ft_io_job_directory(const char *requested, char *out, size_t size)
{
  size_t length;

  if ((requested && requested[0] == '/') || !getcwd(out, size)) {
    (void)ft_string_copy(requested ? requested : "", out, size);
    return;
  }
  length = strlen(out);
  if (requested && strcmp(requested, ".") != 0 &&
      (size_t)snprintf(out + length, size - length, "/%s", requested) >= size - length)
    out[0] = '\0';
}
