/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors are absolute ones of logarithms: of squares, one run that is like no other outweighs all
 * the rest, and chooses. A few hundred rows cannot tell weights, so each learner counts by the
 * inverse of its error's square, as is best where errors are independent; which set of them does
 * so is itself tried on rows held out, its weights coming from the other folds. Many rows tell
 * weights.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/relative/speedup_weights.h"

enum { STEPS = 20 /* in which a mixture is selected */, MANY = 400 /* rows, and more */ };

/* A forest ends where its rows do: LINEAR are those that go on in a line. */
enum set { LINEAR, ANY, SETS };

/* The learners of MASK that are in SET; the mean where there is none. */
static unsigned restrict_to_set(unsigned mask, enum set set)
{
  unsigned out = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && (set == ANY || ft_learner_linear((enum ft_learner_kind)l)))
      out |= 1u << l;
  return out ? out : mask;
}

/* Sums of absolute errors on all folds but LEFT: error[fold * FT_LEARNERS + learner]. */
static void sum_fold_errors(const double *error, size_t folds, size_t left, double *sum)
{
  memset(sum, 0, FT_LEARNERS * sizeof *sum);
  for (size_t f = 0; f < folds; f++)
    for (int l = 0; f != left && l < FT_LEARNERS; l++)
      sum[l] += error[f * FT_LEARNERS + (size_t)l];
}

/* The least error of MASK's learners. */
static double smallest_error(unsigned mask, const double *error)
{
  double best = INFINITY;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l ? fmin(best, error[l]) : best;
  return best;
}

/* A slow one counts only where it is the best of all; nor is it enough to be near the best for what
 * says the same of every row. */
static unsigned drop_dominated(unsigned mask, const double *error)
{
  unsigned out = mask;
  double best = smallest_error(mask, error);

  for (int l = 0; l < FT_LEARNERS; l++)
    if (error[l] > best && (l == FT_LEARNER_CONSTANT || ft_learner_slow((enum ft_learner_kind)l)))
      out &= ~(1u << l);
  return out;
}

/* Each of MASK by the inverse square of its error; the least is taken to be above 0. */
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

/* The absolute errors on FOLD of the mixture by WEIGHT, summed. */
static double mixture_error(const struct ft_speedup_held *h, size_t fold, const double *weight)
{
  const struct ft_speedup_table *t = h->table;
  double sum = 0;

  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    double said = 0;

    if (isnan(t->y[i]) || h->fold[i / t->outputs] != fold)
      continue;
    for (int l = 0; l < FT_LEARNERS; l++)
      if (weight[l] > 0)
        said += weight[l] * h->said[l][i];
    sum += fabs(t->y[i] - said);
  }
  return sum;
}

/* The set whose mixtures, weighed on all folds but one, miss least on that one. */
static enum set choose_learner_set(const struct ft_speedup_held *h, const double *error)
{
  double lowest = INFINITY, sum[FT_LEARNERS], weight[FT_LEARNERS];
  enum set chosen = LINEAR;

  for (int set = 0; set < SETS; set++) {
    double lost = 0;

    for (size_t f = 0; f < h->folds; f++) {
      sum_fold_errors(error, h->folds, f, sum);
      weigh_inversely(restrict_to_set(drop_dominated(h->mask, sum), (enum set)set), sum, weight);
      lost += mixture_error(h, f, weight);
    }
    if (lost < lowest) {
      lowest = lost;
      chosen = (enum set)set;
    }
  }
  return chosen;
}

/*
 * Forward selection with replacement (Caruana and others 2004): step by step, the learner of MASK
 * is added that makes the mixture's error smallest. TOTAL has a place for each number of Y.
 */
static void select_forward(const struct ft_speedup_held *h, unsigned mask, double *total,
                           double *weight)
{
  const struct ft_speedup_table *t = h->table;
  size_t cells = t->rows * t->outputs;

  memset(weight, 0, FT_LEARNERS * sizeof *weight);
  for (int step = 1; step <= STEPS; step++) {
    double best = INFINITY;
    int which = FT_LEARNER_CONSTANT;

    for (int l = 0; l < FT_LEARNERS; l++) {
      double lost = 0;

      for (size_t i = 0; mask & 1u << l && i < cells; i++)
        if (!isnan(t->y[i]))
          lost += fabs(t->y[i] - (total[i] + h->said[l][i]) / step);
      if (mask & 1u << l && lost < best) {
        best = lost;
        which = l;
      }
    }
    for (size_t i = 0; i < cells; i++)
      total[i] += h->said[which][i];
    weight[which] += 1.0 / STEPS;
  }
}

/* Each learner's absolute errors by fold, summed, and in RMS their root mean square. */
static void measure_learners(const struct ft_speedup_held *h, double *error, double *rms)
{
  const struct ft_speedup_table *t = h->table;

  for (int l = 0; l < FT_LEARNERS; l++) {
    double squares = 0, cells = 0;

    for (size_t i = 0; h->mask & 1u << l && i < t->rows * t->outputs; i++) {
      double missed = fabs(t->y[i] - h->said[l][i]);

      if (isnan(missed))
        continue;
      error[h->fold[i / t->outputs] * FT_LEARNERS + (size_t)l] += missed;
      squares += missed * missed;
      cells++;
    }
    rms[l] = cells > 0 ? sqrt(squares / cells) : NAN;
  }
}

int ft_speedup_choose_weights(const struct ft_speedup_held *h, double *weight, double *rms,
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
  if (h->table->rows > MANY)
    select_forward(h, mask, total, weight);
  else
    weigh_inversely(restrict_to_set(mask, choose_learner_set(h, error)), sum, weight);
  free(error);
  free(total);
  return 0;
}
