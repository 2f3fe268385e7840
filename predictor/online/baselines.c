/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit.h"

enum {
  RUNS = FT_ENSEMBLE_RUNS,
  PLACE_RUNS = 3, /* fewest runs to compare neighbours */
  LINE_RUNS = 4,  /* fewest runs to fit a line */
  KEY_BYTES = sizeof(uint32_t)
};

/* Largest leverage used for a leave-one-out residual. Chosen by judgement. */
#define MOST_LEVERAGE 0.6

/* A fit limits runs further from the quartiles than this multiple of their distance and this
 * multiple of the quartile. Chosen by judgement. */
#define FAR_QUARTERS 8
#define FAR_TIMES 4

struct need {
  float need, place;
  uint32_t key;      /* sort key */
  unsigned char run; /* index in order of time, later in e->needs */
};

/* Returns an integer in the same order as X. */
static uint32_t key_of(float x)
{
  uint32_t bits;

  x += 0.0F; /* -0 becomes 0 */
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

/* Stable radix sort, ascending by need or by place; it has no data-dependent branches. */
static void sort_needs(struct need *list, size_t count, bool by_place)
{
  unsigned char end[KEY_BYTES][UCHAR_MAX + 1] = { { 0 } };
  struct need spare[RUNS], *from = list, *to = spare;

  for (size_t i = 0; i < count; i++) {
    list[i].key = key_of(by_place ? list[i].place : list[i].need);
    for (unsigned b = 0; b < KEY_BYTES; b++)
      end[b][list[i].key >> 8 * b & UCHAR_MAX]++;
  }
  for (unsigned b = 0; b < KEY_BYTES && count; b++) {
    struct need *sorted = to;

    if (end[b][list[0].key >> 8 * b & UCHAR_MAX] == count)
      continue;
    for (size_t v = 0; v < UCHAR_MAX; v++)
      end[b][v + 1] = (unsigned char)(end[b][v + 1] + end[b][v]);
    for (size_t i = count; i-- > 0;)
      to[--end[b][from[i].key >> 8 * b & UCHAR_MAX]] = from[i];
    to = from;
    from = sorted;
  }
  if (from != list)
    memcpy(list, from, count * sizeof *list);
}

/*
 * Returns the mean difference of the needs of neighbours in a column over that of any two runs,
 * after von Neumann's ratio (1941), with Gini's mean difference in place of the variance, which is
 * robust against outliers. 1: the column explains nothing.
 */
static double neighbour_difference(struct need *list, size_t count, double any)
{
  double neighbours = 0;
  size_t same = 1;

  while (same < count && list[same].place == list[0].place)
    same++;
  if (same == count)
    return INFINITY;
  sort_needs(list, count, true);
  for (size_t i = 1; i < count; i++)
    neighbours += fabs((double)list[i].need - (double)list[i - 1].need);
  return any > 0 ? neighbours / (double)(count - 1) / any : 1;
}

/* Returns Gini's mean difference of the needs, which are in ascending order. */
static double mean_difference(const struct need *list, size_t count)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += (2 * (double)i - (double)count + 1) * (double)list[i].need;
  return sum * 2 / ((double)count * (double)(count - 1));
}

/* Fills LIST with the log bytes of the completed runs and their index. Returns their number. */
static size_t by_bytes(const ft_model *model, struct need *list)
{
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      list[count++] = (struct need){ .need = (float)log(fmax(model->history[i].bytes, 1)),
                                     .run = (unsigned char)i };
  sort_needs(list, count, false);
  return count;
}

/* With few runs, chooses the first number that any of them has. */
static void first_place(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;

  for (size_t j = 0; j < model->columns_count && !e->has_primary_column; j++)
    for (size_t i = 0; i < model->history_count && !model->columns[j].categorical; i++)
      if (ft_refit_covariate(&model->history[i], j) >= 0) {
        e->has_primary_column = true;
        e->primary_column = (uint32_t)j;
        break;
      }
}

/* Chooses the column in which neighbouring runs have the most similar needs. */
static void choose_place(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;
  struct need rising[RUNS], list[RUNS];
  size_t count = by_bytes(model, rising);
  double least = INFINITY, any;

  if (count < PLACE_RUNS) {
    first_place(model);
    return;
  }
  any = mean_difference(rising, count);
  for (size_t j = 0; j < model->columns_count; j++) {
    double ratio;

    if (model->columns[j].categorical)
      continue;
    for (size_t i = 0; i < count; i++) {
      list[i] = rising[i];
      list[i].place = ft_refit_covariate(&model->history[rising[i].run], j);
    }
    ratio = neighbour_difference(list, count, any);
    if (ratio >= least)
      continue;
    least = ratio;
    e->has_primary_column = true;
    e->primary_column = (uint32_t)j;
  }
}

/* Sorts LIST into VIEW. */
static void store_needs(ft_baseline *view, struct need *list, size_t count)
{
  sort_needs(list, count, false);
  for (size_t i = 0; i < count; i++) {
    view->needs[i] = list[i].need;
    view->runs.bytes[i] = list[i].run;
  }
  view->needs_count = view->runs.size = (pb_size_t)count;
}

/* A least-squares line of Y over X, with the sums for leave-one-out residuals. */
struct line {
  double intercept, slope, middle, spread;
  size_t count;
};

static struct line fit_baseline_line(const double *x, const double *y, size_t count)
{
  struct line l = { .count = count };
  double sum_x = 0, sum_y = 0, xy = 0, scale = 0;

