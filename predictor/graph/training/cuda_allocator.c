/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/random.h"
#include "predictor/graph/training/cuda_allocator.h"

/* PyTorch's constants (CUDACachingAllocator.cpp, by their names), in bytes. */
#define MIN_BLOCK_SIZE INT64_C(512)         /* unit of rounding */
#define SMALL_SIZE (INT64_C(1) << 20)       /* largest block of the small pool */
#define SMALL_BUFFER (INT64_C(2) << 20)     /* segment of the small pool */
#define LARGE_BUFFER (INT64_C(20) << 20)    /* segment of blocks below MIN_LARGE_ALLOC */
#define MIN_LARGE_ALLOC (INT64_C(10) << 20) /* larger blocks have a segment of their own */
#define ROUND_LARGE (INT64_C(2) << 20)      /* such a segment is rounded up to this */

/* glibc's constants (malloc/malloc.c, 64 bits), in bytes. */
#define MAPPED_FROM (INT64_C(128) << 10)     /* DEFAULT_MMAP_THRESHOLD_MIN */
#define MAPPED_FROM_MOST (INT64_C(32) << 20) /* DEFAULT_MMAP_THRESHOLD_MAX */
#define PAGE INT64_C(4096)                   /* granularity of mappings */
#define CHUNK_SIZE INT64_C(64)               /* PyTorch's gAlignment (c10/core/alignment.h) */

/* A part of a segment. Free blocks are in a treap by size, then age. */
struct ft_cuda_allocator_block {
  int64_t size;
  uint32_t before, after; /* neighbours in the segment; 0: none */
  uint32_t left, right;   /* in the treap */
  uint32_t weight;        /* heap order of the treap */
  bool small, used, mapped;
};

enum { NOTHING = 0 };

static struct ft_cuda_allocator_block *block_at(const struct ft_cuda_allocator *c, uint32_t i)
{
  return &c->blocks[i];
}

void ft_cuda_allocator_init(struct ft_cuda_allocator *c, struct ft_arena *arena, int64_t capacity)
{
  *c = (struct ft_cuda_allocator){ .arena = arena, .capacity = capacity };
  ft_random_seed(&c->random, 1);
}

void ft_cuda_allocator_init_glibc(struct ft_cuda_allocator *c, struct ft_arena *arena)
{
  ft_cuda_allocator_init(c, arena, 0);
  c->glibc = true;
  c->mapped_from = MAPPED_FROM;
}

/* ---- the free blocks of a pool ---- */

/* Returns whether block A stands before B in a treap: by size, then by age. */
static bool block_precedes(const struct ft_cuda_allocator *c, uint32_t a, uint32_t b)
{
  return block_at(c, a)->size != block_at(c, b)->size ? block_at(c, a)->size < block_at(c, b)->size
                                                      : a < b;
}

/* Splits the treap ROOT into LOW, the blocks before KEY, and HIGH, the rest. */
static void split_treap(struct ft_cuda_allocator *c, uint32_t root, uint32_t key, uint32_t *low,
                        uint32_t *high)
{
  while (root != NOTHING) {
    if (block_precedes(c, root, key)) {
      *low = root;
      low = &block_at(c, root)->right;
      root = *low;
    } else {
      *high = root;
      high = &block_at(c, root)->left;
      root = *high;
    }
  }
  *low = *high = NOTHING;
}

/* Inserts block B into its pool's treap of free blocks. */
static void insert_free_block(struct ft_cuda_allocator *c, uint32_t b)
{
  uint32_t *at = &c->free_roots[!block_at(c, b)->small];

  if (c->glibc && b == c->last)
    return;
  while (*at != NOTHING && block_at(c, *at)->weight >= block_at(c, b)->weight)
    at = block_precedes(c, *at, b) ? &block_at(c, *at)->right : &block_at(c, *at)->left;
  split_treap(c, *at, b, &block_at(c, b)->left, &block_at(c, b)->right);
  *at = b;
}

/* Removes block B from its pool's treap of free blocks. */
static void remove_free_block(struct ft_cuda_allocator *c, uint32_t b)
{
  uint32_t *at = &c->free_roots[!block_at(c, b)->small], low, high;

  if (c->glibc && b == c->last)
    return;
  while (*at != b)
    at = block_precedes(c, *at, b) ? &block_at(c, *at)->right : &block_at(c, *at)->left;
  low = block_at(c, b)->left;
  high = block_at(c, b)->right;
  while (low != NOTHING && high != NOTHING) {
    if (block_at(c, low)->weight >= block_at(c, high)->weight) {
      *at = low;
      at = &block_at(c, low)->right;
      low = *at;
    } else {
      *at = high;
      at = &block_at(c, high)->left;
      high = *at;
    }
  }
  *at = low != NOTHING ? low : high;
}

