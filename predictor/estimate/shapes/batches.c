/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/shapes/batches.h"

/* Batches in a window of bucketed batching: mega_batch_mult of Hugging Face's
 * LengthGroupedSampler (transformers, trainer_pt_utils.py). */
enum { WINDOW_BATCHES = 50 };

const char *const ft_batching_names[FT_BATCHINGS] = { [FT_BATCHING_RANDOM] = "random",
                                                      [FT_BATCHING_BUCKETED] = "bucketed",
                                                      [FT_BATCHING_SORTED] = "sorted" };

/* ---- the order of shape ---- */

struct shape_key {
  double aspect, pixels;
  uint32_t band, item;
};

static int compare_aspects(const void *a, const void *b)
{
  const struct shape_key *x = a, *y = b;

  return (x->aspect > y->aspect) - (x->aspect < y->aspect);
}

static int compare_shapes(const void *a, const void *b)
{
  const struct shape_key *x = a, *y = b;

  if (x->band != y->band)
    return x->band < y->band ? -1 : 1;
  if (x->pixels != y->pixels)
    return x->pixels < y->pixels ? -1 : 1;
  return x->item < y->item ? -1 : x->item > y->item;
}

/* Sets the rank of each item by BANDS bands of aspect ratio, then by pixels: neighbours have
 * similar width and similar height. Returns 0; -1 without memory. */
static int rank_shapes(const struct ft_item_sizes *sizes, size_t bands, uint32_t *rank)
{
  struct shape_key *keys = malloc(sizes->count * sizeof *keys);

  if (!keys)
    return -1;
  for (size_t i = 0; i < sizes->count; i++) {
    double width = sizes->item[i].width, height = sizes->item[i].height;

    keys[i] = (struct shape_key){ width / height, width * height, 0, (uint32_t)i };
  }
  qsort(keys, sizes->count, sizeof *keys, compare_aspects);
  for (size_t i = 0; i < sizes->count; i++)
    keys[i].band = i && keys[i].aspect == keys[i - 1].aspect
                       ? keys[i - 1].band
                       : (uint32_t)((double)i / (double)sizes->count * (double)bands);
  qsort(keys, sizes->count, sizeof *keys, compare_shapes);
  for (size_t i = 0; i < sizes->count; i++)
    rank[keys[i].item] = (uint32_t)i;
  free(keys);
  return 0;
}

int ft_batcher_init(struct ft_batcher *batcher, const struct ft_item_sizes *sizes,
                    enum ft_batching batching, size_t size, uint64_t seed)
{
  size_t batches = sizes->count / size;
  size_t together =
      batching == FT_BATCHING_SORTED || batches < WINDOW_BATCHES ? batches : (size_t)WINDOW_BATCHES;

  *batcher =
      (struct ft_batcher){ .sizes = sizes, .batching = batching, .size = size, .batches = batches };
  ft_random_seed(&batcher->random, seed);
  batcher->order = malloc(sizes->count * sizeof *batcher->order);
  if (!batcher->order)
    return -1;
  for (size_t i = 0; i < sizes->count; i++)
    batcher->order[i] = (uint32_t)i;
  if (batching == FT_BATCHING_RANDOM)
    return 0;
  batcher->shape = malloc(sizes->count * sizeof *batcher->shape);
  /* as many bands as batches within each: batches are as square as they can be */
  return batcher->shape ? rank_shapes(sizes, (size_t)ceil(sqrt((double)together)), batcher->shape)
                        : -1;
}

void ft_batcher_free(struct ft_batcher *batcher)
{
  free(batcher->order);
  free(batcher->shape);
}

/* ---- an epoch ---- */

static void shuffle_order(struct ft_batcher *batcher)
{
  for (size_t i = batcher->sizes->count; i > 1; i--) {
    size_t other = (size_t)ft_random_below(&batcher->random, i);
    uint32_t kept = batcher->order[i - 1];

    batcher->order[i - 1] = batcher->order[other];
    batcher->order[other] = kept;
  }
}

static int compare_ranks(const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

  return (x > y) - (x < y);
}

/* Brings COUNT items of the order from START into the order of shape. */
static void sort_window(struct ft_batcher *batcher, size_t start, size_t count, uint64_t *keys)
{
  for (size_t i = 0; i < count; i++) {
    uint32_t item = batcher->order[start + i];

    keys[i] = (uint64_t)batcher->shape[item] << 32 | item;
  }
  qsort(keys, count, sizeof *keys, compare_ranks);
  for (size_t i = 0; i < count; i++)
    batcher->order[start + i] = (uint32_t)keys[i];
}

/* Sets the order of the next epoch. */
static void order_epoch(struct ft_batcher *batcher)
{
  size_t count = batcher->sizes->count;
  size_t window = WINDOW_BATCHES * batcher->size;
  uint64_t *keys;

  if (batcher->batching != FT_BATCHING_SORTED)
    shuffle_order(batcher);
  if (batcher->batching == FT_BATCHING_RANDOM)
    return;
  if (batcher->batching == FT_BATCHING_SORTED) {
    for (size_t i = 0; i < count; i++)
      batcher->order[batcher->shape[i]] = (uint32_t)i;
    return;
  }
  if (window > count)
    window = count;
  keys = malloc(window * sizeof *keys);
  for (size_t i = 0; keys && i < count; i += window)
    sort_window(batcher, i, count - i < window ? count - i : window, keys);
  free(keys);
}

