/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors are absolute errors of logarithms: with squares, one outlier would decide. A few hundred
 * rows are too few to fit weights. The weight of a learner is then the inverse square of its error,
 * which is optimal for independent errors; the set of learners is chosen on held-out folds. With
 * more rows the weights are fitted.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/relative/speedup_weights.h"

enum {
  SELECTION_STEPS = 20, /* steps of forward selection: weights are multiples of 1/20 */
  MIN_FITTED_ROWS = 400 /* weights are fitted with more rows; chosen by tests/bench/relative */
};

/* Sets of learners. LINEAR ones extrapolate; a forest does not. */
enum set { LINEAR, ANY, SETS };

/* Returns the learners of MASK that are in SET; MASK if there is none. */
static unsigned restrict_to_set(unsigned mask, enum set set)
{
  unsigned out = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && (set == ANY || ft_learner_linear((enum ft_learner_kind)l)))
      out |= 1u << l;
  return out ? out : mask;
}

/* Sums the absolute errors error[fold * FT_LEARNERS + learner] over all folds but LEFT
 * (SIZE_MAX: all folds). */
static void sum_fold_errors(const double *error, size_t folds, size_t left, double *sum)
{
  memset(sum, 0, FT_LEARNERS * sizeof *sum);
  for (size_t f = 0; f < folds; f++)
    for (int l = 0; f != left && l < FT_LEARNERS; l++)
      sum[l] += error[f * FT_LEARNERS + (size_t)l];
}

/* Returns the smallest error of the learners in MASK. */
static double smallest_error(unsigned mask, const double *error)
{
  double best = INFINITY;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l ? fmin(best, error[l]) : best;
  return best;
}

/* Returns MASK without those slow learners and the constant that are not the best. */
static unsigned drop_dominated(unsigned mask, const double *error)
{
  unsigned out = mask;
  double best = smallest_error(mask, error);

  for (int l = 0; l < FT_LEARNERS; l++)
    if (error[l] > best && (l == FT_LEARNER_CONSTANT || ft_learner_slow((enum ft_learner_kind)l)))
      out &= ~(1u << l);
  return out;
}

/* Weights the learners of MASK by the inverse square of their errors, clamped above 0. */
static void weigh_inversely(unsigned mask, const double *error, double *weight)
{
  double best = fmax(smallest_error(mask, error), 1e-12), sum = 0;

  for (int l = 0; l < FT_LEARNERS; l++) {
    weight[l] = mask & 1u << l ? pow(best / fmax(error[l], best), 2) : 0;
    sum += weight[l];
  }
  for (int l = 0; l < FT_LEARNERS; l++)
    weight[l] /= sum;
}

/* Returns the sum of absolute errors of the mixture with WEIGHT on FOLD. */
static double mixture_fold_error(const struct ft_speedup_held_out *h, size_t fold,
                                 const double *weight)
{
  const struct ft_speedup_table *t = h->table;
  double sum = 0;

  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    double predicted = 0;

    if (isnan(t->y[i]) || h->fold[i / t->outputs] != fold)
      continue;
    for (int l = 0; l < FT_LEARNERS; l++)
      if (weight[l] > 0)
        predicted += weight[l] * h->predicted[l][i];
    sum += fabs(t->y[i] - predicted);
  }
  return sum;
}

/* Returns the set whose mixtures have the smallest sum of errors on the folds, each with weights
 * from the other folds. */
static enum set choose_learner_set(const struct ft_speedup_held_out *h, const double *error)
{
  double lowest = INFINITY, sum[FT_LEARNERS], weight[FT_LEARNERS];
  enum set chosen = LINEAR;

  for (int set = 0; set < SETS; set++) {
    double loss = 0;

    for (size_t f = 0; f < h->folds; f++) {
      sum_fold_errors(error, h->folds, f, sum);
      weigh_inversely(restrict_to_set(drop_dominated(h->mask, sum), (enum set)set), sum, weight);
      loss += mixture_fold_error(h, f, weight);
    }
    if (loss < lowest) {
      lowest = loss;
      chosen = (enum set)set;
    }
  }
  return chosen;
}

/*
 * Forward selection with replacement (Caruana et al. 2004): each step adds the learner of MASK that
 * minimises the mixture's error. TOTAL is scratch memory, one number per cell of the table.
 */
static void select_forward(const struct ft_speedup_held_out *h, unsigned mask, double *total,
                           double *weight)
{
  const struct ft_speedup_table *t = h->table;
  size_t cells = t->rows * t->outputs;

  memset(weight, 0, FT_LEARNERS * sizeof *weight);
  for (int step = 1; step <= SELECTION_STEPS; step++) {
    double best = INFINITY;
    int which = FT_LEARNER_CONSTANT;

    for (int l = 0; l < FT_LEARNERS; l++) {
      double loss = 0;

      for (size_t i = 0; mask & 1u << l && i < cells; i++)
        if (!isnan(t->y[i]))
          loss += fabs(t->y[i] - (total[i] + h->predicted[l][i]) / step);
      if (mask & 1u << l && loss < best) {
        best = loss;
        which = l;
      }
    }
    for (size_t i = 0; i < cells; i++)
      total[i] += h->predicted[which][i];
    weight[which] += 1.0 / SELECTION_STEPS;
  }
}

/* Sums each learner's absolute errors by fold into ERROR; RMS gets their root mean square. */
static void measure_learners(const struct ft_speedup_held_out *h, double *error, double *rms)
{
  const struct ft_speedup_table *t = h->table;

  for (int l = 0; l < FT_LEARNERS; l++) {
    double squares = 0, cells = 0;

    for (size_t i = 0; h->mask & 1u << l && i < t->rows * t->outputs; i++) {
      double residual = fabs(t->y[i] - h->predicted[l][i]);

      if (isnan(residual))
        continue;
      error[h->fold[i / t->outputs] * FT_LEARNERS + (size_t)l] += residual;
      squares += residual * residual;
      cells++;
    }
    rms[l] = cells > 0 ? sqrt(squares / cells) : NAN;
  }
}

int ft_speedup_choose_weights(const struct ft_speedup_held_out *h, double *weight, double *rms,
                              struct ft_error *err)
{
  size_t cells = h->table->rows * h->table->outputs;
  double *error = calloc(h->folds * FT_LEARNERS, sizeof *error);
  double *total = calloc(cells + 1, sizeof *total), sum[FT_LEARNERS];
  unsigned mask;

  if (!error || !total) {
    free(error);
    free(total);
    return ft_error_set(err, "out of memory");
  }
  measure_learners(h, error, rms);
  sum_fold_errors(error, h->folds, SIZE_MAX, sum);
  mask = drop_dominated(h->mask, sum);
  if (h->table->rows > MIN_FITTED_ROWS)
    select_forward(h, mask, total, weight);
  else
    weigh_inversely(restrict_to_set(mask, choose_learner_set(h, error)), sum, weight);
  free(error);
  free(total);
  return 0;
}
