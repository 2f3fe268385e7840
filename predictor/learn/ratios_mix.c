/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A rule, a set of learners and how they are weighted, is itself tried on rows held out: its
 * weights come from all folds but one, its error from that one. Of all that is said only the
 * products of errors are needed, a small matrix a fold.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/ratios_mix.h"

enum { STEPS = 20 /* in which a mixture is selected */, SURE = 2 };

/* By how many times the best error an error may be that, of few rows, is as good. */
static const double nearness = 1.5;

enum set { ANY, LINEAR, RATES };
enum weighting { NEAR, SELECTED };

static const struct {
  enum set set;
  enum weighting weighting;
} rules[] = {
  [0] = { LINEAR, NEAR }, [1] = { RATES, NEAR }, [2] = { ANY, SELECTED },
  { ANY, NEAR },          { LINEAR, SELECTED },
};

/*
 * The rule that is left only for one that is surely better. A forest ends where its rows do, so
 * what goes on in a line; of very few rows, rates alone, if there are any, for all columns are too
 * many; many rows tell weights.
 */
static size_t first_rule(const struct ft_ratios_held *h)
{
  if (h->table->rows > FT_RATIOS_MANY)
    return 2;
  return h->rates && h->table->rows <= FT_RATIOS_FEW;
}

/* Products of errors of each two learners, summed over cells. */
struct products {
  double sum[FT_LEARNERS][FT_LEARNERS], cells;
};

/* Of all COUNT folds but LEFT. */
static void add_up(const struct products *folds, size_t count, size_t left, struct products *out)
{
  *out = (struct products){ 0 };
  for (size_t f = 0; f < count; f++) {
    if (f == left)
      continue;
    for (int l = 0; l < FT_LEARNERS; l++)
      for (int k = 0; k < FT_LEARNERS; k++)
        out->sum[l][k] += folds[f].sum[l][k];
    out->cells += folds[f].cells;
  }
}

static void multiply(const struct ft_ratios_held *h, struct products *folds)
{
  const struct ft_ratios_table *t = h->table;

  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    struct products *p = &folds[h->fold[i / t->outputs]];

    if (isnan(t->y[i]))
      continue;
    p->cells++;
    for (int l = 0; l < FT_LEARNERS; l++)
      for (int k = 0; h->mask & 1u << l && k <= l; k++)
        if (h->mask & 1u << k)
          p->sum[l][k] += (t->y[i] - h->said[l][i]) * (t->y[i] - h->said[k][i]);
  }
  for (size_t f = 0; f < h->folds; f++)
    for (int l = 0; l < FT_LEARNERS; l++)
      for (int k = 0; k < l; k++)
        folds[f].sum[k][l] = folds[f].sum[l][k];
}

/* The squared error of a mixture whose weights sum to 1. */
static double squares(const struct products *p, const double *weight)
{
  double sum = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    for (int k = 0; k < FT_LEARNERS; k++)
      sum += weight[l] * weight[k] * p->sum[l][k];
  return sum;
}

static bool belongs(enum set set, enum ft_learner_kind kind)
{
  switch (set) {
  case LINEAR:
    return ft_learner_linear(kind);
  case RATES:
    return kind == FT_LEARNER_RATE_TREES || kind == FT_LEARNER_RATE_PROCESS;
  default:
    return true;
  }
}

/* Those of MASK that are in SET, and the mean; slow ones only where they are the best of all. */
static unsigned narrow(const struct products *p, unsigned mask, enum set set)
{
  double best = INFINITY;
  unsigned out = 1u << FT_LEARNER_CONSTANT;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l ? fmin(best, p->sum[l][l]) : best;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && belongs(set, (enum ft_learner_kind)l) &&
        (!ft_learner_slow((enum ft_learner_kind)l) || p->sum[l][l] <= best))
      out |= 1u << l;
  return out & mask;
}

