/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orphans: processes whose parents have ended. If neither group, session nor cgroup shows the tree
 * of an orphan, its initial environment does: daemons, too, inherit the batch system's variables.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"

void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user)
{
  tree->has_mark = ft_string_copy(mark, tree->mark, sizeof tree->mark) && mark[0];
  tree->user = user;
}

void ft_orphan_note_above(struct ft_tree *tree, pid_t parent)
{
  struct ft_stat stat;

  for (size_t i = 0; i < FT_ABOVE_LIMIT && parent > 1; i++) {
    tree->above[i] = parent;
    parent = ft_stat_read(tree->measure, parent, &stat) < 0 ? 0 : stat.parent;
  }
}

bool ft_orphan_is_one(const struct ft_tree *tree, pid_t parent)
{
  if (parent == 1)
    return true;
  for (size_t i = 0; i < FT_ABOVE_LIMIT && tree->above[i]; i++)
    if (tree->above[i] == parent)
      return true;
  return false;
}

static bool is_of_user(const struct ft_measure *measure, pid_t pid, uid_t user)
{
  char name[32];
  struct stat st;

  (void)snprintf(name, sizeof name, "%d", (int)pid);
  return fstatat(measure->proc_fd, name, &st, 0) == 0 && st.st_uid == user;
}

/* Whether one of the NUL-terminated strings in TEXT is MARK. */
static bool has_string(struct ft_text text, const char *mark)
{
  size_t length = strlen(mark) + 1;

  while (ft_text_left(&text) >= length) {
    const char *end = memchr(text.at, '\0', ft_text_left(&text));

    if (memcmp(text.at, mark, length) == 0)
      return true;
    if (!end)
      return false;
    text.at = end + 1;
  }
  return false;
}

bool ft_orphan_has_mark(const struct ft_tree *tree, pid_t pid)
{
  char name[32];
  struct ft_buf text;
  bool has;

  if (!tree->has_mark || !is_of_user(tree->measure, pid, tree->user))
    return false;
  (void)snprintf(name, sizeof name, "%d/environ", (int)pid);
  ft_buf_init(&text, FT_LIMIT_ENVIRON);
  /* a longer environment is truncated */
  (void)ft_io_read_file(tree->measure->proc_fd, name, &text, NULL);
  has = has_string(ft_text_of(ft_buf_text(&text), text.length), tree->mark);
  ft_buf_free(&text);
  return has;
}
