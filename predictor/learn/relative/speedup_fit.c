/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses and fits the mixture of learners of a speed-up model. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/random.h"
#include "predictor/core/sort.h"
#include "predictor/learn/relative/speedup_model.h"
#include "predictor/learn/relative/speedup_weights.h"

enum {
  SELECTED = 4,   /* columns of the ridge regression on a few columns; 2 and 8 were compared */
  MIN_ROWS = 4,   /* fewest rows for cross-validation */
  FOLDS = 5,      /* folds of cross-validation */
  FEW_ROWS = 40,  /* rows up to which there are FEW_FOLDS folds; 20 and 80 were compared */
  FEW_FOLDS = 10, /* folds with few rows */
  /* Fewest rows for slow learners. With fewer the auto-encoder was never near the best
   * (tests/bench/relative: aiwc's 88 rows, R2 0.5 against 0.8). */
  SLOW_ROWS = 200,
  MAX_ROWS = 4000, /* largest number of rows of one fit; evenly spaced ones are used; bounds time */
  MAX_NUMBERS = 1 << 19, /* largest rows times columns of one fit, likewise */
  MIN_OUTPUT_ROWS = 4,   /* fewest rows of a separately fitted output for a held-out comparison */
  MAX_OUTPUT_ROWS = FT_GAUSSIAN_PROCESS_ROWS /* most rows of such an output; bounds time */
};

/* Largest ratio of a slow learner's error to the best after the first fold; bounds time. */
#define MAX_RACE_RATIO 1.5

/* One set of learners, fitted to some of the rows. */
struct fitted {
  struct ft_feature_encoder encode;
  struct ft_learner learner[FT_LEARNERS];
};

struct fitter {
  const struct ft_speedup_table *t;
  const struct ft_speedup_settings *settings;
  size_t *fold; /* fold[row] */
  size_t folds;
  double *predicted[FT_LEARNERS]; /* held-out predictions */
};

static void fitted_free(struct fitted *f)
{
  ft_feature_encoder_free(&f->encode);
  for (int l = 0; l < FT_LEARNERS; l++)
    ft_learner_free(&f->learner[l]);
}

/* Fits the encoder of F to ROWS rows of X and encodes them into OUT, which the caller frees, with
 * differences of the SELECTED columns. Returns 0; -1 on error. */
static int encode_rows(struct fitted *f, const double *x, const double *y, const size_t *group,
                       size_t rows, const struct ft_speedup_table *t, uint32_t *selected,
                       size_t *count, double **out, struct ft_error *err)
{
  uint32_t logs[SELECTED];
  size_t logs_count = 0;
  struct ft_samples s;
  double *encoded = NULL;

  if (ft_feature_encoder_fit(x, rows, t->columns, &f->encode, err) < 0)
    return -1;
  for (int pass = 0; pass < 2; pass++) {
    free(encoded);
    encoded = calloc(rows * f->encode.columns + 1, sizeof *encoded);
    if (!encoded)
      return ft_error_set(err, "features: out of memory");
    for (size_t r = 0; r < rows; r++)
      ft_feature_encoder_row(&f->encode, x + r * t->columns, encoded + r * f->encode.columns);
    if (pass)
      break;
    s = (struct ft_samples){ encoded, y, rows, f->encode.columns, t->outputs };
    *count = ft_learner_choose(&s, group, f->encode.plain, 0, selected, SELECTED);
    for (size_t k = 0; k < *count; k++)
      if (selected[k] < t->columns && f->encode.column[selected[k]].log_scale)
        logs[logs_count++] = selected[k];
    ft_feature_encoder_add_pairs(&f->encode, x, rows, logs, logs_count);
    ft_feature_encoder_add_rates(&f->encode, x, rows);
  }
  *out = encoded;
  return 0;
}

/*
 * Fits the learners in MASK to the rows outside FOLD (SIZE_MAX: all rows). Missing outputs are
 * imputed from these rows only. The caller frees F in either case. Returns 0; -1 on error and fills
 * ERR.
 */
