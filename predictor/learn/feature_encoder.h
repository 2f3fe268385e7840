/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Encodes raw numbers of any scale, some missing, as columns of mean 0 and standard deviation 1.
 * A column that spans orders of magnitude becomes its logarithm. A missing number becomes the mean,
 * with an indicator column. Differences of logarithms follow, which trees cannot form: pairs of
 * the best predictors, and rates: column 0, a time, against each other column.
 */
#ifndef FT_LEARN_FEATURE_ENCODER_H
#define FT_LEARN_FEATURE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

struct ft_number_stream;

enum {
  FT_FEATURE_ENCODER_COLUMNS = 512, /* raw columns; bounds memory */
  FT_FEATURE_ENCODER_PAIRS = 6,     /* differences: all pairs of 4 columns */
  FT_FEATURE_ENCODER_RATES = 64,    /* rates; bounds time, chosen by judgement */
  FT_FEATURE_ENCODER_MAX = 2 * FT_FEATURE_ENCODER_COLUMNS + FT_FEATURE_ENCODER_PAIRS +
                           FT_FEATURE_ENCODER_RATES /* columns out */
};

/* Encoding of one raw column. */
struct ft_feature_encoder_column {
  bool log_scale;                 /* log(x + offset) */
  bool indicator;                 /* an indicator column for missing numbers follows */
  double offset, mean, deviation; /* deviation 0: the column is constant and encoded as 0 */
};

/* Encoded difference of the logarithms of raw columns A and B. */
struct ft_feature_encoder_pair {
  uint32_t a, b;
  double mean, deviation;
};

struct ft_feature_encoder {
  size_t raw;     /* columns in */
  size_t plain;   /* columns out without differences */
  size_t columns; /* columns out: plain, then pairs, then rates */
  size_t pairs, rates;
  struct ft_feature_encoder_column *column; /* by raw column; owned */
  struct ft_feature_encoder_pair pair[FT_FEATURE_ENCODER_PAIRS + FT_FEATURE_ENCODER_RATES];
};

/* Fits ENCODE to x[row * RAW + column]; NAN: missing. The caller frees ENCODE in either case.
 * Returns 0; -1 on error and fills ERR. */
int ft_feature_encoder_fit(const double *x, size_t rows, size_t raw,
                           struct ft_feature_encoder *encode, struct ft_error *err);

/* Adds the differences of the logarithms of all pairs of COUNT raw columns COLUMN. */
void ft_feature_encoder_add_pairs(struct ft_feature_encoder *encode, const double *x, size_t rows,
                                  const uint32_t *column, size_t count);

/* Adds the differences of the logarithms of raw column 0 and each other one. Called last. */
void ft_feature_encoder_add_rates(struct ft_feature_encoder *encode, const double *x, size_t rows);

/* Encodes ROW, of encode->raw numbers, into OUT, of encode->columns finite numbers. */
void ft_feature_encoder_row(const struct ft_feature_encoder *encode, const double *row,
                            double *out);

/*
 * Writes ENCODE, of RAW columns, to STREAM, or reads it into an all-0 one that the caller frees in
 * either case. Returns 0; -1 on error and fills ERR.
 */
int ft_feature_encoder_serialise(struct ft_number_stream *stream, size_t raw,
                                 struct ft_feature_encoder *encode, struct ft_error *err);
void ft_feature_encoder_free(struct ft_feature_encoder *encode);

#endif
