/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The learners of several outputs behind one face: what each is, is a row of a table. */
#ifndef FT_LEARN_LEARNER_H
#define FT_LEARN_LEARNER_H

#include <stdbool.h>

#include "predictor/learn/feature_encoder.h"
#include "predictor/learn/neural/autoencoder.h"
#include "predictor/learn/regression/gaussian_process.h"
#include "predictor/learn/regression/ridge.h"
#include "predictor/learn/regression/work_rates.h"
#include "predictor/learn/trees/forest.h"

enum ft_learner_kind {
  FT_LEARNER_CONSTANT,              /* the mean */
  FT_LEARNER_TREES,                 /* extremely randomised trees on plain columns */
  FT_LEARNER_FOREST,                /* random forest */
  FT_LEARNER_BOOSTING,              /* gradient boosting */
  FT_LEARNER_RIDGE,                 /* of all columns */
  FT_LEARNER_RIDGE_TREES,           /* ridge of all columns, trees on what it leaves */
  FT_LEARNER_FEW_TREES,             /* ridge of a few columns, trees on what it leaves */
  FT_LEARNER_GAUSSIAN_PROCESS,      /* Gaussian process */
  FT_LEARNER_RATE_TREES,            /* extremely randomised trees on rates alone */
  FT_LEARNER_RATE_GAUSSIAN_PROCESS, /* Gaussian process on rates alone */
  FT_LEARNER_WORK_GAUSSIAN_PROCESS, /* a sum of works, Gaussian process on what it leaves */
  FT_LEARNER_WORK_RATES,            /* the same, the process on rates alone */
  FT_LEARNER_AUTOENCODER,           /* variational auto-encoder and a network of three layers */
  FT_LEARNERS
};

/* Short names, for options and answers. */
extern const char *const ft_learner_names[FT_LEARNERS];

/* A fitted one. Parts that its kind has not are empty. */
struct ft_learner {
  enum ft_learner_kind kind;
  size_t from, columns, outputs; /* of the encoded columns: so many from there on */
  struct ft_ridge ridge;
  struct ft_work_rates works; /* of all encoded columns */
  struct ft_forest forest;
  struct ft_gaussian_process process;
  struct ft_autoencoder autoencoder;
};

struct ft_learner_settings {
  const struct ft_feature_encoder *encode; /* by which the samples' columns are what they are */
  const uint32_t *few;            /* what a ridge of a few columns takes */
  size_t count;                   /* so many */
  unsigned trees;                 /* grown where there are any */
  uint64_t seed;
  bool (*stop)(void *data); /* asked now and then: true to give up; or NULL */
  void *data;
};

/* Fit KIND to SAMPLES. LEARNER is to be freed in either case. Returns 0; -1 with ERR, also when
 * stopped. */
int ft_learner_fit(enum ft_learner_kind kind, const struct ft_samples *samples,
                   const struct ft_learner_settings *settings, struct ft_learner *learner,
                   struct ft_error *err);

/* Whether KIND goes on in a line where its rows end. */
bool ft_learner_linear(enum ft_learner_kind kind);

/* Whether KIND takes seconds to fit and near a millisecond to ask: to be taken only where it is the
 * best. */
bool ft_learner_slow(enum ft_learner_kind kind);

/* What LEARNER says of row X, into OUT. Allocates nothing. */
void ft_learner_predict(const struct ft_learner *learner, const double *x, double *out);

/*
 * The columns of SAMPLES, FIRST among them, that a ridge of a few does best with on groups of rows
 * held out, taken one by one while that helps; those below PLAIN are asked. Returns how many, at
 * most MOST.
 */
size_t ft_learner_choose(const struct ft_samples *samples, const size_t *group, size_t plain,
                         uint32_t first, uint32_t *few, size_t most);

void ft_learner_save(const struct ft_learner *learner, struct ft_number_stream *out);
int ft_learner_load(struct ft_number_reader *in, const struct ft_feature_encoder *encode,
                    size_t outputs, struct ft_learner *learner, struct ft_error *err);
void ft_learner_free(struct ft_learner *learner);

#endif
