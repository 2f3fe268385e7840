/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates, corrects, writes and reads a speed-up model. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/relative/speedup_model.h"
#include "predictor/learn/residual_quantiles.h"

enum { ROWS = 1 << 20 }; /* training rows of a stored model at most; bounds memory */

/* Smallest standard deviation of a residual: half that between repeats of a run (aiwc: 3.9 %). */
#define LEAST 0.02

/* Predicts with the mixture M, without the per-output models. */
static void predict_mixture(const struct ft_speedup_model *m, const double *x, double *out)
{
  double row[FT_FEATURE_ENCODER_MOST], said[FT_MULTIVARIATE_NORMAL_OUTPUTS];

  ft_feature_encoder_row(&m->encode, x, row);
  memset(out, 0, m->outputs * sizeof *out);
  for (int l = 0; l < FT_LEARNERS; l++) {
    if (!(m->weight[l] > 0))
      continue;
    ft_learner_predict(&m->learner[l], row, said);
    for (size_t o = 0; o < m->outputs; o++)
      out[o] += m->weight[l] * said[o];
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
                        FT_SPEEDUP_PRIOR, LEAST, levels, level_count, out);
}

/* What predicts. */
static void save_mixture(const struct ft_speedup_model *m, struct ft_number_stream *out)
{
  ft_number_stream_write(out, (double)m->rows);
  ft_number_stream_write(out, (double)m->encode.raw);
  ft_feature_encoder_save(&m->encode, out);
  ft_number_stream_write(out, m->mixed);
  for (int l = 0; l < FT_LEARNERS; l++) {
    ft_number_stream_write(out, m->weight[l]);
    ft_number_stream_write(out, isnan(m->error[l]) ? -1 : m->error[l]);
    if (m->weight[l] > 0)
      ft_learner_save(&m->learner[l], out);
  }
}

void ft_speedup_save(const struct ft_speedup_model *m, struct ft_number_stream *out)
{
  size_t n = m->outputs;

  ft_number_stream_write(out, FT_SPEEDUP_FORMAT);
  ft_number_stream_write(out, (double)n);
  save_mixture(m, out);
  ft_number_stream_write_all(out, m->residual.mean, n);
  ft_number_stream_write_all(out, m->residual.covariance, n * n);
  for (size_t o = 0; o < n; o++)
    ft_number_stream_write(out, (double)m->count[o]);
  ft_number_stream_write_all(out, m->held_out_residuals, n * m->rows);
  ft_number_stream_write(out, (double)m->per_output_count);
  for (size_t k = 0; k < m->per_output_count; k++) {
    ft_number_stream_write(out, (double)m->per_output_index[k]);
    save_mixture(&m->per_output[k], out);
  }
}

static int load_learners(struct ft_number_reader *in, struct ft_speedup_model *m,
                         struct ft_error *err)
{
  for (int l = 0; l < FT_LEARNERS; l++) {
    m->weight[l] = ft_number_reader_read(in);
    m->error[l] = ft_number_reader_read(in);
    if (m->error[l] < 0)
      m->error[l] = NAN;
    if (!(m->weight[l] >= 0 && m->weight[l] <= 1.01) || in->failed)
      return ft_error_set(err, "a learner's weight: cut short or out of range");
    if (m->weight[l] > 0) {
      if (ft_learner_load(in, &m->encode, m->outputs, &m->learner[l], err) < 0)
        return -1;
      if (m->learner[l].kind != (enum ft_learner_kind)l)
        return ft_error_set(err, "learner %d: unexpected kind %d", l, (int)m->learner[l].kind);
    }
  }
  return 0;
}

static int load_mixture(struct ft_number_reader *in, size_t outputs, struct ft_speedup_model *m,
                        struct ft_error *err)
{
  size_t raw;

  *m = (struct ft_speedup_model){ .outputs = outputs };
  m->rows = ft_number_reader_read_count(in, 1, ROWS);
  raw = ft_number_reader_read_count(in, 1, FT_FEATURE_ENCODER_COLUMNS);
  if (in->failed)
    return ft_error_set(err, "cut short or out of range");
  if (ft_feature_encoder_load(in, raw, &m->encode, err) < 0)
    return -1;
  m->mixed = ft_number_reader_read(in);
  return load_learners(in, m, err);
}

static int load_per_output(struct ft_number_reader *in, struct ft_speedup_model *m,
                           struct ft_error *err)
{
  size_t count = ft_number_reader_read_count(in, 0, m->outputs);

  if (count && !in->failed && !(m->per_output = calloc(count, sizeof *m->per_output)))
    return ft_error_set(err, "out of memory");
  for (size_t k = 0; m->per_output && k < count; k++) {
    m->per_output_index[k] = ft_number_reader_read_count(in, 0, m->outputs - 1);
    m->per_output_count++;
    if (load_mixture(in, 1, &m->per_output[k], err) < 0)
      return -1;
    if (m->per_output[k].encode.raw != m->encode.raw)
      return ft_error_set(err, "per-output model: unexpected number of features");
  }
  return 0;
}

int ft_speedup_load(struct ft_number_reader *in, struct ft_speedup_model *m, struct ft_error *err)
{
  double format = ft_number_reader_read(in), *mean, *covariance;
  size_t n = ft_number_reader_read_count(in, 1, FT_MULTIVARIATE_NORMAL_OUTPUTS);

  *m = (struct ft_speedup_model){ .outputs = n };
  if (!in->failed && format != FT_SPEEDUP_FORMAT)
    return ft_error_set(err, "format %g; expected %d: the model is of another version", format,
                        FT_SPEEDUP_FORMAT);
  if (load_mixture(in, n, m, err) < 0)
    return -1;
  m->residual.outputs = n;
  mean = ft_number_reader_read_all(in, n);
  covariance = ft_number_reader_read_all(in, n * n);
  if (mean && covariance) {
    memcpy(m->residual.mean, mean, n * sizeof *mean);
    memcpy(m->residual.covariance, covariance, n * n * sizeof *covariance);
  }
  free(mean);
  free(covariance);
  for (size_t o = 0; o < n; o++)
    m->count[o] = ft_number_reader_read_count(in, 0, m->rows);
  m->held_out_residuals = ft_number_reader_read_all(in, n * m->rows);
  if (load_per_output(in, m, err) < 0)
    return -1;
  return in->failed || in->left ? ft_error_set(err, "cut short, too long or out of range") : 0;
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
