/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/online/baselines.h"

enum {
  RUNS = FT_ENSEMBLE_RUNS,
  PLACE_RUNS = 3, /* least number of runs to see a likeness of neighbours in */
  LINE_RUNS = 4,  /* and to draw a line through */
  KEY_BYTES = sizeof(uint32_t)
};

/* No run is taken to be moved by more than so much of its distance from the fit by leaving it out.
 */
#define MOST_LEVERAGE 0.6
/* No centre is below this part of the least that was ever needed. */
#define LEAST_PART 0.5

/* No fit believes a run further from the middle half than so many times its width and so many times
 * its ends. */
#define FAR_QUARTERS 8
#define FAR_TIMES 4

struct need {
  float need, place;
  uint32_t key;      /* it is sorted by */
  unsigned char run; /* of the completed ones, by time; then of e->needs */
};

/* What is as large, of two numbers, as they are. */
static uint32_t key_of(float x)
{
  uint32_t bits;

  x += 0.0F; /* one zero */
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

/* Rising by need or by place, equal ones as they were: byte by byte of the keys, so that no branch
 * hangs on a value (radix sort). */
static void sort(struct need *list, size_t count, bool by_place)
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

static float place_of(const ft_run *run, size_t column)
{
  float x = column < run->x_count ? run->x[column] : NAN;

  return isnan(x) ? -1 : (float)log1p(fabs((double)x));
}

/*
 * How much neighbours in a column differ in their needs, as a part of how much
 * any two runs do: the idea of von Neumann's ratio (1941), with Gini's mean
 * difference for the variance, which no outlier rules. 1: the column says nothing.
 */
static double unlikeness(struct need *list, size_t count, double any)
{
  double neighbours = 0;
  size_t same = 1;

  while (same < count && list[same].place == list[0].place)
    same++;
  if (same == count)
    return INFINITY;
  sort(list, count, true);
  for (size_t i = 1; i < count; i++)
    neighbours += fabs((double)list[i].need - (double)list[i - 1].need);
  return any > 0 ? neighbours / (double)(count - 1) / any : 1;
}

/* Gini's mean difference of the needs, which rise. */
static double mean_difference(const struct need *list, size_t count)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += (2 * (double)i - (double)count + 1) * (double)list[i].need;
  return sum * 2 / ((double)count * (double)(count - 1));
}

/* The completed runs by the logarithm of their bytes, and by which run of the history each is. */
static size_t by_bytes(const ft_model *model, struct need *list)
{
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      list[count++] = (struct need){ .need = (float)log(fmax(model->history[i].bytes, 1)),
                                     .run = (unsigned char)i };
  sort(list, count, false);
  return count;
}

/* Of few runs the first number that one of them has. */
static void first_place(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;

  for (size_t j = 0; j < model->columns_count && !e->has_primary_column; j++)
    for (size_t i = 0; i < model->history_count && !model->columns[j].categorical; i++)
      if (place_of(&model->history[i], j) >= 0) {
        e->has_primary_column = true;
        e->primary_column = (uint32_t)j;
        break;
      }
}

/* The column in which runs that are near to one another are most alike. */
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
      list[i].place = place_of(&model->history[rising[i].run], j);
    }
    ratio = unlikeness(list, count, any);
    if (ratio >= least)
      continue;
    least = ratio;
    e->has_primary_column = true;
    e->primary_column = (uint32_t)j;
  }
}

/* Sort LIST into VIEW. */
static void put(ft_baseline *view, struct need *list, size_t count)
{
  sort(list, count, false);
  for (size_t i = 0; i < count; i++) {
    view->needs[i] = list[i].need;
    view->runs.bytes[i] = list[i].run;
  }
  view->needs_count = view->runs.size = (pb_size_t)count;
}

/* A straight line of Y over X by least squares, with what leaving a run out would change. */
struct line {
  double intercept, slope, middle, spread;
  size_t count;
};

static struct line draw(const double *x, const double *y, size_t count)
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

/* The bytes that a fit believes: others count as the nearest of them. */
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

/* A line (or with FACTOR a power) through the COUNT runs of BYTES; none without a slope. */
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
  l = draw(x, z, used);
  if (l.slope == 0)
    return;
  for (size_t i = 0; i < used; i++) {
    double need = left_out(&l, x[i], y[i]);

    list[i].need = (float)(factor ? exp(fmin(fmax(need, -30), 30)) : need);
  }
  view->intercept = l.intercept;
  view->slope = l.slope;
  view->least = LEAST_PART * least;
  put(view, list, used);
}

/* A run of a peak that is hard to believe counts for no more time than the others mean. */
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
  put(peak, list, count);
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
    list[count] =
        (struct need){ .need = (float)above[i],
                       .place = place_of(&model->history[i],
                                         e->has_primary_column ? e->primary_column : SIZE_MAX),
                       .run = (unsigned char)count };
    count++;
  }
  sort(list, count, false);
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
