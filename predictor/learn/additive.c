/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/additive.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  CANDIDATES = 2 * FT_ADDITIVE_COLUMNS,
  CATEGORICAL_TERMS = 2,
  PARAMETERS = 1 + CATEGORICAL_TERMS * FT_ADDITIVE_LEVELS + FT_ADDITIVE_TERMS,
  SHORTLIST = 3, /* candidates by explained squares whose leave-one-out error is worked out */
  FEWEST_RUNS = 5,
  ROUNDS = 4 /* of reweighting */
};

/* An error of more than a factor e counts no more than that. */
#define MOST_ERROR 1.0
/* Below 0.2 % mean error no feature could matter. */
#define NO_ERROR 0.002
/* 95 % efficient at the normal distribution (Huber 1964). */
#define HUBER 1.345
/* Weights that all change by less are at rest. */
#define SETTLED 0.02

struct candidate {
  size_t column, levels;
  bool log, used;
  double mean, scale;
  double squares; /* of its part that is orthogonal to the terms chosen */
};

/* One attempt: either the logarithm or the value is additive. */
struct attempt {
  bool log_target;
  size_t terms, chosen[FT_ADDITIVE_TERMS];
  double error, start_error;
  double intercept, coefficient[PARAMETERS];
  double residual[RUNS];
};

struct ft_additive_work {
  const struct ft_additive_data *data;
  double scale_y; /* geometric mean of y */
  size_t candidates, columns_used;
  struct candidate candidate[CANDIDATES];
  double z[CANDIDATES][RUNS];   /* standardised, 0 where missing */
  double v[CANDIDATES][RUNS];   /* the same by row weight, orthogonal to what was chosen */
  double target[RUNS], row[RUNS], residual[RUNS], hat[RUNS];
  double trial[SHORTLIST][RUNS], sorted[RUNS];
  double design[RUNS][PARAMETERS], gram[PARAMETERS][PARAMETERS], solution[PARAMETERS];
  double weight[RUNS];
  struct attempt attempt[3];
};

size_t ft_additive_work_size(void)
{
  return sizeof(struct ft_additive_work);
}

static int rising(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* The median; VALUE is left sorted. */
static double median(double *value, size_t count)
{
  qsort(value, count, sizeof *value, rising);
  return (value[(count - 1) / 2] + value[count / 2]) / 2;
}

/* ---- candidates ---- */

static bool standardise(struct ft_additive_work *w, size_t column, bool log)
{
  struct candidate *c = &w->candidate[w->candidates];
  const float *x = w->data->x[column];
  double *z = w->z[w->candidates], sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  size_t present = 0;

  for (size_t i = 0; i < w->data->runs; i++) {
    z[i] = log ? log1p(fabs((double)x[i])) : (double)x[i];
    if (isnan(z[i]))
      continue;
    present++;
    sum += z[i];
    low = fmin(low, z[i]);
    high = fmax(high, z[i]);
  }
  if (present < 3 || !(high - low > 1e-6 * fmax(fabs(low), fabs(high))))
    return false;
  *c = (struct candidate){ .column = column, .log = log, .mean = sum / (double)present };
  for (size_t i = 0; i < w->data->runs; i++)
    if (!isnan(z[i]))
      squares += (z[i] - c->mean) * (z[i] - c->mean);
  c->scale = sqrt(squares / (double)present);
  for (size_t i = 0; i < w->data->runs; i++)
    z[i] = isnan(z[i]) ? 0 : (z[i] - c->mean) / c->scale;
  w->candidates++;
  return true;
}

/* A logarithm is worth trying where the values keep one sign and span a factor of 1.5. */
static bool spans(const struct ft_additive_data *data, size_t column)
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < data->runs; i++) {
    low = fmin(low, (double)data->x[column][i]);
    high = fmax(high, (double)data->x[column][i]);
  }
  return low >= 0 && high > 1.5 * low;
}

static bool levels_differ(const struct ft_additive_data *data, size_t column)
{
  float first = NAN;

  for (size_t i = 0; i < data->runs; i++) {
    if (isnan(first))
      first = data->x[column][i];
    else if (!isnan(data->x[column][i]) && data->x[column][i] != first)
      return true;
  }
  return false;
}

