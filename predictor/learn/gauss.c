/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/dense.h"
#include "predictor/learn/gauss.h"

/*
 * A column known of one row in a hundred nears what it converges to by a hundredth a round: rounds
 * are made until nothing changes, as many as WORK multiplications allow.
 */
enum { LEAST_ROUNDS = 3, MOST_ROUNDS = 1000 };
static const double work = 4e9, settled = 1e-5;

int ft_gauss_condition(const struct ft_gauss *g, const double *known, const double *noise,
                       double *expected, double *variance, struct ft_error *err)
{
  size_t seen[FT_GAUSS_OUTPUTS], count = 0, n = g->outputs;
  double *a, *b;
  int status = -1;

  for (size_t o = 0; o < n; o++)
    if (!isnan(known[o]))
      seen[count++] = o;
  a = calloc(count * count + 1, sizeof *a);
  b = calloc(count * (n + 1) + 1, sizeof *b);
  if (!a || !b) {
    ft_error_set(err, "a normal distribution: out of memory");
    goto out;
  }
  /* right sides: the known deviations, then the covariances with each output */
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++)
      a[i * count + j] = g->covariance[seen[i] * n + seen[j]];
    a[i * count + i] += noise[seen[i]] + 1e-12;
    b[i * (n + 1)] = known[seen[i]];
    for (size_t o = 0; o < n; o++)
      b[i * (n + 1) + o + 1] = g->covariance[seen[i] * n + o];
  }
  if (ft_dense_solve(a, count, b, n + 1, NULL, err) < 0)
    goto out;
  for (size_t o = 0; o < n; o++) {
    expected[o] = 0;
    if (variance)
      variance[o] = g->covariance[o * n + o];
    for (size_t i = 0; i < count; i++) {
      double c = g->covariance[o * n + seen[i]];

      expected[o] += c * b[i * (n + 1)];
      if (variance)
        variance[o] -= c * b[i * (n + 1) + o + 1];
    }
    if (variance)
      variance[o] = fmax(variance[o], 0);
  }
  status = 0;
out:
  free(a);
  free(b);
  return status;
}

/* Mean and shrunk covariance of OUT; SPREAD is what completing left uncertain. */
static void estimate(const double *out, size_t rows, const double *spread, struct ft_gauss *g)
{
  size_t n = g->outputs;
  double keep = (double)rows / (double)(rows + n), m = (double)(rows ? rows : 1);

  memset(g->mean, 0, n * sizeof *g->mean);
  memset(g->covariance, 0, n * n * sizeof *g->covariance);
  for (size_t r = 0; r < rows; r++)
    for (size_t o = 0; o < n; o++)
      g->mean[o] += out[r * n + o] / m;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        g->covariance[i * n + j] +=
            (out[r * n + i] - g->mean[i]) * (out[r * n + j] - g->mean[j]) / m * (i == j ? 1 : keep);
  for (size_t o = 0; o < n; o++)
    g->covariance[o * n + o] += spread[o] / m + 1e-9;
}

/* Expectation: every gap of row R, whose sure numbers are in Y. */
static int fill(const double *y, struct ft_gauss *g, double *out, double *spread,
                struct ft_error *err)
{
  double known[FT_GAUSS_OUTPUTS], noise[FT_GAUSS_OUTPUTS] = { 0 }, expected[FT_GAUSS_OUTPUTS];
  double variance[FT_GAUSS_OUTPUTS];
  size_t gaps = 0;

  for (size_t o = 0; o < g->outputs; o++) {
    known[o] = y[o] - g->mean[o];
    gaps += isnan(y[o]);
  }
  if (!gaps)
    return 0;
  if (ft_gauss_condition(g, known, noise, expected, variance, err) < 0)
    return -1;
  for (size_t o = 0; o < g->outputs; o++)
    if (isnan(y[o])) {
      out[o] = g->mean[o] + expected[o];
      spread[o] += variance[o];
    }
  return 0;
}

/* As many rounds as their work allows: of each row with gaps a system of equations is solved. */
static int rounds_of(const double *y, size_t rows, size_t outputs)
{
  double each = (double)outputs * (double)outputs * (double)outputs, gaps = 0;

  for (size_t r = 0; r < rows; r++)
    for (size_t o = 0; o < outputs; o++)
      if (isnan(y[r * outputs + o])) {
        gaps++;
        break;
      }
  return gaps > 0 ? (int)fmin(fmax(work / (gaps * each), LEAST_ROUNDS), MOST_ROUNDS) : 0;
}

/* By how much BEFORE and what is now in OUT differ at most, in deviations of their column. */
static double changed(double *before, const double *out, size_t rows, const struct ft_gauss *g)
{
  double most = 0;

  for (size_t i = 0; i < rows * g->outputs; i++) {
    size_t o = i % g->outputs;

    most = fmax(most, fabs(out[i] - before[i]) / sqrt(g->covariance[o * g->outputs + o]));
    before[i] = out[i];
  }
  return most;
}

int ft_gauss_fit(const double *y, size_t rows, size_t outputs, double *out, struct ft_gauss *g,
                 struct ft_error *err)
{
  double spread[FT_GAUSS_OUTPUTS], *before;
  int rounds = rounds_of(y, rows, outputs), status = 0;

  if (outputs < 1 || outputs > FT_GAUSS_OUTPUTS)
    return ft_error_set(err, "%zu outputs; expected 1 to %d", outputs, FT_GAUSS_OUTPUTS);
  g->outputs = outputs;
  memset(spread, 0, sizeof spread);
  for (size_t o = 0; o < outputs; o++) {
    double sum = 0, count = 0;

    for (size_t r = 0; r < rows; r++)
      if (!isnan(y[r * outputs + o])) {
        sum += y[r * outputs + o];
        count++;
      }
    for (size_t r = 0; r < rows; r++)
      out[r * outputs + o] = !isnan(y[r * outputs + o]) ? y[r * outputs + o]
                             : count > 0                ? sum / count
                                                        : 0;
  }
  estimate(out, rows, spread, g);
  before = calloc(rows * outputs + 1, sizeof *before);
  if (!before)
    return ft_error_set(err, "a normal distribution: out of memory");
  (void)changed(before, out, rows, g);
  for (int round = 0; status == 0 && round < rounds; round++) {
    memset(spread, 0, sizeof spread);
    for (size_t r = 0; r < rows && status == 0; r++)
      status = fill(y + r * outputs, g, out + r * outputs, spread, err);
    estimate(out, rows, spread, g);
    if (changed(before, out, rows, g) < settled)
      break;
  }
  free(before);
  return status;
}
