/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trains an auto-encoder and its regressor in mini-batches; phases as in the paper's Figure 1. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/neural/autoencoder_work.h"

/* Adam's step size alpha (Kingma and Ba 2015, default). */
#define STEP_SIZE 1e-3F
/* Smallest log standard deviation of the decoder (Rybkin et al. 2021, soft clip in their code). */
#define MIN_LOG_DEVIATION (-6)
/* Clamp of a latent log variance; avoids overflow. */
#define MAX_LOG_VARIANCE 10

/*
 * The regressor's three layers of 1024 units are the paper's. The paper states neither the sizes of
 * the auto-encoder nor the epochs, which are chosen so that 88 rows take seconds.
 */
const struct ft_autoencoder_settings ft_autoencoder_usual = {
  .latent = 8, .hidden = 64, .units = 1024, .steps = { 300, 900, 30, 40 }
};

int ft_autoencoder_work_create(struct ft_autoencoder_work *w,
                               const struct ft_autoencoder_settings *s, size_t columns,
                               size_t outputs, struct ft_random *random, struct ft_error *err)
{
  const size_t width[FT_AUTOENCODER_PARTS][5] = { { columns, s->hidden, 2 * s->latent },
                                                  { s->latent, s->hidden, columns },
                                                  { s->latent, s->units, s->units, s->units,
                                                    outputs } };
  static const size_t layers[FT_AUTOENCODER_PARTS] = { 2, 2, 4 };
  size_t count = (size_t)FT_AUTOENCODER_BATCH * (s->latent + 1);

  *w = (struct ft_autoencoder_work){ .columns = columns, .outputs = outputs, .latent = s->latent };
  if (s->latent < 1 || s->latent > FT_AUTOENCODER_LATENT)
    return ft_error_set(err, "auto-encoder: latent dimension %zu; expected 1 to %d", s->latent,
                        FT_AUTOENCODER_LATENT);
  w->noise = calloc(count, sizeof *w->noise);
  w->z = calloc(count, sizeof *w->z);
  w->grad = calloc(count, sizeof *w->grad);
  if (!w->noise || !w->z || !w->grad)
    return ft_error_set(err, "auto-encoder: out of memory");
  if (ft_blas_open(&w->blas, err) < 0)
    return -1;
  for (size_t p = 0; p < FT_AUTOENCODER_PARTS; p++)
    if (ft_mlp_create(&w->part[p], width[p], layers[p], random, err) < 0 ||
        ft_mlp_pass_create(&w->pass[p], &w->part[p], FT_AUTOENCODER_BATCH, err) < 0 ||
        ft_adam_create(&w->adam[p], &w->part[p], err) < 0)
      return -1;
  return 0;
}

void ft_autoencoder_work_free(struct ft_autoencoder_work *w)
{
  for (size_t p = 0; p < FT_AUTOENCODER_PARTS; p++) {
    ft_mlp_free(&w->part[p]);
    ft_mlp_pass_free(&w->pass[p]);
    ft_adam_free(&w->adam[p]);
  }
  free(w->noise);
  free(w->z);
  free(w->grad);
  ft_blas_close(&w->blas);
}

/*
 * Negative log-likelihood per row, up to a constant, of a normal distribution whose variance is the
 * mean squared error (optimal sigma, Rybkin et al. 2021). GRAD gets its gradient with respect to
 * PREDICTED, MSE the mean squared error.
 */
static double calibrated_loss(const float *predicted, const float *truth, size_t rows, size_t count,
                              float *grad, double *mse)
{
  double squares = 0, variance;

  for (size_t i = 0; i < rows * count; i++)
    squares += pow((double)predicted[i] - (double)truth[i], 2);
  *mse = squares / (double)(rows * count);
  variance = fmax(*mse, exp(2 * MIN_LOG_DEVIATION));
  for (size_t i = 0; i < rows * count; i++)
    grad[i] = (predicted[i] - truth[i]) / (float)(variance * (double)rows);
  return (double)count / 2 * (log(variance) + *mse / variance - 1);
}

/* Encodes the rows and fills w->z with a latent sample of each, made from w->noise. */
static void encode_batch(struct ft_autoencoder_work *w, const float *x, size_t rows)
{
  const float *out;

  ft_mlp_forward(&w->blas, &w->part[FT_ENCODER], x, rows, &w->pass[FT_ENCODER]);
  out = w->pass[FT_ENCODER].out[1];
  for (size_t r = 0; r < rows; r++)
    for (size_t k = 0; k < w->latent; k++) {
      float log_variance =
          fminf(fmaxf(out[(2 * r + 1) * w->latent + k], -MAX_LOG_VARIANCE), MAX_LOG_VARIANCE);

      w->z[r * w->latent + k] =
          out[2 * r * w->latent + k] + expf(log_variance / 2) * w->noise[r * w->latent + k];
    }
}

