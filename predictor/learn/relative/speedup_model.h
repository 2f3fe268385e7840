/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A vector of log-ratios from features: every learner is tried on groups of rows held out, a
 * mixture of those that did best there is fitted to all rows, and what it missed there is its
 * uncertainty. An output known of few rows has a mixture of its own where that does better.
 */
#ifndef FT_LEARN_SPEEDUP_MODEL_H
#define FT_LEARN_SPEEDUP_MODEL_H

#include "predictor/learn/multivariate_normal.h"
#include "predictor/learn/relative/learner.h"

/*
 * x[row * columns + column], the first the time on the source, y[row * outputs + output], NAN where
 * missing; group[row] any number.
 */
struct ft_speedup_table {
  const double *x, *y;
  const size_t *group; /* rows of one group are held out together */
  size_t rows, columns, outputs;
};

struct ft_speedup_settings {
  unsigned trees;    /* in a forest, 3 or more */
  unsigned learners; /* bits 1 << FT_LEARNER_...: those to be tried */
  bool untried;      /* take those, at least one, as they are: no row is held out, no error known */
  uint64_t seed;
  bool (*stop)(void *data); /* asked now and then: true to give up; or NULL */
  void *data;
};

/* Of few residuals, one imagined: a factor of 2. */
#define FT_SPEEDUP_PRIOR 0.7

struct ft_speedup_model {
  size_t outputs, rows;
  struct ft_feature_encoder encode;
  struct ft_learner learner[FT_LEARNERS];
  double weight[FT_LEARNERS]; /* in the mixture; they sum to 1 */
  double error[FT_LEARNERS];  /* root mean square on rows held out; NAN: not tried */
  double mixed;               /* the same of the mixture */
  struct ft_multivariate_normal residual; /* of the mixture on rows held out */
  double *held_out_residuals; /* missed[output * rows + i], rising, of the first count[output] */
  size_t count[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  struct ft_speedup_model
      *per_output; /* of one output each: of these only what predicts is there */
  size_t per_output_count;
  size_t
      per_output_index[FT_MULTIVARIATE_NORMAL_OUTPUTS]; /* the output that apart[k] answers for */
};

/*
 * Fit RATIOS, to be freed in either case. Columns 1 to FT_FEATURE_ENCODER_COLUMNS, outputs 1 to
 * FT_MULTIVARIATE_NORMAL_OUTPUTS, at least one number of Y. Equal seeds give equal answers. 0; -1
 * with ERR.
 */
int ft_speedup_fit(const struct ft_speedup_table *table, const struct ft_speedup_settings *settings,
                   struct ft_speedup_model *ratios, struct ft_error *err);

/* The expected log-ratios of one raw row X, into OUT. Allocates nothing. */
void ft_speedup_predict(const struct ft_speedup_model *ratios, const double *x, double *out);

/*
 * Bring OUT, a prediction, towards what runs showed: SEEN[output] is the mean log-ratio of
 * RUNS[output] runs (0: none), each with a deviation of NOISE. The fewer the runs, the nearer it
 * stays. SHRUNK gets by what each output's uncertainty is to be multiplied, 0 to 1. 0; -1 with ERR.
 */
int ft_speedup_correct(const struct ft_speedup_model *ratios, const double *seen,
                       const double *runs, double noise, double *out, double *shrunk,
                       struct ft_error *err);

/* By how much OUTPUT's log-ratio may differ from what is expected, at LEVELS. */
void ft_speedup_residual_quantiles(const struct ft_speedup_model *ratios, size_t output,
                                   const double *levels, size_t level_count, double *out);

/*
 * What is kept begins with FT_SPEEDUP_FORMAT, which changes whenever what follows is another: also
 * with the learners; above FT_MULTIVARIATE_NORMAL_OUTPUTS, which stood there once. Another one, and
 * whatever is cut, too long or out of range, is refused: -1 with ERR; RATIOS is to be freed in
 * either case.
 */
enum { FT_SPEEDUP_FORMAT = 106 };
void ft_speedup_save(const struct ft_speedup_model *ratios, struct ft_number_stream *out);
int ft_speedup_load(struct ft_number_reader *in, struct ft_speedup_model *ratios,
                    struct ft_error *err);
void ft_speedup_free(struct ft_speedup_model *ratios);

#endif