static void gather(struct ft_additive_work *w)
{
  const struct ft_additive_data *data = w->data;

  w->candidates = w->columns_used = 0;
  if (data->runs < FEWEST_RUNS)
    return;
  for (size_t j = 0; j < data->columns; j++) {
    size_t before = w->candidates;

    if (data->levels[j]) {
      if (levels_differ(data, j))
        w->candidate[w->candidates++] =
            (struct candidate){ .column = j, .levels = data->levels[j] };
    } else if (standardise(w, j, false) && spans(data, j)) {
      (void)standardise(w, j, true);
    }
    w->columns_used += w->candidates > before;
  }
}

/* ---- errors ---- */

/* log(target / centre) where the target itself is additive. */
static double log_residual(double target, double centre, double intercept)
{
  return log(target / fmax(centre, intercept * FT_ADDITIVE_FLOOR));
}

/* Mean size of the leave-one-out errors, given LOO, the rows' weighted residuals. */
static double error_of(const struct ft_additive_work *w, bool log_target, const double *loo)
{
  double sum = 0;

  for (size_t i = 0; i < w->data->runs; i++) {
    double e = log_target ? loo[i]
                          : log_residual(w->target[i], w->target[i] - loo[i] / w->row[i], 1);

    sum += fmin(fabs(e), MOST_ERROR);
  }
  return sum / (double)w->data->runs;
}

/* By which factor a term has to reduce the error: the more columns and the fewer runs, the more. */
static double demanded(const struct ft_additive_work *w)
{
  return 1 - fmin(0.75, 1.2 * sqrt(log(1 + (double)w->columns_used) / (double)w->data->runs));
}

/* ---- choosing terms ---- */

struct level_sums {
  double sum[FT_ADDITIVE_LEVELS], weight[FT_ADDITIVE_LEVELS], shrink;
};

/* The row's level, or -1. */
static int level_of(const struct ft_additive_work *w, const struct candidate *c, size_t row)
{
  float x = w->data->x[c->column][row];

  return x >= 0 && x < (float)c->levels ? (int)x : -1;
}

static void sum_levels(const struct ft_additive_work *w, const struct candidate *c,
                       struct level_sums *s)
{
  double all = 0;

  *s = (struct level_sums){ 0 };
  for (size_t i = 0; i < w->data->runs; i++) {
    int level = level_of(w, c, i);

    all += w->row[i] * w->row[i];
    if (level < 0)
      continue;
    s->sum[level] += w->row[i] * w->residual[i];
    s->weight[level] += w->row[i] * w->row[i];
  }
  s->shrink = all / (double)w->data->runs / 2;
}

/* Explained squares of the residual. */
static double gain_of(const struct ft_additive_work *w, size_t candidate)
{
  const struct candidate *c = &w->candidate[candidate];
  double dot = 0;

  if (c->levels) {
    struct level_sums s;

    sum_levels(w, c, &s);
    for (size_t l = 0; l < c->levels; l++)
      dot += s.sum[l] * s.sum[l] / (s.weight[l] + s.shrink);
    return dot;
  }
  for (size_t i = 0; i < w->data->runs; i++)
    dot += w->v[candidate][i] * w->residual[i];
  return c->squares > 1e-6 ? dot * dot / c->squares : 0;
}

/* The leave-one-out residuals if CANDIDATE came in. */
static void try_candidate(const struct ft_additive_work *w, size_t candidate, double *loo)
{
  const struct candidate *c = &w->candidate[candidate];
  const double *v = w->v[candidate];
  double dot = 0;

  if (c->levels) {
    struct level_sums s;

    sum_levels(w, c, &s);
    for (size_t i = 0; i < w->data->runs; i++) {
      int level = level_of(w, c, i);
      double row = w->row[i], left = fmax(1 - w->hat[i], 0.05);

      loo[i] = w->residual[i] / left;
      if (level >= 0)
        loo[i] -= row * (s.sum[level] - row * w->residual[i]) /
                  (s.weight[level] - row * row + s.shrink);
    }
    return;
  }
  for (size_t i = 0; i < w->data->runs; i++)
    dot += v[i] * w->residual[i];
  for (size_t i = 0; i < w->data->runs; i++)
    loo[i] = (w->residual[i] - v[i] * dot / c->squares) /
             fmax(1 - w->hat[i] - v[i] * v[i] / c->squares, 0.05);
}

