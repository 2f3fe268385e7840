/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory with a limit that is freed all at once. */
#ifndef FT_GRAPH_ARENA_H
#define FT_GRAPH_ARENA_H

#include <stddef.h>

struct ft_arena_chunk;

struct ft_arena {
  struct ft_arena_chunk *chunks;
  size_t used;  /* bytes allocated */
  size_t limit; /* upper bound of used, in bytes */
};

/* Allocates SIZE bytes of zeros, owned by ARENA. Returns NULL past the limit or if memory is
 * exhausted. */
void *ft_arena_take(struct ft_arena *arena, size_t size);

/* Grows DATA, an array of COUNT items of SIZE bytes with room for *ROOM, for one more item. Returns
 * DATA, or a copy with twice the room, and sets *ROOM; NULL as above. DATA stays valid. */
void *ft_arena_grow(struct ft_arena *arena, void *data, size_t *room, size_t count, size_t size);

/* Frees all memory. The arena may be used again. */
void ft_arena_free(struct ft_arena *arena);

#endif
