/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/learn/cholesky.h"
#include "predictor/learn/regression/additive_work.h"

enum { ROUNDS = 4 /* largest number of reweightings; half and twice were compared */ };
/* Largest number of runs for which curves are tried: with more they double the time of a fit, and
 * the search for equations finds them. Chosen by tests/bench/estimate. */
enum { CURVE_RUNS = 64 };
/* Fewest runs beyond its numbers for a power law of all numbers. */
enum { SPARE_RUNS = 4 };

/* Huber's threshold in standard deviations: 95 % efficient for normal residuals (Huber 1964). */
#define HUBER 1.345
/* Convergence: largest relative change of a weight. Half and twice were compared. */
#define CONVERGED 0.02
/* Clamp of a row's leverage in a leave-one-out residual. Half and twice were compared. */
#define MAX_LEVERAGE 0.95
/* Standard deviation of a normal distribution over its median absolute deviation. */
#define MAD_TO_DEVIATION 1.4826
/* Smallest standard deviation of the residuals, log units. */
#define MIN_DEVIATION 1e-3
/* Smallest ridge penalty, in rows. */
#define MIN_PENALTY 1e-3
/* Largest ratio of the error of a fit with terms, or of one with a plain target, to the smallest
 * error so far. Half and twice were compared. */
#define FORM_ERROR 0.98
/* Largest ratio of the error of a power law of all numbers, which were not chosen, to that without
 * terms. Chosen by tests/bench/runtime_laws. */
#define POWER_LAW_ERROR 0.8
/* Largest ratio of the error with a curve of a number to that with the number or its logarithm.
 * Half and twice were compared. */
#define CURVE_GAIN 0.8
/* The same of an exponential to the error of another form. Half and twice were compared. */
#define EXPONENTIAL_GAIN 0.5
/* Change of a logarithm over the range of a number from which a line and an exponential differ.
 * Half and twice were compared. */
#define EXPONENTIAL_SPAN 0.5

size_t ft_additive_work_size(void)
{
  return sizeof(struct ft_additive_work);
}

/* Fills the design matrix of A. Returns its number of columns. */
static size_t make_design(struct ft_additive_work *w, const struct attempt *a)
{
  double *x = w->design;

  for (size_t i = 0; i < w->data->runs; i++) {
    *x++ = 1;
    for (size_t t = 0; t < a->terms; t++) {
      const struct candidate *c = &w->candidate[a->chosen[t]];
      int level;

      if (!c->levels) {
        *x++ = w->z[a->chosen[t]][i];
        continue;
      }
      level = level_of(w, c, i);
      memset(x, 0, c->levels * sizeof *x);
      if (level >= 0)
        x[level] = 1;
      x += c->levels;
    }
  }
  return (size_t)(x - w->design) / w->data->runs;
}

/* Solves the weighted ridge regression. PENALTY is in rows of average weight and does not apply to
 * the intercept. */
static void solve_weighted_ridge(struct ft_additive_work *w, size_t width, double penalty)
{
  double *b = w->solution, all = 0;

  for (size_t j = 0; j < width; j++)
    memset(w->gram[j], 0, width * sizeof *w->gram[j]);
  memset(b, 0, sizeof w->solution);
  for (size_t i = 0; i < w->data->runs; i++) {
    const double *x = &w->design[i * width];

    all += w->weight[i];
    for (size_t j = 0; j < width; j++) {
      double wx = w->weight[i] * x[j];

      if (wx == 0)
        continue;
      b[j] += wx * w->target[i];
      for (size_t k = 0; k <= j; k++)
        w->gram[j][k] += wx * x[k];
    }
  }
  for (size_t j = 1; j < width; j++)
    w->gram[j][j] += penalty * all / (double)w->data->runs;
  (void)ft_cholesky_factor(*w->gram, PARAMETERS, width);
  ft_cholesky_solve(*w->gram, PARAMETERS, width, b, 1);
}

/* Returns the leverage of ROW, a diagonal element of the hat matrix. */
static double row_leverage(const struct ft_additive_work *w, size_t width, size_t row)
{
  const double *x = &w->design[row * width];
  double u[PARAMETERS], sum = 0;

  memcpy(u, x, width * sizeof *u);
  ft_cholesky_forward(*w->gram, PARAMETERS, width, u, 1);
  for (size_t j = 0; j < width; j++)
    sum += u[j] * u[j];
  return w->weight[row] * sum;
}

/* Computes the leave-one-out residuals and the next row weights. Returns whether a weight changed
 * by more than CONVERGED. */
