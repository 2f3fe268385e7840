/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/core/random.h"
#include "predictor/graph/training/cuda_allocator.h"

/* The allocator's own constants, by their names there. */
#define MIN_BLOCK_SIZE INT64_C(512)
#define SMALL_SIZE (INT64_C(1) << 20)
#define SMALL_BUFFER (INT64_C(2) << 20)
#define LARGE_BUFFER (INT64_C(20) << 20)
#define MIN_LARGE_ALLOC (INT64_C(10) << 20)
#define ROUND_LARGE (INT64_C(2) << 20)

/* glibc's: DEFAULT_MMAP_THRESHOLD_MIN and _MAX of 64 bits, a page, and what PyTorch aligns by with
 * the chunk's header (c10/core/impl/alloc_cpu.cpp, posix_memalign). */
#define MAPPED_FROM (INT64_C(128) << 10)
#define MAPPED_FROM_MOST (INT64_C(32) << 20)
#define PAGE INT64_C(4096)
#define CHUNK_SIZE INT64_C(64)

/* A piece of a segment. Free ones stand in a treap by size, then age. */
struct ft_cuda_allocator_block {
  int64_t size;
  uint32_t before, after; /* neighbours in the segment; 0: none */
  uint32_t left, right;   /* in the treap */
  uint32_t weight;        /* heap order of the treap */
  bool small, used, mapped;
};

enum { NOTHING = 0 };

static struct ft_cuda_allocator_block *block(const struct ft_cuda_allocator *c, uint32_t i)
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

static bool before(const struct ft_cuda_allocator *c, uint32_t a, uint32_t b)
{
  return block(c, a)->size != block(c, b)->size ? block(c, a)->size < block(c, b)->size : a < b;
}

/* Split the treap ROOT: into LOW what stands before KEY, into HIGH the rest. */
static void cut(struct ft_cuda_allocator *c, uint32_t root, uint32_t key, uint32_t *low,
                uint32_t *high)
{
  while (root != NOTHING) {
    if (before(c, root, key)) {
      *low = root;
      low = &block(c, root)->right;
      root = *low;
    } else {
      *high = root;
      high = &block(c, root)->left;
      root = *high;
    }
  }
  *low = *high = NOTHING;
}

static void set_free(struct ft_cuda_allocator *c, uint32_t b)
{
  uint32_t *at = &c->free_roots[!block(c, b)->small];

  if (c->glibc && b == c->last)
    return;
  while (*at != NOTHING && block(c, *at)->weight >= block(c, b)->weight)
    at = before(c, *at, b) ? &block(c, *at)->right : &block(c, *at)->left;
  cut(c, *at, b, &block(c, b)->left, &block(c, b)->right);
  *at = b;
}

static void unset_free(struct ft_cuda_allocator *c, uint32_t b)
{
  uint32_t *at = &c->free_roots[!block(c, b)->small], low, high;

  if (c->glibc && b == c->last)
    return;
  while (*at != b)
    at = before(c, *at, b) ? &block(c, *at)->right : &block(c, *at)->left;
  low = block(c, b)->left;
  high = block(c, b)->right;
  while (low != NOTHING && high != NOTHING) {
    if (block(c, low)->weight >= block(c, high)->weight) {
      *at = low;
      at = &block(c, low)->right;
      low = *at;
    } else {
      *at = high;
      at = &block(c, high)->left;
      high = *at;
    }
  }
  *at = low != NOTHING ? low : high;
}

/* The smallest free block of at least SIZE, the oldest of several. */
static uint32_t best_fit(const struct ft_cuda_allocator *c, int64_t size, bool small)
{
  uint32_t at = c->free_roots[!small], best = NOTHING;

  while (at != NOTHING) {
    if (block(c, at)->size >= size) {
      best = at;
      at = block(c, at)->left;
    } else {
      at = block(c, at)->right;
    }
  }
  return best;
}

/* ---- blocks ---- */

static uint32_t new_block(struct ft_cuda_allocator *c, int64_t size, bool small)
{
  struct ft_cuda_allocator_block *blocks;
  uint32_t b = c->spare;

  if (b != NOTHING) {
    c->spare = block(c, b)->after;
  } else {
    do {
      blocks = ft_arena_grow(c->arena, c->blocks, &c->room, c->count, sizeof *blocks);
      if (!blocks)
        return NOTHING;
      c->blocks = blocks;
      b = (uint32_t)c->count++;
    } while (b == NOTHING); /* the first stands for it */
  }
  *block(c, b) = (struct ft_cuda_allocator_block){ .size = size,
                                                   .small = small,
                                                   .weight = (uint32_t)ft_random_u64(&c->random) };
  return b;
}

static void drop_block(struct ft_cuda_allocator *c, uint32_t b)
{
  *block(c, b) = (struct ft_cuda_allocator_block){ .after = c->spare };
  c->spare = b;
}

static int64_t rounded(int64_t bytes)
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

static void reserve(struct ft_cuda_allocator *c, int64_t bytes)
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
  reserve(c, bytes);
  return b;
}

/* glibc's for SIZE, of which no free block inside the heap has room: the heap's end, a mapping of
 * its own or a heap that grows. */
