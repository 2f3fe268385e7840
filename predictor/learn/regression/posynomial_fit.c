/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/learn/cholesky.h"
#include "predictor/learn/regression/posynomial_fit.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  COLUMNS = FT_POSYNOMIAL_COLUMNS,
  TERMS = FT_POSYNOMIAL_TERMS,
  /* Columns of the largest correlation with the target that are combined: it bounds the time of a
     fit. */
  CANDIDATES = 4,
  /* Fewest runs beyond the number of products: six runs for the products of two columns. */
  SPARE_RUNS = 2,
  /* Fewer runs do not show by a correlation whether the target falls with a column. Chosen by
   * tests/bench/runtime_laws. */
  SIGN_RUNS = 20,
  ROUNDS = 3, /* largest number of reweightings */
  MIN_POWER = -1,
  MAX_POWER = 2 /* of an added product */
};

/* Ridge penalty, in rows: against products that varied together. */
#define PENALTY 1e-9
/* Huber's threshold in standard deviations: 95 % efficient for normal residuals (Huber 1964). */
#define HUBER 1.345
/* Standard deviation of a normal distribution over its median absolute deviation. */
#define MAD_TO_DEVIATION 1.4826
/* Smallest standard deviation of the residuals. */
#define MIN_DEVIATION 1e-3
/* Clamp of the mean leverage. */
#define MAX_LEVERAGE 0.95
/* Clamp of an absolute error, log units. */
#define MAX_ERROR 1.0
/* Smallest out-of-sample prediction, as a fraction of the target. */
#define FLOOR (1.0 / 64)
/* Largest ratio of the error with one more column, or one more product, to that without. Half
 * and twice the distance from 1 were compared. */
#define GAIN 0.8

struct ft_posynomial_work {
  const struct ft_additive_data *data;
  size_t columns; /* candidates, the most correlated first */
  struct {
    size_t column;
    int sign; /* of the correlation */
  } candidate[CANDIDATES];
  double design[RUNS][TERMS]; /* products over the target */
  double weight[RUNS], deviation[RUNS], sorted[RUNS];
  double gram[TERMS][TERMS], solution[TERMS], scale[TERMS];
  struct ft_posynomial_fit best, larger, trial;
};

size_t ft_posynomial_work_size(void)
{
  return sizeof(struct ft_posynomial_work);
}

/* ---- the columns ---- */

