/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a mixture of learners is chosen and fitted. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/order.h"
#include "predictor/core/random.h"
#include "predictor/learn/ratios.h"

/* Columns a ridge of a few takes; steps in which a mixture is made; parts for few and many rows. */
enum { FEW = 4, STEPS = 20, FOLDS = 5, FOLDS_OF_FEW = 10, FEW_ROWS = 40, EQUAL_ROWS = 400 };

/*
 * The fewest rows that a slow learner is tried on: with fewer a network of thousands of units a row was
 * never near the best (tests/bench/relative: aiwc's 88 rows, R2 0.5 against 0.8).
 */
enum { SLOW_ROWS = 200 };

/* An error on rows held out that, of few rows, may be as good as the best: by so many times. */
#define NEAR 1.5

/* What is learnt from at once: more rows are thinned evenly, that a large table takes minutes. */
enum { MOST_ROWS = 4000, MOST_NUMBERS = 1 << 19 };

/* One set of learners, fitted to some of the rows. */
struct fitted {
  struct ft_encode encode;
  struct ft_learner learner[FT_LEARNERS];
};

struct fitter {
  const struct ft_ratios_table *t;
  const struct ft_ratios_settings *settings;
  double *whole; /* Y without gaps */
  size_t *fold;  /* by row */
  size_t folds;
  bool rates; /* some column is a rate */
  double *said[FT_LEARNERS]; /* of rows held out */
};

static void fitted_free(struct fitted *f)
{
  ft_encode_free(&f->encode);
  for (int l = 0; l < FT_LEARNERS; l++)
    ft_learner_free(&f->learner[l]);
}

/* Encode ROWS of X by F, with differences of the columns that predict most. */
static int encode(struct fitted *f, const double *x, const double *y, const size_t *group,
                  size_t rows, const struct ft_ratios_table *t, uint32_t *few, size_t *count,
                  double **out, struct ft_error *err)
{
  uint32_t logs[FEW];
  size_t logs_count = 0;
  struct ft_samples s;
  double *encoded = NULL;

  if (ft_encode_fit(x, rows, t->columns, &f->encode, err) < 0)
    return -1;
  for (int pass = 0; pass < 2; pass++) {
    free(encoded);
    encoded = calloc(rows * f->encode.columns + 1, sizeof *encoded);
    if (!encoded)
      return ft_error_set(err, "features: out of memory");
    for (size_t r = 0; r < rows; r++)
      ft_encode_row(&f->encode, x + r * t->columns, encoded + r * f->encode.columns);
    if (pass)
      break;
    s = (struct ft_samples){ encoded, y, rows, f->encode.columns, t->outputs };
    *count = ft_learner_choose(&s, group, f->encode.plain, 0, few, FEW);
    for (size_t k = 0; k < *count; k++)
      if (few[k] < t->columns && f->encode.column[few[k]].logs)
        logs[logs_count++] = few[k];
    ft_encode_differ(&f->encode, x, rows, logs, logs_count);
    ft_encode_rate(&f->encode, x, rows);
  }
  *out = encoded;
  return 0;
}

/*
 * Fit the learners in MASK to the rows that are not of FOLD (SIZE_MAX: to all). Returns 0; -1 with
 * ERR. F is to be freed in either case.
 */
static int fit_part(const struct fitter *g, size_t fold, unsigned mask, unsigned trees,
                    struct fitted *f, struct ft_error *err)
{
  const struct ft_ratios_table *t = g->t;
  double *x = calloc(t->rows * t->columns + 1, sizeof *x), *encoded = NULL;
  double *y = calloc(t->rows * t->outputs + 1, sizeof *y);
  size_t *group = calloc(t->rows + 1, sizeof *group), rows = 0, count = 0, seen = 0, whole = 0;
  size_t most = MOST_NUMBERS / t->columns < MOST_ROWS ? MOST_NUMBERS / t->columns : MOST_ROWS;
  uint32_t few[FEW] = { 0 };
  struct ft_learner_settings how;
  struct ft_samples s;
  int status = -1;

