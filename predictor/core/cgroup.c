/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/cgroup.h"

static bool is_octal(char c)
{
  return c >= '0' && c <= '7';
}

/* Copies TEXT to OUT and replaces mountinfo's escapes of blanks and backslashes, three octal digits
 * (proc(5)). Returns false if OUT is too small. */
static bool unescape_mount(struct ft_text text, char *out, size_t size)
{
  size_t length = 0;

  while (text.at < text.end && length + 1 < size) {
    const char *at = text.at;

    if (*at == '\\' && text.end - at >= 4 && is_octal(at[1]) && is_octal(at[2]) &&
        is_octal(at[3])) {
      out[length++] = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
      text.at += 4;
    } else {
      out[length++] = *text.at++;
    }
  }
  out[length] = '\0';
  return text.at == text.end;
}

/*
 * Parses a LINE of mountinfo: id parent device root point options [tags] - type source options.
 * Returns false for other file systems, and for cgroup v2 after a mount was FOUND.
 */
static bool parse_mount_line(struct ft_text line, bool found, struct ft_cgroup_mounts *mount)
{
  struct ft_text word, root, point;
  bool v1;

  for (int i = 0; i < 3; i++)
    if (!ft_text_word(&line, &word))
      return false;
  if (!ft_text_word(&line, &root) || !ft_text_word(&line, &point))
    return false;
  while (ft_text_word(&line, &word) && !ft_text_equals(word, "-"))
    ;
  if (!ft_text_word(&line, &word))
    return false;
  v1 = ft_text_equals(word, "cgroup");
  if (!v1 && (found || !ft_text_equals(word, "cgroup2")))
    return false;
  if (!ft_text_word(&line, &word) || !ft_text_word(&line, &word) ||
      (v1 && !ft_text_lists(word, "memory")) || ft_text_left(&root) >= sizeof mount->root ||
      ft_text_left(&point) >= sizeof mount->point)
    return false;
  ft_text_skip(&point, "/");
  mount->v1 = v1;
  return unescape_mount(root, mount->root, sizeof mount->root) &&
         unescape_mount(point, mount->point, sizeof mount->point);
}

bool ft_cgroup_parse_mounts(struct ft_text mountinfo, struct ft_cgroup_mounts *mounts)
{
  struct ft_text line;
  bool found = false;

  while (!(found && mounts->v1) && ft_text_line(&mountinfo, &line))
    if (parse_mount_line(line, found, mounts))
      found = true;
  return found;
}

/* Format of a line: "ID:CONTROLLERS:PATH" (cgroups(7)). */
bool ft_cgroup_parse_path(struct ft_text text, bool v1, char *path, size_t size)
{
  struct ft_text line, id, controllers;

  while (ft_text_line(&text, &line)) {
    if (!ft_text_until(&line, ':', &id) || !ft_text_until(&line, ':', &controllers))
      continue;
    if (v1 ? !ft_text_lists(controllers, "memory") : !ft_text_equals(id, "0"))
      continue;
    /* "/.." begins paths outside the reader's cgroup namespace (cgroup_namespaces(7)) */
    return ft_text_copy(line, path, size) && path[0] == '/' && !strstr(path, "/..");
  }
  return false;
}

/* Counts the components of PATH, "" or "/a/b". */
static size_t count_path_levels(const char *path)
{
  size_t count = 0;

  for (; *path; path++)
    count += *path == '/' && path[1];
  return count;
}

bool ft_cgroup_job_of(const char *stepd, const char *task, bool v1, char *job, size_t size)
{
  size_t step = 0, length;

  /* STEP becomes the length of the longest common path that ends at a component */
  for (size_t i = 0;; i++) {
    if ((stepd[i] == '/' || !stepd[i]) && (task[i] == '/' || !task[i]))
      step = i;
    if (!stepd[i] || stepd[i] != task[i])
      break;
  }
  if (v1 ? count_path_levels(stepd + step) != 0 || count_path_levels(task + step) < 1
         : count_path_levels(stepd + step) != 1 || count_path_levels(task + step) < 2)
    return false;
  for (length = step; length && task[--length] != '/';)
    ;
  return length && ft_text_copy(ft_text_of(task, length), job, size);
}

bool ft_cgroup_directory_of(const struct ft_cgroup_mounts *mounts, const char *path,
                            char *directory, size_t size)
{
  size_t length = strlen(mounts->root);
  int written;

  if (length == 1)
    length = 0;
  else if (strncmp(path, mounts->root, length) != 0 || (path[length] && path[length] != '/'))
    return false;
  written =
      snprintf(directory, size, "%s%s", mounts->point, strcmp(path, "/") ? path + length : "");
  return written > 0 && (size_t)written < size;
}