/* Returns the smallest free block of at least SIZE bytes, the oldest of equals; NOTHING: none. */
static uint32_t best_fit(const struct ft_cuda_allocator *c, int64_t size, bool small)
{
  uint32_t at = c->free_roots[!small], best = NOTHING;

  while (at != NOTHING) {
    if (block_at(c, at)->size >= size) {
      best = at;
      at = block_at(c, at)->left;
    } else {
      at = block_at(c, at)->right;
    }
  }
  return best;
}

/* ---- blocks ---- */

/* Returns a new block of SIZE bytes, from the list of unused entries if there is one; NOTHING: out
 * of memory. */
static uint32_t new_block(struct ft_cuda_allocator *c, int64_t size, bool small)
{
  struct ft_cuda_allocator_block *blocks;
  uint32_t b = c->spare;

  if (b != NOTHING) {
    c->spare = block_at(c, b)->after;
  } else {
    do {
      blocks = ft_arena_grow(c->arena, c->blocks, &c->room, c->count, sizeof *blocks);
      if (!blocks)
        return NOTHING;
      c->blocks = blocks;
      b = (uint32_t)c->count++;
    } while (b == NOTHING); /* entry 0 is never used */
  }
  *block_at(c, b) = (struct ft_cuda_allocator_block){
    .size = size, .small = small, .weight = (uint32_t)ft_random_u64(&c->random)
  };
  return b;
}

static void drop_block(struct ft_cuda_allocator *c, uint32_t b)
{
  *block_at(c, b) = (struct ft_cuda_allocator_block){ .after = c->spare };
  c->spare = b;
}

static int64_t round_block_size(int64_t bytes)
{
  return bytes < MIN_BLOCK_SIZE ? MIN_BLOCK_SIZE
                                : (bytes + MIN_BLOCK_SIZE - 1) / MIN_BLOCK_SIZE * MIN_BLOCK_SIZE;
}

static int64_t segment_size(int64_t size)
{
  if (size <= SMALL_SIZE)
    return SMALL_BUFFER;
  if (size < MIN_LARGE_ALLOC)
    return LARGE_BUFFER;
  return (size + ROUND_LARGE - 1) / ROUND_LARGE * ROUND_LARGE;
}

static bool has_room(const struct ft_cuda_allocator *c, int64_t size)
{
  return !c->capacity || segment_size(size) <= c->capacity - c->reserved;
}

static void add_reserved_bytes(struct ft_cuda_allocator *c, int64_t bytes)
{
  c->reserved += bytes;
  if (c->reserved > c->peak)
    c->peak = c->reserved;
}

static uint32_t new_segment(struct ft_cuda_allocator *c, int64_t size, bool small)
{
  int64_t bytes = segment_size(size);
  uint32_t b = new_block(c, bytes, small);

  if (b == NOTHING)
    return NOTHING;
  add_reserved_bytes(c, bytes);
  return b;
}

/* Returns a heap chunk of glibc of SIZE bytes if no free block fits: the free end of the heap,
 * grown if needed, or a mapping of its own from the mmap threshold on. NOTHING: out of memory. */
static uint32_t new_chunk(struct ft_cuda_allocator *c, int64_t size)
{
  uint32_t last = c->last, b;
  int64_t left = last != NOTHING && !block_at(c, last)->used ? block_at(c, last)->size : 0;

  if (left < size && size >= c->mapped_from) {
    b = new_block(c, (size + PAGE - 1) / PAGE * PAGE, false);
    if (b == NOTHING)
      return NOTHING;
    block_at(c, b)->mapped = true;
    c->mapped += block_at(c, b)->size;
    add_reserved_bytes(c, block_at(c, b)->size);
    return b;
  }
  if (left == 0) {
    b = new_block(c, 0, false);
    if (b == NOTHING)
      return NOTHING;
    block_at(c, b)->before = last;
    if (last != NOTHING)
      block_at(c, last)->after = b;
    c->last = last = b;
  }
  if (left < size) {
    add_reserved_bytes(c, size - left);
    block_at(c, last)->size = size;
  }
  return last;
}

/* Splits the bytes beyond SIZE off block B, if the pool's rule allows a rest of that size. Returns
 * 0; -1 if memory is exhausted. */
