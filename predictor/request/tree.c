/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/request/tree.h"

enum {
  DEPTH = 64, /* nested directories, each with an open descriptor */
  NAME = 256  /* bytes of a path component with NUL: NAME_MAX of Linux + 1 */
};

/* State of a walk over files. */
struct walk {
  double deadline, bytes;
  size_t entries;
  unsigned depth;
  bool found, unknown; /* any file or directory was added; the sum is unknown */
};

/* Counts a directory entry. Returns true, and makes the sum unknown, at a limit or after the
 * deadline. */
static bool is_walk_cut_off(struct walk *w)
{
  if (++w->entries > FT_TREE_ENTRIES || w->depth > DEPTH || ft_io_monotonic() >= w->deadline)
    w->unknown = true;
  return w->unknown;
}

/* Opens the directory NAME in PARENT. Returns NULL if it is missing or no directory; on other
 * errors also makes the sum unknown. */
static DIR *open_tree_directory(struct walk *w, int parent, const char *name, int flags)
{
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | flags);
  DIR *directory = fd < 0 ? NULL : fdopendir(fd);

  if (directory)
    return directory;
  if (fd >= 0)
    close(fd);
  w->unknown |= errno != ENOENT && errno != ENOTDIR;
  return NULL;
}

/* Returns the next entry except "." and ".."; NULL at the end, on error, and at a limit. */
static const struct dirent *next_entry(struct walk *w, DIR *directory)
{
  const struct dirent *entry;

  do {
    errno = 0;
    entry = is_walk_cut_off(w) ? NULL : readdir(directory);
  } while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
  w->unknown |= !entry && errno;
  return entry;
}

/* Adds the sizes of the files below the directory NAME in PARENT on the file system DEVICE.
 * Recursive. */
static void add_directory(struct walk *w, int parent, const char *name, int flags, dev_t device)
{
  const struct dirent *entry;
  DIR *directory = open_tree_directory(w, parent, name, flags);

  if (!directory)
    return;
  w->found = true;
  w->depth++;
  while ((entry = next_entry(w, directory))) {
    struct stat st;

    if (fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
      w->unknown |= errno != ENOENT;
    else if (S_ISREG(st.st_mode))
      w->bytes += (double)st.st_size;
    else if (S_ISDIR(st.st_mode) && st.st_dev == device)
      add_directory(w, dirfd(directory), entry->d_name, O_NOFOLLOW, device);
  }
  w->depth--;
  closedir(directory);
}

static void add_entry(struct walk *w, int parent, const char *name)
{
  struct stat st;

  if (fstatat(parent, name, &st, 0) < 0) {
    w->unknown |= errno != ENOENT && errno != ENOTDIR;
  } else if (S_ISREG(st.st_mode)) {
    w->bytes += (double)st.st_size;
    w->found = true;
  } else if (S_ISDIR(st.st_mode)) {
    add_directory(w, parent, name, 0, st.st_dev);
  }
}

static void add_pattern(struct walk *w, int parent, const char *pattern);

/* Adds NAME in PARENT or, if REST is not empty, the files in it that match REST. */
static void add_component(struct walk *w, int parent, const char *name, const char *rest)
{
  DIR *directory;

  if (!*rest) {
    add_entry(w, parent, name);
    return;
  }
  directory = open_tree_directory(w, parent, name, 0);
  if (!directory)
    return;
  add_pattern(w, dirfd(directory), rest);
  closedir(directory);
}

/* Adds the files that match PATTERN, relative to PARENT. Recursive over its components. */
static void add_pattern(struct walk *w, int parent, const char *pattern)
{
  size_t length = strcspn(pattern, "/");
  const char *rest = pattern + length + strspn(pattern + length, "/");
  const struct dirent *entry;
  char component[NAME] = "/";
  DIR *directory;

  if (length >= sizeof component || is_walk_cut_off(w)) {
    w->unknown = true;
    return;
  }
  if (length) {
    memcpy(component, pattern, length);
    component[length] = '\0';
  }
  if (!strpbrk(component, "*?[")) {
    add_component(w, parent, component, rest);
    return;
  }
  directory = open_tree_directory(w, parent, ".", 0);
  while (directory && (entry = next_entry(w, directory)))
    if (fnmatch(component, entry->d_name, FNM_PERIOD | FNM_NOESCAPE) == 0)
      add_component(w, parent, entry->d_name, rest);
  if (directory)
    closedir(directory);
}

int ft_tree_add_directory(int directory, const char *path, double deadline, double *bytes)
{
  struct walk w = { .deadline = deadline };

  add_entry(&w, directory, path);
  if (w.unknown || !w.found)
    return -1;
  *bytes += w.bytes;
  return 1;
}

int ft_tree_add_pattern(int directory, const char *pattern, double deadline, double *bytes)
{
  struct walk w = { .deadline = deadline };

  add_pattern(&w, directory, pattern);
  if (w.unknown)
    return -1;
  *bytes += w.bytes;
  return w.found;
}