static int fit_without_fold(const struct fitter *g, size_t fold, unsigned mask, unsigned trees,
                            struct fitted *f, struct ft_error *err)
{
  const struct ft_speedup_table *t = g->t;
  double *x = calloc(t->rows * t->columns + 1, sizeof *x), *encoded = NULL;
  double *y = calloc(t->rows * t->outputs + 1, sizeof *y);
  double *whole_y = calloc(t->rows * t->outputs + 1, sizeof *whole_y);
  size_t *group = calloc(t->rows + 1, sizeof *group), rows = 0, count = 0, seen = 0, whole = 0;
  size_t max = MAX_NUMBERS / t->columns < MAX_ROWS ? MAX_NUMBERS / t->columns : MAX_ROWS;
  uint32_t selected[SELECTED] = { 0 };
  struct ft_learner_settings how;
  struct ft_samples s;
  struct ft_multivariate_normal normal;
  int status = -1;

  *f = (struct fitted){ 0 };
  if (!x || !y || !whole_y || !group) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  for (size_t r = 0; r < t->rows; r++)
    whole += g->fold[r] != fold;
  max = max < whole ? max : whole;
  for (size_t r = 0; r < t->rows; r++) {
    if (g->fold[r] == fold || rows * whole > seen++ * max)
      continue;
    memcpy(x + rows * t->columns, t->x + r * t->columns, t->columns * sizeof *x);
    memcpy(y + rows * t->outputs, t->y + r * t->outputs, t->outputs * sizeof *y);
    group[rows++] = g->fold[r];
  }
  if (ft_multivariate_normal_fit(y, rows, t->outputs, whole_y, &normal, err) < 0 ||
      encode_rows(f, x, whole_y, group, rows, t, selected, &count, &encoded, err) < 0)
    goto out;
  s = (struct ft_samples){ encoded, whole_y, rows, f->encode.columns, t->outputs };
  how = (struct ft_learner_settings){
    &f->encode, selected, count, trees, g->settings->seed, g->settings->stop, g->settings->data
  };
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l &&
        ft_learner_fit((enum ft_learner_kind)l, &s, &how, &f->learner[l], err) < 0)
      goto out;
  status = 0;
out:
  free(x);
  free(y);
  free(whole_y);
  free(group);
  free(encoded);
  return status;
}

static int compare_groups(const void *a, const void *b)
{
  const size_t *p = a, *q = b;

  return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* Assigns the groups of rows to folds in random order; single rows if there is one group. */
static int assign_group_folds(struct fitter *g, struct ft_error *err)
{
  size_t rows = g->t->rows, groups = 0;
  size_t *pair = calloc(2 * rows + 1, sizeof *pair), *drawn = calloc(rows + 1, sizeof *drawn);
  struct ft_random random;
  bool one_group;

  if (!pair || !drawn) {
    free(pair);
    free(drawn);
    return ft_error_set(err, "out of memory");
  }
  for (size_t r = 0; r < rows; r++) {
    pair[2 * r] = g->t->group[r];
    pair[2 * r + 1] = r;
  }
  qsort(pair, rows, 2 * sizeof *pair, compare_groups);
  for (size_t r = 0; r < rows; r++)
    groups += r == 0 || pair[2 * r] != pair[2 * (r - 1)];
  one_group = groups < 2;
  groups = one_group ? rows : groups;
  for (size_t i = 0; i < groups; i++)
    drawn[i] = i;
  ft_random_seed(&random, g->settings->seed);
  for (size_t i = groups; i > 1; i--) {
    size_t j = ft_random_below(&random, i), swap = drawn[i - 1];

    drawn[i - 1] = drawn[j];
    drawn[j] = swap;
  }
  g->folds = rows <= FEW_ROWS ? FEW_FOLDS : FOLDS;
  g->folds = g->folds < groups ? g->folds : groups;
  for (size_t r = 0, at = 0; r < rows; r++) {
    at += r > 0 && (one_group || pair[2 * r] != pair[2 * (r - 1)]);
    g->fold[pair[2 * r + 1]] = drawn[at] % g->folds;
  }
  free(pair);
  free(drawn);
  return 0;
}

/*
 * Drops the slow learners of MASK whose error on FOLD is far from the best (Hoeffding races: Maron
 * and Moore 1994). Their predictions become NAN. Returns the remaining learners.
 */
static unsigned drop_slow_learners(struct fitter *g, size_t fold, unsigned mask)
{
  const struct ft_speedup_table *t = g->t;
  double squares[FT_LEARNERS] = { 0 }, best = INFINITY;

  for (int l = 0; l < FT_LEARNERS; l++) {
    for (size_t i = 0; mask & 1u << l && i < t->rows * t->outputs; i++)
      if (g->fold[i / t->outputs] == fold && !isnan(t->y[i]))
        squares[l] += pow(t->y[i] - g->predicted[l][i], 2);
    if (mask & 1u << l && !ft_learner_slow((enum ft_learner_kind)l))
      best = fmin(best, squares[l]);
  }
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && ft_learner_slow((enum ft_learner_kind)l) &&
        squares[l] > MAX_RACE_RATIO * MAX_RACE_RATIO * best) {
      mask &= ~(1u << l);
      for (size_t i = 0; i < t->rows * t->outputs; i++)
        g->predicted[l][i] = NAN;
    }
  return mask;
}

