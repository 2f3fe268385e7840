/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulator of PyTorch's CUDA caching allocator (c10/cuda/CUDACachingAllocator.cpp, 2.x with its
 * default settings): the bytes that it reserves on the device, which nvidia-smi shows, for a series
 * of requests. For a process on a CPU it simulates glibc's malloc with the same blocks.
 */
#ifndef FT_GRAPH_CUDA_ALLOCATOR_H
#define FT_GRAPH_CUDA_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/random.h"
#include "predictor/graph/ir/arena.h"

struct ft_cuda_allocator_block;

struct ft_cuda_allocator {
  struct ft_arena *arena; /* owns the blocks */
  struct ft_cuda_allocator_block *blocks;
  size_t room, count;
  uint32_t free_roots[2]; /* treaps of the small pool and the large one, by size, then age */
  uint32_t spare;         /* list of unused entries of blocks, by `after`; 0: none */
  struct ft_random random;
  int64_t capacity;  /* upper limit of reserved, in bytes; 0: none */
  int64_t reserved;  /* bytes of all segments; glibc: of the heap and the mappings */
  int64_t peak;      /* maximum of reserved */
  int64_t allocated; /* bytes of the blocks in use, after rounding */
  int64_t allocated_peak;
  bool glibc;          /* simulates the main heap and mmap instead of PyTorch's segments */
  uint32_t last;       /* glibc: the block at the heap's end; in no treap, even if free */
  int64_t mapped;      /* glibc: bytes of blocks with a mapping of their own */
  int64_t mapped_from; /* glibc: M_MMAP_THRESHOLD in bytes; blocks from here on are mapped */
};

/* Initialises ALLOCATOR, empty, for a device of CAPACITY bytes (0: no limit). ARENA owns its blocks
 * and has to outlive it. */
void ft_cuda_allocator_init(struct ft_cuda_allocator *allocator, struct ft_arena *arena,
                            int64_t capacity);

/*
 * The same for glibc's malloc (malloc/malloc.c 2.36, mallopt(3)), without a limit. Large blocks are
 * mapped, and unmapped when freed. The others are in one heap, which shrinks at its end only.
 * `reserved` is then the resident size.
 */
void ft_cuda_allocator_init_glibc(struct ft_cuda_allocator *allocator, struct ft_arena *arena);

/*
 * Allocates BYTES. Returns the block, above 0; 0 for 0 bytes; -1 if the device is full even after
 * releasing all cached segments, which PyTorch tries before it raises out of memory; -2 if the
 * arena is full.
 */
int64_t ft_cuda_allocator_allocate(struct ft_cuda_allocator *allocator, int64_t bytes);

/* Frees BLOCK and merges it with its free neighbours. No effect if BLOCK is 0 or below. */
void ft_cuda_allocator_free(struct ft_cuda_allocator *allocator, int64_t block);

/* Returns the bytes in use in glibc's heap, without mapped blocks. */
static inline int64_t ft_cuda_allocator_heap(const struct ft_cuda_allocator *allocator)
{
  return allocator->allocated - allocator->mapped;
}

/* torch.cuda.empty_cache(): returns segments without a block in use to the device. No effect for
 * glibc. */
void ft_cuda_allocator_empty(struct ft_cuda_allocator *allocator);

#endif