static bool update_row_weights(struct ft_additive_work *w, struct attempt *a, size_t width)
{
  size_t runs = w->data->runs;
  double centre, scale;
  bool changed = false;

  for (size_t i = 0; i < runs; i++) {
    double fit = 0, h = fmin(row_leverage(w, width, i), MAX_LEVERAGE), loo;

    for (size_t j = 0; j < width; j++)
      fit += w->design[i * width + j] * w->solution[j];
    loo = runs > 1 ? (fit - h * w->target[i]) / (1 - h) : fit;
    a->residual[i] =
        a->log_target ? w->target[i] - loo : log_residual(w->target[i], loo, w->solution[0]);
    w->row[i] = a->log_target ? 1 : 1 / fmax(fit, w->solution[0] * FT_ADDITIVE_FLOOR);
  }
  memcpy(w->sorted, a->residual, runs * sizeof *w->sorted);
  centre = ft_sort_select_median(w->sorted, runs);
  for (size_t i = 0; i < runs; i++)
    w->sorted[i] = fabs(a->residual[i] - centre);
  scale = fmax(MAD_TO_DEVIATION * ft_sort_select_median(w->sorted, runs), MIN_DEVIATION);
  for (size_t i = 0; i < runs; i++) {
    double distance = fabs(a->residual[i] - centre) / scale;
    double weight = w->row[i] * w->row[i] * (distance > HUBER ? HUBER / distance : 1);

    changed |= !(fabs(weight - w->weight[i]) <= CONVERGED * w->weight[i]);
    w->weight[i] = weight;
  }
  return changed;
}

/* Fits the chosen terms of A, and sets its error and residuals. */
static void fit_terms(struct ft_additive_work *w, struct attempt *a)
{
  size_t width = make_design(w, a), runs = w->data->runs;
  double ratio = a->error / fmax(a->start_error, 1e-9);
  /* noise variance over signal variance: the Bayesian ridge penalty for standardised columns */
  double penalty = fmin(fmax(ratio * ratio, MIN_PENALTY), 1);

  for (size_t i = 0; i < runs; i++) {
    w->target[i] = a->log_target ? w->log_y[i] : w->y[i];
    w->row[i] = a->log_target ? 1 : 1 / w->y[i];
    w->weight[i] = w->row[i] * w->row[i];
  }
  for (int round = 0; round < ROUNDS; round++) {
    solve_weighted_ridge(w, width, penalty);
    if (!update_row_weights(w, a, width))
      break;
  }
  a->error = 0;
  for (size_t i = 0; i < runs; i++)
    a->error += fmin(fabs(a->residual[i]), MAX_ERROR) / (double)runs;
  memcpy(a->coefficient, w->solution, sizeof a->coefficient);
  a->intercept = w->solution[0];
}

/* Makes A's term T the FORM of its column if that multiplies the error by less than RATIO. */
static void try_form(struct ft_additive_work *w, struct attempt *a, size_t t,
                     enum ft_term_form form, double ratio)
{
  struct attempt *trial = &w->trial_form;
  size_t chosen = ft_additive_form(w, w->candidate[a->chosen[t]].column, form);

  if (chosen == CANDIDATES || chosen == a->chosen[t])
    return;
  *trial = *a;
  trial->chosen[t] = chosen;
  fit_terms(w, trial);
  if (!(trial->error < ratio * a->error))
    return;
  *a = *trial;
  fit_terms(w, a); /* with the penalty of the smaller error */
}

/* Returns whether A's term T makes it an exponential: the largest prediction over the runs is more
 * than EXPONENTIAL_SPAN log units above the smallest because of a plain number. */
static bool is_exponential_term(const struct ft_additive_work *w, const struct attempt *a, size_t t)
{
  const struct candidate *c = &w->candidate[a->chosen[t]];
  double low = INFINITY, high = -INFINITY;
  size_t at = 1;

  if (!a->log_target || c->levels || c->form != FT_FORM_PLAIN)
    return false;
  for (size_t i = 0; i < t; i++)
    at += w->candidate[a->chosen[i]].levels ? w->candidate[a->chosen[i]].levels : 1;
  for (size_t i = 0; i < w->data->runs; i++) {
    low = fmin(low, w->z[a->chosen[t]][i]);
    high = fmax(high, w->z[a->chosen[t]][i]);
  }
  return fabs(a->coefficient[at]) * (high - low) > EXPONENTIAL_SPAN;
}

static bool is_exponential(const struct ft_additive_work *w, const struct attempt *a)
{
  for (size_t t = 0; t < a->terms; t++)
    if (is_exponential_term(w, a, t))
      return true;
  return false;
}

/* Fits A, then tries other forms of each numeric term: plain and logarithm, because the form was
 * chosen before the later terms were known, and with a plain target the curves. */
static void fit_forms(struct ft_additive_work *w, struct attempt *a)
{
  fit_terms(w, a);
  for (size_t t = 0; t < a->terms; t++) {
    if (w->candidate[a->chosen[t]].levels)
      continue;
    for (int form = FT_FORM_PLAIN; form <= FT_FORM_LOG && a->terms > 1; form++)
      try_form(w, a, t, form, 1);
    if (is_exponential_term(w, a, t))
      try_form(w, a, t, FT_FORM_LOG, 1 / EXPONENTIAL_GAIN);
    for (int form = FT_FORM_X_LOG_X; form < FT_FORMS && !a->log_target &&
                                     w->data->runs <= CURVE_RUNS && a->error > NEGLIGIBLE_ERROR;
         form++)
      try_form(w, a, t, form, CURVE_GAIN);
  }
}

