/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What answers, is kept and read back. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/learn/encode.h"
#include "predictor/learn/gauss.h"
#include "predictor/learn/neural/autoencoder.h"
#include "predictor/learn/numbers.h"

void ft_autoencoder_place(const struct ft_autoencoder *m, const double *x, float *z)
{
  float in[FT_ENCODE_MOST], out[2 * FT_AUTOENCODER_LATENT];

  for (size_t c = 0; c < m->columns; c++)
    in[c] = (float)x[c];
  ft_network_predict(&m->encoder, in, out);
  memcpy(z, out, m->latent * sizeof *z);
}

void ft_autoencoder_add(const struct ft_autoencoder *m, const double *x, double *out)
{
  float z[FT_AUTOENCODER_LATENT], y[FT_GAUSS_OUTPUTS];

  ft_autoencoder_place(m, x, z);
  ft_network_predict(&m->regressor, z, y);
  for (size_t o = 0; o < m->outputs; o++)
    out[o] += m->mean[o] + m->deviation[o] * (double)y[o];
}

void ft_autoencoder_save(const struct ft_autoencoder *m, struct ft_numbers *out)
{
  ft_numbers_put(out, (double)m->latent);
  ft_numbers_put_all(out, m->mean, m->outputs);
  ft_numbers_put_all(out, m->deviation, m->outputs);
  ft_network_save(&m->encoder, out);
  ft_network_save(&m->regressor, out);
}

int ft_autoencoder_load(struct ft_numbers_reader *in, size_t columns, size_t outputs,
                        struct ft_autoencoder *m, struct ft_error *err)
{
  *m = (struct ft_autoencoder){ .columns = columns, .outputs = outputs };
  m->latent = ft_numbers_take_count(in, 1, FT_AUTOENCODER_LATENT);
  m->mean = ft_numbers_take_all(in, outputs);
  m->deviation = ft_numbers_take_all(in, outputs);
  if (in->failed)
    return ft_error_set(err, "an auto-encoder: cut short or out of range");
  if (ft_network_load(in, columns, 2 * m->latent, &m->encoder, err) < 0)
    return -1;
  return ft_network_load(in, m->latent, outputs, &m->regressor, err);
}

void ft_autoencoder_free(struct ft_autoencoder *m)
{
  if (!m)
    return;
  ft_network_free(&m->encoder);
  ft_network_free(&m->regressor);
  free(m->mean);
  free(m->deviation);
  *m = (struct ft_autoencoder){ 0 };
}
