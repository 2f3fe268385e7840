/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes raw numbers of any scale, some missing, as columns of mean 0 and standard deviation 1. A
 * column that spans orders of magnitude becomes its logarithm. A missing number becomes the mean,
 * with an indicator column. Differences of logarithms are appended, because trees cannot form them:
 * pairs of the best predictors, and rates: column 0, a run time, minus each other column.
 */
#ifndef FT_LEARN_FEATURE_ENCODER_H
#define FT_LEARN_FEATURE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

struct ft_number_stream;

enum {
  FT_FEATURE_ENCODER_COLUMNS = 512, /* largest number of raw columns; bounds memory */
  FT_FEATURE_ENCODER_PAIRS = 6,     /* largest number of pairs: all pairs of 4 columns */
  FT_FEATURE_ENCODER_RATES = 64,    /* largest number of rates; bounds time */
  FT_FEATURE_ENCODER_MAX = 2 * FT_FEATURE_ENCODER_COLUMNS + FT_FEATURE_ENCODER_PAIRS +
                           FT_FEATURE_ENCODER_RATES /* largest number of encoded columns */
};

/* Encoding of one raw column. */
struct ft_feature_encoder_column {
  bool log_scale;                 /* the column is encoded as log(x + offset) */
  bool indicator;                 /* an indicator column for missing numbers follows */
  double offset, mean, deviation; /* deviation 0: the column is constant and encoded as 0 */
};

/* Encoded difference of the logarithms of raw columns A and B. */
struct ft_feature_encoder_pair {
  uint32_t a, b;
  double mean, deviation;
};

struct ft_feature_encoder {
  size_t raw;     /* raw columns */
  size_t plain;   /* encoded columns without differences */
  size_t columns; /* encoded columns: plain, then pairs, then rates */
  size_t pairs, rates;
  struct ft_feature_encoder_column *column; /* one per raw column; owned */
  struct ft_feature_encoder_pair pair[FT_FEATURE_ENCODER_PAIRS + FT_FEATURE_ENCODER_RATES];
};

/* Fits ENCODE to ROWS rows of x[row * RAW + column]; NAN: missing. Adds no differences. The caller
 * frees ENCODE in either case. Returns 0; -1 on error and fills ERR. */
int ft_feature_encoder_fit(const double *x, size_t rows, size_t raw,
                           struct ft_feature_encoder *encode, struct ft_error *err);

/* Appends the differences of the logarithms of all pairs of COUNT raw columns COLUMN, fitted to the
 * ROWS rows X; at most FT_FEATURE_ENCODER_PAIRS. Call it before ft_feature_encoder_add_rates. */
void ft_feature_encoder_add_pairs(struct ft_feature_encoder *encode, const double *x, size_t rows,
                                  const uint32_t *column, size_t count);

/* Appends the differences of the logarithms of raw column 0 and each other raw column, fitted to
 * the ROWS rows X; at most FT_FEATURE_ENCODER_RATES. */
void ft_feature_encoder_add_rates(struct ft_feature_encoder *encode, const double *x, size_t rows);

/* Encodes ROW, encode->raw numbers (NAN: missing), into OUT, encode->columns finite numbers. */
void ft_feature_encoder_row(const struct ft_feature_encoder *encode, const double *row,
                            double *out);

/*
 * Writes ENCODE, of RAW columns, to STREAM, or reads it into a zeroed one that the caller frees in
 * either case. Returns 0; -1 on error and fills ERR.
 */
int ft_feature_encoder_serialise(struct ft_number_stream *stream, size_t raw,
                                 struct ft_feature_encoder *encode, struct ft_error *err);
void ft_feature_encoder_free(struct ft_feature_encoder *encode);

#endif
