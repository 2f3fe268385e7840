/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/record/index_arithmetic.h"

enum { DEPTH = 16 }; /* nested brackets */

struct reader {
  struct ft_text text;
  uint32_t index;
  unsigned depth;
};

static bool read_sum(struct reader *r, int64_t *value);

/* Reads a number, the index or a sum in brackets, with signs before it. */
static bool read_signed_operand(struct reader *r, int64_t *value)
{
  bool minus = false;
  uint64_t number;

  while (ft_text_starts(r->text, "-") || ft_text_starts(r->text, "+"))
    minus ^= *r->text.at++ == '-';
  if (ft_text_skip(&r->text, "a")) {
    *value = r->index;
  } else if (ft_text_skip(&r->text, "(")) {
    if (r->depth == DEPTH)
      return false;
    r->depth++;
    if (!read_sum(r, value) || !ft_text_skip(&r->text, ")"))
      return false;
    r->depth--;
  } else {
    if (!ft_text_u64(&r->text, INT64_MAX, &number))
      return false;
    *value = (int64_t)number;
  }
  return !minus || !__builtin_sub_overflow((int64_t)0, *value, value);
}

static bool read_product(struct reader *r, int64_t *value)
{
  int64_t by;

  if (!read_signed_operand(r, value))
    return false;
  for (;;) {
    char sign = r->text.at < r->text.end ? *r->text.at : '\0';

    if (sign != 'x' && sign != 'd' && sign != 'm')
      return true;
    r->text.at++;
    if (!read_signed_operand(r, &by))
      return false;
    if (sign == 'x' ? __builtin_mul_overflow(*value, by, value) : !by || by == -1)
      return false;
    if (sign != 'x')
      *value = sign == 'd' ? *value / by : *value % by;
  }
}

static bool read_sum(struct reader *r, int64_t *value)
{
  int64_t next;

  if (!read_product(r, value))
    return false;
  for (;;) {
    bool minus = ft_text_starts(r->text, "-");

    if (!minus && !ft_text_starts(r->text, "+"))
      return true;
    r->text.at++;
    if (!read_product(r, &next) || (minus ? __builtin_sub_overflow(*value, next, value)
                                          : __builtin_add_overflow(*value, next, value)))
      return false;
  }
}

bool ft_index_compute(struct ft_text expression, uint32_t index, int64_t *value)
{
  struct reader r = { expression, index, 0 };

  return read_sum(&r, value) && !ft_text_left(&r.text);
}
