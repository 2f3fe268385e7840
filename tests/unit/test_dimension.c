/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dimensions: what is not known is contagious, and no rule takes it for a number. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/shape/strides.h"

static void unknown_is_contagious(void **state)
{
  const ft_dim zero = ft_dim_of(0), one = ft_dim_of(1), unknown = FT_DIM_UNKNOWN;

  (void)state;
  assert_false(ft_dim_known(ft_dim_of(-7)));
  assert_false(ft_dim_known(ft_dim_times(unknown, zero)));
  assert_false(ft_dim_known(ft_dim_times(zero, unknown)));
  assert_false(ft_dim_known(ft_dim_plus(unknown, one)));
  assert_false(ft_dim_known(ft_dim_plus(zero, unknown)));
  assert_false(ft_dim_known(ft_dim_minus(unknown, unknown)));
  assert_false(ft_dim_known(ft_dim_minus(zero, one)));
  assert_false(ft_dim_known(ft_dim_divide(unknown, 2)));
  assert_false(ft_dim_known(ft_dim_divide(one, 0)));
  assert_true(ft_dim_is(ft_dim_minus(one, one), 0));
  assert_true(ft_dim_is(ft_dim_divide(ft_dim_of(7), 2), 3));
}

static void products_and_sums_are_saturated(void **state)
{
  const ft_dim most = ft_dim_of(FT_DIM_MOST), many = ft_dim_of(INT64_C(1) << 31);

  (void)state;
  assert_true(ft_dim_is(ft_dim_times(many, many), FT_DIM_MOST));
  assert_true(ft_dim_is(ft_dim_times(most, most), FT_DIM_MOST));
  assert_true(ft_dim_is(ft_dim_plus(most, most), FT_DIM_MOST));
  assert_true(ft_dim_is(ft_dim_times(most, ft_dim_of(0)), 0));
}

/* Not even itself: whether two dimensions that are not known agree cannot be told. */
static void what_is_not_known_equals_no_number(void **state)
{
  const ft_dim dims[] = { FT_DIM_UNKNOWN, FT_DIM_INFER };
  int64_t n = 5;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(dims); i++) {
    assert_false(ft_dim_known(dims[i]));
    assert_false(ft_dim_get(dims[i], &n));
    assert_int_equal(n, 5);
    assert_int_equal(ft_dim_or(dims[i], 9), 9);
    for (int number = -2; number < 2; number++)
      assert_false(ft_dim_is(dims[i], number));
    assert_false(ft_dim_equal(dims[i], dims[i]));
    assert_false(ft_dim_differ(dims[i], ft_dim_of(3)));
    assert_false(ft_dim_known(ft_dim_times(dims[i], ft_dim_of(0))));
    assert_int_equal(ft_dim_inferred(dims[i]), i == 1);
  }
  assert_true(ft_dim_get(ft_dim_of(3), &n) && n == 3);
  assert_true(ft_dim_equal(ft_dim_of(3), ft_dim_of(3)));
  assert_true(ft_dim_differ(ft_dim_of(3), ft_dim_of(4)));
}

/* The operator TYPE of inputs X and W, with result Y; what ft_infer_operator returns. */
static int infer(const char *type, struct ft_attribute *attribute, struct ft_tensor tensors[4],
                 struct ft_graph *graph)
{
  uint32_t inputs[] = { 1, 2 }, outputs[] = { 3 };
  struct ft_operator op = { .name = type,
                            .type = type,
                            .domain = "",
                            .kind = ft_operator_find_made("", type),
                            .inputs = inputs,
                            .outputs = outputs,
                            .attributes = attribute,
                            .input_count = 2,
                            .output_count = 1,
                            .attribute_count = attribute != NULL };
  struct ft_error err = { "" };
  struct ft_infer in = { .graph = graph, .err = &err };

  *graph = (struct ft_graph){
    .file = "test", .tensors = tensors, .tensor_count = 4, .results = { .limit = 1 << 20 }
  };
  return ft_infer_operator(&in, &op);
}

static void weights_of_unknown_size_contradict_nothing(void **state)
{
  ft_dim x[] = { ft_dim_of(2), ft_dim_of(8) }, w[] = { ft_dim_of(3), FT_DIM_UNKNOWN };
  struct ft_tensor tensors[] = {
    { .rank = -1 }, { .rank = 2, .dims = x }, { .rank = 2, .dims = w }, { .rank = -1 }
  };
  struct ft_graph graph;

  (void)state;
  assert_int_equal(infer("Linear", NULL, tensors, &graph), 0);
  assert_int_equal(tensors[3].rank, 2);
  assert_true(ft_dim_is(tensors[3].dims[1], 3));
  ft_arena_free(&graph.results);
}

static void filters_without_elements_give_no_number(void **state)
{
  ft_dim x[] = { ft_dim_of(1), ft_dim_of(2), ft_dim_of(8) };
  ft_dim w[] = { ft_dim_of(4), ft_dim_of(2), ft_dim_of(0) };
  struct ft_tensor tensors[] = {
    { .rank = -1 }, { .rank = 3, .dims = x }, { .rank = 3, .dims = w }, { .rank = -1 }
  };
  struct ft_graph graph;

  (void)state;
  assert_int_equal(infer("Conv", NULL, tensors, &graph), 0);
  assert_true(ft_dim_is(tensors[3].dims[1], 4));
  assert_false(ft_dim_known(tensors[3].dims[2]));
  ft_arena_free(&graph.results);
}

/* A size of the file's that no dimension can have is an error, though -1 leaves it open. */
static void sizes_below_those_of_dimensions_are_refused(void **state)
{
  static const struct {
    int64_t size;
    int status;
    bool known;
  } cases[] = { { 5, 0, true }, { -1, 0, false }, { -2, -1, false }, { -7, -1, false } };
  ft_dim x[] = { ft_dim_of(2), ft_dim_of(8) };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_attribute k = { .name = "k", .type = FT_ATTRIBUTE_INTEGER, .integer = cases[i].size };
    struct ft_tensor tensors[] = {
      { .rank = -1 }, { .rank = 2, .dims = x }, { .rank = -1 }, { .rank = -1 }
    };
    struct ft_graph graph;

    assert_int_equal(infer("TopK", &k, tensors, &graph), cases[i].status);
    if (cases[i].status == 0)
      assert_int_equal(ft_dim_known(tensors[3].dims[1]), cases[i].known);
    ft_arena_free(&graph.results);
  }
}

static void unknown_distances_are_not_equal(void **state)
{
  ft_dim dims[] = { ft_dim_of(2), ft_dim_of(3), ft_dim_of(4) };
  const ft_dim merged[] = { ft_dim_of(6), ft_dim_of(4) };
  const struct ft_tensor x = { .rank = 3, .dims = dims };
  const struct ft_strides from = { { -1, -1, 1 } };
  struct ft_strides found;

  (void)state;
  assert_false(ft_strides_reshape(&x, &from, merged, 2, &found));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(unknown_is_contagious),
    cmocka_unit_test(products_and_sums_are_saturated),
    cmocka_unit_test(what_is_not_known_equals_no_number),
    cmocka_unit_test(weights_of_unknown_size_contradict_nothing),
    cmocka_unit_test(filters_without_elements_give_no_number),
    cmocka_unit_test(sizes_below_those_of_dimensions_are_refused),
    cmocka_unit_test(unknown_distances_are_not_equal),
  };

  return cmocka_run_group_tests_name("dimension", tests, NULL, NULL);
}
