/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/relative/learner.h"

enum {
  CHOOSE_ROWS = 300, /* rows for the selection of columns; bounds time */
  FOLDS = 5,         /* folds of the selection of columns */
  MAX_SELECTED = 16, /* largest number of selected columns */
  OUTPUTS = 64,      /* largest number of outputs: FT_MULTIVARIATE_NORMAL_OUTPUTS */
  NUMBERS = 2 << 20  /* largest size of a stored forest; bounds memory */
};

/* Ridge penalty of the selection of columns, in rows. Half and twice were compared. */
#define SELECTION_PENALTY 3
/* Largest ratio of the error with a further column to the error without it. Half and twice the
 * distance from 1 were compared. */
#define SELECTION_RATIO 0.99

enum ridge { NO_RIDGE, MEAN, SELECTED, ALL };
enum span { USUAL, PLAIN, RATES }; /* encoded columns: all but rates; no differences; rates only */

/* Hyperparameters of the learners, chosen by tests/bench/relative (aiwc). */
static const struct {
  enum ridge ridge;
  double lambda; /* ridge penalty in rows */
  enum span span;
  bool process;
  bool work_rates;
  bool network;
  struct ft_forest_settings forest; /* trees: 0 none, 1 as many as settings->trees */
} kinds[FT_LEARNERS] = {
  [FT_LEARNER_CONSTANT] = { .ridge = MEAN, .lambda = 1 },
  [FT_LEARNER_TREES] = { .span = PLAIN, .forest = { 1, 1, 64, 1, 0, true, false, 0 } },
  [FT_LEARNER_FOREST] = { .forest = { 1, 1, 64, 1.0 / 3, 0, false, true, 0 } },
  [FT_LEARNER_BOOSTING] = { .forest = { 1, 2, 3, 0.3, 0.08, false, false, 0 } },
  [FT_LEARNER_RIDGE] = { .ridge = ALL, .lambda = 10 },
  [FT_LEARNER_RIDGE_TREES] = { .ridge = ALL,
                               .lambda = 20,
                               .forest = { 1, 1, 64, 0.5, 0, true, false, 0 } },
  [FT_LEARNER_FEW_TREES] = { .ridge = SELECTED,
                             .lambda = 3,
                             .forest = { 1, 1, 64, 0.5, 0, true, false, 0 } },
  [FT_LEARNER_GAUSSIAN_PROCESS] = { .process = true },
  [FT_LEARNER_RATE_TREES] = { .span = RATES, .forest = { 1, 1, 64, 1, 0, true, false, 0 } },
  [FT_LEARNER_RATE_GAUSSIAN_PROCESS] = { .span = RATES, .process = true },
  [FT_LEARNER_WORK_GAUSSIAN_PROCESS] = { .process = true, .work_rates = true },
  [FT_LEARNER_WORK_RATES] = { .span = RATES, .process = true, .work_rates = true },
  [FT_LEARNER_AUTOENCODER] = { .network = true },
};

const char *const ft_learner_names[FT_LEARNERS] = {
  [FT_LEARNER_CONSTANT] = "constant",
  [FT_LEARNER_TREES] = "trees",
  [FT_LEARNER_FOREST] = "forest",
  [FT_LEARNER_BOOSTING] = "boosting",
  [FT_LEARNER_RIDGE] = "ridge",
  [FT_LEARNER_RIDGE_TREES] = "ridge_trees",
  [FT_LEARNER_FEW_TREES] = "few_trees",
  [FT_LEARNER_GAUSSIAN_PROCESS] = "process",
  [FT_LEARNER_RATE_TREES] = "rate_trees",
  [FT_LEARNER_RATE_GAUSSIAN_PROCESS] = "rate_process",
  [FT_LEARNER_WORK_GAUSSIAN_PROCESS] = "work_process",
  [FT_LEARNER_WORK_RATES] = "work_rates",
  [FT_LEARNER_AUTOENCODER] = "autoencoder",
};