/* Fills the held-out predictions of the learners in ALL, and removes dropped slow learners from
 * ALL. */
static int predict_held_out(struct fitter *g, unsigned *all, struct ft_error *err)
{
  unsigned mask = *all;
  const struct ft_speedup_table *t = g->t;
  double row[FT_FEATURE_ENCODER_MAX];

  for (size_t fold = 0; fold < g->folds; fold++) {
    struct fitted f;

    if (fit_without_fold(g, fold, mask, (g->settings->trees + 2) / 3, &f, err) < 0) {
      fitted_free(&f);
      return -1;
    }
    for (size_t r = 0; r < t->rows; r++) {
      if (g->fold[r] != fold)
        continue;
      ft_feature_encoder_row(&f.encode, t->x + r * t->columns, row);
      for (int l = 0; l < FT_LEARNERS; l++)
        if (mask & 1u << l)
          ft_learner_predict(&f.learner[l], row, g->predicted[l] + r * t->outputs);
    }
    fitted_free(&f);
    if (fold == 0)
      mask = drop_slow_learners(g, fold, mask);
  }
  *all = mask;
  return 0;
}

/* Returns the root mean square error of PREDICTED; NAN if no output is known. */
static double rms_error(const struct ft_speedup_table *t, const double *predicted)
{
  double squares = 0, count = 0;

  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    double e = t->y[i] - predicted[i];

    if (isnan(e))
      continue;
    squares += e * e;
    count++;
  }
  return count > 0 ? sqrt(squares / count) : NAN;
}

/* Fits the mixture weights; SUM gets the mixture's held-out predictions. */
static int fit_weights(const struct fitter *g, unsigned mask, double *sum,
                       struct ft_speedup_model *out, struct ft_error *err)
{
  const struct ft_speedup_held_out held_out = { g->t, g->fold, g->folds, g->predicted, mask };

  if (ft_speedup_choose_weights(&held_out, out->weight, out->error, err) < 0)
    return -1;
  for (int l = 0; l < FT_LEARNERS; l++)
    for (size_t i = 0; out->weight[l] > 0 && i < g->t->rows * g->t->outputs; i++)
      sum[i] += out->weight[l] * g->predicted[l][i];
  out->mixture_error = rms_error(g->t, sum);
  return 0;
}

/* Sets equal weights of the learners in MASK and unknown errors. */
static void set_equal_weights(unsigned mask, struct ft_speedup_model *out)
{
  for (int l = 0; l < FT_LEARNERS; l++) {
    out->error[l] = NAN;
    if (mask & 1u << l)
      out->weight[l] = 1.0 / __builtin_popcount(mask);
  }
}

/* Stores the residuals of the held-out predictions SUM, if VALIDATED: sorted per output, and as a
 * normal distribution. */
static int store_held_out_residuals(const struct ft_speedup_table *t, const double *sum,
                                    bool validated, struct ft_speedup_model *out,
                                    struct ft_error *err)
{
  double *residual = calloc(t->rows * t->outputs + 1, sizeof *residual);
  double *whole = calloc(t->rows * t->outputs + 1, sizeof *whole);
  int status = -1;

  out->held_out_residuals = calloc(t->rows * t->outputs + 1, sizeof *out->held_out_residuals);
  if (!residual || !whole || !out->held_out_residuals) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    size_t o = i % t->outputs;

    residual[i] = t->y[i] - sum[i];
    if (!isnan(residual[i]) && validated)
      out->held_out_residuals[o * t->rows + out->count[o]++] = residual[i];
  }
  /* too few residuals give no correlation with other outputs */
  for (size_t i = 0; validated && t->rows >= MIN_ROWS && i < t->rows * t->outputs; i++)
    if (out->count[i % t->outputs] < MIN_ROWS)
      residual[i] = NAN;
  for (size_t o = 0; o < t->outputs; o++)
    qsort(out->held_out_residuals + o * t->rows, out->count[o], sizeof *out->held_out_residuals,
          ft_sort_compare);
  status = ft_multivariate_normal_fit(residual, t->rows, t->outputs, whole, &out->residual, err);
  /* one prior pseudo-observation per platform */
  for (size_t o = 0; o < t->outputs; o++)
    out->residual.covariance[o * t->outputs + o] +=
        FT_SPEEDUP_PRIOR * FT_SPEEDUP_PRIOR / (double)(out->count[o] + 1);
