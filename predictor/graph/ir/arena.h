/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that is released all at once and never passes its limit. */
#ifndef FT_GRAPH_ARENA_H
#define FT_GRAPH_ARENA_H

#include <stddef.h>

struct ft_arena_chunk;

struct ft_arena {
  struct ft_arena_chunk *chunks;
  size_t used;  /* bytes handed out */
  size_t limit; /* of those */
};

/* SIZE bytes of zeros; NULL past the limit or when memory is out. */
void *ft_arena_take(struct ft_arena *arena, size_t size);

/*
 * Room in a vector of *ROOM items of SIZE bytes that holds COUNT: DATA itself,
 * or a copy twice as long. Returns NULL as above; DATA stays valid.
 */
void *ft_arena_grow(struct ft_arena *arena, void *data, size_t *room, size_t count, size_t size);

/* Release everything; the arena may be used again. */
void ft_arena_free(struct ft_arena *arena);

#endif
