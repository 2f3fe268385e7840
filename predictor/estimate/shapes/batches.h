/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Batches of items of different sizes. Within a batch every item is padded to the largest width and
 * the largest height of the batch, so its memory is not that of the mean item (Pares et al. 2021).
 * A text has its tokens as width, and a height of 1.
 */
#ifndef FT_ESTIMATE_BATCHES_H
#define FT_ESTIMATE_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/random.h"
#include "predictor/estimate/shapes/size_grid.h"

/* Largest width, height and number of tokens that is believed: 2^16 - 1 is what JPEG allows
 * (ITU-T T.81, B.2.2); larger scans exist as TIFF. */
enum { FT_SIDE_LIMIT = 1 << 20 };

struct ft_item_size {
  uint32_t width, height; /* 1 to FT_SIDE_LIMIT */
};

struct ft_item_sizes {
  struct ft_item_size *item;
  size_t count; /* below 2^32 */
};

enum ft_batching {
  FT_BATCHING_RANDOM,   /* a new order in each epoch */
  FT_BATCHING_BUCKETED, /* the same; windows of 50 batches in the order of shape */
  FT_BATCHING_SORTED,   /* the whole data set in the order of shape */
  FT_BATCHINGS
};

extern const char *const ft_batching_names[FT_BATCHINGS];

struct ft_batch {
  uint32_t width, height; /* to which its items are padded */
  double informative;     /* pixels or tokens of its items */
};

/* Draws the batches of one epoch after the other. */
struct ft_batcher {
  const struct ft_item_sizes *sizes;
  enum ft_batching batching;
  size_t size; /* items of a batch */
  struct ft_random random;
  uint32_t *order; /* of the items in the epoch; owned */
  uint32_t *shape; /* of each item: its rank in the order of shape; NULL: random; owned */
  size_t batches;  /* whole batches of an epoch */
};

/* Initialises BATCHER for batches of SIZE items, 1 to the number of SIZES, which are borrowed.
 * Returns 0; -1 without memory. The caller calls ft_batcher_free in either case. */
int ft_batcher_init(struct ft_batcher *batcher, const struct ft_item_sizes *sizes,
                    enum ft_batching batching, size_t size, uint64_t seed);
void ft_batcher_free(struct ft_batcher *batcher);

/* Fills BATCH, batcher->batches long, with the next epoch's; a last one of fewer items is left out,
 * as it is never the largest. */
void ft_batcher_draw(struct ft_batcher *batcher, struct ft_batch *batch);

/*
 * Returns the probability that a batch of SIZE items, drawn without replacement, costs more than
 * LIMIT. Exact: counts the items that fit below each width and height, no batch is drawn. GRID's
 * cost must grow with both. Returns a negative value without memory.
 */
double ft_batches_exceed(const struct ft_item_sizes *sizes, size_t size,
                         const struct ft_size_grid *grid, double limit);

#endif
