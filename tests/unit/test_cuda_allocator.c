/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/unit.h"

#include "predictor/graph/shape/strides.h"
#include "predictor/graph/training/cuda_allocator.h"

#define KIB INT64_C(1024)
#define MIB (KIB * 1024)

static struct ft_arena arena;

static void open_allocator(struct ft_cuda_allocator *allocator, int64_t capacity)
{
  arena = (struct ft_arena){ .limit = 64 << 20 };
  ft_cuda_allocator_init(allocator, &arena, capacity);
}

static void segments_are_rounded_as_pytorch_does(void **state)
{
  static const struct {
    int64_t bytes, reserved, allocated;
  } cases[] = { { 1, 2 * MIB, 512 },
                { 513, 2 * MIB, 1024 },
                { MIB, 2 * MIB, MIB },
                { MIB + 1, 20 * MIB, MIB + 512 },
                { 10 * MIB - 512, 20 * MIB, 10 * MIB - 512 },
                { 10 * MIB, 10 * MIB, 10 * MIB },
                { 11 * MIB + 1, 12 * MIB, 12 * MIB } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_cuda_allocator c;

    open_allocator(&c, 0);
    assert_true(ft_cuda_allocator_allocate(&c, cases[i].bytes) > 0);
    assert_int_equal(c.reserved, cases[i].reserved);
    assert_int_equal(c.allocated, cases[i].allocated);
    ft_arena_free(&arena);
  }
}

static void freed_memory_is_split_merged_and_used_again(void **state)
{
  struct ft_cuda_allocator c;
  int64_t large, parts[3];

  (void)state;
  open_allocator(&c, 0);
  large = ft_cuda_allocator_allocate(&c, 30 * MIB);
  ft_cuda_allocator_free(&c, large);
  for (int i = 0; i < 3; i++)
    parts[i] = ft_cuda_allocator_allocate(&c, 10 * MIB);
  assert_int_equal(c.reserved, 30 * MIB);
  ft_cuda_allocator_free(&c, parts[0]);
  ft_cuda_allocator_free(&c, parts[2]);
  assert_true(ft_cuda_allocator_allocate(&c, 11 * MIB) > 0); /* neither part is large enough */
  assert_int_equal(c.reserved, 42 * MIB);
  ft_cuda_allocator_free(&c, parts[1]);
  assert_true(ft_cuda_allocator_allocate(&c, 30 * MIB) > 0); /* the three parts are merged again */
  assert_int_equal(c.reserved, 42 * MIB);
  assert_int_equal(c.peak, 42 * MIB);
  ft_arena_free(&arena);
}

static void a_large_block_is_not_split_for_a_rest_up_to_a_mebibyte(void **state)
{
  struct ft_cuda_allocator c;
  int64_t block;

  (void)state;
  open_allocator(&c, 0);
  block = ft_cuda_allocator_allocate(&c, 12 * MIB);
  ft_cuda_allocator_free(&c, block);
  block = ft_cuda_allocator_allocate(&c, 11 * MIB);
  assert_int_equal(c.allocated, 12 * MIB);
  ft_cuda_allocator_free(&c, block);
  (void)ft_cuda_allocator_allocate(&c, 11 * MIB - 512);
  assert_int_equal(c.allocated, 11 * MIB - 512);
  ft_arena_free(&arena);
}

static void a_full_device_frees_cached_segments_before_it_fails(void **state)
{
  struct ft_cuda_allocator c;
  int64_t first;

  (void)state;
  open_allocator(&c, 40 * MIB);
  first = ft_cuda_allocator_allocate(&c, 20 * MIB);
  ft_cuda_allocator_free(&c, first);
  assert_true(ft_cuda_allocator_allocate(&c, 30 * MIB) > 0);
  assert_int_equal(c.reserved, 30 * MIB);
  assert_int_equal(ft_cuda_allocator_allocate(&c, 12 * MIB), -1);
  assert_int_equal(ft_cuda_allocator_allocate(&c, 0), 0);
  ft_cuda_allocator_free(&c, 0);
  ft_arena_free(&arena);
}

static void a_full_arena_is_not_a_full_device(void **state)
{
  int64_t capacities[] = { 0, INT64_C(1) << 50 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(capacities); i++) {
    struct ft_cuda_allocator c;
    int64_t taken = 1;

    open_allocator(&c, capacities[i]);
    arena.limit = 4096;
    for (int j = 0; j < 4096 && taken > 0; j++)
      taken = ft_cuda_allocator_allocate(&c, 20 * MIB);
    assert_int_equal(taken, -2);
    ft_arena_free(&arena);
  }
}

static void an_emptied_cache_keeps_what_is_in_use(void **state)
{
  struct ft_cuda_allocator c;
  int64_t whole, half;

  (void)state;
  open_allocator(&c, 0);
  whole = ft_cuda_allocator_allocate(&c, 20 * MIB);
  half = ft_cuda_allocator_allocate(&c, 24 * MIB);
  ft_cuda_allocator_free(&c, half);
  half = ft_cuda_allocator_allocate(&c, 12 * MIB);
  ft_cuda_allocator_free(&c, whole);
  ft_cuda_allocator_empty(&c);
  assert_int_equal(c.reserved, 24 * MIB);
  ft_cuda_allocator_free(&c, half);
  ft_cuda_allocator_empty(&c);
  assert_int_equal(c.reserved, 0);
  assert_int_equal(c.allocated, 0);
  ft_arena_free(&arena);
}

