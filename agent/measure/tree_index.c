/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <search.h>
#include <stdlib.h>

#include "agent/measure/tree_index.h"

/* Order of entries by key; A and B are entries, or begin with a key. */
static int compare_entries(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

struct ft_index_entry *ft_tree_index_find(const struct ft_tree_index *index, uint64_t key)
{
  struct ft_index_entry *const *node = tfind(&key, &index->root, compare_entries);

  return node ? *node : NULL;
}

struct ft_index_entry *ft_tree_index_add(struct ft_tree_index *index, uint64_t key)
{
  struct ft_index_entry *entry = ft_tree_index_find(index, key);

  if (entry)
    return entry;
  entry = calloc(1, sizeof *entry);
  if (!entry)
    return NULL;
  entry->key = key;
  if (tsearch(entry, &index->root, compare_entries))
    return entry;
  free(entry);
  return NULL;
}

void ft_tree_index_remove(struct ft_tree_index *index, struct ft_index_entry *entry)
{
  (void)tdelete(entry, &index->root, compare_entries);
  free(entry);
}

int ft_tree_index_count(struct ft_tree_index *index, uint64_t key)
{
  struct ft_index_entry *entry = ft_tree_index_add(index, key);

  if (!entry)
    return -1;
  entry->value++;
  return 0;
}

void ft_tree_index_discount(struct ft_tree_index *index, uint64_t key)
{
  struct ft_index_entry *entry = ft_tree_index_find(index, key);

  if (entry && --entry->value == 0)
    ft_tree_index_remove(index, entry);
}

void ft_tree_index_free(struct ft_tree_index *index)
{
  tdestroy(index->root, free);
  index->root = NULL;
}
