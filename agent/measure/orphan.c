/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orphans: processes whose parents have ended. If neither group, session nor cgroup shows the tree
 * of an orphan, its initial environment does: daemons, too, inherit the batch system's variables.
 * Container runtimes clear it; rootless ones have a user namespace that only the job should have.
 */
#include "config.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/hash.h"

/* Members that are compared with an orphan, by user namespace. */
enum { NAMESPACES_LIMIT = 1024 };

static uint64_t mark_key(const char *mark)
{
  return ft_hash64(FT_HASH_SEED, mark, strlen(mark));
}

static void clear_mark(struct ft_tree *tree)
{
  struct ft_tree_index *marks = &tree->measure->marks;
  struct ft_index_entry *entry =
      tree->has_mark ? ft_tree_index_find(marks, mark_key(tree->mark)) : NULL;

  if (entry && entry->tree == tree)
    ft_tree_index_remove(marks, entry);
  tree->has_mark = false;
}

void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user)
{
  struct ft_index_entry *entry;

  clear_mark(tree);
  tree->user = user;
  if (!mark[0] || !ft_string_copy(mark, tree->mark, sizeof tree->mark))
    return;
  entry = ft_tree_index_add(&tree->measure->marks, mark_key(mark));
  if (entry)
    entry->tree = tree;
  tree->has_mark = entry != NULL;
}

/* Removes the ancestors of TREE's latest root. */
static void clear_above(struct ft_tree *tree)
{
  for (size_t i = 0; i < FT_ANCESTORS_LIMIT && tree->ancestors[i]; i++)
    ft_tree_index_discount(&tree->measure->ancestors, (uint64_t)tree->ancestors[i]);
  memset(tree->ancestors, 0, sizeof tree->ancestors);
}

void ft_orphan_remove_tree(struct ft_tree *tree)
{
  clear_mark(tree);
  clear_above(tree);
}

void ft_orphan_set_ancestors(struct ft_tree *tree, pid_t parent)
{
  struct ft_stat stat;

  clear_above(tree);
  for (size_t i = 0; i < FT_ANCESTORS_LIMIT && parent > 1; i++) {
    if (ft_tree_index_count(&tree->measure->ancestors, (uint64_t)parent) < 0)
      return;
    tree->ancestors[i] = parent;
    parent = ft_stat_read(tree->measure, parent, &stat) < 0 ? 0 : stat.parent;
  }
}

/* Whether a child of PARENT may be an orphan of TREE: PARENT is init or an ancestor of the roots.
 */
static bool may_adopt(const struct ft_tree *tree, pid_t parent)
{
  if (parent == 1)
    return true;
  for (size_t i = 0; i < FT_ANCESTORS_LIMIT && tree->ancestors[i]; i++)
    if (tree->ancestors[i] == parent)
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

/* Returns the tree whose marker is one of the NUL-terminated strings in TEXT; NULL: none. */
static struct ft_tree *find_marked_tree(const struct ft_measure *measure, struct ft_text text)
{
  const char *end;

  while ((end = memchr(text.at, '\0', ft_text_left(&text)))) {
    const struct ft_index_entry *entry =
        end - text.at < (ptrdiff_t)sizeof entry->tree->mark
            ? ft_tree_index_find(&measure->marks, mark_key(text.at))
            : NULL;

    if (entry && strcmp(entry->tree->mark, text.at) == 0)
      return entry->tree;
    text.at = end + 1;
  }
  return NULL;
}

/* Returns the tree that the environment of PID names; NULL: none, or one of another user. */
static struct ft_tree *tree_by_environment(const struct ft_measure *measure, pid_t pid)
{
  struct ft_tree *tree;
  const char *text;
  ssize_t length;

  if (!measure->marks.root)
    return NULL;
  length = ft_reader_read(measure, pid, "environ", &text, NULL);
  tree = find_marked_tree(measure, ft_text_of(text, length > 0 ? (size_t)length : 0));
  return tree && is_of_user(measure, pid, tree->user) ? tree : NULL;
}

/* Reads the number of PID's user namespace, and the user who created it unless OWNER is NULL.
 * Returns 0 if they are unknown. */
static ino_t user_namespace(const struct ft_measure *measure, pid_t pid, uid_t *owner)
{
  char name[32];
  struct stat st;
  int fd;

  (void)snprintf(name, sizeof name, "%d/ns/user", (int)pid);
  if (!owner)
    return fstatat(measure->proc_fd, name, &st, 0) == 0 ? st.st_ino : 0;
  fd = ft_proc_open(measure->proc_fd, name);
  if (fd < 0 || fstat(fd, &st) < 0 || ioctl(fd, NS_GET_OWNER_UID, owner) < 0)
    st.st_ino = 0;
  if (fd >= 0)
    close(fd);
  return st.st_ino;
}

static bool has_member_in(const struct ft_tree *tree, ino_t space, int *left)
{
  for (size_t i = tree->count; i-- > 0 && *left > 0;)
    if (!tree->members[i].gone && --*left >= 0 &&
        user_namespace(tree->measure, tree->members[i].pid, NULL) == space)
      return true;
  return false;
}

/* Returns the one tree that has a process in PID's user namespace, which TREE's user created, as
 * rootless containers have one; NULL: none or several. */
static struct ft_tree *tree_by_namespace(const struct ft_measure *measure, pid_t pid)
{
  struct ft_tree *found = NULL;
  int left = NAMESPACES_LIMIT;
  uid_t owner;
  ino_t space = measure->own_proc ? user_namespace(measure, pid, &owner) : 0;

  if (!space || space == user_namespace(measure, getpid(), NULL))
    return NULL;
  for (size_t i = 0; i < measure->tree_count; i++) {
    struct ft_tree *tree = measure->trees[i];

    if (!tree->has_mark || tree->user != owner || !has_member_in(tree, space, &left))
      continue;
    if (found)
      return NULL;
    found = tree;
  }
  return left > 0 ? found : NULL;
}

/* Whether TREE may have PID by evidence other than a marker: PID's initial environment has no
 * variable of the marker's name, which would name another job. */
static bool is_unmarked(const struct ft_tree *tree, pid_t pid)
{
  size_t size = strcspn(tree->mark, "=") + 1;
  const char *text;
  ssize_t length = ft_reader_read(tree->measure, pid, "environ", &text, NULL);
  bool marked = false;

  for (const char *at = text; at < text + length; at += strlen(at) + 1)
    marked |= strncmp(at, tree->mark, size) == 0;
  return tree->has_mark && !marked;
}

struct ft_tree *ft_orphan_tree_of(const struct ft_measure *measure, pid_t pid, pid_t parent)
{
  struct ft_tree *tree;

  if (parent != 1 && !ft_tree_index_find(&measure->ancestors, (uint64_t)parent))
    return NULL;
  tree = ft_cgroup_tree_of(measure, pid);
  if (!tree || !may_adopt(tree, parent))
    tree = tree_by_environment(measure, pid);
  if (!tree) {
    tree = tree_by_namespace(measure, pid);
    if (tree && !is_unmarked(tree, pid))
      return NULL;
  }
  return tree && may_adopt(tree, parent) ? tree : NULL;
}