out:
  free(residual);
  free(whole);
  return status;
}

static int check_speedup_table(const struct ft_speedup_table *t, struct ft_error *err)
{
  size_t known = 0;

  if (t->columns < 1 || t->columns > FT_FEATURE_ENCODER_COLUMNS || t->outputs < 1 ||
      t->outputs > FT_MULTIVARIATE_NORMAL_OUTPUTS)
    return ft_error_set(err, "%zu features and %zu ratios; expected 1 to %d and 1 to %d",
                        t->columns, t->outputs, FT_FEATURE_ENCODER_COLUMNS,
                        FT_MULTIVARIATE_NORMAL_OUTPUTS);
  for (size_t i = 0; i < t->rows * t->outputs; i++)
    known += !isnan(t->y[i]);
  return known ? 0 : ft_error_set(err, "no ratio to learn from");
}

/* Fits the mixture of OUT to T. HELD_OUT, one number per element of t->y, gets the held-out
 * predictions; 0 if settings->unvalidated or if there are too few rows. VALIDATED: set to whether
 * rows were held out. Returns 0; -1 on error and fills ERR. */
static int fit_mixture(const struct ft_speedup_table *t, const struct ft_speedup_settings *settings,
                       struct ft_speedup_model *out, double *held_out, bool *validated,
                       struct ft_error *err)
{
  struct fitter g = { .t = t, .settings = settings };
  unsigned mask = settings->learners | 1u << FT_LEARNER_CONSTANT, used = 0;
  size_t cells = t->rows * t->outputs;
  struct fitted f = { 0 };
  int status = -1;

  *out = (struct ft_speedup_model){ .outputs = t->outputs, .rows = t->rows };
  g.fold = calloc(t->rows, sizeof *g.fold);
  if (!g.fold)
    goto memory;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && !(g.predicted[l] = calloc(cells, sizeof **g.predicted)))
      goto memory;
  if (assign_group_folds(&g, err) < 0)
    goto out;
  if (t->rows < MIN_ROWS) /* too few to cross-validate: the mean, with unknown error */
    mask = 1u << FT_LEARNER_CONSTANT;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (ft_learner_slow((enum ft_learner_kind)l) && t->rows < SLOW_ROWS && !settings->unvalidated)
      mask &= ~(1u << l);
  *validated = !settings->unvalidated && g.folds > 1;
  if (*validated && predict_held_out(&g, &mask, err) < 0)
    goto out;
  if (settings->unvalidated)
    set_equal_weights(settings->learners, out);
  else if (fit_weights(&g, mask, held_out, out, err) < 0)
    goto out;
  for (int l = 0; l < FT_LEARNERS; l++)
    used |= out->weight[l] > 0 ? 1u << l : 0;
  if (fit_without_fold(&g, SIZE_MAX, used, settings->trees, &f, err) < 0)
    goto out;
  out->encode = f.encode;
  memcpy(out->learner, f.learner, sizeof out->learner);
  f = (struct fitted){ 0 };
  status = 0;
  goto out;
memory:
  ft_error_set(err, "out of memory");
out:
  fitted_free(&f);
  for (int l = 0; l < FT_LEARNERS; l++)
    free(g.predicted[l]);
  free(g.fold);
  return status;
}

/* ---- outputs that few rows have ---- */

/*
 * The joint fit fills missing outputs from the other outputs, without the features. If most of an
 * output is missing, the imputed values outweigh the observed ones. Such an output is also fitted
 * to its observed rows only, and the held-out error decides. With too few rows for cross-validation
 * its mean is used.
 */
/* Table of the rows in which one output is known. */
struct part {
  double *x, *y, *held_out;
  size_t *group, *row; /* row: index in the whole table */
  size_t rows;
};

static void part_free(struct part *p)
{
  free(p->x);
  free(p->y);
  free(p->held_out);
  free(p->group);
  free(p->row);
}

