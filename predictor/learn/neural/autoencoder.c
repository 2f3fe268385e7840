/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates and serialises a fitted auto-encoder. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/learn/feature_encoder.h"
#include "predictor/learn/multivariate_normal.h"
#include "predictor/learn/neural/autoencoder.h"
#include "predictor/learn/number_stream.h"

void ft_autoencoder_encode(const struct ft_autoencoder *m, const double *x, float *z)
{
  float in[FT_FEATURE_ENCODER_MAX], out[2 * FT_AUTOENCODER_LATENT];

  for (size_t c = 0; c < m->columns; c++)
    in[c] = (float)x[c];
  ft_mlp_predict(&m->encoder, in, out);
  memcpy(z, out, m->latent * sizeof *z);
}

void ft_autoencoder_add(const struct ft_autoencoder *m, const double *x, double *out)
{
  float z[FT_AUTOENCODER_LATENT], y[FT_MULTIVARIATE_NORMAL_OUTPUTS];

  ft_autoencoder_encode(m, x, z);
  ft_mlp_predict(&m->regressor, z, y);
  for (size_t o = 0; o < m->outputs; o++)
    out[o] += m->mean[o] + m->deviation[o] * (double)y[o];
}

int ft_autoencoder_serialise(struct ft_number_stream *s, size_t columns, size_t outputs,
                             struct ft_autoencoder *m, struct ft_error *err)
{
  m->columns = columns;
  m->outputs = outputs;
  ft_number_stream_count(s, &m->latent, 1, FT_AUTOENCODER_LATENT);
  ft_number_stream_vector(s, &m->mean, outputs);
  ft_number_stream_vector(s, &m->deviation, outputs);
  if (s->failed)
    return ft_error_set(err, "auto-encoder: cut short or out of range");
  if (ft_mlp_serialise(s, columns, 2 * m->latent, &m->encoder, err) < 0)
    return -1;
  return ft_mlp_serialise(s, m->latent, outputs, &m->regressor, err);
}

void ft_autoencoder_free(struct ft_autoencoder *m)
{
  if (!m)
    return;
  ft_mlp_free(&m->encoder);
  ft_mlp_free(&m->regressor);
  free(m->mean);
  free(m->deviation);
  *m = (struct ft_autoencoder){ 0 };
}
