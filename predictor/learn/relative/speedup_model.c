/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates, corrects and serialises a speed-up model. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/relative/speedup_model.h"
#include "predictor/learn/residual_quantiles.h"

enum { ROWS = 1 << 20 }; /* largest number of training rows of a stored model; bounds memory */

/* Largest weight of a stored learner: 1 and rounding errors. */
#define MAX_WEIGHT 1.01

/* Smallest standard deviation of a residual, log units: half of the deviation between repeats of a
 * run (aiwc: 3.9 %). */
#define MIN_DEVIATION 0.02

/* Predicts with the mixture M, without the per-output models. */
static void predict_mixture(const struct ft_speedup_model *m, const double *x, double *out)
{
  double row[FT_FEATURE_ENCODER_MAX], predicted[FT_MULTIVARIATE_NORMAL_OUTPUTS];

  ft_feature_encoder_row(&m->encode, x, row);
  memset(out, 0, m->outputs * sizeof *out);
  for (int l = 0; l < FT_LEARNERS; l++) {
    if (!(m->weight[l] > 0))
      continue;
    ft_learner_predict(&m->learner[l], row, predicted);
    for (size_t o = 0; o < m->outputs; o++)
      out[o] += m->weight[l] * predicted[o];
  }
}

void ft_speedup_predict(const struct ft_speedup_model *m, const double *x, double *out)
{
  predict_mixture(m, x, out);
  for (size_t k = 0; k < m->per_output_count; k++)
    predict_mixture(&m->per_output[k], x, out + m->per_output_index[k]);
}

int ft_speedup_correct(const struct ft_speedup_model *m, const double *seen, const double *runs,
                       double noise, double *out, double *shrunk, struct ft_error *err)
{
  double known[FT_MULTIVARIATE_NORMAL_OUTPUTS], noises[FT_MULTIVARIATE_NORMAL_OUTPUTS],
      expected[FT_MULTIVARIATE_NORMAL_OUTPUTS];
  double variance[FT_MULTIVARIATE_NORMAL_OUTPUTS];

  for (size_t o = 0; o < m->outputs; o++) {
    known[o] = runs[o] > 0 ? seen[o] - out[o] - m->residual.mean[o] : NAN;
    noises[o] = runs[o] > 0 ? noise * noise / runs[o] : 0;
  }
  if (ft_multivariate_normal_condition(&m->residual, known, noises, expected, variance, err) < 0)
    return -1;
  for (size_t o = 0; o < m->outputs; o++) {
    double before = m->residual.covariance[o * m->outputs + o];

    out[o] += expected[o];
    shrunk[o] = before > 0 ? sqrt(fmin(variance[o] / before, 1)) : 1;
  }
  return 0;
}

void ft_speedup_residual_quantiles(const struct ft_speedup_model *m, size_t output,
                                   const double *levels, size_t level_count, double *out)
{
  size_t count = m->count[output];

  ft_residual_quantiles(m->held_out_residuals + output * m->rows, count, (unsigned)count,
                        FT_SPEEDUP_PRIOR, MIN_DEVIATION, levels, level_count, out);
}

static int serialise_learners(struct ft_number_stream *s, struct ft_speedup_model *m,
                              struct ft_error *err)
{
  for (int l = 0; l < FT_LEARNERS; l++) {
    double error = isnan(m->error[l]) ? -1 : m->error[l];

    ft_number_stream_double(s, &m->weight[l]);
    ft_number_stream_double(s, &error);
    m->error[l] = error < 0 ? NAN : error;
    if (!(m->weight[l] >= 0 && m->weight[l] <= MAX_WEIGHT) || s->failed)
      return ft_error_set(err, "a learner's weight: cut short or out of range");
    if (!(m->weight[l] > 0))
      continue;
    if (ft_learner_serialise(s, &m->encode, m->outputs, &m->learner[l], err) < 0)
      return -1;
    if (m->learner[l].kind != (enum ft_learner_kind)l)
      return ft_error_set(err, "learner %d: unexpected kind %d", l, (int)m->learner[l].kind);
  }
  return 0;
}

