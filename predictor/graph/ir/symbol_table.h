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
  uint64_t steps; /* past others of the same hash: bounded, so that no file can make them collide */
};

/* The pointer that NAME stands for; NULL: none. */
void *ft_symbol_table_get(struct ft_symbol_table *names, const char *name);

/* Let NAME, which is not copied, stand for WHAT. Returns 0; -1 past the arena's limit, or when
 * names of the same hash have taken too many steps. */
int ft_symbol_table_put(struct ft_symbol_table *names, const char *name, void *what);

#endif