/* Ten thousand allocations and frees: no byte is lost or counted twice. */
static void requests_add_up(struct ft_cuda_allocator *c)
{
  int64_t blocks[500] = { 0 };
  struct ft_random random;

  ft_random_seed(&random, 7);
  for (int i = 0; i < 10000; i++) {
    size_t k = ft_random_below(&random, COUNT_OF(blocks));

    ft_cuda_allocator_free(c, blocks[k]);
    blocks[k] = ft_cuda_allocator_allocate(c, (int64_t)ft_random_below(&random, 8 * (uint64_t)MIB));
    assert_true(blocks[k] >= 0 && c->allocated <= c->reserved && c->reserved <= c->peak);
  }
  for (size_t k = 0; k < COUNT_OF(blocks); k++)
    ft_cuda_allocator_free(c, blocks[k]);
  assert_int_equal(c->allocated, 0);
}

static void many_requests_add_up(void **state)
{
  struct ft_cuda_allocator c;

  (void)state;
  open_allocator(&c, 0);
  requests_add_up(&c);
  ft_cuda_allocator_empty(&c);
  assert_int_equal(c.reserved, 0);
  ft_arena_free(&arena);
  open_allocator(&c, 0);
  ft_cuda_allocator_init_glibc(&c, &arena);
  requests_add_up(&c);
  assert_int_equal(ft_cuda_allocator_heap(&c), 0);
  assert_true(c.reserved < 2 * c.mapped_from); /* the end of the heap, below the trim threshold */
  ft_arena_free(&arena);
}

/* mallopt(3): M_MMAP_THRESHOLD rises to the size of freed blocks, at most 32 MiB. */
static void glibc_unmaps_large_blocks_and_reuses_the_others(void **state)
{
  struct ft_cuda_allocator c;
  int64_t large, small[2];

  (void)state;
  open_allocator(&c, 0);
  ft_cuda_allocator_init_glibc(&c, &arena);
  for (int i = 0; i < 2; i++) {
    large = ft_cuda_allocator_allocate(&c, 33 * MIB);
    assert_int_equal(ft_cuda_allocator_heap(&c), 0);
    ft_cuda_allocator_free(&c, large);
    assert_int_equal(c.reserved, 0);
  }
  ft_cuda_allocator_free(
      &c, ft_cuda_allocator_allocate(&c, 20 * MIB)); /* mapped; the next one is not */
  assert_int_equal(c.reserved, 0);
  small[0] = ft_cuda_allocator_allocate(&c, 19 * MIB);
  small[1] = ft_cuda_allocator_allocate(&c, MIB);
  assert_true(ft_cuda_allocator_heap(&c) > 20 * MIB);
  ft_cuda_allocator_free(&c, small[0]);
  assert_true(c.reserved > 20 * MIB); /* a block behind it is in use */
  small[0] = ft_cuda_allocator_allocate(&c, 10 * MIB);
  assert_true(c.reserved < 21 * MIB);
  ft_cuda_allocator_free(&c, small[0]);
  ft_cuda_allocator_free(&c, small[1]);
  assert_true(c.reserved > 20 * MIB); /* up to twice 20 MiB stay at the end of the heap */
  assert_int_equal(c.allocated, 0);
  ft_arena_free(&arena);
}

static void a_reshape_is_a_view_where_pytorch_has_one(void **state)
{
  static const struct {
    int rank, new_rank;
    int64_t dims[4], steps[4], new_dims[4], new_steps[4];
    bool view;
  } cases[] = {
    /* dense */
    { 3, 2, { 2, 3, 4 }, { 12, 4, 1 }, { 6, 4 }, { 4, 1 }, true },
    { 3, 4, { 2, 3, 4 }, { 12, 4, 1 }, { 2, 3, 2, 2 }, { 12, 4, 2, 1 }, true },
    /* heads behind rows: N x C is a view, so is a split; a merge copies */
    { 3, 2, { 2, 4, 3 }, { 12, 1, 4 }, { 2, 12 }, { 0 }, false },
    { 3, 4, { 2, 4, 9 }, { 36, 1, 4 }, { 2, 4, 3, 3 }, { 36, 1, 12, 4 }, true },
    /* a slice of every row */
    { 2, 1, { 3, 2 }, { 4, 1 }, { 6 }, { 0 }, false },
    { 2, 3, { 3, 2 }, { 4, 1 }, { 3, 1, 2 }, { 4, 2, 1 }, true },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_dim dims[4], new_dims[4];
    struct ft_tensor x = { .rank = cases[i].rank, .dims = dims };
    struct ft_strides from = { { 0 } }, found = { { 0 } };

    for (int k = 0; k < 4; k++) {
      dims[k] = ft_dim_of(cases[i].dims[k]);
      new_dims[k] = ft_dim_of(cases[i].new_dims[k]);
    }
    memcpy(from.step, cases[i].steps, sizeof cases[i].steps);
    assert_int_equal(ft_strides_reshape(&x, &from, new_dims, cases[i].new_rank, &found),
                     cases[i].view);
    for (int k = 0; cases[i].view && k < cases[i].new_rank; k++)
      if (cases[i].new_dims[k] > 1)
        assert_int_equal(found.step[k], cases[i].new_steps[k]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(segments_are_rounded_as_pytorch_does),
    cmocka_unit_test(freed_memory_is_split_merged_and_used_again),
    cmocka_unit_test(a_large_block_is_not_split_for_a_rest_up_to_a_mebibyte),
    cmocka_unit_test(a_full_device_frees_cached_segments_before_it_fails),
    cmocka_unit_test(a_full_arena_is_not_a_full_device),
    cmocka_unit_test(an_emptied_cache_keeps_what_is_in_use),
    cmocka_unit_test(many_requests_add_up),
    cmocka_unit_test(glibc_unmaps_large_blocks_and_reuses_the_others),
    cmocka_unit_test(a_reshape_is_a_view_where_pytorch_has_one),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
