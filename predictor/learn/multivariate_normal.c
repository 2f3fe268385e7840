/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/dense.h"
#include "predictor/learn/multivariate_normal.h"

enum {
  MIN_ROUNDS = 3,   /* fewest rounds of expectation-maximisation */
  MAX_ROUNDS = 1000 /* the error of a column known in 1 % of the rows falls by 1 % per round */
};
/* Largest number of multiplications of a fit, a few seconds; MIN_ROUNDS are always made. */
static const double max_multiplications = 4e9;
/* Convergence: largest change of an imputed number or covariance in a round, in standard
 * deviations. */
static const double tolerance = 1e-5;

/* Added to every variance in each round, so that the covariance matrix of constant and unknown
 * columns stays invertible. */
#define RIDGE 1e-9

/* State of expectation-maximisation. */
struct completion {
  size_t rows;
  double *out;     /* rows x outputs: the table with imputed numbers */
  uint64_t *gaps;  /* per row: bit O is set if output O is missing */
  size_t *order;   /* row indices, sorted by gaps */
  double *gap_covariance; /* outputs x outputs: conditional covariance of imputed numbers, summed
                             over rows */
  double *weights;  /* outputs x outputs: regression weights for one pattern of missing outputs */
  double *previous; /* previous round: rows x outputs numbers, then outputs x outputs covariances */
};

/*
 * Regresses all outputs on the COUNT outputs OBSERVED, which have measurement variances NOISE.
 * weights[i * outputs + o] is the weight of observed[i] for output o. Returns 0; -1 on error.
 */
static int regress_on_observed(const struct ft_multivariate_normal *g, const size_t *observed,
                               size_t count, const double *noise, double *weights,
                               struct ft_error *err)
{
  size_t n = g->outputs;
  double *a = calloc(count * count + 1, sizeof *a);
  int status;

  if (!a)
    return ft_error_set(err, "normal distribution: out of memory");
  for (size_t i = 0; i < count; i++) {
    for (size_t j = 0; j < count; j++)
      a[i * count + j] = g->covariance[observed[i] * n + observed[j]];
    a[i * count + i] += noise[observed[i]] + 1e-12;
    memcpy(weights + i * n, g->covariance + observed[i] * n, n * sizeof *weights);
  }
  status = ft_dense_solve(a, count, weights, n, NULL, err);
  free(a);
  return status;
}

/* Returns the conditional covariance of outputs A and B given the COUNT outputs OBSERVED, whose
 * regression weights are WEIGHTS. */
static double conditional_covariance(const struct ft_multivariate_normal *g, const size_t *observed,
                                     size_t count, const double *weights, size_t a, size_t b)
{
  double covariance = g->covariance[a * g->outputs + b];

  for (size_t i = 0; i < count; i++)
    covariance -= g->covariance[a * g->outputs + observed[i]] * weights[i * g->outputs + b];
  return covariance;
}

int ft_multivariate_normal_condition(const struct ft_multivariate_normal *g, const double *known,
                                     const double *noise, double *expected, double *variance,
                                     struct ft_error *err)
{
  size_t observed[FT_MULTIVARIATE_NORMAL_OUTPUTS], count = 0, n = g->outputs;
  double *weights;

  for (size_t o = 0; o < n; o++)
    if (!isnan(known[o]))
      observed[count++] = o;
  weights = calloc(count * n + 1, sizeof *weights);
  if (!weights)
    return ft_error_set(err, "normal distribution: out of memory");
  if (regress_on_observed(g, observed, count, noise, weights, err) < 0) {
    free(weights);
    return -1;
  }
  for (size_t o = 0; o < n; o++) {
    expected[o] = 0;
    for (size_t i = 0; i < count; i++)
      expected[o] += weights[i * n + o] * known[observed[i]];
    if (variance)
      variance[o] = fmax(conditional_covariance(g, observed, count, weights, o, o), 0);
  }
  free(weights);
  return 0;
}

