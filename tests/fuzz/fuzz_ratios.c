/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes as the numbers of a stored cross-platform model: an accepted model predicts and is written
 * unchanged.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/relative/speedup_model.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_ENVIRONMENT; /* a model with some thousand numbers */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct ft_speedup_model *m)
{
  static const double levels[] = { 0.05, 0.5, 0.95 };
  double x[FT_FEATURE_ENCODER_COLUMNS], out[FT_MULTIVARIATE_NORMAL_OUTPUTS],
      runs[FT_MULTIVARIATE_NORMAL_OUTPUTS] = { 1 };
  double seen[FT_MULTIVARIATE_NORMAL_OUTPUTS] = { 0.1 }, shrunk[FT_MULTIVARIATE_NORMAL_OUTPUTS],
         spread[3];
  struct ft_error ignored;

  for (size_t c = 0; c < FT_FEATURE_ENCODER_COLUMNS; c++)
    x[c] = c % 3 ? (double)c : NAN;
  ft_speedup_predict(m, x, out);
  (void)ft_speedup_correct(m, seen, runs, 0.04, out, shrunk, &ignored);
  for (size_t o = 0; o < m->outputs; o++)
    ft_speedup_residual_quantiles(m, o, levels, 3, spread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_speedup_model m = { 0 };
  struct ft_error err;
  struct ft_buf kept;

  if (ft_speedup_load(data, size / FT_NUMBER_STREAM_SIZE, &m, &err) == 0) {
    ask(&m);
    ft_buf_init(&kept, FT_LIMIT_RELATIVE);
    ft_speedup_save(&m, &kept);
    if (kept.failed || kept.length != size / FT_NUMBER_STREAM_SIZE * FT_NUMBER_STREAM_SIZE)
      abort();
    ft_buf_free(&kept);
  }
  ft_speedup_free(&m);
  return 0;
}
