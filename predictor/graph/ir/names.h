/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names stand for while a graph is made: the tensors, variables, functions of a file. */
#ifndef FT_GRAPH_NAMES_H
#define FT_GRAPH_NAMES_H

#include <stdint.h>

#include "predictor/graph/ir/arena.h"

struct ft_names_slot;

struct ft_names {
  struct ft_arena *arena;
  struct ft_names_slot *slots;
  size_t count, room;
  uint64_t steps; /* past others of the same hash: bounded, so that no file can make them collide */
};

/* Whatever NAME stands for in a pointer's place; NULL: nothing. NAME is not copied. */
void *ft_names_get(struct ft_names *names, const char *name);

/* Let NAME stand for WHAT from now on. Returns 0; -1 past the arena's limit or FT_NAMES_STEPS. */
int ft_names_put(struct ft_names *names, const char *name, void *what);

#endif