  *f = (struct fitted){ 0 };
  if (!x || !y || !group) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  for (size_t r = 0; r < t->rows; r++)
    whole += g->fold[r] != fold;
  most = most < whole ? most : whole;
  for (size_t r = 0; r < t->rows; r++) {
    if (g->fold[r] == fold || rows * whole > seen++ * most)
      continue;
    memcpy(x + rows * t->columns, t->x + r * t->columns, t->columns * sizeof *x);
    memcpy(y + rows * t->outputs, g->whole + r * t->outputs, t->outputs * sizeof *y);
    group[rows++] = g->fold[r];
  }
  if (encode(f, x, y, group, rows, t, few, &count, &encoded, err) < 0)
    goto out;
  s = (struct ft_samples){ encoded, y, rows, f->encode.columns, t->outputs };
  how = (struct ft_learner_settings){ &f->encode, few, count, trees, g->settings->seed,
                                      g->settings->stop, g->settings->data };
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l &&
        ft_learner_fit((enum ft_learner_kind)l, &s, &how, &f->learner[l], err) < 0)
      goto out;
  status = 0;
out:
  free(x);
  free(y);
  free(group);
  free(encoded);
  return status;
}

static int by_group(const void *a, const void *b)
{
  const size_t *p = a, *q = b;

  return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* Deal the groups out to the folds, in an order that the seed draws; of one group, the rows. */
static int deal(struct fitter *g, struct ft_error *err)
{
  size_t rows = g->t->rows, groups = 0;
  size_t *pair = calloc(2 * rows + 1, sizeof *pair), *drawn = calloc(rows + 1, sizeof *drawn);
  struct ft_random random;
  bool alone;

  if (!pair || !drawn) {
    free(pair);
    free(drawn);
    return ft_error_set(err, "out of memory");
  }
  for (size_t r = 0; r < rows; r++) {
    pair[2 * r] = g->t->group[r];
    pair[2 * r + 1] = r;
  }
  qsort(pair, rows, 2 * sizeof *pair, by_group);
  for (size_t r = 0; r < rows; r++)
    groups += r == 0 || pair[2 * r] != pair[2 * (r - 1)];
  alone = groups < 2;
  groups = alone ? rows : groups;
  for (size_t i = 0; i < groups; i++)
    drawn[i] = i;
  ft_random_seed(&random, g->settings->seed);
  for (size_t i = groups; i > 1; i--) {
    size_t j = ft_random_below(&random, i), swap = drawn[i - 1];

    drawn[i - 1] = drawn[j];
    drawn[j] = swap;
  }
  g->folds = rows <= FEW_ROWS ? FOLDS_OF_FEW : FOLDS;
  g->folds = g->folds < groups ? g->folds : groups;
  for (size_t r = 0, at = 0; r < rows; r++) {
    at += r > 0 && (alone || pair[2 * r] != pair[2 * (r - 1)]);
    g->fold[pair[2 * r + 1]] = drawn[at] % g->folds;
  }
  free(pair);
  free(drawn);
  return 0;
}

/*
 * The slow ones of MASK that are not near the best of the rest on the rows of FOLD are not worth the
 * other folds (a race: Maron and Moore 1994): NAN is what they say. Returns the rest.
 */
static unsigned race(struct fitter *g, size_t fold, unsigned mask)
{
  const struct ft_ratios_table *t = g->t;
  double squares[FT_LEARNERS] = { 0 }, best = INFINITY;

  for (int l = 0; l < FT_LEARNERS; l++) {
    for (size_t i = 0; mask & 1u << l && i < t->rows * t->outputs; i++)
      if (g->fold[i / t->outputs] == fold && !isnan(t->y[i]))
        squares[l] += pow(t->y[i] - g->said[l][i], 2);
    if (mask & 1u << l && !ft_learner_slow((enum ft_learner_kind)l))
      best = fmin(best, squares[l]);
  }
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && ft_learner_slow((enum ft_learner_kind)l) && squares[l] > NEAR * NEAR * best) {
      mask &= ~(1u << l);
      for (size_t i = 0; i < t->rows * t->outputs; i++)
        g->said[l][i] = NAN;
    }
  return mask;
}

/* What each learner says of rows that it has not seen. */
static int hold_out(struct fitter *g, unsigned mask, struct ft_error *err)
{
  const struct ft_ratios_table *t = g->t;
  double row[FT_ENCODE_MOST];

  for (size_t fold = 0; fold < g->folds; fold++) {
    struct fitted f;

    if (fit_part(g, fold, mask, (g->settings->trees + 2) / 3, &f, err) < 0) {
      fitted_free(&f);
      return -1;
    }
    g->rates |= f.encode.rates > 0;
    for (size_t r = 0; r < t->rows; r++) {
      if (g->fold[r] != fold)
        continue;
      ft_encode_row(&f.encode, t->x + r * t->columns, row);
      for (int l = 0; l < FT_LEARNERS; l++)
        if (mask & 1u << l)
          ft_learner_predict(&f.learner[l], row, g->said[l] + r * t->outputs);
    }
    fitted_free(&f);
    if (fold == 0)
      mask = race(g, fold, mask);
  }
  return 0;
}