/* Take CANDIDATE in: the residual and all other candidates lose its direction. */
static void accept(struct ft_additive_work *w, size_t candidate)
{
  struct candidate *c = &w->candidate[candidate];
  double *v = w->v[candidate], squares = 0, dot = 0;

  if (c->levels) {
    struct level_sums s;

    sum_levels(w, c, &s);
    for (size_t i = 0; i < w->data->runs; i++) {
      int level = level_of(w, c, i);
      double weight = level < 0 ? 0 : s.weight[level] + s.shrink;

      v[i] = level < 0 ? 0 : w->row[i] * s.sum[level] / weight;
      w->hat[i] += level < 0 ? 0 : w->row[i] * w->row[i] / weight;
    }
  }
  for (size_t i = 0; i < w->data->runs; i++) {
    squares += v[i] * v[i];
    dot += v[i] * w->residual[i];
  }
  for (size_t i = 0; i < w->data->runs && squares > 0; i++) {
    w->residual[i] -= v[i] * (c->levels ? 1 : dot / squares);
    w->hat[i] += c->levels ? 0 : v[i] * v[i] / squares;
  }
  for (size_t j = 0; j < w->candidates; j++) {
    struct candidate *other = &w->candidate[j];

    if (other->column == c->column)
      other->used = true;
    if (other->used || other->levels || !(squares > 0))
      continue;
    dot = 0;
    for (size_t i = 0; i < w->data->runs; i++)
      dot += w->v[j][i] * v[i];
    other->squares = 0;
    for (size_t i = 0; i < w->data->runs; i++) {
      w->v[j][i] -= v[i] * dot / squares;
      other->squares += w->v[j][i] * w->v[j][i];
    }
  }
}

/* The best up to SHORTLIST candidates by explained squares, in PICK. */
static size_t shortlist(const struct ft_additive_work *w, bool categories, size_t pick[SHORTLIST])
{
  double gain[SHORTLIST];
  size_t count = 0;

  for (size_t j = 0; j < w->candidates; j++) {
    double g;
    size_t at;

    if (w->candidate[j].used || (w->candidate[j].levels && !categories))
      continue;
    g = gain_of(w, j);
    for (at = count; at > 0 && g > gain[at - 1]; at--)
      if (at < SHORTLIST) {
        gain[at] = gain[at - 1];
        pick[at] = pick[at - 1];
      }
    if (at >= SHORTLIST || !(g > 0))
      continue;
    gain[at] = g;
    pick[at] = j;
    if (count < SHORTLIST)
      count++;
  }
  return count;
}

/* The intercept comes in first: everything is made orthogonal to it. */
static void begin(struct ft_additive_work *w, bool log_target)
{
  size_t runs = w->data->runs;
  double squares = 0, dot = 0;

  for (size_t i = 0; i < runs; i++) {
    double y = w->data->y[i] / w->scale_y;

    w->target[i] = log_target ? log(y) : y;
    w->row[i] = log_target ? 1 : 1 / y;
    squares += w->row[i] * w->row[i];
    dot += w->row[i] * w->row[i] * w->target[i];
  }
  for (size_t i = 0; i < runs; i++) {
    w->residual[i] = w->row[i] * (w->target[i] - dot / squares);
    w->hat[i] = w->row[i] * w->row[i] / squares;
  }
  for (size_t j = 0; j < w->candidates; j++) {
    struct candidate *c = &w->candidate[j];

    c->used = false;
    c->squares = 0;
    if (c->levels)
      continue;
    dot = 0;
    for (size_t i = 0; i < runs; i++)
      dot += w->row[i] * w->row[i] * w->z[j][i];
    for (size_t i = 0; i < runs; i++) {
      w->v[j][i] = w->row[i] * (w->z[j][i] - dot / squares);
      c->squares += w->v[j][i] * w->v[j][i];
    }
  }
}