/* Fits the chosen terms of A, and also the tried ones if these reduce the error enough. WITHOUT is
 * the error without terms. */
static void fit_chosen_terms(struct ft_additive_work *w, struct attempt *a, double without)
{
  struct attempt *longer = &w->trial_terms;

  *longer = *a;
  if (a->terms)
    fit_forms(w, a);
  else
    a->error = without;
  if (longer->tried == longer->terms)
    return;
  longer->terms = longer->tried;
  fit_forms(w, longer);
  if (longer->error <
      a->error * pow(ft_additive_error_ratio(w), (double)(longer->terms - a->terms)))
    *a = *longer;
}

/* Fits a power law of all numbers to A: of each the logarithm, where that is a candidate. Returns
 * false if there are too few runs, or no more numbers than could be chosen. */
static bool fit_power_law(struct ft_additive_work *w, struct attempt *a)
{
  a->terms = 0;
  for (size_t j = 0; j < w->candidates; j++) {
    const struct candidate *c = &w->candidate[j];
    bool last = !a->terms || w->candidate[a->chosen[a->terms - 1]].column != c->column;

    if (c->levels || c->form > FT_FORM_LOG || (!last && c->form != FT_FORM_LOG))
      continue;
    a->terms += last;
    a->chosen[a->terms - 1] = j;
  }
  if (a->terms <= FT_ADDITIVE_CHOSEN || w->data->runs < a->terms + SPARE_RUNS)
    return false;
  a->error = a->start_error = w->attempt[0].error;
  fit_terms(w, a);
  fit_terms(w, a); /* with the penalty of its own error */
  return true;
}

/* ---- the public function ---- */

static void export_term(const struct ft_additive_work *w, const struct candidate *c,
                        const double *coefficient, double unit, struct ft_additive_term *out)
{
  bool seen[FT_ADDITIVE_LEVELS] = { false };
  double squares = 0;
  size_t count = 0;

  *out = (struct ft_additive_term){
    .column = c->column, .form = c->form, .mean = c->mean, .scale = c->scale, .levels = c->levels
  };
  if (!c->levels) {
    out->coefficient = coefficient[0] * unit;
    return;
  }
  for (size_t i = 0; i < w->data->runs; i++) {
    int level = level_of(w, c, i);

    if (level >= 0)
      seen[level] = true;
  }
  for (size_t l = 0; l < c->levels; l++) {
    out->level[l] = coefficient[l] * unit;
    squares += out->level[l] * out->level[l];
    count += seen[l];
  }
  out->level_scale = sqrt(squares / (double)(count > 1 ? count - 1 : 1));
}

static void export_fit(const struct ft_additive_work *w, const struct attempt *a,
                       struct ft_additive *out)
{
  double unit = a->log_target ? 1 : w->scale_y;
  size_t at = 1;

  *out = (struct ft_additive){ .log_target = a->log_target, .error = a->error, .terms = a->terms };
  out->intercept = a->log_target ? a->intercept + log(w->scale_y) : a->intercept * unit;
  for (size_t t = 0; t < a->terms; t++) {
    const struct candidate *c = &w->candidate[a->chosen[t]];

    export_term(w, c, &a->coefficient[at], unit, &out->term[t]);
    at += c->levels ? c->levels : 1;
  }
  memcpy(out->residual, a->residual, w->data->runs * sizeof *out->residual);
}

void ft_additive_fit(const struct ft_additive_data *data, struct ft_additive_work *w,
                     struct ft_additive *out)
{
  struct attempt *best = &w->attempt[0];
  double sum = 0, limit, without;

  w->data = data;
  for (size_t i = 0; i < data->runs; i++)
    sum += log(data->y[i]);
  w->scale_y = exp(sum / (double)data->runs);
  for (size_t i = 0; i < data->runs; i++) {
    w->y[i] = data->y[i] / w->scale_y;
    w->log_y[i] = log(w->y[i]);
  }
  ft_additive_gather(w);
  memset(w->attempt, 0, sizeof w->attempt);
  w->attempt[0].log_target = w->attempt[1].log_target = w->attempt[3].log_target = true;
  fit_terms(w, best);
  without = best->error;
  limit = without * ft_additive_error_ratio(w);
  for (size_t k = 1; k < 3 && w->candidates && best->error > NEGLIGIBLE_ERROR; k++) {
    struct attempt *a = &w->attempt[k];

    ft_additive_choose(w, a);
    fit_chosen_terms(w, a, without);
    if (a->terms && a->error < limit &&
        a->error < (is_exponential(w, best) ? 1 / EXPONENTIAL_GAIN : FORM_ERROR) * best->error)
      best = a;
  }
  if (data->has_many && best->error > NEGLIGIBLE_ERROR && fit_power_law(w, &w->attempt[3]) &&
      w->attempt[3].error < fmin(FORM_ERROR * best->error, POWER_LAW_ERROR * without))
    best = &w->attempt[3];
  export_fit(w, best, out);
}