/* Root mean square of Y less SUM / STEPS, where SUM and ADDED, or NULL, are summed. */
static double miss(const struct ft_ratios_table *t, const double *sum, const double *added,
                   double steps)
{
  double squares = 0, count = 0;

  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    double e = t->y[i] - (sum[i] + (added ? added[i] : 0)) / steps;

    if (isnan(e))
      continue;
    squares += e * e;
    count++;
  }
  return count > 0 ? sqrt(squares / count) : NAN;
}

/*
 * Of few rows, errors on rows held out are too rough to choose by: all that are near the best,
 * equally.
 */
static void mix_near(const struct fitter *g, unsigned mask, double *sum, struct ft_ratios *out)
{
  size_t cells = g->t->rows * g->t->outputs;
  double best = INFINITY, near = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l ? fmin(best, out->error[l]) : best;
  if (out->error[FT_LEARNER_CONSTANT] > best) /* near is not enough for what says the same of every row */
    mask &= ~(1u << FT_LEARNER_CONSTANT);
  for (int l = 0; l < FT_LEARNERS; l++)
    near += mask & 1u << l && out->error[l] <= NEAR * best;
  for (int l = 0; l < FT_LEARNERS; l++) {
    if (!(mask & 1u << l && out->error[l] <= NEAR * best))
      continue;
    out->weight[l] = 1 / near;
    for (size_t i = 0; i < cells; i++)
      sum[i] += STEPS * g->said[l][i] / near;
  }
  out->mixed = miss(g->t, sum, NULL, STEPS);
}

/* MASK without the slow ones that are not the best, or fell out of the race. */
static unsigned without_slow(const struct ft_ratios *out, unsigned mask)
{
  double best = INFINITY;

  for (int l = 0; l < FT_LEARNERS; l++)
    best = mask & 1u << l && out->error[l] < best ? out->error[l] : best;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (ft_learner_slow((enum ft_learner_kind)l) && !(out->error[l] <= best))
      mask &= ~(1u << l);
  return mask;
}

/*
 * Of at most FEW_ROWS rows, where there are rates: what learns from them alone, and the mean. All the
 * columns are too many for so few rows (timm's networks on a new GPU from ten: median error 5.6 against 6.1 %).
 */
static unsigned with_rates(unsigned mask)
{
  return mask & (1u << FT_LEARNER_CONSTANT | 1u << FT_LEARNER_RATE_TREES |
                 1u << FT_LEARNER_RATE_PROCESS);
}

/*
 * The learners of MASK that have a linear part, and the mean. A forest ends where its rows do: it looks good
 * among hundreds of rows that resemble one another, and fails on the first that does not (aiwc from
 * the i7, kernels held out: R2 0.69 with forests among those near the best, 0.76 without).
 */
static unsigned with_linear(unsigned mask)
{
  for (int l = 0; l < FT_LEARNERS; l++)
    if (l != FT_LEARNER_CONSTANT && !ft_learner_linear((enum ft_learner_kind)l))
      mask &= ~(1u << l);
  return mask;
}

/*
 * A mixture by forward selection with replacement (Caruana and others 2004): step by step, the learner
 * is added that makes the mixture's error on rows held out smallest.
 */
static void mix(const struct fitter *g, unsigned mask, double *sum, struct ft_ratios *out)
{
  const struct ft_ratios_table *t = g->t;

  for (int l = 0; l < FT_LEARNERS; l++)
    out->error[l] = mask & 1u << l ? miss(t, g->said[l], NULL, 1) : NAN;
  mask = without_slow(out, mask);
  if (t->rows <= EQUAL_ROWS) {
    if (t->rows > FEW_ROWS)
      mask = with_linear(mask);
    else if (g->rates)
      mask = with_rates(mask);
    mix_near(g, mask, sum, out);
    return;
  }
  for (int step = 1; step <= STEPS; step++) {
    double best = INFINITY;
    int which = FT_LEARNER_CONSTANT;

    for (int l = 0; l < FT_LEARNERS; l++) {
      double error = mask & 1u << l ? miss(t, sum, g->said[l], step) : INFINITY;

      if (error < best) {
        best = error;
        which = l;
      }
    }
    out->weight[which] += 1.0 / STEPS;
    for (size_t i = 0; i < t->rows * t->outputs; i++)
      sum[i] += g->said[which][i];
    out->mixed = best;
  }
}