/* All whose errors are near the best, equally: of few rows, errors are too rough to weigh by. */
static void weigh_near(const struct products *p, unsigned mask, double *weight)
{
  double best = INFINITY, near = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l ? fmin(best, p->sum[l][l]) : best;
  /* near is not enough for what says the same of every row */
  if (p->sum[FT_LEARNER_CONSTANT][FT_LEARNER_CONSTANT] > best)
    mask &= ~(1u << FT_LEARNER_CONSTANT);
  for (int l = 0; l < FT_LEARNERS; l++) {
    weight[l] = mask & 1u << l && p->sum[l][l] <= nearness * nearness * best;
    near += weight[l];
  }
  for (int l = 0; l < FT_LEARNERS; l++)
    weight[l] /= near;
}

/*
 * Forward selection with replacement (Caruana and others 2004): step by step, the learner is added
 * that makes the mixture's error smallest.
 */
static void weigh_selected(const struct products *p, unsigned mask, double *weight)
{
  for (int step = 1; step <= STEPS; step++) {
    double best = INFINITY;
    int which = FT_LEARNER_CONSTANT;

    for (int l = 0; l < FT_LEARNERS; l++) {
      double error;

      if (!(mask & 1u << l))
        continue;
      weight[l]++;
      error = squares(p, weight) / step / step;
      weight[l]--;
      if (error < best) {
        best = error;
        which = l;
      }
    }
    weight[which]++;
  }
  for (int l = 0; l < FT_LEARNERS; l++)
    weight[l] /= STEPS;
}

static void weigh(const struct products *p, unsigned mask, size_t rule, double *weight)
{
  memset(weight, 0, FT_LEARNERS * sizeof *weight);
  mask = narrow(p, mask, rules[rule].set);
  if (rules[rule].weighting == NEAR)
    weigh_near(p, mask, weight);
  else
    weigh_selected(p, mask, weight);
}

/* The squared error of RULE on each fold, its weights being taken from the others. */
static void try_rule(const struct ft_ratios_held *h, const struct products *folds, size_t rule,
                     double *lost)
{
  double weight[FT_LEARNERS];

  for (size_t f = 0; f < h->folds; f++) {
    struct products rest;

    add_up(folds, h->folds, f, &rest);
    weigh(&rest, h->mask, rule, weight);
    lost[f] = squares(&folds[f], weight);
  }
}

/*
 * The rule that gains most on the first one, of those that gain more than SURE standard errors over
 * the folds: else it is chance that chooses (one standard error is the usual bar, Breiman and
 * others 1984; four rules try to pass it).
 */
static size_t choose(const struct ft_ratios_held *h, const struct products *folds)
{
  double first[FT_RATIOS_FOLDS], lost[FT_RATIOS_FOLDS], most = 0;
  size_t chosen = first_rule(h);

  if (h->table->rows <= FT_RATIOS_FEW) /* so few cannot tell rules apart */
    return chosen;
  try_rule(h, folds, chosen, first);
  for (size_t rule = 0; rule < sizeof rules / sizeof *rules; rule++) {
    double sum = 0, spread = 0, n = (double)h->folds;

    try_rule(h, folds, rule, lost);
    for (size_t f = 0; f < h->folds; f++)
      sum += first[f] - lost[f];
    for (size_t f = 0; f < h->folds; f++)
      spread += pow(first[f] - lost[f] - sum / n, 2);
    if (sum > most && sum > SURE * sqrt(spread * n / (n - 1))) {
      most = sum;
      chosen = rule;
    }
  }
  return chosen;
}

int ft_ratios_mix(const struct ft_ratios_held *h, double *weight, double *error,
                  struct ft_error *err)
{
  struct products *folds = calloc(h->folds, sizeof *folds), all;
  size_t chosen;

  if (!folds)
    return ft_error_set(err, "out of memory");
  multiply(h, folds);
  chosen = choose(h, folds);
  add_up(folds, h->folds, SIZE_MAX, &all);
  weigh(&all, h->mask, chosen, weight);
  for (int l = 0; l < FT_LEARNERS; l++)
    error[l] = h->mask & 1u << l && all.cells > 0 ? sqrt(all.sum[l][l] / all.cells) : NAN;
  free(folds);
  return 0;
}
