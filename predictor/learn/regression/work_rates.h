/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Times as sums of works, each done at a rate of the platform's own: log t = log(sum over k of
 * exp(rate[k] + log work[k])), one of the works being constant. What starts a kernel dominates
 * small runs, what moves its data large ones, and where the rows end it goes on with no slope below
 * 0 or above 1. Rates of a platform are shrunk towards their mean over the platforms; fitted by
 * Gauss and Newton's steps.
 */
#ifndef FT_LEARN_WORK_RATES_H
#define FT_LEARN_WORK_RATES_H

#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;
struct ft_number_reader;

enum { FT_WORK_RATES_COLUMNS = 24, FT_WORK_RATES_ROWS = 400 };

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
 * Fit WORKS, to be freed in either case, to log-ratios of times: x[column] times SCALE[column] is
 * the logarithm, but for a constant, of a work where SCALE is above 0 (x being 0: missing), and
 * column 0, which must be one, that of the time that all are ratios to. The first
 * FT_WORK_RATES_COLUMNS of these columns are used, and at most FT_WORK_RATES_ROWS rows, evenly
 * taken. 0; -1 with ERR.
 */
int ft_work_rates_fit(const struct ft_samples *samples, const double *scale,
                      struct ft_work_rates *works, struct ft_error *err);

/* Add what WORKS says of row X to OUT. */
void ft_work_rates_add(const struct ft_work_rates *works, const double *x, double *out);

void ft_work_rates_save(const struct ft_work_rates *works, struct ft_number_stream *out);
int ft_work_rates_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                       struct ft_work_rates *works, struct ft_error *err);
void ft_work_rates_free(struct ft_work_rates *works);

#endif
