/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/dense.h"
#include "predictor/learn/number_stream.h"
#include "predictor/learn/regression/work_rates.h"

enum { TERMS = FT_WORK_RATES_COLUMNS + 1 };

/* Gauss-Newton steps. */
enum { ROUNDS = 20 };
/* Weight, in rows, of the shrinkage towards the mean rates over platforms. Chosen by
 * tests/bench/relative (aiwc). */
#define SHRINKAGE 1.0
/* Weight, in platforms, of the prior of the mean rates. Chosen by tests/bench/relative (aiwc). */
#define PRIOR_PLATFORMS 0.05
/* Prior fraction of the source time in the sum: near 1, so that all rows have one ratio unless the
 * data show another. The other terms have equal parts of the remainder. Chosen by
 * tests/bench/relative (aiwc). */
#define PRIOR_TIME_FRACTION 0.9
/* Largest change of a log rate in one step, so that steps far from the solution do not diverge. */
#define MAX_STEP 2.0

/*
 * Returns log(sum of exp(TERM[k] + RATE[k * STRIDE])). SHARE (NULL: not needed) gets the fraction
 * of each term in the sum, which is the derivative with respect to its rate.
 */
static double log_sum_exp(const double *term, const double *rate, size_t terms, size_t stride,
                          double *share)
{
  double largest = -INFINITY, sum = 0, part[TERMS];

  for (size_t k = 0; k < terms; k++)
    largest = fmax(largest, term[k] + rate[k * stride]);
  for (size_t k = 0; k < terms; k++) {
    part[k] = exp(term[k] + rate[k * stride] - largest);
    sum += part[k];
  }
  for (size_t k = 0; share && k < terms; k++)
    share[k] = part[k] / sum;
  return largest + log(sum);
}

/*
 * Fills TERM with the log work terms of row X; the first is constant. A missing work term (0) is
 * imputed by the source time: else a long run without counters would seem to do no work.
 */
static void fill_log_works(const struct ft_work_rates *w, const double *x, double *term)
{
  double time = w->scale[0] * x[w->column[0]];

  term[0] = 0;
  for (size_t k = 0; k < w->used; k++) {
    double value = x[w->column[k]];

    term[k + 1] = fabs(value) > 0 ? w->scale[k] * value : time;
  }
}

struct problem {
  size_t rows, terms;
  double *term;       /* term[row * terms + k] */
  double *target;     /* target[row * outputs + o], of mean 0 */
  double mean[TERMS]; /* mean of each rate over the outputs */
};

/* Makes one Gauss-Newton step of the rates of OUTPUT. Returns 0; -1 on error. */
static int gauss_newton_step(const struct problem *p, size_t output, struct ft_work_rates *w,
                             struct ft_error *err)
{
  double a[TERMS * TERMS] = { 0 }, b[TERMS] = { 0 }, share[TERMS];
  size_t n = p->terms;

  for (size_t r = 0; r < p->rows; r++) {
    double residual = log_sum_exp(p->term + r * n, w->rate + output, n, w->outputs, share) -
                      p->target[r * w->outputs + output];

    for (size_t i = 0; i < n; i++) {
      b[i] += share[i] * residual;
      for (size_t j = 0; j <= i; j++)
        a[i * n + j] += share[i] * share[j];
    }
  }
  for (size_t i = 0; i < n; i++) {
    a[i * n + i] += SHRINKAGE;
    b[i] += SHRINKAGE * (w->rate[i * w->outputs + output] - p->mean[i]);
    for (size_t j = 0; j < i; j++)
      a[j * n + i] = a[i * n + j];
  }
  if (ft_dense_solve(a, n, b, 1, NULL, err) < 0)
    return -1;
  for (size_t i = 0; i < n; i++)
    w->rate[i * w->outputs + output] -= fmin(fmax(b[i], -MAX_STEP), MAX_STEP);
  return 0;
}

/* Returns the prior mean of the rate of TERM, of TERMS. Term 1 is the source time. */
static double prior_rate(size_t term, size_t terms)
{
  return term == 1 ? log(PRIOR_TIME_FRACTION)
                   : log((1 - PRIOR_TIME_FRACTION) / (double)(terms - 1));
}

