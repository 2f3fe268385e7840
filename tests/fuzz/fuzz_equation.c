/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes as an equation's code, constants and variables: an accepted equation evaluates, prints and
 * packs.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/equation.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = 4096; /* more than all arrays of an equation */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  CODE = sizeof((ft_equation *)NULL)->code.bytes,
  VARIABLES = sizeof((ft_equation *)NULL)->columns,
  CONSTANTS = sizeof((ft_equation *)NULL)->constants / sizeof(double)
};

/* The first bytes give the lengths of the three lists, which follow in turn. */
static ft_equation equation_of(const uint8_t *data, size_t size)
{
  ft_equation q = { .intercept = 1e9, .slope = 1e6 };

  q.code.size = data[0] % (CODE + 8); /* may exceed the capacity */
  q.columns_count = q.levels_count = q.scales_count = data[1] % (VARIABLES + 1);
  q.constants_count = data[2] % (CONSTANTS + 1);
  data += 3;
  size -= 3;
  memcpy(q.code.bytes, data, size < CODE ? size : CODE);
  for (size_t i = 0; i < VARIABLES && CODE + i < size; i++) {
    q.columns[i] = data[CODE + i];
    q.levels[i] = data[CODE + i] >> 4;
  }
  for (size_t i = 0; i < VARIABLES; i++)
    q.scales[i] = 1 + (double)i;
  for (size_t i = 0; i < CONSTANTS && CODE + VARIABLES + 8 * (i + 1) <= size; i++)
    memcpy(&q.constants[i], data + CODE + VARIABLES + 8 * i, 8);
  return q;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const float x[24] = { 1, 2, NAN, 4, 1e30F, -1 };
  struct ft_variable variable[FT_EXPRESSION_VARIABLES] = { { 0 } };
  const char *names[FT_EXPRESSION_VARIABLES];
  struct ft_law law, again;
  ft_equation q, packed = { 0 };
  struct ft_buf text;
  double says;

  if (size < 3)
    return 0;
  q = equation_of(data, size);
  if (!ft_equation_open(&q, &law))
    return 0;
  for (size_t i = 0; i < FT_EXPRESSION_VARIABLES; i++)
    names[i] = "feature";
  for (size_t i = 0; i < q.columns_count; i++)
    variable[i] = (struct ft_variable){ q.columns[i], q.levels[i] };
  for (size_t count = 0; count <= 24; count += 6) {
    says = ft_law_log(&law, x, count);
    if (!isnan(says) && !(says >= 0 && says < 40))
      abort();
  }
  ft_buf_init(&text, FT_LIMIT_LINE);
  (void)ft_expression_print(&law.code, names, "GiB", data[0] & 1, 17, &text);
  ft_buf_free(&text);
  if (!ft_law_make(&law.code, variable, &again))
    abort();
  ft_equation_pack(&again, &packed);
  if (!ft_equation_open(&packed, &again))
    abort();
  if (fabs(ft_law_log(&again, x, 24) - ft_law_log(&law, x, 24)) > 1e-9)
    abort();
  return 0;
}
