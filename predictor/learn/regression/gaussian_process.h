/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A Gaussian process of several outputs (Rasmussen and Williams 2006): each of the outputs' leading
 * principal components has a kernel of its own, linear + Matern 3/2 + noise, of which the marginal
 * likelihood chooses among a grid.
 */
#ifndef FT_LEARN_GAUSSIAN_PROCESS_H
#define FT_LEARN_GAUSSIAN_PROCESS_H

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;
struct ft_number_reader;

enum { FT_GAUSSIAN_PROCESS_ROWS = 400, FT_GAUSSIAN_PROCESS_PARTS = 4 };

struct ft_gaussian_process_part {
  double length, linear; /* of the kernel, for distances over the root of columns */
  double *alpha;         /* one a row */
  double *direction;     /* one an output */
};

struct ft_gaussian_process {
  size_t rows, columns, outputs, parts;
  double *x, *mean;
  struct ft_gaussian_process_part part[FT_GAUSSIAN_PROCESS_PARTS];
};

/*
 * Fit PROCESS, to be freed in either case, to at most FT_GAUSSIAN_PROCESS_ROWS rows, evenly taken
 * where there are more; columns have a deviation of about 1. Returns 0; -1 with ERR.
 */
int ft_gaussian_process_fit(const struct ft_samples *samples, struct ft_gaussian_process *process,
                            struct ft_error *err);

/* Add what PROCESS says of row X to OUT. */
void ft_gaussian_process_add(const struct ft_gaussian_process *process, const double *x,
                             double *out);

void ft_gaussian_process_save(const struct ft_gaussian_process *process,
                              struct ft_number_stream *out);
int ft_gaussian_process_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                             struct ft_gaussian_process *process, struct ft_error *err);
void ft_gaussian_process_free(struct ft_gaussian_process *process);

#endif
