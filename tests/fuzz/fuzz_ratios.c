/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes as the numbers of a model of relative performance: what is accepted answers and is kept as
 * it was. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/numbers.h"
#include "predictor/learn/relative/ratios.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct ft_ratios *m)
{
  static const double levels[] = { 0.05, 0.5, 0.95 };
  double x[FT_ENCODE_COLUMNS], out[FT_GAUSS_OUTPUTS], runs[FT_GAUSS_OUTPUTS] = { 1 };
  double seen[FT_GAUSS_OUTPUTS] = { 0.1 }, shrunk[FT_GAUSS_OUTPUTS], spread[3];
  struct ft_error ignored;

  for (size_t c = 0; c < FT_ENCODE_COLUMNS; c++)
    x[c] = c % 3 ? (double)c : NAN;
  ft_ratios_predict(m, x, out);
  (void)ft_ratios_correct(m, seen, runs, 0.04, out, shrunk, &ignored);
  for (size_t o = 0; o < m->outputs; o++)
    ft_ratios_spread(m, o, levels, 3, spread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_numbers_reader in = { data, size / FT_NUMBERS_SIZE, false };
  struct ft_ratios m = { 0 };
  struct ft_error err;
  struct ft_buf kept;
  struct ft_numbers out = { &kept };

  if (ft_ratios_load(&in, &m, &err) == 0) {
    ask(&m);
    ft_buf_init(&kept, FT_LIMIT_RELATIVE);
    ft_ratios_save(&m, &out);
    if (kept.failed || kept.length != size / FT_NUMBERS_SIZE * FT_NUMBERS_SIZE)
      abort();
    ft_buf_free(&kept);
  }
  ft_ratios_free(&m);
  return 0;
}