static void choose(struct ft_additive_work *w, struct attempt *a)
{
  size_t categorical = 0;

  begin(w, a->log_target);
  for (size_t i = 0; i < w->data->runs; i++)
    w->trial[0][i] = w->residual[i] / fmax(1 - w->hat[i], 0.05);
  a->error = a->start_error = error_of(w, a->log_target, w->trial[0]);
  while (a->terms < FT_ADDITIVE_TERMS && a->error > NO_ERROR) {
    size_t pick[SHORTLIST], count = shortlist(w, categorical < CATEGORICAL_TERMS, pick), best = 0;
    double least = INFINITY;

    for (size_t k = 0; k < count; k++) {
      double error;

      try_candidate(w, pick[k], w->trial[k]);
      error = error_of(w, a->log_target, w->trial[k]);
      if (error < least) {
        least = error;
        best = pick[k];
      }
    }
    if (!(least < a->error * demanded(w)))
      break;
    a->error = least;
    a->chosen[a->terms++] = best;
    categorical += w->candidate[best].levels > 0;
    accept(w, best);
  }
}

/* ---- fitting what was chosen ---- */

static size_t make_design(struct ft_additive_work *w, const struct attempt *a)
{
  size_t width = 1;

  for (size_t i = 0; i < w->data->runs; i++) {
    double *x = w->design[i];

    x[0] = 1;
    width = 1;
    for (size_t t = 0; t < a->terms; t++) {
      const struct candidate *c = &w->candidate[a->chosen[t]];
      int level;

      if (!c->levels) {
        x[width++] = w->z[a->chosen[t]][i];
        continue;
      }
      level = level_of(w, c, i);
      memset(&x[width], 0, c->levels * sizeof *x);
      if (level >= 0)
        x[width + (size_t)level] = 1;
      width += c->levels;
    }
  }
  return width;
}

/* Cholesky's factor of the gram matrix, in its lower half; a pivot that is lost to rounding is held. */
static void factor(struct ft_additive_work *w, size_t width)
{
  for (size_t j = 0; j < width; j++) {
    double pivot = w->gram[j][j], least = 1e-12 * pivot + 1e-300;

    for (size_t k = 0; k < j; k++)
      pivot -= w->gram[j][k] * w->gram[j][k];
    w->gram[j][j] = sqrt(fmax(pivot, least));
    for (size_t i = j + 1; i < width; i++) {
      double sum = w->gram[i][j];

      for (size_t k = 0; k < j; k++)
        sum -= w->gram[i][k] * w->gram[j][k];
      w->gram[i][j] = sum / w->gram[j][j];
    }
  }
}

