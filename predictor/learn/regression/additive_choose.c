/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the terms of an additive function. */
#include "config.h"

#include <math.h>

#include "predictor/learn/regression/additive_work.h"

/* Fewest runs for a term. Half and twice were compared. */
enum { MIN_RUNS = 2 };
/* With fewer runs only a number may be a term, if its largest value is LOG_SPAN times the smallest
 * and all values were observed. Half and twice were compared. */
enum { FEW_RUNS = 4 };
/* Fewest runs for a pair of terms: with fewer, pairs of noise fit (test_learn). */
enum { MIN_PAIR_RUNS = 8 };
/* Fewest numbers of a column that may become a term, or all of fewer runs. Half and twice were
 * compared. */
enum { MIN_PRESENT = 3 };
/* Ratio of a column's largest to its smallest number above which its logarithm is a candidate. Half
 * and twice were compared. */
#define LOG_SPAN 1.5
/* Smallest reduction of the error by a term, as a fraction of the error: REDUCTION * sqrt(log(1 +
 * columns) / runs), about what chance achieves, but at most MAX_REDUCTION. Half and twice were
 * compared. */
#define REDUCTION 1.2
#define MAX_REDUCTION 0.85
/* Ridge penalty of a category's offset, in average rows. Half and twice were compared. */
#define LEVEL_PENALTY 0.5
/* Smallest 1 - leverage of a row in a leave-one-out residual. */
#define MIN_LEVERAGE_REST 0.05

/* ---- candidates ---- */

/* Appends FORM of COLUMN, standardised, to the candidates. Returns false if COLUMN has too few
 * numbers or is constant. */
static bool add_standardised(struct ft_additive_work *w, size_t column, enum ft_term_form form)
{
  struct candidate *c = &w->candidate[w->candidates];
  const float *x = w->data->x[column];
  double *z = w->z[w->candidates], sum = 0, squares = 0, low = INFINITY, high = -INFINITY;
  size_t present = 0;

  for (size_t i = 0; i < w->data->runs; i++) {
    z[i] = ft_term_form_of(form, (double)x[i]);
    if (isnan(z[i]))
      continue;
    present++;
    sum += z[i];
    low = z[i] < low ? z[i] : low;
    high = z[i] > high ? z[i] : high;
  }
  if ((present < MIN_PRESENT && present < w->data->runs) ||
      !(high - low > 1e-6 * fmax(fabs(low), fabs(high))))
    return false;
  *c = (struct candidate){ .column = column, .form = form, .mean = sum / (double)present };
  for (size_t i = 0; i < w->data->runs; i++)
    if (!isnan(z[i]))
      squares += (z[i] - c->mean) * (z[i] - c->mean);
  c->scale = sqrt(squares / (double)present);
  for (size_t i = 0; i < w->data->runs; i++)
    z[i] = isnan(z[i]) ? 0 : (z[i] - c->mean) / c->scale;
  w->candidates++;
  return true;
}

/* Returns whether the logarithm is a candidate: no negative value, and a span above LOG_SPAN. */
static bool spans_factor(const struct ft_additive_data *data, size_t column)
{
  double low = INFINITY, high = -INFINITY;

  for (size_t i = 0; i < data->runs; i++) {
    double x = (double)data->x[column][i];

    low = x < low ? x : low;
    high = x > high ? x : high;
  }
  return low >= 0 && high > LOG_SPAN * low;
}

/* Returns whether COLUMN, a categorical one, has two different categories. */
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

void ft_additive_gather(struct ft_additive_work *w)
{
  const struct ft_additive_data *data = w->data;

  w->candidates = w->columns_used = 0;
  if (data->runs < (data->has_bounds ? FEW_RUNS : MIN_RUNS))
    return;
  for (size_t j = 0; j < data->columns; j++) {
    size_t before = w->candidates;

    if (data->runs < FEW_RUNS && (data->levels[j] || !spans_factor(data, j)))
      continue;
    if (data->levels[j]) {
      if (levels_differ(data, j))
        w->candidate[w->candidates++] =
            (struct candidate){ .column = j, .levels = data->levels[j] };
    } else if (add_standardised(w, j,
                                data->has_divisor && data->divisor == j ? FT_FORM_INVERSE
                                                                        : FT_FORM_PLAIN) &&
               spans_factor(data, j)) {
      (void)add_standardised(w, j, FT_FORM_LOG);
    }
    w->columns_used += w->candidates > before;
  }
}

size_t ft_additive_form(struct ft_additive_work *w, size_t column, enum ft_term_form form)
{
  for (size_t j = 0; j < w->candidates; j++)
    if (w->candidate[j].column == column && w->candidate[j].form == form)
      return j;
  if (w->candidates == CANDIDATES || !spans_factor(w->data, column) ||
      !add_standardised(w, column, form))
    return CANDIDATES;
  return w->candidates - 1;
}

/* ---- errors ---- */

/* Returns the mean absolute leave-one-out error, in log units. Each error is clamped at MAX_ERROR.
 * LOO: leave-one-out residual per row times the row weight. */
static double mean_absolute_error(const struct ft_additive_work *w, bool log_target,
                                  const double *loo)
{
  double sum = 0;

  for (size_t i = 0; i < w->data->runs; i++) {
    double e =
        log_target ? loo[i] : log_residual(w->target[i], w->target[i] - loo[i] / w->row[i], 1);

    e = fabs(e);
    sum += e < MAX_ERROR ? e : MAX_ERROR;
  }
  return sum / (double)w->data->runs;
}