/* Maximisation step: sets G to the mean and the shrunk covariance of the imputed table. */
static void maximise_expectation(const struct completion *c, struct ft_multivariate_normal *g)
{
  size_t n = g->outputs, rows = c->rows;
  double shrinkage = (double)rows / (double)(rows + n), m = (double)(rows ? rows : 1);

  memset(g->mean, 0, n * sizeof *g->mean);
  memcpy(g->covariance, c->gap_covariance, n * n * sizeof *g->covariance);
  for (size_t r = 0; r < rows; r++)
    for (size_t o = 0; o < n; o++)
      g->mean[o] += c->out[r * n + o] / m;
  for (size_t r = 0; r < rows; r++)
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < n; j++)
        g->covariance[i * n + j] +=
            (c->out[r * n + i] - g->mean[i]) * (c->out[r * n + j] - g->mean[j]);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      g->covariance[i * n + j] *= (i == j ? 1 : shrinkage) / m;
  for (size_t o = 0; o < n; o++)
    g->covariance[o * n + o] += RIDGE;
}

/* Imputes the missing outputs of ROW, bits of GAPS, from its COUNT OBSERVED ones by WEIGHTS. */
static void fill_row(const struct ft_multivariate_normal *g, const size_t *observed, size_t count,
                     const double *weights, uint64_t gaps, double *row)
{
  for (size_t o = 0; o < g->outputs; o++) {
    if (!(gaps >> o & 1))
      continue;
    row[o] = g->mean[o];
    for (size_t i = 0; i < count; i++)
      row[o] += weights[i * g->outputs + o] * (row[observed[i]] - g->mean[observed[i]]);
  }
}

/* Expectation step for COUNT rows with the same missing outputs: imputes these and adds their
 * conditional covariance. */
static int fill_pattern(struct completion *c, const struct ft_multivariate_normal *g,
                        const size_t *row, size_t count, struct ft_error *err)
{
  static const double noise[FT_MULTIVARIATE_NORMAL_OUTPUTS] = { 0 };
  size_t observed[FT_MULTIVARIATE_NORMAL_OUTPUTS], observed_count = 0, n = g->outputs;
  uint64_t gaps = c->gaps[row[0]];

  for (size_t o = 0; o < n; o++)
    if (!(gaps >> o & 1))
      observed[observed_count++] = o;
  if (observed_count == n)
    return 0;
  if (regress_on_observed(g, observed, observed_count, noise, c->weights, err) < 0)
    return -1;
  for (size_t r = 0; r < count; r++)
    fill_row(g, observed, observed_count, c->weights, gaps, c->out + row[r] * n);
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n; b++)
      if (gaps >> a & 1 && gaps >> b & 1)
        c->gap_covariance[a * n + b] +=
            (double)count * conditional_covariance(g, observed, observed_count, c->weights, a, b);
  return 0;
}

/* Returns the number of rows from AT on, in the sorted order, with the same missing outputs as row
 * AT. */
static size_t count_same_pattern(const struct completion *c, size_t at)
{
  size_t end = at + 1;

  while (end < c->rows && c->gaps[c->order[end]] == c->gaps[c->order[at]])
    end++;
  return end - at;
}

static int fill_all_gaps(struct completion *c, const struct ft_multivariate_normal *g,
                         struct ft_error *err)
{
  memset(c->gap_covariance, 0, g->outputs * g->outputs * sizeof *c->gap_covariance);
  for (size_t at = 0, count; at < c->rows; at += count) {
    count = count_same_pattern(c, at);
    if (fill_pattern(c, g, c->order + at, count, err) < 0)
      return -1;
  }
  return 0;
}

/* Returns the rounds within max_multiplications: each pattern of missing outputs costs n^3, each
 * row n^2 multiplications. */
static int count_em_rounds(const struct completion *c, size_t outputs)
{
  double n = (double)outputs, each = (double)c->rows * n * n;
  bool gaps = false;

  for (size_t at = 0; at < c->rows; at += count_same_pattern(c, at))
    if (c->gaps[c->order[at]]) {
      gaps = true;
      each += n * n * n;
    }
  return gaps ? (int)fmin(fmax(max_multiplications / each, MIN_ROUNDS), MAX_ROUNDS) : 0;
}

