/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/neural/mlp.h"
#include "predictor/learn/number_stream.h"

enum { INPUTS = 2048 }; /* largest number of inputs; above FT_FEATURE_ENCODER_MAX */

enum { VECTOR = 16 }; /* constant length of an inner loop, which compilers then vectorise */

/* Adam's decay rates and epsilon (Kingma and Ba 2015, section 2, defaults). */
#define BETA1 0.9F
#define BETA2 0.999F
#define EPSILON 1e-8F

static size_t layer_parameters(const struct ft_mlp *n, size_t layer)
{
  return (n->width[layer] + 1) * n->width[layer + 1];
}

/* Sets n->parameters from the layers' widths. Returns 0; -1 if N is too large, and fills ERR. */
static int count_mlp_parameters(struct ft_mlp *n, struct ft_error *err)
{
  bool fits = n->layers >= 1 && n->layers <= FT_MLP_LAYERS;

  for (size_t l = 0; fits && l <= n->layers; l++)
    fits = n->width[l] >= 1 && n->width[l] <= (l ? FT_MLP_WIDTH : INPUTS);
  n->parameters = 0;
  for (size_t l = 0; fits && l < n->layers; l++)
    n->parameters += layer_parameters(n, l);
  return fits ? 0 : ft_error_set(err, "neural network: too many layers, or one too wide");
}

int ft_mlp_create(struct ft_mlp *n, const size_t *width, size_t layers, struct ft_random *random,
                  struct ft_error *err)
{
  float *next;

  *n = (struct ft_mlp){ .layers = layers };
  for (size_t l = 0; l <= layers && l <= FT_MLP_LAYERS; l++)
    n->width[l] = width[l];
  if (count_mlp_parameters(n, err) < 0)
    return -1;
  n->parameter = next = calloc(n->parameters, sizeof *n->parameter);
  if (!next)
    return ft_error_set(err, "neural network: out of memory");
  for (size_t l = 0; l < layers; l++) {
    double deviation = sqrt((l + 1 < layers ? 2.0 : 1.0) / (double)width[l]);

    for (size_t i = 0; i < width[l] * width[l + 1]; i++)
      *next++ = (float)(deviation * ft_random_normal(random));
    next += width[l + 1];
  }
  return 0;
}

void ft_mlp_free(struct ft_mlp *n)
{
  if (!n)
    return;
  free(n->parameter);
  *n = (struct ft_mlp){ 0 };
}

int ft_mlp_pass_create(struct ft_mlp_pass *pass, const struct ft_mlp *n, size_t rows,
                       struct ft_error *err)
{
  *pass = (struct ft_mlp_pass){ .rows = rows };
  for (size_t l = 0; l < n->layers; l++) {
    pass->out[l] = calloc(rows * n->width[l + 1], sizeof(float));
    pass->grad[l] = calloc(rows * n->width[l + 1], sizeof(float));
    if (!pass->out[l] || !pass->grad[l])
      return ft_error_set(err, "neural network: out of memory");
  }
  return 0;
}

void ft_mlp_pass_free(struct ft_mlp_pass *pass)
{
  for (size_t l = 0; l < FT_MLP_LAYERS; l++) {
    free(pass->out[l]);
    free(pass->grad[l]);
  }
  *pass = (struct ft_mlp_pass){ 0 };
}

int ft_adam_create(struct ft_adam *adam, const struct ft_mlp *n, struct ft_error *err)
{
  *adam = (struct ft_adam){ 0, calloc(n->parameters, sizeof(float)),
                            calloc(n->parameters, sizeof(float)),
                            calloc(n->parameters, sizeof(float)) };
  return adam->gradient && adam->mean && adam->square
             ? 0
             : ft_error_set(err, "neural network: out of memory");
}

void ft_adam_free(struct ft_adam *adam)
{
  free(adam->gradient);
  free(adam->mean);
  free(adam->square);
  *adam = (struct ft_adam){ 0 };
}

void ft_mlp_forward(const struct ft_blas *blas, const struct ft_mlp *n, const float *in,
                    size_t rows, struct ft_mlp_pass *pass)
{
  const float *weight = n->parameter;

  pass->rows = rows;
  pass->in = in;
  for (size_t l = 0; l < n->layers; l++) {
    size_t ins = n->width[l], outs = n->width[l + 1];
    float *out = pass->out[l];

    for (size_t r = 0; r < rows; r++)
      memcpy(out + r * outs, weight + ins * outs, outs * sizeof *out);
    ft_blas_multiply(blas, l ? pass->out[l - 1] : in, false, weight, false, rows, ins, outs, 1,
                     out);
    for (size_t i = 0; l + 1 < n->layers && i < rows * outs; i++)
      out[i] = out[i] > 0 ? out[i] : 0;
    weight += layer_parameters(n, l);
  }
}