static int split_block(struct ft_cuda_allocator *c, uint32_t b, int64_t size)
{
  int64_t left = block_at(c, b)->size - size;
  bool small = block_at(c, b)->small;
  uint32_t rest;

  if (c->glibc ? left < CHUNK_SIZE || block_at(c, b)->mapped
               : left < (small ? MIN_BLOCK_SIZE : SMALL_SIZE + 1))
    return 0;
  rest = new_block(c, left, small);
  if (rest == NOTHING)
    return -1;
  block_at(c, rest)->before = b;
  block_at(c, rest)->after = block_at(c, b)->after;
  if (block_at(c, rest)->after != NOTHING)
    block_at(c, block_at(c, rest)->after)->before = rest;
  block_at(c, b)->after = rest;
  block_at(c, b)->size = size;
  if (b == c->last)
    c->last = rest;
  insert_free_block(c, rest);
  return 0;
}

int64_t ft_cuda_allocator_allocate(struct ft_cuda_allocator *c, int64_t bytes)
{
  int64_t size = c->glibc ? (bytes / CHUNK_SIZE + 2) * CHUNK_SIZE : round_block_size(bytes);
  bool small = !c->glibc && size <= SMALL_SIZE;
  uint32_t b;

  if (bytes <= 0)
    return 0;
  b = best_fit(c, size, small);
  if (b != NOTHING) {
    remove_free_block(c, b);
  } else if (c->glibc) {
    b = new_chunk(c, size);
    if (b == NOTHING)
      return -2;
  } else {
    if (!has_room(c, size))
      ft_cuda_allocator_empty(c);
    if (!has_room(c, size))
      return -1;
    b = new_segment(c, size, small);
    if (b == NOTHING)
      return -2;
  }
  block_at(c, b)->used = true;
  if (split_block(c, b, size) < 0)
    return -2;
  c->allocated += block_at(c, b)->size;
  if (c->allocated > c->allocated_peak)
    c->allocated_peak = c->allocated;
  return b;
}

/* Unmaps B and raises the mmap threshold to its size (mallopt(3), M_MMAP_THRESHOLD). */
static void unmap_block(struct ft_cuda_allocator *c, uint32_t b)
{
  int64_t size = block_at(c, b)->size;

  if (size > c->mapped_from && size <= MAPPED_FROM_MOST)
    c->mapped_from = size;
  c->reserved -= size;
  c->mapped -= size;
  drop_block(c, b);
}

/* Trims a free heap end of at least twice the mmap threshold (mallopt(3), M_TRIM_THRESHOLD). */
static void trim_heap(struct ft_cuda_allocator *c)
{
  uint32_t last = c->last;

  if (block_at(c, last)->size < 2 * c->mapped_from)
    return;
  c->reserved -= block_at(c, last)->size;
  c->last = block_at(c, last)->before;
  if (c->last != NOTHING)
    block_at(c, c->last)->after = NOTHING;
  drop_block(c, last);
}

void ft_cuda_allocator_free(struct ft_cuda_allocator *c, int64_t block)
{
  uint32_t b = (uint32_t)block, other;

  if (block <= 0)
    return;
  c->allocated -= block_at(c, b)->size;
  if (block_at(c, b)->mapped) {
    unmap_block(c, b);
    return;
  }
  block_at(c, b)->used = false;
  other = block_at(c, b)->after;
  if (other != NOTHING && !block_at(c, other)->used) {
    remove_free_block(c, other);
    block_at(c, b)->size += block_at(c, other)->size;
    block_at(c, b)->after = block_at(c, other)->after;
    if (block_at(c, b)->after != NOTHING)
      block_at(c, block_at(c, b)->after)->before = b;
    if (other == c->last)
      c->last = b;
    drop_block(c, other);
  }
  other = block_at(c, b)->before;
  if (other != NOTHING && !block_at(c, other)->used) {
    remove_free_block(c, other);
    block_at(c, other)->size += block_at(c, b)->size;
    block_at(c, other)->after = block_at(c, b)->after;
    if (block_at(c, other)->after != NOTHING)
      block_at(c, block_at(c, other)->after)->before = other;
    if (b == c->last)
      c->last = other;
    drop_block(c, b);
    b = other;
  }
  insert_free_block(c, b);
  if (b == c->last)
    trim_heap(c);
}

void ft_cuda_allocator_empty(struct ft_cuda_allocator *c)
{
  for (size_t i = 1; i < c->count && !c->glibc; i++) {
    struct ft_cuda_allocator_block *b = block_at(c, (uint32_t)i);

    if (b->used || b->size == 0 || b->before != NOTHING || b->after != NOTHING)
      continue;
    remove_free_block(c, (uint32_t)i);
    c->reserved -= b->size;
    drop_block(c, (uint32_t)i);
  }
}
