/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Common interface of the regression methods with several outputs. Each is a row of the table in
 * learner.c. */
#ifndef FT_LEARN_LEARNER_H
#define FT_LEARN_LEARNER_H

#include <stdbool.h>

#include "predictor/learn/feature_encoder.h"
#include "predictor/learn/regression/gaussian_process.h"
#include "predictor/learn/regression/ridge.h"
#include "predictor/learn/regression/work_rates.h"
#include "predictor/learn/samples.h"
#include "predictor/learn/trees/forest.h"

enum ft_learner_kind {
  FT_LEARNER_CONSTANT,              /* mean */
  FT_LEARNER_TREES,                 /* extremely randomised trees on plain columns */
  FT_LEARNER_FOREST,                /* random forest */
  FT_LEARNER_BOOSTING,              /* gradient boosting */
  FT_LEARNER_RIDGE,                 /* ridge regression on all columns */
  FT_LEARNER_RIDGE_TREES,           /* ridge on all columns, trees on its residuals */
  FT_LEARNER_FEW_TREES,             /* ridge on a few columns, trees on its residuals */
  FT_LEARNER_GAUSSIAN_PROCESS,      /* Gaussian process */
  FT_LEARNER_RATE_TREES,            /* extremely randomised trees on rates only */
  FT_LEARNER_RATE_GAUSSIAN_PROCESS, /* Gaussian process on rates only */
  FT_LEARNER_WORK_GAUSSIAN_PROCESS, /* work rates, Gaussian process on their residuals */
  FT_LEARNER_WORK_RATES,            /* work rates, Gaussian process on rates for their residuals */
  FT_LEARNER_AUTOENCODER,           /* variational auto-encoder and neural network */
  FT_LEARNERS
};

/* Names, for options and reports. */
extern const char *const ft_learner_names[FT_LEARNERS];

/* A fitted learner: the sum of the models that its kind uses; the others are empty. */
struct ft_learner {
  enum ft_learner_kind kind;
  size_t from, columns; /* range of the encoded columns that it uses */
  size_t outputs;
  struct ft_ridge ridge;
  struct ft_work_rates work_rates; /* on all encoded columns */
  struct ft_forest forest;
  struct ft_gaussian_process process;
  void *network; /* model of ft_learner_network */
};

struct ft_learner_settings {
  const struct ft_feature_encoder *encode; /* encoder of the samples' columns */
  const uint32_t *selected;                /* columns of the ridge regression on a few columns */
  size_t count;                            /* number of selected columns */
  unsigned trees;                          /* number of trees of a forest */
  uint64_t seed;
  bool (*stop)(void *data); /* called during the fit; true cancels it; NULL: none */
  void *data;
};

/*
 * FT_LEARNER_AUTOENCODER, in a room that no other includes (neural): it serves a comparison with
 * its paper. MODEL is NULL before its fit or reading; the caller frees it in either case.
 */
extern const struct ft_learner_network {
  int (*fit)(const struct ft_samples *samples, const struct ft_learner_settings *settings,
             void **model, struct ft_error *err);
  void (*add)(const void *model, const double *x, double *out);
  int (*serialise)(struct ft_number_stream *stream, size_t columns, size_t outputs, void **model,
                   struct ft_error *err);
  void (*free)(void *model);
} ft_learner_network;

/* Fits a learner of KIND to SAMPLES. The caller frees LEARNER in either case. Returns 0; -1 on
 * error or if stopped, and fills ERR. */
int ft_learner_fit(enum ft_learner_kind kind, const struct ft_samples *samples,
                   const struct ft_learner_settings *settings, struct ft_learner *learner,
                   struct ft_error *err);

/* Returns whether KIND extrapolates linearly. */
bool ft_learner_linear(enum ft_learner_kind kind);

/* Returns whether KIND takes seconds to fit and about a millisecond to evaluate. Such a learner is
 * used only if it is the best. */
bool ft_learner_slow(enum ft_learner_kind kind);

/* Predicts row X, of all encoded columns, into OUT. Allocates nothing. */
void ft_learner_predict(const struct ft_learner *learner, const double *x, double *out);

/*
 * Selects columns for a ridge regression on a few columns, by forward selection with the error on
 * held-out groups of rows; group[row] is a number. FIRST is always selected; candidates are the
 * columns below PLAIN. SELECTED gets them. Returns their number, at most MAX.
 */
size_t ft_learner_choose(const struct ft_samples *samples, const size_t *group, size_t plain,
                         uint32_t first, uint32_t *selected, size_t max);

/*
 * Writes LEARNER, of OUTPUTS outputs on the columns of ENCODE, to STREAM, or reads it into a zeroed
 * one that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_learner_serialise(struct ft_number_stream *stream, const struct ft_feature_encoder *encode,
                         size_t outputs, struct ft_learner *learner, struct ft_error *err);
void ft_learner_free(struct ft_learner *learner);

#endif
