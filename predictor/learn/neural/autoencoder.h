/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The model of Nichols, Yeom and Bhatele 2022 (Predicting Cross-Platform Relative Performance with
 * Deep Generative Models): a variational auto-encoder of the features, its decoder calibrated
 * (Rybkin, Daniilidis, Levine 2021), its KL weight changing, with feedback from the regressor; then
 * a network of three layers of 1024 units from the latent representation to the ratios.
 */
#ifndef FT_LEARN_AUTOENCODER_H
#define FT_LEARN_AUTOENCODER_H

#include <stdbool.h>

#include "predictor/learn/neural/mlp.h"
#include "predictor/learn/samples.h"

/* The phases of its training, in their order. */
enum ft_autoencoder_phase {
  FT_AUTOENCODER_CALIBRATE, /* reconstruction alone, with the variance that fits best */
  FT_AUTOENCODER_ANNEAL,    /* the KL weight rises from 0 to 1 */
  FT_AUTOENCODER_FEEDBACK,  /* the regressor's loss is added */
  FT_AUTOENCODER_REGRESS,   /* the regressor alone, of what the encoder says */
  FT_AUTOENCODER_PHASES
};

/* What is told of each step: the lower bound of a row's log-likelihood, and the regressor's mean
 * squared error. */
struct ft_autoencoder_progress {
  enum ft_autoencoder_phase phase;
  double bound, missed; /* NAN where it is not part of the phase; outputs have a deviation of 1 */
};

struct ft_autoencoder_settings {
  size_t latent, hidden; /* numbers of the latent space; units of encoder and decoder */
  size_t units;          /* of the regressor's three layers */
  size_t steps[FT_AUTOENCODER_PHASES]; /* of at most FT_AUTOENCODER_BATCH rows each */
  uint64_t seed;
  bool (*stop)(void *data, const struct ft_autoencoder_progress *told); /* true: give up; or NULL */
  void *data;
};

enum { FT_AUTOENCODER_BATCH = 64, FT_AUTOENCODER_LATENT = 64 };

/* As the paper has it, and where it does not say, as we do. */
extern const struct ft_autoencoder_settings ft_autoencoder_usual;

/* A fitted one: what answers. All 0 is an empty one. */
struct ft_autoencoder {
  size_t columns, outputs, latent;
  struct ft_mlp encoder, regressor;
  double *mean, *deviation; /* of the outputs */
};

/*
 * Fit MODEL, to be freed in either case, to SAMPLES, whose columns have a deviation of about 1.
 * Equal seeds give equal models on one kind of processor. Returns 0; -1 with ERR, also where it was
 * stopped or OpenBLAS is not there.
 */
int ft_autoencoder_fit(const struct ft_samples *samples,
                       const struct ft_autoencoder_settings *settings, struct ft_autoencoder *model,
                       struct ft_error *err);

/* Where row X lies in the latent space, into Z of model->latent places. Allocates nothing. */
void ft_autoencoder_encode(const struct ft_autoencoder *model, const double *x, float *z);

/* Add what MODEL says of row X to OUT. Allocates nothing. */
void ft_autoencoder_add(const struct ft_autoencoder *model, const double *x, double *out);

void ft_autoencoder_save(const struct ft_autoencoder *model, struct ft_number_stream *out);
int ft_autoencoder_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                        struct ft_autoencoder *model, struct ft_error *err);
void ft_autoencoder_free(struct ft_autoencoder *model);

#endif