/* Returns the largest change of an imputed number or covariance since the previous round, in
 * standard deviations, and stores this round as the previous one. */
static double largest_change(struct completion *c, const struct ft_multivariate_normal *g)
{
  size_t n = g->outputs, cells = c->rows * n;
  double largest = 0, deviation[FT_MULTIVARIATE_NORMAL_OUTPUTS], *previous = c->previous + cells;

  for (size_t o = 0; o < n; o++)
    deviation[o] = sqrt(g->covariance[o * n + o]);
  for (size_t i = 0; i < cells; i++)
    largest = fmax(largest, fabs(c->out[i] - c->previous[i]) / deviation[i % n]);
  for (size_t i = 0; i < n * n; i++)
    largest = fmax(largest, (fabs(g->covariance[i] - previous[i]) - 2 * RIDGE) /
                                (deviation[i / n] * deviation[i % n]));
  memcpy(c->previous, c->out, cells * sizeof *c->previous);
  memcpy(previous, g->covariance, n * n * sizeof *previous);
  return largest;
}

/* Imputes each missing number with the mean of its column, and fills c->gaps. */
static void fill_with_means(const double *y, size_t outputs, struct completion *c)
{
  for (size_t o = 0; o < outputs; o++) {
    double sum = 0, count = 0;

    for (size_t r = 0; r < c->rows; r++)
      if (isnan(y[r * outputs + o])) {
        c->gaps[r] |= UINT64_C(1) << o;
      } else {
        sum += y[r * outputs + o];
        count++;
      }
    for (size_t r = 0; r < c->rows; r++)
      c->out[r * outputs + o] = !isnan(y[r * outputs + o]) ? y[r * outputs + o]
                                : count > 0                ? sum / count
                                                           : 0;
  }
}

static int compare_gaps(const void *a, const void *b, void *data)
{
  const struct completion *c = data;
  const size_t *p = a, *q = b;
  uint64_t x = c->gaps[*p], y = c->gaps[*q];

  return x != y ? (x > y) - (x < y) : (*p > *q) - (*p < *q);
}

int ft_multivariate_normal_fit(const double *y, size_t rows, size_t outputs, double *out,
                               struct ft_multivariate_normal *g, struct ft_error *err)
{
  struct completion c = { .rows = rows, .out = out };
  int rounds, status = -1;

  if (outputs < 1 || outputs > FT_MULTIVARIATE_NORMAL_OUTPUTS)
    return ft_error_set(err, "normal distribution: %zu outputs; expected 1 to %d", outputs,
                        FT_MULTIVARIATE_NORMAL_OUTPUTS);
  g->outputs = outputs;
  c.gaps = calloc(rows + 1, sizeof *c.gaps);
  c.order = calloc(rows + 1, sizeof *c.order);
  c.gap_covariance = calloc(outputs * outputs, sizeof *c.gap_covariance);
  c.weights = calloc(outputs * outputs, sizeof *c.weights);
  c.previous = calloc(rows * outputs + outputs * outputs, sizeof *c.previous);
  if (!c.gaps || !c.order || !c.gap_covariance || !c.weights || !c.previous) {
    ft_error_set(err, "normal distribution: out of memory");
    goto out;
  }
  fill_with_means(y, outputs, &c);
  for (size_t r = 0; r < rows; r++)
    c.order[r] = r;
  qsort_r(c.order, rows, sizeof *c.order, compare_gaps, &c);
  maximise_expectation(&c, g);
  (void)largest_change(&c, g);
  rounds = count_em_rounds(&c, outputs);
  status = 0;
  for (int round = 0; status == 0 && round < rounds; round++) {
    status = fill_all_gaps(&c, g, err);
    maximise_expectation(&c, g);
    if (largest_change(&c, g) < tolerance)
      break;
  }
out:
  free(c.gaps);
  free(c.order);
  free(c.gap_covariance);
  free(c.weights);
  free(c.previous);
  return status;
}
