/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/sort.h"
#include "predictor/estimate/shapes/outlook.h"

/* Epochs that are drawn at most, and items in all of them: the largest cost of an epoch is then
 * known to the 99th percentile, and a million items take a second. */
enum { EPOCHS_LIMIT = 1000, EPOCHS_LEAST = 10, ITEMS_LIMIT = 10000000 };

/* Epochs that must pass a limit for their share to be told. */
enum { COUNTED_LEAST = 10 };

static void add_to_spread(struct ft_spread *spread, double value, bool first)
{
  spread->min = first || value < spread->min ? value : spread->min;
  spread->max = first || value > spread->max ? value : spread->max;
  spread->mean += value; /* divided at the end */
}

static void end_spread(struct ft_spread *spread, double count)
{
  spread->mean /= count;
}

/* Adds the epoch BATCH to the sums of OUTLOOK. Returns its largest cost. */
static double add_epoch(const struct ft_outlook_settings *settings, const struct ft_batch *batch,
                        struct ft_outlook *outlook)
{
  double largest = 0;

  for (size_t b = 0; b < outlook->batches; b++) {
    bool first = outlook->drawn == 0 && b == 0;
    double width = batch[b].width, height = batch[b].height;
    double total = width * height * (double)settings->batch;

    add_to_spread(&outlook->informative, batch[b].informative, first);
    add_to_spread(&outlook->padding, total - batch[b].informative, first);
    add_to_spread(&outlook->total, total, first);
    if (settings->cost) {
      double cost = ft_size_grid_cost(settings->cost, width, height);

      add_to_spread(&outlook->cost, cost, first);
      largest = fmax(largest, cost);
    }
    if (settings->seconds)
      outlook->seconds += ft_size_grid_cost(settings->seconds, width, height);
  }
  add_to_spread(&outlook->epoch_max, largest, outlook->drawn == 0);
  return largest;
}

/* Returns the largest cost that the job's epochs have with a probability of one half: the median of
 * the largest of EPOCHS draws from LARGEST, which is ascending. */
static double median_of_largest(const double *largest, unsigned drawn, unsigned epochs)
{
  double at = pow(0.5, 1.0 / epochs) * drawn;

  return largest[at >= drawn ? drawn - 1 : (unsigned)at];
}

/* Sets the probabilities to pass the limit; LARGEST has the largest cost of each drawn epoch. */
static int set_probabilities(const struct ft_item_sizes *sizes,
                             const struct ft_outlook_settings *settings, const double *largest,
                             struct ft_outlook *outlook)
{
  unsigned passed = 0;

  for (unsigned i = 0; i < outlook->drawn; i++)
    passed += largest[i] > settings->limit;
  outlook->epoch_exceeds = (double)passed / outlook->drawn;
  if (settings->batching == FT_BATCHING_RANDOM) {
    outlook->batch_exceeds =
        ft_batches_exceed(sizes, settings->batch, settings->cost, settings->limit);
    if (outlook->batch_exceeds < 0)
      return -1;
    if (passed < COUNTED_LEAST) /* few batches pass it: Poisson */
      outlook->epoch_exceeds = -expm1(-(double)outlook->batches * outlook->batch_exceeds);
  }
  outlook->job_exceeds = settings->batching == FT_BATCHING_SORTED
                             ? outlook->epoch_exceeds
                             : 1 - pow(1 - outlook->epoch_exceeds, settings->epochs);
  return 0;
}

static unsigned epochs_to_draw(const struct ft_item_sizes *sizes,
                               const struct ft_outlook_settings *settings)
{
  size_t epochs = ITEMS_LIMIT / sizes->count;

  if (settings->batching == FT_BATCHING_SORTED)
    return 1;
  return (unsigned)(epochs > EPOCHS_LIMIT   ? EPOCHS_LIMIT
                    : epochs < EPOCHS_LEAST ? EPOCHS_LEAST
                                            : epochs);
}

int ft_outlook(const struct ft_item_sizes *sizes, const struct ft_outlook_settings *settings,
               void (*progress)(void *data, double part), void *data, struct ft_outlook *outlook)
{
  unsigned epochs = epochs_to_draw(sizes, settings);
  struct ft_batcher batcher;
  struct ft_batch *batch = calloc(sizes->count / settings->batch + 1, sizeof *batch);
  double *largest = calloc(epochs, sizeof *largest), all;
  int status = -1;

  *outlook = (struct ft_outlook){ .drawn = 0 };
  if (ft_batcher_init(&batcher, sizes, settings->batching, settings->batch, settings->seed) == 0 &&
      batch && largest) {
    outlook->batches = batcher.batches;
    for (; outlook->drawn < epochs; outlook->drawn++) {
      ft_batcher_draw(&batcher, batch);
      largest[outlook->drawn] = add_epoch(settings, batch, outlook);
      if (progress)
        progress(data, (outlook->drawn + 1.0) / epochs);
    }
    all = (double)outlook->batches * epochs;
    end_spread(&outlook->informative, all);
    end_spread(&outlook->padding, all);
    end_spread(&outlook->total, all);
    end_spread(&outlook->cost, all);
    end_spread(&outlook->epoch_max, epochs);
    /* the last batch, which is smaller, counts by its items */
    outlook->seconds *= (double)sizes->count / (double)(batcher.batches * batcher.size) / epochs;
    ft_sort_doubles(largest, epochs);
    outlook->job_max = median_of_largest(largest, epochs, settings->epochs);
    status = settings->limit > 0 && settings->cost
                 ? set_probabilities(sizes, settings, largest, outlook)
                 : 0;
  }
  ft_batcher_free(&batcher);
  free(batch);
  free(largest);
  return status;
}
