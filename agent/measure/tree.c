/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "agent/measure/internal.h"

struct ft_discovery {
  pid_t newest;
};

struct ft_discovery *ft_discovery_new(struct ft_measure *measure)
{
  (void)measure;
  return calloc(1, sizeof(struct ft_discovery));
}

void ft_discovery_free(struct ft_discovery *discovery)
{
  free(discovery);
}

void ft_discovery_look(struct ft_measure *measure)
{
  (void)measure;
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, bool skip_self, struct ft_error *err)
{
  struct ft_member *members = realloc(tree->members, (tree->count + 1) * sizeof *members);

  if (!members)
    return ft_error_set(err, "out of memory");
  tree->members = members;
  members[tree->count++] = (struct ft_member){ .pid = pid, .fresh = true, .root = true, .skipped = skip_self };
  ft_tree_added(tree);
  return 0;
}

void ft_tree_sweep(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++)
    tree->members[i].fresh = false;
}

void ft_tree_forget(struct ft_tree *tree)
{
  free(tree->members);
}
