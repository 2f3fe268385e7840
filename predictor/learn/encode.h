/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From raw numbers, of any scale and some of them missing, to columns of mean 0 and deviation 1:
 * what spans orders of magnitude as its logarithm; what is missing as the mean and a column that
 * says so; then differences of logarithms, which a tree cannot form: of the columns that predict
 * most, and at the end of the first, a time, and each other one: at which rate the work was done.
 */
#ifndef FT_LEARN_ENCODE_H
#define FT_LEARN_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

struct ft_numbers;
struct ft_numbers_reader;

enum {
  FT_ENCODE_COLUMNS = 512,
  FT_ENCODE_PAIRS = 6,
  FT_ENCODE_RATES = 64,
  FT_ENCODE_MOST = 2 * FT_ENCODE_COLUMNS + FT_ENCODE_PAIRS + FT_ENCODE_RATES /* columns out */
};

struct ft_encode_column {
  bool logs, indicates;
  double offset, mean, deviation; /* deviation 0: it never changed, and is left out as 0 */
};

struct ft_encode_pair {
  uint32_t a, b;
  double mean, deviation;
};

struct ft_encode {
  size_t raw;   /* columns in */
  size_t plain; /* columns out, without pairs; pairs come after them, then rates */
  size_t columns;
  size_t pairs, rates;
  struct ft_encode_column *column;
  struct ft_encode_pair pair[FT_ENCODE_PAIRS + FT_ENCODE_RATES];
};

/* Learn from x[row * RAW + column], NAN where missing. To be freed in either case. 0; -1 with ERR.
 */
int ft_encode_fit(const double *x, size_t rows, size_t raw, struct ft_encode *encode,
                  struct ft_error *err);

/* Add the difference of the logarithms of each two of the COUNT raw columns. */
void ft_encode_differ(struct ft_encode *encode, const double *x, size_t rows,
                      const uint32_t *column, size_t count);

/* Add the difference of the logarithms of the first raw column and each other one; the last to be
 * added. */
void ft_encode_rate(struct ft_encode *encode, const double *x, size_t rows);

/* Encode one row: ROW has encode->raw numbers, OUT room for encode->columns. Always finite. */
void ft_encode_row(const struct ft_encode *encode, const double *row, double *out);

void ft_encode_save(const struct ft_encode *encode, struct ft_numbers *out);
int ft_encode_load(struct ft_numbers_reader *in, size_t raw, struct ft_encode *encode,
                   struct ft_error *err);
void ft_encode_free(struct ft_encode *encode);

#endif
