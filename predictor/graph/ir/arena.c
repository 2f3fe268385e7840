/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/ir/arena.h"

/* In bytes: the first chunk and the largest; the alignment of any type. */
enum { FIRST = 64 << 10, LARGEST = 4 << 20, ALIGN = 16 };

struct ft_arena_chunk {
  struct ft_arena_chunk *next;
  size_t size, used;
  _Alignas(ALIGN) unsigned char data[];
};

/* Adds a chunk for at least SIZE bytes, twice as large as the last one up to LARGEST. */
static struct ft_arena_chunk *add_chunk(struct ft_arena *arena, size_t size)
{
  size_t room = arena->chunks ? 2 * arena->chunks->size : FIRST;
  struct ft_arena_chunk *chunk;

  if (room > LARGEST)
    room = LARGEST;
  if (room < size)
    room = size;
  chunk = malloc(sizeof *chunk + room);
  if (!chunk)
    return NULL;
  *chunk = (struct ft_arena_chunk){ .next = arena->chunks, .size = room };
  arena->chunks = chunk;
  return chunk;
}

void *ft_arena_take(struct ft_arena *arena, size_t size)
{
  struct ft_arena_chunk *chunk = arena->chunks;
  void *taken;

  if (size > arena->limit || arena->used > arena->limit - size)
    return NULL;
  size = (size + ALIGN - 1) / ALIGN * ALIGN;
  if (!chunk || size > chunk->size - chunk->used) {
    chunk = add_chunk(arena, size);
    if (!chunk)
      return NULL;
  }
  taken = chunk->data + chunk->used;
  chunk->used += size;
  arena->used += size;
  memset(taken, 0, size);
  return taken;
}

void *ft_arena_grow(struct ft_arena *arena, void *data, size_t *room, size_t count, size_t size)
{
  size_t more;
  void *grown;

  if (count < *room)
    return data;
  more = *room ? 2 * *room : 4;
  if (more > arena->limit / size)
    return NULL;
  grown = ft_arena_take(arena, more * size);
  if (!grown)
    return NULL;
  if (count)
    memcpy(grown, data, count * size);
  *room = more;
  return grown;
}

void ft_arena_free(struct ft_arena *arena)
{
  while (arena->chunks) {
    struct ft_arena_chunk *next = arena->chunks->next;

    free(arena->chunks);
    arena->chunks = next;
  }
  arena->used = 0;
}
