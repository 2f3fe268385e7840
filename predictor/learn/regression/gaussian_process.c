/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/dense.h"
#include "predictor/learn/number_stream.h"
#include "predictor/learn/regression/gaussian_process.h"

/* Grids on which the hyperparameters are learnt, for columns of standard deviation 1. */

/* Length scale, in root mean square differences of two rows. */
static const double lengths[] = { 0.4, 0.8, 1.5, 3 };
/* Weight of the linear kernel beside the Matern kernel. */
static const double linears[] = { 0, 0.1, 1 };
/* Noise variance, as a multiple of the Matern kernel's amplitude. */
static const double noises[] = { 0.01, 0.05, 0.2, 1 };

/* Computes the inputs of all kernels: the root mean square difference of rows A and B, and their
 * inner product divided by COLUMNS. */
static void compare_rows(const double *a, const double *b, size_t columns, double *distance,
                         double *product)
{
  double squares = 0, sum = 0;

  for (size_t c = 0; c < columns; c++) {
    squares += (a[c] - b[c]) * (a[c] - b[c]);
    sum += a[c] * b[c];
  }
  *distance = sqrt(squares / (double)(columns ? columns : 1));
  *product = sum / (double)(columns ? columns : 1);
}

static double kernel_value(double distance, double product, double length, double linear)
{
  double r = sqrt(3) * distance / length;

  return (1 + r) * exp(-r) + linear * product;
}

/* Sets the components of P to the leading principal components of Y - mean, and SCORES[row *
 * FT_GAUSSIAN_PROCESS_COMPONENTS + component] to the rows' scores. Returns 0; -1 on error. */
static int principal_components(struct ft_gaussian_process *p, const double *y, double *scores,
                                struct ft_error *err)
{
  size_t n = p->outputs;
  double *square = calloc(n * n, sizeof *square), *vector = calloc(n * n, sizeof *vector);
  double *value = calloc(n, sizeof *value);
  int status = -1;