/* The learners in MASK, equally: nothing is known of their errors. */
static void take(unsigned mask, struct ft_ratios *out)
{
  for (int l = 0; l < FT_LEARNERS; l++) {
    out->error[l] = NAN;
    if (mask & 1u << l)
      out->weight[l] = 1.0 / __builtin_popcount(mask);
  }
}

/* What the mixture missed on rows held out, if HONEST: sorted by output, and as a normal distribution. */
static int keep_missed(const struct ft_ratios_table *t, const double *sum, bool honest,
                       struct ft_ratios *out, struct ft_error *err)
{
  double *rest = calloc(t->rows * t->outputs + 1, sizeof *rest);
  double *whole = calloc(t->rows * t->outputs + 1, sizeof *whole);
  int status = -1;

  out->missed = calloc(t->rows * t->outputs + 1, sizeof *out->missed);
  if (!rest || !whole || !out->missed) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  for (size_t i = 0; i < t->rows * t->outputs; i++) {
    size_t o = i % t->outputs;

    rest[i] = t->y[i] - sum[i] / STEPS;
    if (!isnan(rest[i]) && honest)
      out->missed[o * t->rows + out->count[o]++] = rest[i];
  }
  for (size_t o = 0; o < t->outputs; o++)
    qsort(out->missed + o * t->rows, out->count[o], sizeof *out->missed, ft_order_rising);
  status = ft_gauss_fit(rest, t->rows, t->outputs, whole, &out->residual, err);
  /* one imagined residual a platform: few rows do not make for certainty */
  for (size_t o = 0; o < t->outputs; o++)
    out->residual.covariance[o * t->outputs + o] +=
        FT_RATIOS_PRIOR * FT_RATIOS_PRIOR / (double)(out->count[o] + 1);
out:
  free(rest);
  free(whole);
  return status;
}

static int check(const struct ft_ratios_table *t, struct ft_error *err)
{
  size_t known = 0;

  if (t->columns < 1 || t->columns > FT_ENCODE_COLUMNS || t->outputs < 1 ||
      t->outputs > FT_GAUSS_OUTPUTS)
    return ft_error_set(err, "%zu features and %zu ratios; expected 1 to %d and 1 to %d",
                        t->columns, t->outputs, FT_ENCODE_COLUMNS, FT_GAUSS_OUTPUTS);
  for (size_t i = 0; i < t->rows * t->outputs; i++)
    known += !isnan(t->y[i]);
  return known ? 0 : ft_error_set(err, "no ratio to learn from");
}

int ft_ratios_fit(const struct ft_ratios_table *t, const struct ft_ratios_settings *settings,
                  struct ft_ratios *out, struct ft_error *err)
{
  struct fitter g = { .t = t, .settings = settings };
  unsigned mask = settings->learners | 1u << FT_LEARNER_CONSTANT, used = 0;
  size_t cells = t->rows * t->outputs;
  double *sum = NULL;
  struct fitted f = { 0 };
  int status = -1;

  *out = (struct ft_ratios){ .outputs = t->outputs, .rows = t->rows };
  if (check(t, err) < 0)
    return -1;
  g.whole = calloc(cells, sizeof *g.whole);
  g.fold = calloc(t->rows, sizeof *g.fold);
  sum = calloc(cells, sizeof *sum);
  if (!g.whole || !g.fold || !sum)
    goto memory;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (mask & 1u << l && !(g.said[l] = calloc(cells, sizeof *sum)))
      goto memory;
  if (ft_gauss_fit(t->y, t->rows, t->outputs, g.whole, &out->residual, err) < 0 ||
      deal(&g, err) < 0)
    goto out;
  if (t->rows < 4) /* nothing can be held out: the mean, and no claim to know its error */
    mask = 1u << FT_LEARNER_CONSTANT;
  for (int l = 0; l < FT_LEARNERS; l++)
    if (ft_learner_slow((enum ft_learner_kind)l) && t->rows < SLOW_ROWS && !settings->untried)
      mask &= ~(1u << l);
  if (!settings->untried && g.folds > 1 && hold_out(&g, mask, err) < 0)
    goto out;
  if (settings->untried)
    take(settings->learners, out);
  else
    mix(&g, mask, sum, out);
  if (keep_missed(t, sum, !settings->untried && g.folds > 1, out, err) < 0)
    goto out;
  for (int l = 0; l < FT_LEARNERS; l++)
    used |= out->weight[l] > 0 ? 1u << l : 0;
  if (fit_part(&g, SIZE_MAX, used, settings->trees, &f, err) < 0)
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
    free(g.said[l]);
  free(g.whole);
  free(g.fold);
  free(sum);
  return status;
}