void ft_batcher_draw(struct ft_batcher *batcher, struct ft_batch *batch)
{
  order_epoch(batcher);
  for (size_t b = 0; b < batcher->batches; b++) {
    const uint32_t *order = batcher->order + b * batcher->size;
    struct ft_batch drawn = { 0 };

    for (size_t i = 0; i < batcher->size; i++) {
      const struct ft_item_size *item = &batcher->sizes->item[order[i]];

      if (item->width > drawn.width)
        drawn.width = item->width;
      if (item->height > drawn.height)
        drawn.height = item->height;
      drawn.informative += (double)item->width * item->height;
    }
    batch[b] = drawn;
  }
}

/* ---- the exact probability ---- */

/* Items counted by height: a Fenwick tree (Fenwick 1994), whose index is the rank of the height. */
struct counted_heights {
  uint32_t *height; /* ascending, distinct */
  size_t *tree;
  size_t count;
};

static int compare_u32(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

static int compare_widths(const void *a, const void *b)
{
  const struct ft_item_size *x = a, *y = b;

  return (x->width > y->width) - (x->width < y->width);
}

/* Returns the number of distinct heights that are at most HEIGHT. */
static size_t rank_of(const struct counted_heights *heights, uint32_t height)
{
  size_t low = 0, high = heights->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (heights->height[middle] <= height)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void count_height(struct counted_heights *heights, uint32_t height)
{
  for (size_t i = rank_of(heights, height); i <= heights->count; i += i & -i)
    heights->tree[i]++;
}

/* Returns the number of counted items whose height is one of the first RANK. */
static size_t counted_below(const struct counted_heights *heights, size_t rank)
{
  size_t sum = 0;

  for (size_t i = rank; i > 0; i -= i & -i)
    sum += heights->tree[i];
  return sum;
}

/* Returns the number of distinct heights with which WIDTH costs at most LIMIT; at most FROM. */
static size_t count_fitting_heights(const struct counted_heights *heights,
                                    const struct ft_size_grid *grid, double width, double limit,
                                    size_t from)
{
  while (from > 0 && ft_size_grid_cost(grid, width, heights->height[from - 1]) > limit)
    from--;
  return from;
}

/* Returns the probability that all of SIZE items, drawn without replacement from COUNT, are among
 * AMONG of them. */
static double all_among(size_t among, size_t count, size_t size)
{
  double n = (double)count, k = (double)among, s = (double)size;

  if (among < size)
    return 0;
  return exp(lgamma(k + 1) - lgamma(k - s + 1) - lgamma(n + 1) + lgamma(n - s + 1));
}

/*
 * A batch costs at most LIMIT if, for its largest width, no height is above what fits with it. So
 * the widths are passed in ascending order, and for each the probability is added that it is the
 * largest and all heights fit: of the items up to this width, less those below it.
 */
static double sum_fitting(struct ft_item_size *items, size_t count, size_t size,
                          struct counted_heights *heights, const struct ft_size_grid *grid,
                          double limit)
{
  double within = 0;
  size_t fits = heights->count;

  for (size_t i = 0, next; i < count; i = next) {
    size_t before;

    fits = count_fitting_heights(heights, grid, items[i].width, limit, fits);
    before = counted_below(heights, fits);
    for (next = i; next < count && items[next].width == items[i].width; next++)
      count_height(heights, items[next].height);
    within += all_among(counted_below(heights, fits), count, size) - all_among(before, count, size);
  }
  return within;
}

double ft_batches_exceed(const struct ft_item_sizes *sizes, size_t size,
                         const struct ft_size_grid *grid, double limit)
{
  size_t count = sizes->count;
  struct ft_item_size *items = malloc(count * sizeof *items);
  struct counted_heights heights = { .height = malloc(count * sizeof *heights.height),
                                     .tree = calloc(count + 1, sizeof *heights.tree) };
  double within = 2;

  if (items && heights.height && heights.tree) {
    memcpy(items, sizes->item, count * sizeof *items);
    qsort(items, count, sizeof *items, compare_widths);
    for (size_t i = 0; i < count; i++)
      heights.height[i] = items[i].height;
    qsort(heights.height, count, sizeof *heights.height, compare_u32);
    for (size_t i = 0; i < count; i++)
      if (heights.count == 0 || heights.height[heights.count - 1] != heights.height[i])
        heights.height[heights.count++] = heights.height[i];
    within = sum_fitting(items, count, size, &heights, grid, limit);
  }
  free(items);
  free(heights.height);
  free(heights.tree);
  return within > 1.5 ? -1 : fmin(fmax(1 - within, 0), 1);
}