  if (!square || !vector || !value) {
    ft_error_set(err, "Gaussian process: out of memory");
    goto out;
  }
  for (size_t r = 0; r < p->rows; r++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        square[i * n + j] += (y[r * n + i] - p->mean[i]) * (y[r * n + j] - p->mean[j]);
  if (ft_dense_eigen(square, n, value, vector, err) < 0)
    goto out;
  for (p->components = 0; p->components < n && p->components < FT_GAUSSIAN_PROCESS_COMPONENTS;
       p->components++) {
    struct ft_gaussian_process_component *component = &p->component[p->components];

    component->alpha = calloc(p->rows, sizeof *component->alpha);
    component->direction = calloc(n, sizeof *component->direction);
    if (!component->alpha || !component->direction) {
      p->components++;
      ft_error_set(err, "Gaussian process: out of memory");
      goto out;
    }
    for (size_t o = 0; o < n; o++)
      component->direction[o] = vector[o * n + p->components];
    for (size_t r = 0; r < p->rows; r++) {
      double *score = &scores[r * FT_GAUSSIAN_PROCESS_COMPONENTS + p->components];

      for (size_t o = 0; o < n; o++)
        *score += (y[r * n + o] - p->mean[o]) * component->direction[o];
    }
  }
  status = 0;
out:
  free(square);
  free(vector);
  free(value);
  return status;
}

/* Stores the kernel of LENGTH and LINEAR in each component whose marginal likelihood is above BEST
 * with it, and updates BEST. SOLVED: inverse covariance matrix times SCORES. */
static void keep_better_kernel(struct ft_gaussian_process *p, const double *scores,
                               const double *solved, double logdet, double length, double linear,
                               double *best)
{
  for (size_t k = 0; k < p->components; k++) {
    double sum = 0, likelihood;

    for (size_t r = 0; r < p->rows; r++)
      sum += scores[r * FT_GAUSSIAN_PROCESS_COMPONENTS + k] *
             solved[r * FT_GAUSSIAN_PROCESS_COMPONENTS + k];
    /* log marginal likelihood with the amplitude at its maximum */
    likelihood = -logdet - (double)p->rows * log(fmax(sum, 1e-300));
    if (!(likelihood > best[k]))
      continue;
    best[k] = likelihood;
    p->component[k].length = length;
    p->component[k].linear = linear;
    for (size_t r = 0; r < p->rows; r++)
      p->component[k].alpha[r] = solved[r * FT_GAUSSIAN_PROCESS_COMPONENTS + k];
  }
}

/* Chooses the kernel of each component on the grids. Returns 0; -1 on error. */
static int choose_kernels(struct ft_gaussian_process *p, const double *scores, struct ft_error *err)
{
  size_t n = p->rows, count = sizeof lengths / sizeof *lengths, trials;
  double *distance = calloc(n * n, sizeof *distance), *product = calloc(n * n, sizeof *product);
  double *k = calloc(n * n, sizeof *k),
         *solved = calloc(n * FT_GAUSSIAN_PROCESS_COMPONENTS, sizeof *solved);
  double best[FT_GAUSSIAN_PROCESS_COMPONENTS];
  int status = -1;

  trials = count * (sizeof linears / sizeof *linears) * (sizeof noises / sizeof *noises);
  for (size_t i = 0; i < FT_GAUSSIAN_PROCESS_COMPONENTS; i++)
    best[i] = -INFINITY;
  if (!distance || !product || !k || !solved) {
    ft_error_set(err, "Gaussian process: out of memory");
    goto out;
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      compare_rows(p->x + i * p->columns, p->x + j * p->columns, p->columns, &distance[i * n + j],
                   &product[i * n + j]);
  for (size_t t = 0; t < trials; t++) {
    double length = lengths[t % count], logdet;
    double linear = linears[t / count % (sizeof linears / sizeof *linears)];
    double noise = noises[t / count / (sizeof linears / sizeof *linears)];
    struct ft_error ignored;

    for (size_t i = 0; i < n * n; i++)
      k[i] = kernel_value(distance[i], product[i], length, linear) + (i % (n + 1) ? 0 : noise);
    memcpy(solved, scores, n * FT_GAUSSIAN_PROCESS_COMPONENTS * sizeof *solved);
    if (ft_dense_solve(k, n, solved, FT_GAUSSIAN_PROCESS_COMPONENTS, &logdet, &ignored) == 0)
      keep_better_kernel(p, scores, solved, logdet, length, linear, best);
  }
  status =
      isfinite(best[0]) ? 0 : ft_error_set(err, "Gaussian process: covariance matrix is singular");
out:
  free(distance);
  free(product);
  free(k);
  free(solved);
  return status;
}

int ft_gaussian_process_fit(const struct ft_samples *s, struct ft_gaussian_process *p,
                            struct ft_error *err)
{
  size_t rows = s->rows < FT_GAUSSIAN_PROCESS_ROWS ? s->rows : FT_GAUSSIAN_PROCESS_ROWS;
  double *y = calloc(rows * s->outputs + 1, sizeof *y), *scores;
  int status = -1;

  scores = calloc(rows * FT_GAUSSIAN_PROCESS_COMPONENTS + 1, sizeof *scores);
  *p = (struct ft_gaussian_process){ .rows = rows, .columns = s->columns, .outputs = s->outputs };
  p->x = calloc(rows * s->columns + 1, sizeof *p->x);
  p->mean = calloc(s->outputs + 1, sizeof *p->mean);
  if (!y || !scores || !p->x || !p->mean || !rows || !s->outputs) {
    ft_error_set(err, "Gaussian process: no rows, or out of memory");
    goto out;
  }
  for (size_t r = 0; r < rows; r++) {
    size_t from = r * s->rows / rows;

    memcpy(p->x + r * s->columns, s->x + from * s->columns, s->columns * sizeof *p->x);
    memcpy(y + r * s->outputs, s->y + from * s->outputs, s->outputs * sizeof *y);
    for (size_t o = 0; o < s->outputs; o++)
      p->mean[o] += s->y[from * s->outputs + o] / (double)rows;
  }
  if (principal_components(p, y, scores, err) == 0)
    status = choose_kernels(p, scores, err);
out:
  free(y);
  free(scores);
  return status;
}

void ft_gaussian_process_add(const struct ft_gaussian_process *p, const double *x, double *out)
{
  double score[FT_GAUSSIAN_PROCESS_COMPONENTS] = { 0 };

  for (size_t r = 0; r < p->rows; r++) {
    double distance, product;

    compare_rows(x, p->x + r * p->columns, p->columns, &distance, &product);
    for (size_t k = 0; k < p->components; k++)
      score[k] += p->component[k].alpha[r] *
                  kernel_value(distance, product, p->component[k].length, p->component[k].linear);
  }
  for (size_t o = 0; o < p->outputs; o++) {
    out[o] += p->mean[o];
    for (size_t k = 0; k < p->components; k++)
      out[o] += score[k] * p->component[k].direction[o];
  }
}

int ft_gaussian_process_serialise(struct ft_number_stream *s, size_t columns, size_t outputs,
                                  struct ft_gaussian_process *p, struct ft_error *err)
{
  p->columns = columns;
  p->outputs = outputs;
  ft_number_stream_count(s, &p->rows, 1, FT_GAUSSIAN_PROCESS_ROWS);
  ft_number_stream_count(s, &p->components, 0, FT_GAUSSIAN_PROCESS_COMPONENTS);
  ft_number_stream_vector(s, &p->x, p->rows * columns);
  ft_number_stream_vector(s, &p->mean, outputs);
  for (size_t k = 0; k < p->components; k++) {
    ft_number_stream_double(s, &p->component[k].length);
    ft_number_stream_double(s, &p->component[k].linear);
    s->failed |= !(p->component[k].length > 0);
    ft_number_stream_vector(s, &p->component[k].alpha, p->rows);
    ft_number_stream_vector(s, &p->component[k].direction, outputs);
  }
  return s->failed ? ft_error_set(err, "Gaussian process: cut short or out of range") : 0;
}

void ft_gaussian_process_free(struct ft_gaussian_process *p)
{
  if (!p)
    return;
  free(p->x);
  free(p->mean);
  for (size_t k = 0; k < FT_GAUSSIAN_PROCESS_COMPONENTS; k++) {
    free(p->component[k].alpha);
    free(p->component[k].direction);
  }
  *p = (struct ft_gaussian_process){ 0 };
}
