/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <stdlib.h>

#include "tests/unit/unit.h"
#include "predictor/estimate/shapes/outlook.h"

/* Cost of a batch: its padded pixels. Exact on any grid. */
static struct ft_size_grid pixels(uint32_t low, uint32_t high)
{
  struct ft_size_grid grid = { 0 };

  grid.widths = ft_size_grid_place(low, high, grid.width);
  grid.heights = ft_size_grid_place(low, high, grid.height);
  for (int w = 0; w < grid.widths; w++)
    for (int h = 0; h < grid.heights; h++)
      grid.cost[w][h] = grid.width[w] * grid.height[h];
  return grid;
}

static void a_grid_is_exact_for_products(void **state)
{
  struct ft_size_grid grid = pixels(7, 9000);

  (void)state;
  assert_int_equal(grid.widths, FT_GRID_POINTS);
  for (double w = 7; w <= 9000; w = floor(w * 1.7) + 1)
    for (double h = 7; h <= 9000; h = floor(h * 1.3) + 1)
      assert_true(fabs(ft_size_grid_cost(&grid, w, h) - w * h) < 1e-9 * w * h);
  /* one side only: a text */
  grid = pixels(5, 5);
  assert_int_equal(grid.widths, 1);
  assert_true(ft_size_grid_cost(&grid, 5, 5) == 25);
}

/* Counts by hand how many of all batches of 3 cost more than LIMIT. */
static double count_exceeding(const struct ft_item_sizes *sizes, double limit)
{
  size_t all = 0, above = 0;

  for (size_t a = 0; a < sizes->count; a++)
    for (size_t b = a + 1; b < sizes->count; b++)
      for (size_t c = b + 1; c < sizes->count; c++) {
        const struct ft_item_size *x[] = { &sizes->item[a], &sizes->item[b], &sizes->item[c] };
        double width = 0, height = 0;

        for (int i = 0; i < 3; i++) {
          width = fmax(width, x[i]->width);
          height = fmax(height, x[i]->height);
        }
        all++;
        above += width * height > limit;
      }
  return (double)above / (double)all;
}

static void draw_sizes(struct ft_item_size *item, size_t count, uint32_t from, uint32_t range)
{
  struct ft_random random;

  ft_random_seed(&random, 5);
  for (size_t i = 0; i < count; i++)
    item[i] = (struct ft_item_size){ from + (uint32_t)ft_random_below(&random, range),
                                     from + (uint32_t)ft_random_below(&random, range) };
}

static void the_probability_of_a_batch_is_exact(void **state)
{
  struct ft_item_size item[40];
  struct ft_item_sizes sizes = { item, COUNT_OF(item) };
  struct ft_size_grid grid = pixels(10, 100);

  (void)state;
  draw_sizes(item, COUNT_OF(item), 10, 30); /* some widths and heights are equal */
  for (double limit = 50.5; limit < 2000; limit += 37)
    assert_true(fabs(ft_batches_exceed(&sizes, 3, &grid, limit) - count_exceeding(&sizes, limit)) <
                1e-9);
}

static void every_item_is_in_one_batch(void **state)
{
  enum { ITEMS = 1200, SIZE = 8 };
  struct ft_item_size item[ITEMS];
  struct ft_item_sizes sizes = { item, ITEMS };
  struct ft_batch batch[ITEMS / SIZE];
  double pixels_of_all = 0, padded[FT_BATCHINGS] = { 0 };

  (void)state;
  draw_sizes(item, ITEMS, 100, 2000);
  for (int i = 0; i < ITEMS; i++)
    pixels_of_all += (double)item[i].width * item[i].height;
  for (int p = 0; p < FT_BATCHINGS; p++) {
    struct ft_batcher batcher;
    double informative = 0;

    assert_int_equal(ft_batcher_init(&batcher, &sizes, (enum ft_batching)p, SIZE, 1), 0);
    ft_batcher_draw(&batcher, batch);
    for (size_t b = 0; b < batcher.batches; b++) {
      informative += batch[b].informative;
      padded[p] += (double)batch[b].width * batch[b].height * SIZE;
    }
    ft_batcher_free(&batcher);
    assert_true(fabs(informative - pixels_of_all) < 1);
  }
  assert_true(padded[FT_BATCHING_RANDOM] > 1.2 * padded[FT_BATCHING_BUCKETED]);
  assert_true(padded[FT_BATCHING_BUCKETED] > 1.05 * padded[FT_BATCHING_SORTED]);
}

/* One item in a thousand is wide, one is high: only together in a batch they pass the limit. */
static void a_rare_pair_is_expected(void **state)
{
  enum { ITEMS = 4000 };
  struct ft_item_size item[ITEMS];
  struct ft_item_sizes sizes = { item, ITEMS };
  struct ft_size_grid grid = pixels(100, 1000);
  struct ft_outlook_settings settings = {
    .batch = 4, .epochs = 100, .limit = 500000, .seed = 1, .cost = &grid
  };
  struct ft_outlook x;

  (void)state;
  for (int i = 0; i < ITEMS; i++)
    item[i] = (struct ft_item_size){ 100, 100 };
  item[7].width = item[8].height = 1000;
  assert_int_equal(ft_outlook(&sizes, &settings, NULL, NULL, &x), 0);
  /* they are together if the high one is among the 3 others of the wide one's batch */
  assert_true(fabs(x.epoch_exceeds - 3.0 / 3999) < 1e-6);
  assert_true(fabs(x.job_exceeds - (1 - pow(1 - 3.0 / 3999, 100))) < 1e-4);
  assert_true(x.cost.min == 10000);
  assert_true(x.job_max >= 100000);
  /* what one of them needs alone, every epoch needs */
  settings.limit = 99999;
  assert_int_equal(ft_outlook(&sizes, &settings, NULL, NULL, &x), 0);
  assert_true(x.epoch_exceeds == 1 && x.job_exceeds == 1);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_grid_is_exact_for_products),
    cmocka_unit_test(the_probability_of_a_batch_is_exact),
    cmocka_unit_test(every_item_is_in_one_batch),
    cmocka_unit_test(a_rare_pair_is_expected),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
