/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gaussian process regression with several outputs (Rasmussen and Williams 2006). Each leading
 * principal component of the outputs has its own kernel: linear + Matern 3/2 + noise. The marginal
 * likelihood selects the hyperparameters on a grid.
 */
#ifndef FT_LEARN_GAUSSIAN_PROCESS_H
#define FT_LEARN_GAUSSIAN_PROCESS_H

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;

enum {
  FT_GAUSSIAN_PROCESS_ROWS = 400,    /* largest number of training rows; bounds the cubic time */
  FT_GAUSSIAN_PROCESS_COMPONENTS = 4 /* principal components at most; chosen by judgement */
};

/* One principal component. */
struct ft_gaussian_process_component {
  double length;     /* length scale, of root mean square differences of two rows */
  double linear;     /* weight of the linear kernel, relative to the Matern kernel */
  double *alpha;     /* dual weight of each training row */
  double *direction; /* unit vector with one element per output */
};

/* A fitted process; all 0 is an empty one. x: training rows; mean: of each output. */
struct ft_gaussian_process {
  size_t rows, columns, outputs, components;
  double *x, *mean;
  struct ft_gaussian_process_component component[FT_GAUSSIAN_PROCESS_COMPONENTS];
};

/*
 * Fits PROCESS to SAMPLES, whose columns have a standard deviation of about 1. If SAMPLES has more
 * than FT_GAUSSIAN_PROCESS_ROWS rows, evenly spaced ones are used. The caller frees PROCESS in
 * either case. Returns 0; -1 on error and fills ERR.
 */
int ft_gaussian_process_fit(const struct ft_samples *samples, struct ft_gaussian_process *process,
                            struct ft_error *err);

/* Adds the prediction of PROCESS for row X to OUT. */
void ft_gaussian_process_add(const struct ft_gaussian_process *process, const double *x,
                             double *out);

/*
 * Writes PROCESS, of COLUMNS columns and OUTPUTS outputs, to STREAM, or reads it into a zeroed one
 * that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_gaussian_process_serialise(struct ft_number_stream *stream, size_t columns, size_t outputs,
                                  struct ft_gaussian_process *process, struct ft_error *err);
void ft_gaussian_process_free(struct ft_gaussian_process *process);

#endif