void ft_mlp_backward(const struct ft_blas *blas, const struct ft_mlp *n, struct ft_mlp_pass *pass,
                     float *gradient, float *grad_in)
{
  size_t at = n->parameters;

  for (size_t l = n->layers; l-- > 0;) {
    size_t ins = n->width[l], outs = n->width[l + 1];
    float *grad = pass->grad[l], *before = l ? pass->grad[l - 1] : grad_in;

    at -= layer_parameters(n, l);
    ft_blas_multiply(blas, l ? pass->out[l - 1] : pass->in, true, grad, false, ins, pass->rows,
                     outs, 1, gradient + at);
    for (size_t r = 0; r < pass->rows; r++)
      for (size_t o = 0; o < outs; o++)
        gradient[at + ins * outs + o] += grad[r * outs + o];
    if (!before)
      break;
    ft_blas_multiply(blas, grad, false, n->parameter + at, true, pass->rows, outs, ins, 0, before);
    for (size_t i = 0; l && i < pass->rows * ins; i++)
      before[i] = pass->out[l - 1][i] > 0 ? before[i] : 0;
  }
}

/* Updates COUNT parameters from I on. It is inlined with the constant COUNT of VECTOR. */
static inline void adam_update(struct ft_adam *adam, struct ft_mlp *n, float scale, size_t i,
                               size_t count)
{
  float *gradient = adam->gradient + i, *mean = adam->mean + i, *square = adam->square + i;

  for (size_t k = 0; k < count; k++) {
    float g = gradient[k];

    mean[k] = BETA1 * mean[k] + (1 - BETA1) * g;
    square[k] = BETA2 * square[k] + (1 - BETA2) * g * g;
    n->parameter[i + k] -= scale * mean[k] / (sqrtf(square[k]) + EPSILON);
    gradient[k] = 0;
  }
}

void ft_adam_step(struct ft_adam *adam, struct ft_mlp *n, float rate)
{
  double steps = (double)++adam->steps;
  float scale =
      rate * (float)(sqrt(1 - pow((double)BETA2, steps)) / (1 - pow((double)BETA1, steps)));
  size_t i = 0;

  for (; i + VECTOR <= n->parameters; i += VECTOR)
    adam_update(adam, n, scale, i, VECTOR);
  adam_update(adam, n, scale, i, n->parameters - i);
}

/* OUT += X * WEIGHT. */
static void add_weighted_row(float x, const float *weight, size_t count, float *out)
{
  size_t i = 0;

  for (; i + VECTOR <= count; i += VECTOR)
    for (size_t k = 0; k < VECTOR; k++)
      out[i + k] += x * weight[i + k];
  for (; i < count; i++)
    out[i] += x * weight[i];
}

void ft_mlp_predict(const struct ft_mlp *n, const float *in, float *out)
{
  float hidden[2][FT_MLP_WIDTH];
  const float *weight = n->parameter;

  for (size_t l = 0; l < n->layers; l++) {
    size_t ins = n->width[l], outs = n->width[l + 1];
    float *to = l + 1 < n->layers ? hidden[l % 2] : out;

    memcpy(to, weight + ins * outs, outs * sizeof *to);
    /* about half of the units are 0; their weights are skipped */
    for (size_t i = 0; i < ins; i++)
      if (in[i] != 0)
        add_weighted_row(in[i], weight + i * outs, outs, to);
    for (size_t i = 0; l + 1 < n->layers && i < outs; i++)
      to[i] = to[i] > 0 ? to[i] : 0;
    in = to;
    weight += layer_parameters(n, l);
  }
}

int ft_mlp_serialise(struct ft_number_stream *s, size_t ins, size_t outs, struct ft_mlp *n,
                     struct ft_error *err)
{
  ft_number_stream_count(s, &n->layers, 1, FT_MLP_LAYERS);
  for (size_t l = 1; l < n->layers; l++)
    ft_number_stream_count(s, &n->width[l], 1, FT_MLP_WIDTH);
  n->width[0] = ins;
  n->width[n->layers] = outs;
  if (count_mlp_parameters(n, err) < 0)
    return -1;
  ft_number_stream_floats(s, &n->parameter, n->parameters);
  return s->failed ? ft_error_set(err, "neural network: cut short or out of range") : 0;
}