/* Writes or reads the part of M that predicts. */
static int serialise_mixture(struct ft_number_stream *s, size_t outputs, struct ft_speedup_model *m,
                             struct ft_error *err)
{
  size_t raw = m->encode.raw;

  m->outputs = outputs;
  ft_number_stream_count(s, &m->rows, 1, ROWS);
  ft_number_stream_count(s, &raw, 1, FT_FEATURE_ENCODER_COLUMNS);
  if (s->failed)
    return ft_error_set(err, "cut short or out of range");
  if (ft_feature_encoder_serialise(s, raw, &m->encode, err) < 0)
    return -1;
  ft_number_stream_double(s, &m->mixture_error);
  return serialise_learners(s, m, err);
}

static int serialise_per_output(struct ft_number_stream *s, struct ft_speedup_model *m,
                                struct ft_error *err)
{
  size_t count = m->per_output_count;

  ft_number_stream_count(s, &count, 0, m->outputs);
  if (count && !m->per_output && !(m->per_output = calloc(count, sizeof *m->per_output)))
    return ft_error_set(err, "out of memory");
  m->per_output_count = count;
  for (size_t k = 0; k < count; k++) {
    ft_number_stream_count(s, &m->per_output_index[k], 0, m->outputs - 1);
    if (serialise_mixture(s, 1, &m->per_output[k], err) < 0)
      return -1;
    if (m->per_output[k].encode.raw != m->encode.raw)
      return ft_error_set(err, "per-output model: unexpected number of features");
  }
  return 0;
}

static int serialise_model(struct ft_number_stream *s, struct ft_speedup_model *m,
                           struct ft_error *err)
{
  double format = FT_SPEEDUP_FORMAT;
  size_t n = m->outputs;

  ft_number_stream_double(s, &format);
  ft_number_stream_count(s, &n, 1, FT_MULTIVARIATE_NORMAL_OUTPUTS);
  if (!s->failed && format != FT_SPEEDUP_FORMAT)
    return ft_error_set(err, "format %g; expected %d: the model is of another version", format,
                        FT_SPEEDUP_FORMAT);
  if (serialise_mixture(s, n, m, err) < 0)
    return -1;
  m->residual.outputs = n;
  ft_number_stream_doubles(s, m->residual.mean, n);
  ft_number_stream_doubles(s, m->residual.covariance, n * n);
  for (size_t o = 0; o < n; o++)
    ft_number_stream_count(s, &m->count[o], 0, m->rows);
  ft_number_stream_vector(s, &m->held_out_residuals, n * m->rows);
  if (serialise_per_output(s, m, err) < 0)
    return -1;
  return s->failed || s->left ? ft_error_set(err, "cut short, too long or out of range") : 0;
}

void ft_speedup_save(const struct ft_speedup_model *m, struct ft_buf *out)
{
  struct ft_number_stream s = { .out = out };
  struct ft_speedup_model copy = *m;
  struct ft_error ignored;

  if (serialise_model(&s, &copy, &ignored) < 0)
    out->failed = true;
}

int ft_speedup_load(const void *numbers, size_t count, struct ft_speedup_model *m,
                    struct ft_error *err)
{
  struct ft_number_stream s = { .at = numbers, .left = count };

  *m = (struct ft_speedup_model){ 0 };
  return serialise_model(&s, m, err);
}

static void free_mixture(struct ft_speedup_model *m)
{
  ft_feature_encoder_free(&m->encode);
  for (int l = 0; l < FT_LEARNERS; l++)
    ft_learner_free(&m->learner[l]);
}

void ft_speedup_free(struct ft_speedup_model *m)
{
  if (!m)
    return;
  free_mixture(m);
  for (size_t k = 0; k < m->per_output_count; k++)
    free_mixture(&m->per_output[k]);
  free(m->per_output);
  free(m->held_out_residuals);
  m->per_output = NULL;
  m->per_output_count = 0;
  m->held_out_residuals = NULL;
}