static int fit_learner_ridge(const struct ft_samples *s, const uint32_t *selected, size_t count,
                             struct ft_learner *l, struct ft_error *err)
{
  uint32_t *all = calloc(s->columns + 1, sizeof *all);
  enum ridge ridge = kinds[l->kind].ridge;
  int status;

  if (!all)
    return ft_error_set(err, "ridge regression: out of memory");
  for (size_t c = 0; c < s->columns; c++)
    all[c] = (uint32_t)c;
  status = ft_ridge_fit(s, ridge == SELECTED ? selected : all,
                        ridge == MEAN       ? 0
                        : ridge == SELECTED ? count
                                            : s->columns,
                        kinds[l->kind].lambda, &l->ridge, err);
  free(all);
  return status;
}

/* Fits a forest to the residuals of the ridge regression. */
static int fit_residual_forest(const struct ft_samples *s, unsigned trees, uint64_t seed,
                               struct ft_learner *l, struct ft_error *err)
{
  double predicted[OUTPUTS];
  size_t max_leaves;
  double *y = calloc(s->rows * s->outputs + 1, sizeof *y);
  struct ft_forest_settings settings = kinds[l->kind].forest;
  struct ft_samples residual = { s->x, y, s->rows, s->columns, s->outputs };
  int status = -1;

  if (!y) {
    ft_error_set(err, "forest: out of memory");
    goto out;
  }
  for (size_t r = 0; r < s->rows; r++) {
    memset(predicted, 0, sizeof predicted);
    if (kinds[l->kind].ridge != NO_RIDGE)
      ft_ridge_add(&l->ridge, s->x + r * s->columns, predicted);
    for (size_t o = 0; o < s->outputs; o++)
      y[r * s->outputs + o] = s->y[r * s->outputs + o] - predicted[o];
  }
  /* Large tables get larger leaves, so that the forest has at most NUMBERS: a leaf has its outputs
   * and about two nodes of 4 numbers. */
  max_leaves = (size_t)NUMBERS / (s->outputs + 8) / trees;
  while (s->rows / settings.min_leaf > (max_leaves ? max_leaves : 1) && settings.min_leaf < s->rows)
    settings.min_leaf *= 2;
  settings.trees = trees;
  settings.seed = seed;
  status = ft_forest_fit(&residual, &settings, &l->forest, err);
out:
  free(y);
  return status;
}

/* Fits work rates and subtracts their prediction from Y. Does nothing if the source time does not
 * span orders of magnitude. Returns 0; -1 on error. */
static int subtract_work_rates(const struct ft_samples *s, const struct ft_feature_encoder *encode,
                               struct ft_learner *l, double *y, struct ft_error *err)
{
  double scale[FT_FEATURE_ENCODER_MAX] = { 0 }, predicted[OUTPUTS];

  if (!encode->column[0].log_scale || !(encode->column[0].deviation > 0))
    return 0;
  for (size_t c = 0; c < encode->raw; c++)
    scale[c] = encode->column[c].log_scale ? encode->column[c].deviation : 0;
  if (ft_work_rates_fit(s, scale, &l->work_rates, err) < 0)
    return -1;
  for (size_t r = 0; r < s->rows; r++) {
    memset(predicted, 0, sizeof predicted);
    ft_work_rates_add(&l->work_rates, s->x + r * s->columns, predicted);
    for (size_t o = 0; o < s->outputs; o++)
      y[r * s->outputs + o] -= predicted[o];
  }
  return 0;
}

bool ft_learner_slow(enum ft_learner_kind kind)
{
  return kinds[kind].network;
}

bool ft_learner_linear(enum ft_learner_kind kind)
{
  /* a Gaussian process includes a linear kernel */
  return kinds[kind].ridge == SELECTED || kinds[kind].ridge == ALL || kinds[kind].process;
}