double ft_additive_chance(size_t runs, size_t columns)
{
  return 1 - fmin(MAX_REDUCTION, REDUCTION * sqrt(log(1 + (double)columns) / (double)runs));
}

double ft_additive_error_ratio(const struct ft_additive_work *w)
{
  return ft_additive_chance(w->data->runs, w->columns_used);
}

/* ---- choosing terms ---- */

/* Per category: sums of residuals and weights. PENALTY: LEVEL_PENALTY in weights. */
struct level_sums {
  double sum[FT_ADDITIVE_LEVELS], weight[FT_ADDITIVE_LEVELS], penalty;
};

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
  s->penalty = all / (double)w->data->runs * LEVEL_PENALTY;
}

/* Returns the part of the residual sum of squares that CANDIDATE explains. */
static double explained_squares(const struct ft_additive_work *w, size_t candidate)
{
  const struct candidate *c = &w->candidate[candidate];
  double dot = 0;

  if (c->levels) {
    struct level_sums s;

    sum_levels(w, c, &s);
    for (size_t l = 0; l < c->levels; l++)
      dot += s.sum[l] * s.sum[l] / (s.weight[l] + s.penalty);
    return dot;
  }
  for (size_t i = 0; i < w->data->runs; i++)
    dot += w->v[candidate][i] * w->residual[i];
  return c->squares > 1e-6 ? dot * dot / c->squares : 0;
}

static double clamp_leverage_rest(double rest)
{
  return rest > MIN_LEVERAGE_REST ? rest : MIN_LEVERAGE_REST;
}

/* Fills LOO with the leave-one-out residuals if CANDIDATE is added. */
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
      double row = w->row[i];

      loo[i] = w->residual[i] / clamp_leverage_rest(1 - w->hat[i]);
      if (level >= 0)
        loo[i] -=
            row * (s.sum[level] - row * w->residual[i]) / (s.weight[level] - row * row + s.penalty);
    }
    return;
  }
  for (size_t i = 0; i < w->data->runs; i++)
    dot += v[i] * w->residual[i];
  for (size_t i = 0; i < w->data->runs; i++)
    loo[i] = (w->residual[i] - v[i] * dot / c->squares) /
             clamp_leverage_rest(1 - w->hat[i] - v[i] * v[i] / c->squares);
}

/* Adds CANDIDATE to the terms: makes the residual and the other candidates orthogonal to
 * column v of CANDIDATE. */
static void accept_candidate(struct ft_additive_work *w, size_t candidate)
{
  struct candidate *c = &w->candidate[candidate];
  double *v = w->v[candidate], squares = 0, dot = 0;

  if (c->levels) {
    struct level_sums s;

    sum_levels(w, c, &s);
    for (size_t i = 0; i < w->data->runs; i++) {
      int level = level_of(w, c, i);
      double weight = level < 0 ? 0 : s.weight[level] + s.penalty;

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

/* Fills PICK with the candidates that explain most squares, at most SHORTLIST. Returns their
 * number. CATEGORIES: whether categorical candidates are allowed. */
static size_t shortlist_candidates(const struct ft_additive_work *w, bool categories,
                                   size_t pick[SHORTLIST])
{
  double gain[SHORTLIST];
  size_t count = 0;

  for (size_t j = 0; j < w->candidates; j++) {
    double g;
    size_t at;

    if (w->candidate[j].used || (w->candidate[j].levels && !categories))
      continue;
    g = explained_squares(w, j);
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

/* Makes the residual and all candidates orthogonal to the intercept. */
static void orthogonalise_to_intercept(struct ft_additive_work *w, bool log_target)
{
  size_t runs = w->data->runs;
  double squares = 0, dot = 0;

  for (size_t i = 0; i < runs; i++) {
    w->target[i] = log_target ? w->log_y[i] : w->y[i];
    w->row[i] = log_target ? 1 : 1 / w->y[i];
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

void ft_additive_choose(struct ft_additive_work *w, struct attempt *a)
{
  const double ratio = ft_additive_error_ratio(w);
  size_t categorical = 0;
  double error, limit;

  orthogonalise_to_intercept(w, a->log_target);
  for (size_t i = 0; i < w->data->runs; i++)
    w->trial[0][i] = w->residual[i] / clamp_leverage_rest(1 - w->hat[i]);
  a->error = a->start_error = error = mean_absolute_error(w, a->log_target, w->trial[0]);
  limit = error;
  while (a->tried < FT_ADDITIVE_CHOSEN && error > NEGLIGIBLE_ERROR) {
    size_t pick[SHORTLIST], count = shortlist_candidates(w, categorical < CATEGORICAL_TERMS, pick),
                            best = 0;
    double smallest = INFINITY;

    for (size_t k = 0; k < count; k++) {
      double with;

      try_candidate(w, pick[k], w->trial[k]);
      with = mean_absolute_error(w, a->log_target, w->trial[k]);
      if (with < smallest) {
        smallest = with;
        best = pick[k];
      }
    }
    limit *= ratio;
    /* two terms may explain the target only together: the first alone then reduces no error */
    if (!(smallest < error) ||
        (smallest >= limit && (a->tried > a->terms || w->data->runs < MIN_PAIR_RUNS)))
      break;
    error = smallest;
    a->chosen[a->tried++] = best;
    categorical += w->candidate[best].levels > 0;
    if (error < limit) {
      a->error = limit = error;
      a->terms = a->tried;
    }
    accept_candidate(w, best);
  }
}
