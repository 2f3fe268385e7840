/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/unit/unit.h"

#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/random.h"
#include "predictor/record/model_decode.h"
#include "predictor/record/record.h"

enum { BYTES = 1 << 16, LISTED = 40 };

static ft_model theirs, ours;
static uint8_t bytes[BYTES], changed[BYTES + 8], again[2][BYTES];

static size_t encode(const ft_model *model, uint8_t *out)
{
  pb_ostream_t stream = pb_ostream_from_buffer(out, BYTES);

  assert_true(pb_encode(&stream, ft_model_fields, model));
  return stream.bytes_written;
}

static float number(struct ft_random *random)
{
  return (float)ft_random_normal(random);
}

/* Fills all lists of a model with LENGTH elements, or to their limit. */
static void fill(ft_model *m, size_t length, struct ft_random *random)
{
  ft_evaluator *e = &m->evaluator;

  memset(m, 0, sizeof *m);
  m->schema = FT_SCHEMA;
  strcpy(m->app, "unet3d");
  m->columns_count = 2;
  strcpy(m->columns[1].name, "batch");
  m->has_evaluator = true;
  strcpy(e->method, "regression");
  e->terms_count = 2;
  e->terms[1].column = 1;
  e->terms[1].levels_count = 3;
  e->residuals_count = e->needs_count = e->covariates_count = e->seconds_count = (pb_size_t)length;
  e->losses_count = (pb_size_t)(length < LISTED ? length : LISTED);
  e->ages.size = (pb_size_t)length;
  for (size_t i = 0; i < length; i++) {
    e->residuals[i] = (double)number(random);
    e->needs[i] = number(random);
    e->covariates[i] = number(random);
    e->seconds[i] = number(random);
  }
  for (size_t i = 0; i < e->losses_count; i++)
    e->losses[i] = (double)number(random);
  e->baselines_count = 3;
  for (size_t v = 0; v < 3; v++) {
    e->baselines[v].slope = (double)number(random);
    e->baselines[v].needs_count = e->baselines[v].runs.size = (pb_size_t)(v ? length : 0);
    for (size_t i = 0; i < e->baselines[v].needs_count; i++)
      e->baselines[v].needs[i] = number(random);
  }
}

/* Asserts that both decoders accept LENGTH bytes at DATA with equal results, or both reject them.
 * Returns whether they accept. */
static bool decodes_like_nanopb(const uint8_t *data, size_t length)
{
  pb_istream_t stream = pb_istream_from_buffer(data, length);
  bool nanopb = pb_decode(&stream, ft_model_fields, &theirs), packed;
  size_t written;

  stream = pb_istream_from_buffer(data, length);
  packed = ft_model_decode(&stream, &ours);
  assert_int_equal(packed, nanopb);
  if (!packed) {
    assert_non_null(stream.errmsg);
    return false;
  }
  assert_int_equal(stream.bytes_left, 0);
  written = encode(&theirs, again[0]);
  assert_int_equal(encode(&ours, again[1]), written);
  assert_memory_equal(again[0], again[1], written);
  return true;
}

static void lists_of_every_length_are_read_as_nanopb_reads_them(void **state)
{
  static const size_t lengths[] = { 0, 1, 2, 39, 200 };
  static ft_model model;
  struct ft_random random;

  (void)state;
  ft_random_seed(&random, 1);
  for (size_t i = 0; i < COUNT_OF(lengths); i++) {
    fill(&model, lengths[i], &random);
    assert_true(decodes_like_nanopb(bytes, encode(&model, bytes)));
    assert_int_equal(ours.evaluator.needs_count, lengths[i]);
  }
  /* earlier contents of the struct must not remain */
  fill(&model, 1, &random);
  assert_true(decodes_like_nanopb(bytes, encode(&model, bytes)));
  assert_int_equal(ours.evaluator.baselines[2].needs_count, 1);
}

static void lists_in_pieces_and_messages_in_pieces_add_up(void **state)
{
  /* clang-format off */
  static const struct {
    const char *what;
    uint8_t bytes[48];
    size_t length;
    bool good;
  } cases[] = {
    { "needs in two lists", { 0x52, 16, 0x4a, 4, 0, 0, 0x80, 0x3f, 0x4a, 8, 0, 0, 0, 0, 0, 0, 0, 0x40 }, 18, true },
    { "one of them as a number by itself", { 0x52, 11, 0x4d, 0, 0, 0x80, 0x3f, 0x4a, 4, 0, 0, 0, 0x40 }, 13, true },
    { "a list that is cut", { 0x52, 5, 0x4a, 3, 0, 0, 0 }, 7, false },
    { "a list longer than its message", { 0x52, 6, 0x4a, 8, 0, 0, 0, 0 }, 8, false },
    { "an evaluator longer than its model", { 0x52, 9, 0x4a, 4, 0, 0, 0, 0 }, 8, false },
    { "two evaluators", { 0x52, 6, 0x4a, 4, 0, 0, 0x80, 0x3f, 0x52, 2, 0x10, 1 }, 12, true },
    { "an evaluator that is a number", { 0x50, 1 }, 2, false },
    { "four views", { 0x52, 12, 0x8a, 1, 0, 0x8a, 1, 0, 0x8a, 1, 0, 0x8a, 1, 0 }, 14, false },
    { "a field of number 0", { 0x52, 2, 0, 0 }, 4, false },
    { "an unknown field", { 0x52, 7, 0xfa, 0x7f, 3, 1, 2, 3, 0 }, 9, false },
    { "likewise, whole", { 0x52, 6, 0xfa, 0x7f, 3, 1, 2, 3 }, 8, true },
    { "nothing", { 0 }, 0, true },
  };
  /* clang-format on */

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    if (decodes_like_nanopb(cases[i].bytes, cases[i].length) != cases[i].good)
      fail_msg("%s", cases[i].what);
}

static void hostile_models_are_rejected_like_by_nanopb(void **state)
{
  static ft_model model;
  struct ft_random random;
  int accepted = 0;

  (void)state;
  ft_random_seed(&random, 2);
  fill(&model, 3, &random);
  for (int i = 0; i < 20000; i++) {
    size_t length = encode(&model, bytes), at;

    memcpy(changed, bytes, length);
    for (unsigned k = 0; k < 1 + i % 3U; k++) {
      at = (size_t)ft_random_below(&random, (uint32_t)length);
      changed[at] = (uint8_t)ft_random_below(&random, 256);
    }
    at = (size_t)ft_random_below(&random, (uint32_t)length);
    if (i % 7 == 0)
      length = at;
    if (i % 11 == 0 && at + 1 < length)
      memmove(changed + at, changed + at + 1, length - at - 1);
    accepted += decodes_like_nanopb(changed, length);
  }
  assert_in_range(accepted, 100, 19900);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lists_of_every_length_are_read_as_nanopb_reads_them),
    cmocka_unit_test(lists_in_pieces_and_messages_in_pieces_add_up),
    cmocka_unit_test(hostile_models_are_rejected_like_by_nanopb)
  };

  return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