static int part_create(const struct ft_speedup_table *t, size_t output, size_t known,
                       struct part *p, struct ft_error *err)
{
  *p = (struct part){ .x = calloc(known * t->columns, sizeof *p->x),
                      .y = calloc(known, sizeof *p->y),
                      .held_out = calloc(known, sizeof *p->held_out),
                      .group = calloc(known, sizeof *p->group),
                      .row = calloc(known, sizeof *p->row) };
  if (!p->x || !p->y || !p->held_out || !p->group || !p->row)
    return ft_error_set(err, "out of memory");
  for (size_t r = 0; r < t->rows && p->rows < known; r++) {
    if (isnan(t->y[r * t->outputs + output]))
      continue;
    memcpy(p->x + p->rows * t->columns, t->x + r * t->columns, t->columns * sizeof *p->x);
    p->y[p->rows] = t->y[r * t->outputs + output];
    p->group[p->rows] = t->group[r];
    p->row[p->rows++] = r;
  }
  return 0;
}

/* Returns the sum of held-out absolute errors of OUTPUT in P with the joint model, minus that with
 * the separate model. */
static double held_out_gain(const struct ft_speedup_table *t, size_t output, const struct part *p,
                            const double *held_out)
{
  double sum = 0;

  for (size_t i = 0; i < p->rows; i++)
    sum +=
        fabs(p->y[i] - held_out[p->row[i] * t->outputs + output]) - fabs(p->y[i] - p->held_out[i]);
  return sum;
}

static int try_own_model(const struct ft_speedup_table *t, size_t output, size_t known,
                         const struct ft_speedup_settings *settings, struct ft_speedup_model *out,
                         double *held_out, struct ft_error *err)
{
  struct ft_speedup_model *own = &out->per_output[out->per_output_count];
  struct part p;
  bool validated = false;
  int status = part_create(t, output, known, &p, err);

  if (status == 0) {
    const struct ft_speedup_table table = { p.x, p.y, p.group, p.rows, t->columns, 1 };

    status = fit_mixture(&table, settings, own, p.held_out, &validated, err);
    if (status == 0 &&
        (known < MIN_OUTPUT_ROWS || (validated && held_out_gain(t, output, &p, held_out) > 0))) {
      for (size_t i = 0; validated && i < p.rows; i++)
        held_out[p.row[i] * t->outputs + output] = p.held_out[i];
      out->per_output_index[out->per_output_count++] = output;
      own = NULL;
    }
    ft_speedup_free(own);
  }
  part_free(&p);
  return status;
}

/* Fits a separate model to each output that few rows of T have (above). HELD_OUT gets its
 * predictions if its error is smaller. Returns 0; -1 on error and fills ERR. */
static int fit_per_output(const struct ft_speedup_table *t,
                          const struct ft_speedup_settings *settings, struct ft_speedup_model *out,
                          double *held_out, struct ft_error *err)
{
  struct ft_speedup_settings quick = *settings;

  for (int l = 0; l < FT_LEARNERS; l++)
    if (ft_learner_slow((enum ft_learner_kind)l))
      quick.learners &= ~(1u << l);
  for (size_t o = 0; o < t->outputs; o++) {
    size_t known = 0;

    for (size_t r = 0; r < t->rows; r++)
      known += !isnan(t->y[r * t->outputs + o]);
    if (known < 1 || known > MAX_OUTPUT_ROWS || 2 * known > t->rows)
      continue;
    if (!out->per_output && !(out->per_output = calloc(t->outputs, sizeof *out->per_output)))
      return ft_error_set(err, "out of memory");
    if (try_own_model(t, o, known, &quick, out, held_out, err) < 0)
      return -1;
  }
  return 0;
}

int ft_speedup_fit(const struct ft_speedup_table *t, const struct ft_speedup_settings *settings,
                   struct ft_speedup_model *out, struct ft_error *err)
{
  double *held_out;
  bool validated = false;
  int status = -1;

  *out = (struct ft_speedup_model){ 0 };
  if (check_speedup_table(t, err) < 0)
    return -1;
  held_out = calloc(t->rows * t->outputs, sizeof *held_out);
  if (!held_out)
    return ft_error_set(err, "out of memory");
  if (fit_mixture(t, settings, out, held_out, &validated, err) < 0 ||
      (validated && fit_per_output(t, settings, out, held_out, err) < 0))
    goto out;
  if (out->per_output_count)
    out->mixture_error = rms_error(t, held_out);
  status = store_held_out_residuals(t, held_out, validated, out, err);
out:
  free(held_out);
  return status;
}