/* Backpropagates w->grad, the gradient of the latent samples, and the gradient of the KL divergence
 * with weight KL through the encoder. Returns the divergence per row. */
static double backpropagate_encoder(struct ft_autoencoder_work *w, size_t rows, double kl)
{
  struct ft_mlp_pass *pass = &w->pass[FT_ENCODER];
  double divergence = 0;

  for (size_t r = 0; r < rows; r++)
    for (size_t k = 0; k < w->latent; k++) {
      size_t i = 2 * r * w->latent + k, j = i + w->latent, at = r * w->latent + k;
      float mean = pass->out[1][i], log_variance = pass->out[1][j],
            part = (float)(kl / (double)rows);
      float in_range = log_variance > -MAX_LOG_VARIANCE && log_variance < MAX_LOG_VARIANCE ? 1 : 0;
      float variance = expf(fminf(fmaxf(log_variance, -MAX_LOG_VARIANCE), MAX_LOG_VARIANCE));

      divergence += ((double)mean * mean + variance - 1 - log((double)variance)) / 2;
      pass->grad[1][i] = w->grad[at] + part * mean;
      pass->grad[1][j] =
          in_range * (w->grad[at] * w->noise[at] * sqrtf(variance) + part * (variance - 1)) / 2;
    }
  ft_mlp_backward(&w->blas, &w->part[FT_ENCODER], pass, w->adam[FT_ENCODER].gradient, NULL);
  return divergence / (double)rows;
}

double ft_autoencoder_loss(struct ft_autoencoder_work *w, enum ft_autoencoder_phase phase,
                           const float *x, const float *y, size_t rows, double kl,
                           struct ft_autoencoder_progress *progress)
{
  struct ft_mlp_pass *decoder = &w->pass[FT_DECODER], *regressor = &w->pass[FT_REGRESSOR];
  bool regress = phase >= FT_AUTOENCODER_FEEDBACK, autoencodes = phase <= FT_AUTOENCODER_FEEDBACK;
  float regressor_grad[FT_AUTOENCODER_BATCH * FT_AUTOENCODER_LATENT];
  double loss = 0, mse, divergence;

  *progress = (struct ft_autoencoder_progress){ phase, NAN, NAN };
  encode_batch(w, x, rows);
  memset(w->grad, 0, rows * w->latent * sizeof *w->grad);
  if (autoencodes) {
    ft_mlp_forward(&w->blas, &w->part[FT_DECODER], w->z, rows, decoder);
    loss = calibrated_loss(decoder->out[1], x, rows, w->columns, decoder->grad[1], &mse);
    ft_mlp_backward(&w->blas, &w->part[FT_DECODER], decoder, w->adam[FT_DECODER].gradient, w->grad);
    progress->elbo = -loss - (double)w->columns / 2 * (1 + log(2 * acos(-1)));
  }
  if (regress) {
    ft_mlp_forward(&w->blas, &w->part[FT_REGRESSOR], w->z, rows, regressor);
    loss +=
        calibrated_loss(regressor->out[3], y, rows, w->outputs, regressor->grad[3], &progress->mse);
    ft_mlp_backward(&w->blas, &w->part[FT_REGRESSOR], regressor, w->adam[FT_REGRESSOR].gradient,
                    regressor_grad);
    for (size_t i = 0; autoencodes && i < rows * w->latent; i++)
      w->grad[i] += regressor_grad[i];
  }
  if (autoencodes) {
    divergence = backpropagate_encoder(w, rows, kl);
    loss += kl * divergence;
    progress->elbo -= divergence;
  }
  return loss;
}

/* Trains one phase on mini-batches of shuffled rows. TABLE has the features and the standardised
 * outputs, BATCH receives those of a mini-batch. Returns 0; -1 if stopped. */