static uint32_t new_chunk(struct ft_cuda_allocator *c, int64_t size)
{
  uint32_t last = c->last, b;
  int64_t left = last != NOTHING && !block(c, last)->used ? block(c, last)->size : 0;

  if (left < size && size >= c->mapped_from) {
    b = new_block(c, (size + PAGE - 1) / PAGE * PAGE, false);
    if (b == NOTHING)
      return NOTHING;
    block(c, b)->mapped = true;
    c->mapped += block(c, b)->size;
    reserve(c, block(c, b)->size);
    return b;
  }
  if (left == 0) {
    b = new_block(c, 0, false);
    if (b == NOTHING)
      return NOTHING;
    block(c, b)->before = last;
    if (last != NOTHING)
      block(c, last)->after = b;
    c->last = last = b;
  }
  if (left < size) {
    reserve(c, size - left);
    block(c, last)->size = size;
  }
  return last;
}

/* Cut what SIZE leaves of B off, where the pool's rule says that it is worth it. */
static int split(struct ft_cuda_allocator *c, uint32_t b, int64_t size)
{
  int64_t left = block(c, b)->size - size;
  bool small = block(c, b)->small;
  uint32_t rest;

  if (c->glibc ? left < CHUNK_SIZE || block(c, b)->mapped
               : left < (small ? MIN_BLOCK_SIZE : SMALL_SIZE + 1))
    return 0;
  rest = new_block(c, left, small);
  if (rest == NOTHING)
    return -1;
  block(c, rest)->before = b;
  block(c, rest)->after = block(c, b)->after;
  if (block(c, rest)->after != NOTHING)
    block(c, block(c, rest)->after)->before = rest;
  block(c, b)->after = rest;
  block(c, b)->size = size;
  if (b == c->last)
    c->last = rest;
  set_free(c, rest);
  return 0;
}

int64_t ft_cuda_allocator_allocate(struct ft_cuda_allocator *c, int64_t bytes)
{
  int64_t size = c->glibc ? (bytes / CHUNK_SIZE + 2) * CHUNK_SIZE : rounded(bytes);
  bool small = !c->glibc && size <= SMALL_SIZE;
  uint32_t b;

  if (bytes <= 0)
    return 0;
  b = best_fit(c, size, small);
  if (b != NOTHING) {
    unset_free(c, b);
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
  block(c, b)->used = true;
  if (split(c, b, size) < 0)
    return -2;
  c->allocated += block(c, b)->size;
  if (c->allocated > c->allocated_peak)
    c->allocated_peak = c->allocated;
  return b;
}

/* A mapped block goes back, and later ones of its size come of the heap (mallopt(3),
 * M_MMAP_THRESHOLD). */
static void unmap(struct ft_cuda_allocator *c, uint32_t b)
{
  int64_t size = block(c, b)->size;

  if (size > c->mapped_from && size <= MAPPED_FROM_MOST)
    c->mapped_from = size;
  c->reserved -= size;
  c->mapped -= size;
  drop_block(c, b);
}

/* The end of the heap goes back once it is twice what is mapped (mallopt(3), M_TRIM_THRESHOLD). */
static void trim(struct ft_cuda_allocator *c)
{
  uint32_t last = c->last;

  if (block(c, last)->size < 2 * c->mapped_from)
    return;
  c->reserved -= block(c, last)->size;
  c->last = block(c, last)->before;
  if (c->last != NOTHING)
    block(c, c->last)->after = NOTHING;
  drop_block(c, last);
}

void ft_cuda_allocator_free(struct ft_cuda_allocator *c, int64_t given)
{
  uint32_t b = (uint32_t)given, other;

  if (given <= 0)
    return;
  c->allocated -= block(c, b)->size;
  if (block(c, b)->mapped) {
    unmap(c, b);
    return;
  }
  block(c, b)->used = false;
  other = block(c, b)->after;
  if (other != NOTHING && !block(c, other)->used) {
    unset_free(c, other);
    block(c, b)->size += block(c, other)->size;
    block(c, b)->after = block(c, other)->after;
    if (block(c, b)->after != NOTHING)
      block(c, block(c, b)->after)->before = b;
    if (other == c->last)
      c->last = b;
    drop_block(c, other);
  }
  other = block(c, b)->before;
  if (other != NOTHING && !block(c, other)->used) {
    unset_free(c, other);
    block(c, other)->size += block(c, b)->size;
    block(c, other)->after = block(c, b)->after;
    if (block(c, other)->after != NOTHING)
      block(c, block(c, other)->after)->before = other;
    if (b == c->last)
      c->last = other;
    drop_block(c, b);
    b = other;
  }
  set_free(c, b);
  if (b == c->last)
    trim(c);
}

void ft_cuda_allocator_empty(struct ft_cuda_allocator *c)
{
  for (size_t i = 1; i < c->count && !c->glibc; i++) {
    struct ft_cuda_allocator_block *b = block(c, (uint32_t)i);

    if (b->used || b->size == 0 || b->before != NOTHING || b->after != NOTHING)
      continue;
    unset_free(c, (uint32_t)i);
    c->reserved -= b->size;
    drop_block(c, (uint32_t)i);
  }
}
