/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the runs to measure on a new platform: medoids of the rows of a table. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/error.h"
#include "predictor/learn/feature_encoder.h"
#include "predictor/learn/relative/medoids.h"

/* Upper limit of the rows that are clustered; larger tables are sampled evenly. */
enum { MOST_ROWS = 2000 };

/*
 * Encodes ROWS rows of RAW columns into OUT, which holds ROWS rows of up to
 * 2 * RAW + FT_FEATURE_ENCODER_RATES columns. Uses only the work rates if the encoder has any,
 * because platforms differ in rates. Returns the number of columns; 0 on error and fills ERR.
 */
static size_t encode_work_rates(const double *x, size_t rows, size_t raw, double *out,
                                struct ft_error *err)
{
  double row[FT_FEATURE_ENCODER_MAX];
  struct ft_feature_encoder e;
  size_t columns = 0, from;

  if (ft_feature_encoder_fit(x, rows, raw, &e, err) == 0) {
    ft_feature_encoder_add_rates(&e, x, rows);
    from = e.rates ? e.plain : 0;
    columns = e.columns - from;
    for (size_t r = 0; r < rows; r++) {
      ft_feature_encoder_row(&e, x + r * raw, row);
      for (size_t c = 0; c < columns; c++)
        out[r * columns + c] = row[from + c];
    }
  }
  ft_feature_encoder_free(&e);
  return columns;
}

int ft_relative_which(const struct ft_relative_table *t, size_t from, size_t count, uint64_t seed,
                      size_t *which, size_t *share, struct ft_error *err)
{
  size_t raw = t->features + 1, known = 0, rows = 0, seen = 0, columns, most;
  double *x = calloc(MOST_ROWS * raw, sizeof *x), *encoded = NULL;
  size_t *id = calloc(MOST_ROWS, sizeof *id);
  int status = -1;

  encoded = calloc(MOST_ROWS * (2 * raw + FT_FEATURE_ENCODER_RATES), sizeof *encoded);
  if (!x || !encoded || !id) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  for (size_t r = 0; r < t->rows; r++)
    known += !isnan(t->seconds[r * t->platforms + from]);
  most = known < MOST_ROWS ? known : MOST_ROWS;
  for (size_t r = 0; r < t->rows; r++) {
    if (isnan(t->seconds[r * t->platforms + from]) || rows * known > seen++ * most)
      continue;
    x[rows * raw] = t->seconds[r * t->platforms + from];
    for (size_t f = 0; f < t->features; f++)
      x[rows * raw + 1 + f] = t->x[r * t->features + f];
    id[rows++] = r;
  }
  if (count < 1 || count > rows) {
    ft_error_set(err, "--which=%zu: expected 1 to %zu, the rows with a time on %s", count, rows,
                 t->platform[from]);
    goto out;
  }
  columns = encode_work_rates(x, rows, raw, encoded, err);
  if (!columns || ft_medoids(encoded, rows, columns, count, seed, which, share, err) < 0)
    goto out;
  for (size_t k = 0; k < count; k++)
    which[k] = id[which[k]];
  status = 0;
out:
  free(x);
  free(encoded);
  free(id);
  return status;
}