  for (size_t i = 0; i < count; i++) {
    sum_x += x[i];
    sum_y += y[i];
    scale = fmax(scale, fabs(x[i]));
  }
  l.middle = sum_x / (double)count;
  for (size_t i = 0; i < count; i++) {
    l.spread += (x[i] - l.middle) * (x[i] - l.middle);
    xy += (x[i] - l.middle) * (y[i] - sum_y / (double)count);
  }
  l.slope = l.spread > 1e-12 * scale * scale * (double)count ? xy / l.spread : 0;
  l.intercept = sum_y / (double)count - l.slope * l.middle;
  return l;
}

static double left_out(const struct line *l, double x, double y)
{
  double leverage = 1 / (double)l->count + (x - l->middle) * (x - l->middle) / l->spread;

  return (y - l->intercept - l->slope * x) / (1 - fmin(leverage, MOST_LEVERAGE));
}

/* Limits of the bytes in a fit; values outside count as the nearer limit. */
struct credible {
  double least, most;
};

static struct credible credible_bytes(const ft_baseline *peak)
{
  size_t count = peak->needs_count;
  double low = (double)peak->needs[count / 4], high = (double)peak->needs[count - 1 - count / 4];
  double span = FAR_QUARTERS * (high - low);

  return (struct credible){ fmin(low - span, low / FAR_TIMES),
                            fmax(high + span, high * FAR_TIMES) };
}

/* Fits a line, or with FACTOR a power law, to the COUNT runs of BYTES; none without a slope. */
static void fit_view(ft_baseline *view, bool factor, const struct need *run, const double *bytes,
                     size_t count, struct credible credible)
{
  double x[RUNS], y[RUNS], z[RUNS], least = INFINITY;
  struct need list[RUNS];
  struct line l;
  size_t used = 0;

  *view = (ft_baseline){ .factor = factor };
  for (size_t i = 0; i < count; i++) {
    if (run[i].place < 0)
      continue;
    x[used] = factor ? (double)run[i].place : expm1((double)run[i].place);
    y[used] = factor ? log(bytes[i]) : bytes[i];
    z[used] = fmin(fmax(bytes[i], credible.least), credible.most);
    if (factor)
      z[used] = log(fmax(z[used], 1));
    least = fmin(least, bytes[i]);
    list[used++].run = (unsigned char)i;
  }
  if (used < LINE_RUNS)
    return;
  l = fit_baseline_line(x, z, used);
  if (l.slope == 0)
    return;
  for (size_t i = 0; i < used; i++) {
    double need = left_out(&l, x[i], y[i]);

    list[i].need = (float)(factor ? exp(fmin(fmax(need, -30), 30)) : need);
  }
  view->intercept = l.intercept;
  view->slope = l.slope;
  view->least = FT_ENSEMBLE_LEAST_PART * least;
  store_needs(view, list, used);
}

/* Limits the run times of runs with outlying peaks to the mean of the others. */
static void hold_seconds(ft_evaluator *e, const double *bytes, struct credible credible)
{
  size_t count = e->seconds_count, believed = 0;
  float sum = 0, most;

  for (size_t i = 0; i < count; i++)
    if (bytes[i] <= credible.most) {
      sum += e->seconds[i];
      believed++;
    }
  most = believed ? sum / (float)believed : 1;
  for (size_t i = 0; i < count; i++)
    if (bytes[i] > credible.most)
      e->seconds[i] = fminf(e->seconds[i], most);
}

static void fit_views(ft_evaluator *e, const struct need *run, const double *bytes, size_t count)
{
  ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  struct credible credible;
  struct need list[RUNS];

  *peak = (ft_baseline){ 0 };
  for (size_t i = 0; i < count; i++)
    list[i] = (struct need){ .need = (float)bytes[i], .run = (unsigned char)i };
  store_needs(peak, list, count);
  e->baselines_count = 1;
  if (!count)
    return;
  credible = credible_bytes(peak);
  hold_seconds(e, bytes, credible);
  if (!e->has_primary_column)
    return;
  fit_view(&e->baselines[FT_BASELINE_LINE], false, run, bytes, count, credible);
  fit_view(&e->baselines[FT_BASELINE_POWER], true, run, bytes, count, credible);
  e->baselines_count = FT_BASELINES;
}

void ft_baselines_fill(ft_model *model, const double *above)
{
  ft_evaluator *e = &model->evaluator;
  struct need list[RUNS];
  double bytes[RUNS];
  size_t of[RUNS], count = 0;

  choose_place(model);
  for (size_t i = 0; i < model->history_count; i++) {
    if (model->history[i].censored)
      continue;
    of[count] = i;
    list[count] = (struct need){ .need = (float)above[i],
                                 .place = ft_refit_primary_covariate(e, &model->history[i]),
                                 .run = (unsigned char)count };
    count++;
  }
  sort_needs(list, count, false);
  for (size_t i = 0; i < count; i++) {
    const ft_run *run = &model->history[of[list[i].run]];

    e->needs[i] = list[i].need;
    e->covariates[i] = list[i].place;
    e->seconds[i] = (float)fmin(fmax(run->runtime_seconds, 0), 1e9);
    e->ages.bytes[i] = (unsigned char)(count - 1 - list[i].run);
    bytes[i] = fmax(run->bytes, 1);
  }
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size = (pb_size_t)count;
  fit_views(e, list, bytes, count);
}