/* Sets the range of ENCODE's columns that L uses. */
static void set_column_range(const struct ft_feature_encoder *encode, struct ft_learner *l)
{
  enum span span = kinds[l->kind].span;

  l->columns = span == PLAIN ? encode->plain : encode->columns - encode->rates;
  if (span == RATES && encode->rates) {
    l->from = l->columns;
    l->columns = encode->rates;
  }
}

static int fit_learner_parts(const struct ft_samples *s, const struct ft_learner_settings *settings,
                             struct ft_learner *l, struct ft_error *err)
{
  if (kinds[l->kind].ridge != NO_RIDGE &&
      fit_learner_ridge(s, settings->selected, settings->count, l, err) < 0)
    return -1;
  if (kinds[l->kind].forest.trees &&
      fit_residual_forest(s, settings->trees, settings->seed, l, err) < 0)
    return -1;
  if (kinds[l->kind].process && ft_gaussian_process_fit(s, &l->process, err) < 0)
    return -1;
  return kinds[l->kind].network ? ft_learner_network.fit(s, settings, &l->network, err) : 0;
}

int ft_learner_fit(enum ft_learner_kind kind, const struct ft_samples *s,
                   const struct ft_learner_settings *settings, struct ft_learner *l,
                   struct ft_error *err)
{
  struct ft_samples part = *s;
  double *x, *y;
  int status = -1;

  *l = (struct ft_learner){ .kind = kind, .outputs = s->outputs };
  set_column_range(settings->encode, l);
  if (s->outputs < 1 || s->outputs > OUTPUTS)
    return ft_error_set(err, "%zu outputs; expected 1 to %d", s->outputs, OUTPUTS);
  if (settings->stop && settings->stop(settings->data))
    return ft_error_set(err, "%s: stopped", ft_learner_names[kind]);
  x = calloc(s->rows * l->columns + 1, sizeof *x);
  y = calloc(s->rows * s->outputs + 1, sizeof *y);
  if (!x || !y) {
    ft_error_set(err, "%s: out of memory", ft_learner_names[kind]);
    goto out;
  }
  for (size_t r = 0; r < s->rows; r++)
    memcpy(x + r * l->columns, s->x + r * s->columns + l->from, l->columns * sizeof *x);
  memcpy(y, s->y, s->rows * s->outputs * sizeof *y);
  if (kinds[kind].work_rates && subtract_work_rates(s, settings->encode, l, y, err) < 0)
    goto out;
  part.x = x;
  part.y = y;
  part.columns = l->columns;
  status = fit_learner_parts(&part, settings, l, err);
out:
  free(x);
  free(y);
  return status;
}

void ft_learner_predict(const struct ft_learner *l, const double *row, double *out)
{
  const double *x = row + l->from;

  if (l->forest.trees)
    ft_forest_predict(&l->forest, x, out);
  else
    memset(out, 0, l->outputs * sizeof *out);
  if (l->ridge.weight)
    ft_ridge_add(&l->ridge, x, out);
  if (l->process.rows)
    ft_gaussian_process_add(&l->process, x, out);
  if (l->work_rates.used)
    ft_work_rates_add(&l->work_rates, row, out);
  if (l->network)
    ft_learner_network.add(l->network, x, out);
}

/* ---- selection of columns for a ridge regression ---- */

/* Returns the sum of squared errors, on held-out groups, of a ridge regression on COUNT SELECTED
 * columns; INFINITY if a fit fails. X and Y are scratch memory. */
