/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model of Nichols, Yeom and Bhatele 2022 (Predicting Cross-Platform Relative Performance with
 * Deep Generative Models). A variational auto-encoder encodes the features, with a calibrated
 * decoder (Rybkin, Daniilidis and Levine 2021), an annealed KL weight and feedback from the
 * regressor. The regressor, three layers of 1024 units, maps the latent vector to the log ratios.
 */
#ifndef FT_LEARN_AUTOENCODER_H
#define FT_LEARN_AUTOENCODER_H

#include <stdbool.h>

#include "predictor/learn/neural/mlp.h"
#include "predictor/learn/samples.h"

/* Training phases, in order. */
enum ft_autoencoder_phase {
  FT_AUTOENCODER_CALIBRATE, /* reconstruction only, with the optimal variance */
  FT_AUTOENCODER_ANNEAL,    /* the weight of the KL divergence rises from 0 to 1 */
  FT_AUTOENCODER_FEEDBACK,  /* the regressor's loss is added */
  FT_AUTOENCODER_REGRESS,   /* the regressor only, on the encoder's output */
  FT_AUTOENCODER_PHASES
};

/* Progress of a step: evidence lower bound per row, and the regressor's mean squared error. */
struct ft_autoencoder_progress {
  enum ft_autoencoder_phase phase;
  double elbo, mse; /* NAN: not part of the phase. The error is in standardised outputs */
};

struct ft_autoencoder_settings {
  size_t latent, hidden; /* dimension of the latent space; units of encoder and decoder */
  size_t units;          /* of each of the regressor's three layers */
  size_t steps[FT_AUTOENCODER_PHASES]; /* mini-batches per phase */
  uint64_t seed;
  bool (*stop)(void *data,
               const struct ft_autoencoder_progress *progress); /* called after each step:
                                                               true cancels; or NULL */
  void *data;
};

enum {
  FT_AUTOENCODER_BATCH = 64, /* largest number of rows of a mini-batch */
  FT_AUTOENCODER_LATENT = 64 /* largest latent dimension; bounds memory */
};

/* Settings of the paper; chosen by judgement where it gives none (autoencoder_fit.c). */
extern const struct ft_autoencoder_settings ft_autoencoder_usual;

/* A fitted model: encoder and regressor. All 0 is an empty one. */
struct ft_autoencoder {
  size_t columns, outputs, latent;
  struct ft_mlp encoder, regressor;
  double *mean, *deviation; /* per output */
};

/*
 * Fits MODEL to SAMPLES, whose columns have a standard deviation of about 1. Equal seeds give equal
 * models on one type of processor. The caller frees MODEL in either case. Returns 0; -1 on error,
 * also if stopped or without OpenBLAS, and fills ERR.
 */
int ft_autoencoder_fit(const struct ft_samples *samples,
                       const struct ft_autoencoder_settings *settings, struct ft_autoencoder *model,
                       struct ft_error *err);

/* Writes the latent mean of row X to Z, of model->latent numbers. Allocates nothing. */
void ft_autoencoder_encode(const struct ft_autoencoder *model, const double *x, float *z);

/* Adds the prediction of MODEL for row X to OUT. Allocates nothing. */
void ft_autoencoder_add(const struct ft_autoencoder *model, const double *x, double *out);

/*
 * Writes MODEL, of COLUMNS columns and OUTPUTS outputs, to STREAM, or reads it into a zeroed one
 * that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_autoencoder_serialise(struct ft_number_stream *stream, size_t columns, size_t outputs,
                             struct ft_autoencoder *model, struct ft_error *err);
void ft_autoencoder_free(struct ft_autoencoder *model);

#endif
