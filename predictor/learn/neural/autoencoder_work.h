/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An auto-encoder in training: what its fit and its tests share. */
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
  float *noise, *z, *slope; /* a batch of each: standard normal, drawn places, slopes there */
};

/* Its networks, drawn. To be freed in either case. 0; -1 with ERR. */
int ft_autoencoder_work_create(struct ft_autoencoder_work *work,
                               const struct ft_autoencoder_settings *settings, size_t columns,
                               size_t outputs, struct ft_random *random, struct ft_error *err);
void ft_autoencoder_work_free(struct ft_autoencoder_work *work);

/*
 * The loss of ROWS rows, a row's mean, its gradients added to those of the parts that PHASE trains.
 * X and Y are what is encoded and regressed, work->noise is given, KL weighs the divergence.
 */
double ft_autoencoder_loss(struct ft_autoencoder_work *work, enum ft_autoencoder_phase phase,
                           const float *x, const float *y, size_t rows, double kl,
                           struct ft_autoencoder_progress *told);

#endif