/* Returns the correlation of the logarithms of COLUMN and target; 0 if it is no candidate. */
static double log_correlation(const struct ft_additive_data *data, size_t column)
{
  double n = (double)data->runs, x = 0, y = 0, xx = 0, yy = 0, xy = 0;

  for (size_t i = 0; i < data->runs; i++) {
    double at = (double)data->x[column][i];

    if (data->levels[column] || !(at > 0))
      return 0;
    x += log(at) / n;
    y += log(data->y[i]) / n;
  }
  for (size_t i = 0; i < data->runs; i++) {
    double dx = log((double)data->x[column][i]) - x, dy = log(data->y[i]) - y;

    xx += dx * dx;
    yy += dy * dy;
    xy += dx * dy;
  }
  return xx > 1e-9 * n && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static void choose_candidates(struct ft_posynomial_work *w)
{
  double value[CANDIDATES];

  w->columns = 0;
  for (size_t j = 0; j < w->data->columns; j++) {
    double correlation = log_correlation(w->data, j);
    size_t at = w->columns;

    if (correlation == 0)
      continue;
    for (; at > 0 && fabs(correlation) > fabs(value[at - 1]); at--)
      if (at < CANDIDATES) {
        value[at] = value[at - 1];
        w->candidate[at] = w->candidate[at - 1];
      }
    if (at == CANDIDATES)
      continue;
    value[at] = correlation;
    w->candidate[at].column = j;
    w->candidate[at].sign = correlation > 0 ? 1 : -1;
    w->columns += w->columns < CANDIDATES;
  }
}

/* ---- a fit of given products ---- */

static void fill_design(struct ft_posynomial_work *w, const struct ft_posynomial *p)
{
  double x[COLUMNS];

  memset(w->scale, 0, sizeof w->scale);
  for (size_t i = 0; i < w->data->runs; i++) {
    for (size_t c = 0; c < p->columns; c++)
      x[c] = (double)w->data->x[p->column[c]][i];
    for (size_t t = 0; t < p->terms; t++) {
      struct ft_posynomial one = *p;

      one.terms = 1;
      one.term[0] = p->term[t];
      one.term[0].coefficient = 1;
      w->design[i][t] = ft_posynomial_value(&one, x) / w->data->y[i];
      w->scale[t] = fmax(w->scale[t], w->design[i][t]);
    }
  }
  for (size_t i = 0; i < w->data->runs; i++)
    for (size_t t = 0; t < p->terms; t++)
      w->design[i][t] /= w->scale[t];
}

/* Solves the weighted least squares for the TERMS products of the design. */
static void solve_products(struct ft_posynomial_work *w, size_t terms)
{
  memset(w->gram, 0, sizeof w->gram);
  memset(w->solution, 0, sizeof w->solution);
  for (size_t i = 0; i < w->data->runs; i++)
    for (size_t j = 0; j < terms; j++) {
      double weighted = w->weight[i] * w->design[i][j];

      w->solution[j] += weighted;
      for (size_t k = 0; k <= j; k++)
        w->gram[j][k] += weighted * w->design[i][k];
    }
  for (size_t j = 0; j < terms; j++)
    w->gram[j][j] += PENALTY * (double)w->data->runs;
  (void)ft_cholesky_factor(*w->gram, TERMS, terms);
  ft_cholesky_solve(*w->gram, TERMS, terms, w->solution, 1);
}

/* Solves for the products of P, after those of negative coefficients have left it. */
static void solve_positive(struct ft_posynomial_work *w, struct ft_posynomial *p)
{
  for (;;) {
    size_t least = 0;

    solve_products(w, p->terms);
    for (size_t t = 1; t < p->terms; t++)
      if (w->solution[t] < w->solution[least])
        least = t;
    if (w->solution[least] > 0 || p->terms == 1)
      return;
    p->terms--;
    for (size_t t = least; t < p->terms; t++) {
      p->term[t] = p->term[t + 1];
      w->scale[t] = w->scale[t + 1];
    }
    for (size_t i = 0; i < w->data->runs; i++)
      memmove(&w->design[i][least], &w->design[i][least + 1],
              (p->terms - least) * sizeof w->design[i][0]);
  }
}

/* Sets the weights by the deviations of the solution from the target, 1 in the design's units. */
static void update_weights(struct ft_posynomial_work *w, size_t terms)
{
  size_t runs = w->data->runs;
  double scale;

  for (size_t i = 0; i < runs; i++) {
    w->deviation[i] = 1;
    for (size_t t = 0; t < terms; t++)
      w->deviation[i] -= w->design[i][t] * w->solution[t];
    w->deviation[i] = w->sorted[i] = fabs(w->deviation[i]);
  }
  scale = fmax(MAD_TO_DEVIATION * ft_sort_select_median(w->sorted, runs), MIN_DEVIATION);
  for (size_t i = 0; i < runs; i++)
    w->weight[i] = w->deviation[i] > HUBER * scale ? HUBER * scale / w->deviation[i] : 1;
}

/* Fills the residuals and the error of FIT, whose solution W has. Each residual is divided by the
 * mean of 1 - leverage (generalised cross-validation: Golub, Heath and Wahba 1979): a few runs
 * leave single rows with a leverage near 1. */
static void measure_product_residuals(struct ft_posynomial_work *w, struct ft_posynomial_fit *fit)
{
  size_t terms = fit->function.terms, runs = w->data->runs;
  double rest = 1 - fmin((double)terms / (double)runs, MAX_LEVERAGE);

  fit->error = 0;
  for (size_t i = 0; i < runs; i++) {
    double deviation = 1;

    for (size_t t = 0; t < terms; t++)
      deviation -= w->design[i][t] * w->solution[t];
    fit->residual[i] = -log(fmax(1 - deviation / rest, FLOOR));
    fit->error += fmin(fabs(fit->residual[i]), MAX_ERROR) / (double)runs;
  }
}

static void fit_products(struct ft_posynomial_work *w, struct ft_posynomial_fit *fit)
{
  struct ft_posynomial *p = &fit->function;

  fill_design(w, p);
  for (size_t i = 0; i < w->data->runs; i++)
    w->weight[i] = 1;
  solve_positive(w, p);
  for (int round = 1; round < ROUNDS; round++) {
    update_weights(w, p->terms);
    solve_positive(w, p);
  }
  measure_product_residuals(w, fit);
  for (size_t t = 0; t < p->terms; t++)
    p->term[t].coefficient = w->solution[t] / w->scale[t];
}

/* ---- the choice ---- */

/* Sets P to the products of all subsets of the candidates in SET, a bit each, to the power 1, or -1
 * of those in INVERSE. */
static void list_subsets(const struct ft_posynomial_work *w, unsigned set, unsigned inverse,
                         struct ft_posynomial *p)
{
  int sign[COLUMNS];

  *p = (struct ft_posynomial){ 0 };
  for (size_t k = 0; k < w->columns; k++)
    if (set >> k & 1) {
      sign[p->columns] = inverse >> k & 1 ? -1 : 1;
      p->column[p->columns++] = (uint8_t)w->candidate[k].column;
    }
  p->terms = (size_t)1 << p->columns;
  for (size_t t = 0; t < p->terms; t++)
    for (size_t c = 0; c < p->columns; c++)
      p->term[t].power[c] = (int8_t)(t >> c & 1 ? sign[c] : 0);
}

static unsigned count_bits(unsigned set)
{
  unsigned bits = 0;

  for (; set; set &= set - 1)
    bits++;
  return bits;
}

/* Returns the candidates that fall with the target, a bit each. */
static unsigned falling_candidates(const struct ft_posynomial_work *w)
{
  unsigned inverse = 0;

  for (size_t k = 0; k < w->columns; k++)
    inverse |= w->candidate[k].sign < 0 ? 1U << k : 0;
  return inverse;
}

/* Sets W->larger to the best fit by COUNT columns. Returns whether there is one. */
static bool fit_columns(struct ft_posynomial_work *w, unsigned count)
{
  bool found = false, few = w->data->runs < SIGN_RUNS;
  unsigned falling = falling_candidates(w), sets = 1U << w->columns;

  if (w->data->runs < ((size_t)1 << count) + SPARE_RUNS)
    return false;
  for (unsigned inverse = 0; inverse < sets; inverse++)
    for (unsigned set = 1; set < sets; set++) {
      if (count_bits(set) != count || (few ? (inverse & ~set) != 0 : inverse != falling))
        continue;
      list_subsets(w, set, inverse, &w->trial.function);
      fit_products(w, &w->trial);
      if (found && !(w->trial.error < (few && inverse ? GAIN : 1) * w->larger.error))
        continue;
      w->larger = w->trial;
      found = true;
    }
  return found;
}

static bool has_product(const struct ft_posynomial *p, const int8_t power[COLUMNS])
{
  for (size_t t = 0; t < p->terms; t++)
    if (memcmp(p->term[t].power, power, COLUMNS) == 0)
      return true;
  return false;
}

/* Advances POWER to the next product of COUNT columns. Returns false after the last one. */
static bool next_product(int8_t power[COLUMNS], size_t count)
{
  for (size_t c = 0; c < count; c++) {
    if (power[c]++ < MAX_POWER)
      return true;
    power[c] = MIN_POWER;
  }
  return false;
}

/* Adds the product to W->best that reduces its error most, if by more than GAIN. */
static bool add_product(struct ft_posynomial_work *w)
{
  const struct ft_posynomial *p = &w->best.function;
  int8_t power[COLUMNS] = { 0 };
  bool found = false;

  if (p->terms == TERMS || w->data->runs < p->terms + 1 + SPARE_RUNS)
    return false;
  for (size_t c = 0; c < p->columns; c++)
    power[c] = MIN_POWER;
  do {
    if (has_product(p, power))
      continue;
    w->trial.function = *p;
    memcpy(w->trial.function.term[w->trial.function.terms++].power, power, COLUMNS);
    fit_products(w, &w->trial);
    if (!(w->trial.error < (found ? w->larger.error : GAIN * w->best.error)))
      continue;
    w->larger = w->trial;
    found = true;
  } while (next_product(power, p->columns));
  if (found)
    w->best = w->larger;
  return found;
}

bool ft_posynomial_fit(const struct ft_additive_data *data, struct ft_posynomial_work *w,
                       struct ft_posynomial_fit *out)
{
  w->data = data;
  choose_candidates(w);
  w->best.function.columns = 0;
  w->best.error = INFINITY;
  for (unsigned count = 1; count <= COLUMNS && count <= w->columns; count++)
    if (fit_columns(w, count) &&
        w->larger.error < (w->best.function.columns ? GAIN * w->best.error : INFINITY))
      w->best = w->larger;
  while (w->best.function.columns && add_product(w))
    ;
  *out = w->best;
  return out->function.columns > 0;
}