/* Sets p->mean to the most probable mean rates, given the platforms' rates and the prior. */
static void update_mean_rates(struct problem *p, const struct ft_work_rates *w)
{
  for (size_t k = 0; k < p->terms; k++) {
    double sum = PRIOR_PLATFORMS * prior_rate(k, p->terms);

    for (size_t o = 0; o < w->outputs; o++)
      sum += w->rate[k * w->outputs + o];
    p->mean[k] = sum / ((double)w->outputs + PRIOR_PLATFORMS);
  }
}

static int solve_work_rates(const struct ft_samples *s, struct problem *p, struct ft_work_rates *w,
                            struct ft_error *err)
{
  for (size_t r = 0; r < p->rows; r++) {
    const double *x = s->x + r * s->rows / p->rows * s->columns;
    const double *y = s->y + r * s->rows / p->rows * s->outputs;

    fill_log_works(w, x, p->term + r * p->terms);
    for (size_t o = 0; o < s->outputs; o++) {
      p->target[r * s->outputs + o] = y[o] + p->term[r * p->terms + 1];
      w->mean[o] += p->target[r * s->outputs + o] / (double)p->rows;
    }
  }
  for (size_t i = 0; i < p->rows * s->outputs; i++)
    p->target[i] -= w->mean[i % s->outputs];
  for (size_t i = 0; i < p->terms * s->outputs; i++)
    w->rate[i] = prior_rate(i / s->outputs, p->terms);
  for (int round = 0; round < ROUNDS; round++) {
    update_mean_rates(p, w);
    for (size_t o = 0; o < s->outputs; o++)
      if (gauss_newton_step(p, o, w, err) < 0)
        return -1;
  }
  return 0;
}

int ft_work_rates_fit(const struct ft_samples *s, const double *scale, struct ft_work_rates *w,
                      struct ft_error *err)
{
  struct problem p = { .rows = s->rows < FT_WORK_RATES_ROWS ? s->rows : FT_WORK_RATES_ROWS };
  int status = -1;

  *w = (struct ft_work_rates){ .outputs = s->outputs };
  for (size_t c = 0; c < s->columns && w->used < FT_WORK_RATES_COLUMNS; c++)
    if (scale[c] > 0) {
      w->column[w->used] = (uint32_t)c;
      w->scale[w->used++] = scale[c];
    }
  p.terms = w->used + 1;
  w->mean = calloc(s->outputs + 1, sizeof *w->mean);
  w->rate = calloc(p.terms * s->outputs + 1, sizeof *w->rate);
  p.term = calloc(p.rows * p.terms + 1, sizeof *p.term);
  p.target = calloc(p.rows * s->outputs + 1, sizeof *p.target);
  if (!w->mean || !w->rate || !p.term || !p.target)
    ft_error_set(err, "work rates: out of memory");
  else if (!p.rows || !w->used || w->column[0] != 0)
    ft_error_set(err, "work rates: no rows, or no source time");
  else
    status = solve_work_rates(s, &p, w, err);
  free(p.term);
  free(p.target);
  return status;
}

void ft_work_rates_add(const struct ft_work_rates *w, const double *x, double *out)
{
  double term[TERMS];

  fill_log_works(w, x, term);
  for (size_t o = 0; o < w->outputs; o++)
    out[o] += w->mean[o] + log_sum_exp(term, w->rate + o, w->used + 1, w->outputs, NULL) - term[1];
}

int ft_work_rates_serialise(struct ft_number_stream *s, size_t columns, size_t outputs,
                            struct ft_work_rates *w, struct ft_error *err)
{
  w->outputs = outputs;
  ft_number_stream_count(s, &w->used, 1, FT_WORK_RATES_COLUMNS);
  for (size_t k = 0; k < w->used; k++)
    ft_number_stream_index(s, &w->column[k], 0, columns - 1);
  ft_number_stream_doubles(s, w->scale, w->used);
  ft_number_stream_vector(s, &w->mean, outputs);
  ft_number_stream_vector(s, &w->rate, (w->used + 1) * outputs);
  return s->failed ? ft_error_set(err, "work rates: cut short or out of range") : 0;
}

void ft_work_rates_free(struct ft_work_rates *w)
{
  if (!w)
    return;
  free(w->mean);
  free(w->rate);
  *w = (struct ft_work_rates){ 0 };
}
