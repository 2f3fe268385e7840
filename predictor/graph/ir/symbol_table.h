/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hash table of the names of tensors, variables and functions while a graph is made. */
#ifndef FT_GRAPH_SYMBOL_TABLE_H
#define FT_GRAPH_SYMBOL_TABLE_H

#include <stdint.h>

#include "predictor/graph/ir/arena.h"

struct ft_symbol_table_slot;

struct ft_symbol_table {
  struct ft_arena *arena;
  struct ft_symbol_table_slot *slots;
  size_t count, room;
  uint64_t steps; /* past slots of other names; bounded against files with colliding names */
};

/* Returns the pointer stored for NAME; NULL: none. */
void *ft_symbol_table_get(struct ft_symbol_table *names, const char *name);

/* Stores VALUE for NAME, which is borrowed. Returns 0; -1 past the arena's limit, or after too many
 * collisions. */
int ft_symbol_table_put(struct ft_symbol_table *names, const char *name, void *value);

#endif
