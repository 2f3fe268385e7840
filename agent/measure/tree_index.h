/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps numbers (pids, sessions, hashes of names) to trees, so that a look at one process costs the
 * same however many others are measured. Each map is a balanced tree of libc (tsearch); zeroed it
 * is empty.
 */
#ifndef FT_MEASURE_TREE_INDEX_H
#define FT_MEASURE_TREE_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct ft_tree;

struct ft_index_entry {
  uint64_t key;
  struct ft_tree *tree; /* NULL: a count only */
  size_t value;         /* index of the tree's member, or a count */
};

struct ft_tree_index {
  void *root; /* of tsearch */
};

/* Returns the entry of KEY; NULL: none. */
struct ft_index_entry *ft_tree_index_find(const struct ft_tree_index *index, uint64_t key);

/* Returns the entry of KEY, a zeroed one if there was none; NULL out of memory. */
struct ft_index_entry *ft_tree_index_add(struct ft_tree_index *index, uint64_t key);

/* Removes ENTRY and frees it. */
void ft_tree_index_remove(struct ft_tree_index *index, struct ft_index_entry *entry);

/* Adds 1 to the count of KEY. Returns 0; -1 out of memory. */
int ft_tree_index_count(struct ft_tree_index *index, uint64_t key);

/* Subtracts 1 from the count of KEY; an entry of 0 is removed. */
void ft_tree_index_discount(struct ft_tree_index *index, uint64_t key);

void ft_tree_index_free(struct ft_tree_index *index);

#endif