static double cross_validate_ridge(const struct ft_samples *s, const size_t *group,
                                   const uint32_t *selected, size_t count, double *x, double *y)
{
  double error = 0, predicted[OUTPUTS];

  for (size_t fold = 0; fold < FOLDS; fold++) {
    struct ft_samples part = { x, y, 0, count, s->outputs };
    uint32_t all[MAX_SELECTED] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    struct ft_ridge ridge;
    struct ft_error ignored;

    for (size_t r = 0; r < s->rows; r++) {
      if (group[r] % FOLDS == fold)
        continue;
      for (size_t k = 0; k < count; k++)
        x[part.rows * count + k] = s->x[r * s->columns + selected[k]];
      memcpy(y + part.rows++ * s->outputs, s->y + r * s->outputs, s->outputs * sizeof *y);
    }
    if (!part.rows || ft_ridge_fit(&part, all, count, SELECTION_PENALTY, &ridge, &ignored) < 0) {
      if (part.rows)
        ft_ridge_free(&ridge);
      return INFINITY;
    }
    for (size_t k = 0; k < count; k++)
      ridge.column[k] = selected[k];
    for (size_t r = 0; r < s->rows; r++) {
      if (group[r] % FOLDS != fold)
        continue;
      memset(predicted, 0, sizeof predicted);
      ft_ridge_add(&ridge, s->x + r * s->columns, predicted);
      for (size_t o = 0; o < s->outputs; o++) {
        double e = s->y[r * s->outputs + o] - predicted[o];

        error += e * e;
      }
    }
    ft_ridge_free(&ridge);
  }
  return error;
}

size_t ft_learner_choose(const struct ft_samples *all, const size_t *group, size_t plain,
                         uint32_t first, uint32_t *selected, size_t max)
{
  struct ft_samples s = *all;
  double *x, *y, best;
  size_t count = 1;

  selected[0] = first;
  s.rows = s.rows < CHOOSE_ROWS ? s.rows : CHOOSE_ROWS;
  x = calloc(s.rows * max + 1, sizeof *x);
  y = calloc(s.rows * s.outputs + 1, sizeof *y);
  best =
      x && y && max <= MAX_SELECTED ? cross_validate_ridge(&s, group, selected, 1, x, y) : INFINITY;
  while (isfinite(best) && count < max) {
    double smallest = best;
    uint32_t which = 0;

    for (uint32_t c = 0; c < plain; c++) {
      double error;

      selected[count] = c;
      error = cross_validate_ridge(&s, group, selected, count + 1, x, y);
      if (error < smallest) {
        smallest = error;
        which = c;
      }
    }
    if (!(smallest < SELECTION_RATIO * best))
      break;
    selected[count++] = which;
    best = smallest;
  }
  free(x);
  free(y);
  return count;
}

int ft_learner_serialise(struct ft_number_stream *s, const struct ft_feature_encoder *encode,
                         size_t outputs, struct ft_learner *l, struct ft_error *err)
{
  size_t kind = l->kind, columns;
  bool work_rates = l->work_rates.used;

  ft_number_stream_count(s, &kind, 0, FT_LEARNERS - 1);
  l->kind = (enum ft_learner_kind)kind;
  l->outputs = outputs;
  set_column_range(encode, l);
  columns = l->columns;
  if (kinds[kind].ridge != NO_RIDGE && ft_ridge_serialise(s, columns, outputs, &l->ridge, err) < 0)
    return -1;
  if (kinds[kind].forest.trees && ft_forest_serialise(s, columns, outputs, &l->forest, err) < 0)
    return -1;
  if (kinds[kind].process &&
      ft_gaussian_process_serialise(s, columns, outputs, &l->process, err) < 0)
    return -1;
  if (kinds[kind].work_rates)
    ft_number_stream_bool(s, &work_rates);
  if (work_rates && ft_work_rates_serialise(s, encode->columns, outputs, &l->work_rates, err) < 0)
    return -1;
  return kinds[kind].network ? ft_learner_network.serialise(s, columns, outputs, &l->network, err)
                             : 0;
}

void ft_learner_free(struct ft_learner *l)
{
  if (!l)
    return;
  ft_ridge_free(&l->ridge);
  ft_work_rates_free(&l->work_rates);
  ft_forest_free(&l->forest);
  ft_gaussian_process_free(&l->process);
  ft_learner_network.free(l->network);
  l->network = NULL;
}
