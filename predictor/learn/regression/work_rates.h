/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run time t as a sum of work terms, each divided by a platform-specific speed: log t = log(sum
 * over k of exp(rate[k] + log work[k])); one term is constant. rate[k] is the log time per unit of
 * work. Launch overhead dominates small runs, data movement large ones. Outside the training range
 * the slope stays between 0 and 1. A platform's rates are shrunk towards the mean over platforms.
 * Fitted by Gauss-Newton.
 */
#ifndef FT_LEARN_WORK_RATES_H
#define FT_LEARN_WORK_RATES_H

#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;

enum {
  FT_WORK_RATES_COLUMNS = 24, /* largest number of work terms; bounds time */
  FT_WORK_RATES_ROWS = 400    /* largest number of training rows; bounds time */
};

/*
 * out[o] = mean[o] + log(exp(rate[o]) + sum over k of exp(scale[k] * x[column[k]] + rate[(k + 1) *
 * outputs + o]))
 * - scale[0] * x[column[0]]
 */
struct ft_work_rates {
  size_t used, outputs;
  uint32_t column[FT_WORK_RATES_COLUMNS];
  double scale[FT_WORK_RATES_COLUMNS];
  double *mean, *rate;
};

/*
 * Fits WORKS to log ratios of run times. A column with SCALE[column] above 0 is a work term:
 * x[column] * SCALE[column] is its logarithm up to a constant; x of 0: missing. Column 0 must be
 * the time on the source platform. The first FT_WORK_RATES_COLUMNS work terms and at most
 * FT_WORK_RATES_ROWS evenly spaced rows are used. The caller frees WORKS in either case. Returns 0;
 * -1 on error and fills ERR.
 */
int ft_work_rates_fit(const struct ft_samples *samples, const double *scale,
                      struct ft_work_rates *works, struct ft_error *err);

/* Adds the prediction of WORKS for row X to OUT. */
void ft_work_rates_add(const struct ft_work_rates *works, const double *x, double *out);

/*
 * Writes WORKS, of OUTPUTS outputs on COLUMNS columns, to STREAM, or reads it into a zeroed one
 * that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_work_rates_serialise(struct ft_number_stream *stream, size_t columns, size_t outputs,
                            struct ft_work_rates *works, struct ft_error *err);
void ft_work_rates_free(struct ft_work_rates *works);

#endif
