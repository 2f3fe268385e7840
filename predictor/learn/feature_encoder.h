/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From raw numbers, of any scale and some of them missing, to columns of mean 0 and deviation 1:
 * what spans orders of magnitude as its logarithm; what is missing as the mean and a column that
 * says so; then differences of logarithms, which a tree cannot form: of the columns that predict
 * most, and at the end of the first, a time, and each other one: at which rate the work was done.
 */
#ifndef FT_LEARN_FEATURE_ENCODER_H
#define FT_LEARN_FEATURE_ENCODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

struct ft_number_stream;
struct ft_number_reader;

enum {
  FT_FEATURE_ENCODER_COLUMNS = 512,
  FT_FEATURE_ENCODER_PAIRS = 6,
  FT_FEATURE_ENCODER_RATES = 64,
  FT_FEATURE_ENCODER_MOST = 2 * FT_FEATURE_ENCODER_COLUMNS + FT_FEATURE_ENCODER_PAIRS +
                            FT_FEATURE_ENCODER_RATES /* columns out */
};

struct ft_feature_encoder_column {
  bool logs, indicates;
  double offset, mean, deviation; /* deviation 0: it never changed, and is left out as 0 */
};

struct ft_feature_encoder_pair {
  uint32_t a, b;
  double mean, deviation;
};

struct ft_feature_encoder {
  size_t raw;   /* columns in */
  size_t plain; /* columns out, without pairs; pairs come after them, then rates */
  size_t columns;
  size_t pairs, rates;
  struct ft_feature_encoder_column *column;
  struct ft_feature_encoder_pair pair[FT_FEATURE_ENCODER_PAIRS + FT_FEATURE_ENCODER_RATES];
};

/* Learn from x[row * RAW + column], NAN where missing. To be freed in either case. 0; -1 with ERR.
 */
int ft_feature_encoder_fit(const double *x, size_t rows, size_t raw,
                           struct ft_feature_encoder *encode, struct ft_error *err);

/* Add the difference of the logarithms of each two of the COUNT raw columns. */
void ft_feature_encoder_differ(struct ft_feature_encoder *encode, const double *x, size_t rows,
                               const uint32_t *column, size_t count);

/* Add the difference of the logarithms of the first raw column and each other one; the last to be
 * added. */
void ft_feature_encoder_rate(struct ft_feature_encoder *encode, const double *x, size_t rows);

/* Encode one row: ROW has encode->raw numbers, OUT room for encode->columns. Always finite. */
void ft_feature_encoder_row(const struct ft_feature_encoder *encode, const double *row,
                            double *out);

void ft_feature_encoder_save(const struct ft_feature_encoder *encode, struct ft_number_stream *out);
int ft_feature_encoder_load(struct ft_number_reader *in, size_t raw,
                            struct ft_feature_encoder *encode, struct ft_error *err);
void ft_feature_encoder_free(struct ft_feature_encoder *encode);

#endif