static int train_phase(struct ft_autoencoder_work *w, const struct ft_autoencoder_settings *s,
                       enum ft_autoencoder_phase phase, const struct ft_samples *all,
                       const float *table[2], size_t *order, struct ft_random *random,
                       float *batch[2], struct ft_error *err)
{
  size_t at = all->rows, rows = all->rows < FT_AUTOENCODER_BATCH ? all->rows : FT_AUTOENCODER_BATCH;
  size_t count[2] = { all->columns, all->outputs };

  for (size_t step = 0; step < s->steps[phase]; step++) {
    double kl = phase == FT_AUTOENCODER_CALIBRATE ? 0
                : phase == FT_AUTOENCODER_ANNEAL  ? (double)(step + 1) / (double)s->steps[phase]
                                                  : 1;
    struct ft_autoencoder_progress progress;

    if (at + rows > all->rows) {
      for (size_t i = all->rows; i > 1; i--) {
        size_t j = ft_random_below(random, i), swap = order[i - 1];

        order[i - 1] = order[j];
        order[j] = swap;
      }
      at = 0;
    }
    for (size_t r = 0; r < rows; r++, at++)
      for (size_t k = 0; k < 2; k++)
        memcpy(batch[k] + r * count[k], table[k] + order[at] * count[k], count[k] * sizeof(float));
    for (size_t i = 0; i < rows * w->latent; i++)
      w->noise[i] = (float)ft_random_normal(random);
    (void)ft_autoencoder_loss(w, phase, batch[0], batch[1], rows, kl, &progress);
    for (size_t p = 0; p < FT_AUTOENCODER_PARTS; p++)
      if (p == FT_REGRESSOR ? phase >= FT_AUTOENCODER_FEEDBACK : phase <= FT_AUTOENCODER_FEEDBACK)
        ft_adam_step(&w->adam[p], &w->part[p], STEP_SIZE);
    if (s->stop && s->stop(s->data, &progress))
      return ft_error_set(err, "auto-encoder: stopped");
  }
  return 0;
}

/* Sets the mean and standard deviation of the outputs in M, and Y to the standardised outputs. */
static int standardise_outputs(const struct ft_samples *s, struct ft_autoencoder *m, float *y,
                               struct ft_error *err)
{
  m->mean = calloc(s->outputs, sizeof *m->mean);
  m->deviation = calloc(s->outputs, sizeof *m->deviation);
  if (!m->mean || !m->deviation)
    return ft_error_set(err, "auto-encoder: out of memory");
  for (size_t o = 0; o < s->outputs; o++) {
    double squares = 0;

    for (size_t r = 0; r < s->rows; r++)
      m->mean[o] += s->y[r * s->outputs + o] / (double)s->rows;
    for (size_t r = 0; r < s->rows; r++)
      squares += pow(s->y[r * s->outputs + o] - m->mean[o], 2) / (double)s->rows;
    m->deviation[o] = fmax(sqrt(squares), 1e-9);
    for (size_t r = 0; r < s->rows; r++)
      y[r * s->outputs + o] = (float)((s->y[r * s->outputs + o] - m->mean[o]) / m->deviation[o]);
  }
  return 0;
}

int ft_autoencoder_fit(const struct ft_samples *s, const struct ft_autoencoder_settings *settings,
                       struct ft_autoencoder *m, struct ft_error *err)
{
  float *x = calloc(s->rows * s->columns + 1, sizeof *x),
        *y = calloc(s->rows * s->outputs + 1, sizeof *y);
  float *batch[2] = { calloc(FT_AUTOENCODER_BATCH * (s->columns + 1), sizeof(float)),
                      calloc(FT_AUTOENCODER_BATCH * (s->outputs + 1), sizeof(float)) };
  size_t *order = calloc(s->rows + 1, sizeof *order);
  const float *table[2] = { x, y };
  struct ft_autoencoder_work w = { 0 };
  struct ft_random random;
  int status = -1;

  *m = (struct ft_autoencoder){ .columns = s->columns,
                                .outputs = s->outputs,
                                .latent = settings->latent };
  if (!x || !y || !batch[0] || !batch[1] || !order || !s->rows || !s->outputs || !s->columns) {
    ft_error_set(err, "auto-encoder: no rows, or out of memory");
    goto out;
  }
  ft_random_seed(&random, settings->seed);
  for (size_t i = 0; i < s->rows * s->columns; i++)
    x[i] = (float)s->x[i];
  for (size_t r = 0; r < s->rows; r++)
    order[r] = r;
  if (standardise_outputs(s, m, y, err) < 0 ||
      ft_autoencoder_work_create(&w, settings, s->columns, s->outputs, &random, err) < 0)
    goto out;
  for (int phase = 0; phase < FT_AUTOENCODER_PHASES; phase++)
    if (train_phase(&w, settings, (enum ft_autoencoder_phase)phase, s, table, order, &random, batch,
                    err) < 0)
      goto out;
  m->encoder = w.part[FT_ENCODER];
  m->regressor = w.part[FT_REGRESSOR];
  w.part[FT_ENCODER] = w.part[FT_REGRESSOR] = (struct ft_mlp){ 0 };
  status = 0;
out:
  ft_autoencoder_work_free(&w);
  free(x);
  free(y);
  free(batch[0]);
  free(batch[1]);
  free(order);
  return status;
}
