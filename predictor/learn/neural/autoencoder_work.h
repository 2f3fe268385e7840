/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Training state of an auto-encoder, shared by its fit and its tests. */
#ifndef FT_LEARN_AUTOENCODER_WORK_H
#define FT_LEARN_AUTOENCODER_WORK_H

#include "predictor/learn/neural/autoencoder.h"

enum ft_autoencoder_part { FT_ENCODER, FT_DECODER, FT_REGRESSOR, FT_AUTOENCODER_PARTS };

struct ft_autoencoder_work {
  struct ft_blas blas;
  size_t columns, outputs, latent;
  struct ft_mlp part[FT_AUTOENCODER_PARTS];
  struct ft_mlp_pass pass[FT_AUTOENCODER_PARTS];
  struct ft_adam adam[FT_AUTOENCODER_PARTS];
  float *noise, *z,
      *grad; /* per batch: standard normal noise, latent samples, gradients of the samples */
};

/* Creates WORK with randomly initialised networks. The caller frees WORK in either case. Returns 0;
 * -1 on error and fills ERR. */
int ft_autoencoder_work_create(struct ft_autoencoder_work *work,
                               const struct ft_autoencoder_settings *settings, size_t columns,
                               size_t outputs, struct ft_random *random, struct ft_error *err);
void ft_autoencoder_work_free(struct ft_autoencoder_work *work);

/*
 * Returns the mean loss per row of ROWS rows, features X and outputs Y, and adds its gradients to
 * the networks that PHASE trains. work->noise is an input; KL is the weight of the KL divergence.
 * Fills PROGRESS.
 */
double ft_autoencoder_loss(struct ft_autoencoder_work *work, enum ft_autoencoder_phase phase,
                           const float *x, const float *y, size_t rows, double kl,
                           struct ft_autoencoder_progress *progress);

#endif
