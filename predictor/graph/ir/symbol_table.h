/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names stand for while a graph is made: the tensors, variables, functions of a file. */
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

/* Whatever NAME stands for in a pointer's place; NULL: nothing. NAME is not copied. */
void *ft_symbol_table_get(struct ft_symbol_table *names, const char *name);

/* Let NAME stand for WHAT from now on. Returns 0; -1 past the arena's limit or
 * FT_SYMBOL_TABLE_STEPS. */
int ft_symbol_table_put(struct ft_symbol_table *names, const char *name, void *what);

#endif
