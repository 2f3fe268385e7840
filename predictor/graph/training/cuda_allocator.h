/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PyTorch's caching allocator, played without a GPU (c10/cuda/CUDACachingAllocator.cpp, 2.x with
 * its default settings): what it takes from the device, segment by segment, and so what nvidia-smi
 * shows, for a series of requests. Of a process on a CPU: glibc's malloc, by the same blocks.
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
  struct ft_arena *arena; /* where the blocks are kept */
  struct ft_cuda_allocator_block *blocks;
  size_t room, count;
  uint32_t free_roots[2]; /* small and large, by size and age */
  uint32_t spare;         /* blocks that may be used again */
  struct ft_random random;
  int64_t capacity;  /* bytes of the device that may be taken; 0: no end */
  int64_t reserved;  /* taken from the device now */
  int64_t peak;      /* and at most so far */
  int64_t allocated; /* of that handed out, rounded */
  int64_t allocated_peak;
  bool glibc;          /* its main heap and what it maps, instead of PyTorch's segments */
  uint32_t last;       /* glibc: the block at the heap's end; free it stands in no treap */
  int64_t mapped;      /* glibc: bytes that have mappings of their own */
  int64_t mapped_from; /* glibc: bytes of a block from which it has a mapping of its own */
};

/* Start an empty one of CAPACITY bytes, 0 for no end, whose blocks live in ARENA. */
void ft_cuda_allocator_init(struct ft_cuda_allocator *allocator, struct ft_arena *arena,
                            int64_t capacity);

/*
 * Start glibc's malloc with nothing in use and no end (malloc/malloc.c 2.36, mallopt(3)): large
 * blocks are mapped and go back to the kernel at once, the others come of one heap, of which only
 * the end goes back. RESERVED is then what is resident.
 */
void ft_cuda_allocator_init_glibc(struct ft_cuda_allocator *allocator, struct ft_arena *arena);

/*
 * Allocate BYTES. Returns the block, above 0; 0 for 0 bytes; -1 when the device has no more, also
 * after all cached segments were returned to it (as PyTorch tries before it raises out of memory);
 * -2 when ARENA has no more.
 */
int64_t ft_cuda_allocator_allocate(struct ft_cuda_allocator *allocator, int64_t bytes);

/* Free BLOCK (0: nothing) and merge it with its free neighbours. */
void ft_cuda_allocator_free(struct ft_cuda_allocator *allocator, int64_t block);

/* Bytes in use of glibc's heap, without what is mapped. */
static inline int64_t ft_cuda_allocator_heap(const struct ft_cuda_allocator *allocator)
{
  return allocator->allocated - allocator->mapped;
}

/* torch.cuda.empty_cache(): segments of which nothing is in use go back to the device.
 * glibc has nothing like it. */
void ft_cuda_allocator_empty(struct ft_cuda_allocator *allocator);

#endif
