/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operator table: invariants of every row. */
#include "config.h"

#include "tests/unit/unit.h"

#include "predictor/graph/shape/operators.h"

/* Rows are found by bisection, so every row must be in its sorted position. */
static void every_operator_is_found_by_its_name(void **state)
{
  const struct ft_operator_descriptor *kind;
  size_t count = 0;

  (void)state;
  for (; (kind = ft_operator_at(count)) != NULL; count++) {
    assert_ptr_equal(ft_operator_find_made(kind->domain, kind->type), kind);
    assert_non_null(kind->infer);
    assert_true(kind->id > FT_OP_UNKNOWN && kind->id < FT_OP_COUNT);
  }
  assert_true(count >= FT_OP_COUNT - 1);
}

/* An operator of ONNX Runtime with ONNX's name is the same to code that compares identifiers. */
static void an_identifier_stands_for_one_name(void **state)
{
  const char *names[FT_OP_COUNT] = { NULL };
  const struct ft_operator_descriptor *kind;

  (void)state;
  for (size_t i = 0; (kind = ft_operator_at(i)) != NULL; i++) {
    if (names[kind->id])
      assert_string_equal(names[kind->id], kind->type);
    names[kind->id] = kind->type;
  }
  for (unsigned id = FT_OP_UNKNOWN + 1; id < FT_OP_COUNT; id++)
    assert_non_null(names[id]);
}

/* A file may use any name, but internal operators belong to readers alone. */
static void a_file_cannot_use_internal_operators(void **state)
{
  const struct ft_operator_descriptor *kind;
  unsigned internal = 0;

  (void)state;
  for (size_t i = 0; (kind = ft_operator_at(i)) != NULL; i++)
    if (kind->flags & FT_OPERATOR_INTERNAL) {
      assert_null(ft_operator_find(kind->domain, kind->type));
      internal++;
    }
  assert_true(internal > 0);
  assert_non_null(ft_operator_find_made("", "Strided"));
  assert_null(ft_operator_find("", "Strided"));
}

/* Fields of a row that are only valid together. */
static void rows_are_consistent(void **state)
{
  const struct ft_operator_descriptor *kind;

  (void)state;
  for (size_t i = 0; (kind = ft_operator_at(i)) != NULL; i++) {
    assert_int_equal(kind->gates > 0, (kind->saves & FT_SAVES_GATES) != 0);
    assert_int_equal(kind->quantized_inputs & kind->scale_inputs, 0);
    if (kind->bits)
      assert_true(kind->flags & FT_OPERATOR_PACKED);
    if (kind->flags & FT_OPERATOR_PACKED)
      assert_true(kind->quantized_inputs != 0);
    if (kind->flags & FT_OPERATOR_REUSES_INPUT)
      assert_true(kind->flags & FT_OPERATOR_IN_PLACE && kind->saves == FT_SAVES_RESULT);
    if (kind->gradient == FT_GRADIENT_STOPS)
      assert_int_equal(kind->saves, FT_SAVES_NOTHING);
  }
}

static void domains_are_separate(void **state)
{
  (void)state;
  assert_ptr_not_equal(ft_operator_find("", "Attention"),
                       ft_operator_find("com.microsoft", "Attention"));
  assert_ptr_equal(ft_operator_find("", "Gelu"), ft_operator_find("com.microsoft", "Gelu"));
  assert_null(ft_operator_find("", "QAttention"));
  assert_null(ft_operator_find("com.example", "Conv"));
  assert_null(ft_operator_find("", "conv"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_operator_is_found_by_its_name),
    cmocka_unit_test(an_identifier_stands_for_one_name),
    cmocka_unit_test(a_file_cannot_use_internal_operators),
    cmocka_unit_test(rows_are_consistent),
    cmocka_unit_test(domains_are_separate),
  };

  return cmocka_run_group_tests_name("operators", tests, NULL, NULL);
}
