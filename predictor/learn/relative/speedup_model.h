/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Speed-up model: predicts log ratios of run times from features. Every learner is cross-validated
 * on held-out groups of rows. A mixture of the best learners is fitted to all rows; its held-out
 * residuals give its uncertainty. An output with few rows has a separate model if that predicts
 * better.
 */
#ifndef FT_LEARN_SPEEDUP_MODEL_H
#define FT_LEARN_SPEEDUP_MODEL_H

#include "predictor/core/buf.h"
#include "predictor/learn/multivariate_normal.h"
#include "predictor/learn/relative/learner.h"

/*
 * Training table: x[row * columns + column], column 0 the time on the source platform;
 * y[row * outputs + output], log ratios; NAN: missing. Not owned.
 */
struct ft_speedup_table {
  const double *x, *y;
  const size_t *group; /* rows of one group are held out together */
  size_t rows, columns, outputs;
};

struct ft_speedup_settings {
  unsigned trees;    /* trees of a forest, 3 or more */
  unsigned learners; /* bits 1 << FT_LEARNER_...: the candidates */
  bool unvalidated; /* use all candidates, 1 or more, with equal weight and without cross-validation
                     */
  uint64_t seed;
  bool (*stop)(void *data); /* called during the fit; true cancels it; NULL: none */
  void *data;
};

/* Prior pseudo-observation of a residual, in log units: a factor of 2. Chosen by judgement. */
#define FT_SPEEDUP_PRIOR 0.7

struct ft_speedup_model {
  size_t outputs, rows;
  struct ft_feature_encoder encode;
  struct ft_learner learner[FT_LEARNERS];
  double weight[FT_LEARNERS]; /* in the mixture; the sum is 1 */
  double error[FT_LEARNERS];  /* held-out root mean square error; NAN: not a candidate */
  double mixture_error;       /* held-out root mean square error of the mixture */
  struct ft_multivariate_normal residual; /* distribution of the held-out residuals */
  double *held_out_residuals; /* [output * rows + i], ascending, i below count[output] */
  size_t count[FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* per output: number of held-out residuals */
  struct ft_speedup_model *per_output;          /* models of single outputs, without residuals */
  size_t per_output_count;
  size_t per_output_index[FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* output of per_output[k] */
};

/*
 * Fits MODEL to TABLE, of 1 to FT_FEATURE_ENCODER_COLUMNS columns and 1 to
 * FT_MULTIVARIATE_NORMAL_OUTPUTS outputs, with at least one number in Y. Equal seeds give equal
 * models. The caller frees MODEL in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_speedup_fit(const struct ft_speedup_table *table, const struct ft_speedup_settings *settings,
                   struct ft_speedup_model *model, struct ft_error *err);

/* Predicts the log ratios of one raw row X into OUT. Allocates nothing. */
void ft_speedup_predict(const struct ft_speedup_model *model, const double *x, double *out);

/*
 * Corrects the prediction OUT by observed runs: SEEN[output] is the mean log ratio of RUNS[output]
 * runs (0: none), each with standard deviation NOISE. SHRUNK[output] gets the ratio, 0 to 1, of
 * the output's standard deviation after the correction to that before. Returns 0; -1 on error and
 * fills ERR.
 */
int ft_speedup_correct(const struct ft_speedup_model *model, const double *seen, const double *runs,
                       double noise, double *out, double *shrunk, struct ft_error *err);

/* Fills OUT with quantiles of the residual of OUTPUT's log ratio at LEVEL_COUNT LEVELS. */
void ft_speedup_residual_quantiles(const struct ft_speedup_model *model, size_t output,
                                   const double *levels, size_t level_count, double *out);

/*
 * Version of the format, the first number of a stored model. It changes with the layout and the
 * learners, and is above FT_MULTIVARIATE_NORMAL_OUTPUTS, the largest first number of older models.
 */
enum { FT_SPEEDUP_FORMAT = 106 };

/* Appends MODEL to OUT. On error out->failed is set. */
void ft_speedup_save(const struct ft_speedup_model *model, struct ft_buf *out);

/*
 * Reads MODEL from COUNT stored NUMBERS of FT_NUMBER_STREAM_SIZE bytes. Another version, and
 * truncated or excess data, are errors. The caller frees MODEL in either case. Returns 0; -1 on
 * error and fills ERR.
 */
int ft_speedup_load(const void *numbers, size_t count, struct ft_speedup_model *model,
                    struct ft_error *err);
void ft_speedup_free(struct ft_speedup_model *model);

#endif