/* Ridge regression by row weights; PENALTY counts against an average row, not for the intercept. */
static void solve(struct ft_additive_work *w, size_t width, double penalty)
{
  double *b = w->solution, all = 0;

  memset(w->gram, 0, sizeof w->gram);
  memset(b, 0, sizeof w->solution);
  for (size_t i = 0; i < w->data->runs; i++) {
    const double *x = w->design[i];

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
  factor(w, width);
  for (size_t j = 0; j < width; j++) {
    for (size_t k = 0; k < j; k++)
      b[j] -= w->gram[j][k] * b[k];
    b[j] /= w->gram[j][j];
  }
  for (size_t j = width; j-- > 0;) {
    for (size_t k = j + 1; k < width; k++)
      b[j] -= w->gram[k][j] * b[k];
    b[j] /= w->gram[j][j];
  }
}

/* The diagonal of the hat matrix for a row. */
static double leverage(const struct ft_additive_work *w, size_t width, size_t row)
{
  double u[PARAMETERS], sum = 0;

  for (size_t j = 0; j < width; j++) {
    u[j] = w->design[row][j];
    for (size_t k = 0; k < j; k++)
      u[j] -= w->gram[j][k] * u[k];
    u[j] /= w->gram[j][j];
    sum += u[j] * u[j];
  }
  return w->weight[row] * sum;
}

/* Leave-one-out residuals of the solution, and the rows' next weights. Returns whether these changed. */
static bool judge(struct ft_additive_work *w, struct attempt *a, size_t width)
{
  size_t runs = w->data->runs;
  double centre, scale;
  bool changed = false;

  for (size_t i = 0; i < runs; i++) {
    double fit = 0, h = fmin(leverage(w, width, i), 0.95), loo;

    for (size_t j = 0; j < width; j++)
      fit += w->design[i][j] * w->solution[j];
    loo = runs > 1 ? (fit - h * w->target[i]) / (1 - h) : fit;
    a->residual[i] = a->log_target ? w->target[i] - loo
                                   : log_residual(w->target[i], loo, w->solution[0]);
    w->row[i] = a->log_target ? 1 : 1 / fmax(fit, w->solution[0] * FT_ADDITIVE_FLOOR);
  }
  memcpy(w->sorted, a->residual, runs * sizeof *w->sorted);
  centre = median(w->sorted, runs);
  for (size_t i = 0; i < runs; i++)
    w->sorted[i] = fabs(a->residual[i] - centre);
  scale = fmax(1.4826 * median(w->sorted, runs), 1e-3);
  for (size_t i = 0; i < runs; i++) {
    double away = fabs(a->residual[i] - centre) / scale;
    double weight = w->row[i] * w->row[i] * (away > HUBER ? HUBER / away : 1);

    changed |= !(fabs(weight - w->weight[i]) <= SETTLED * w->weight[i]);
    w->weight[i] = weight;
  }
  return changed;
}

static void fit(struct ft_additive_work *w, struct attempt *a)
{
  size_t width = make_design(w, a), runs = w->data->runs;
  double ratio = a->error / fmax(a->start_error, 1e-9);
  /* noise against signal, both squared: the Bayesian ridge penalty for standardised columns */
  double penalty = fmin(fmax(ratio * ratio, 1e-3), 1);

  for (size_t i = 0; i < runs; i++) {
    double y = w->data->y[i] / w->scale_y;

    w->target[i] = a->log_target ? log(y) : y;
    w->row[i] = a->log_target ? 1 : 1 / y;
    w->weight[i] = w->row[i] * w->row[i];
  }
  for (int round = 0; round < ROUNDS; round++) {
    solve(w, width, penalty);
    if (!judge(w, a, width))
      break;
  }
  a->error = 0;
  for (size_t i = 0; i < runs; i++)
    a->error += fmin(fabs(a->residual[i]), MOST_ERROR) / (double)runs;
  memcpy(a->coefficient, w->solution, sizeof a->coefficient);
  a->intercept = w->solution[0];
}

/* ---- the public function ---- */

static void give_term(const struct ft_additive_work *w, const struct candidate *c,
                      const double *coefficient, double unit, struct ft_additive_term *out)
{
  bool seen[FT_ADDITIVE_LEVELS] = { false };
  double squares = 0;
  size_t count = 0;

  *out = (struct ft_additive_term){ .column = c->column, .log = c->log, .mean = c->mean,
                                    .scale = c->scale, .levels = c->levels };
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

static void give(const struct ft_additive_work *w, const struct attempt *a,
                 struct ft_additive *out)
{
  double unit = a->log_target ? 1 : w->scale_y;
  size_t at = 1;

  *out = (struct ft_additive){ .log_target = a->log_target, .terms = a->terms };
  out->intercept = a->log_target ? a->intercept + log(w->scale_y) : a->intercept * unit;
  for (size_t t = 0; t < a->terms; t++) {
    const struct candidate *c = &w->candidate[a->chosen[t]];

    give_term(w, c, &a->coefficient[at], unit, &out->term[t]);
    at += c->levels ? c->levels : 1;
  }
  memcpy(out->residual, a->residual, w->data->runs * sizeof *out->residual);
}

void ft_additive_fit(const struct ft_additive_data *data, struct ft_additive_work *w,
                     struct ft_additive *out)
{
  struct attempt *best = &w->attempt[0];
  double sum = 0, needed;

  w->data = data;
  for (size_t i = 0; i < data->runs; i++)
    sum += log(data->y[i]);
  w->scale_y = exp(sum / (double)data->runs);
  gather(w);
  memset(w->attempt, 0, sizeof w->attempt);
  w->attempt[0].log_target = w->attempt[1].log_target = true;
  fit(w, best);
  needed = best->error * demanded(w);
  for (size_t k = 1; k < 3 && w->candidates && best->error > NO_ERROR; k++) {
    struct attempt *a = &w->attempt[k];

    choose(w, a);
    if (!a->terms)
      continue;
    fit(w, a);
    if (a->error < needed && a->error < 0.98 * best->error)
      best = a;
  }
  give(w, best, out);
}
