/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/learn/regression/line.h"
#include "predictor/online/baselines.h"
#include "predictor/online/refit.h"

enum {
  RUNS = FT_ENSEMBLE_RUNS,
  MIN_NEIGHBOUR_RUNS = 3, /* fewest completed runs to compare neighbours */
  MIN_LINE_RUNS = 4,      /* fewest runs to fit a line */
  KEY_BYTES = sizeof(uint32_t)
};

/* Maximum leverage in a leave-one-out residual; larger ones are replaced by this one. Chosen by
 * judgement. */
#define MAX_LEVERAGE 0.6

/* A fit limits bytes to OUTLIER_RANGES interquartile ranges beyond the quartiles, or to
 * OUTLIER_FACTOR times (1 / OUTLIER_FACTOR of) the quartile where that is farther. Chosen by
 * judgement. */
#define OUTLIER_RANGES 8
#define OUTLIER_FACTOR 4

/* A run to be sorted. */
struct sort_row {
  float value, covariate;
  uint32_t key;      /* sort key */
  unsigned char run; /* index of the run: among completed runs by time, or in e->needs */
};

/* Maps X to an integer; the integers have the order of the numbers. */
static uint32_t key_of(float x)
{
  uint32_t bits;

  x += 0.0F; /* -0 becomes 0 */
  memcpy(&bits, &x, sizeof bits);
  return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

/* Sorts LIST by value or by covariate, ascending and stable: a radix sort without data-dependent
 * branches. */
static void sort_rows(struct sort_row *list, size_t count, bool by_covariate)
{
  unsigned char end[KEY_BYTES][UCHAR_MAX + 1] = { { 0 } };
  struct sort_row spare[RUNS], *from = list, *to = spare;

  for (size_t i = 0; i < count; i++) {
    list[i].key = key_of(by_covariate ? list[i].covariate : list[i].value);
    for (unsigned b = 0; b < KEY_BYTES; b++)
      end[b][list[i].key >> 8 * b & UCHAR_MAX]++;
  }
  for (unsigned b = 0; b < KEY_BYTES && count; b++) {
    struct sort_row *sorted = to;

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
 * Returns the mean absolute difference of values between runs that are neighbours in a covariate,
 * divided by OVERALL, the mean over all pairs of runs. This is von Neumann's ratio (1941) with
 * Gini's mean difference, which is robust against outliers, in place of the variance. 1: the
 * covariate explains nothing; infinite: it is constant. Sorts LIST.
 */
static double neighbour_difference(struct sort_row *list, size_t count, double overall)
{
  double neighbours = 0;
  size_t same = 1;

  while (same < count && list[same].covariate == list[0].covariate)
    same++;
  if (same == count)
    return INFINITY;
  sort_rows(list, count, true);
  for (size_t i = 1; i < count; i++)
    neighbours += fabs((double)list[i].value - (double)list[i - 1].value);
  return overall > 0 ? neighbours / (double)(count - 1) / overall : 1;
}

/* Returns Gini's mean difference of the values, which are in ascending order. */
static double mean_difference(const struct sort_row *list, size_t count)
{
  double sum = 0;

  for (size_t i = 0; i < count; i++)
    sum += (2 * (double)i - (double)count + 1) * (double)list[i].value;
  return sum * 2 / ((double)count * (double)(count - 1));
}

/* Fills LIST with the log bytes of the completed runs and their index in the history, sorted by
 * bytes. Returns their number. */
static size_t sort_completed_runs(const ft_model *model, struct sort_row *list)
{
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      list[count++] = (struct sort_row){ .value = (float)log(fmax(model->history[i].bytes, 1)),
                                         .run = (unsigned char)i };
  sort_rows(list, count, false);
  return count;
}

/* Makes the first numeric column with a value in any run the primary one; for few runs. */
static void choose_first_number(ft_model *model)
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

/* Makes the numeric column in which neighbouring runs have the most similar peaks the primary one.
 */
static void choose_primary_column(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;
  struct sort_row sorted[RUNS], list[RUNS];
  size_t count = sort_completed_runs(model, sorted);
  double least = INFINITY, overall;

  if (count < MIN_NEIGHBOUR_RUNS) {
    choose_first_number(model);
    return;
  }
  overall = mean_difference(sorted, count);
  for (size_t j = 0; j < model->columns_count; j++) {
    double ratio;

    if (model->columns[j].categorical)
      continue;
    for (size_t i = 0; i < count; i++) {
      list[i] = sorted[i];
      list[i].covariate = ft_refit_covariate(&model->history[sorted[i].run], j);
    }
    ratio = neighbour_difference(list, count, overall);
    if (ratio >= least)
      continue;
    least = ratio;
    e->has_primary_column = true;
    e->primary_column = (uint32_t)j;
  }
}

/* Stores the values and runs of LIST in BASELINE in ascending order. Sorts LIST. */
static void store_values(ft_baseline *baseline, struct sort_row *list, size_t count)
{
  sort_rows(list, count, false);
  for (size_t i = 0; i < count; i++) {
    baseline->needs[i] = list[i].value;
    baseline->runs.bytes[i] = list[i].run;
  }
  baseline->needs_count = baseline->runs.size = (pb_size_t)count;
}

static double leave_one_out_residual(const struct ft_line *l, double x, double y)
{
  double leverage = 1 / (double)l->count + (x - l->mean_x) * (x - l->mean_x) / l->sum_squares;

  return (y - l->intercept - l->slope * x) / (1 - fmin(leverage, MAX_LEVERAGE));
}

/* Limits of the bytes in a fit; values outside are replaced by the nearer limit. */
struct byte_limits {
  double min, max;
};

static struct byte_limits find_outlier_limits(const ft_baseline *peak)
{
  size_t count = peak->needs_count;
  double low = (double)peak->needs[count / 4], high = (double)peak->needs[count - 1 - count / 4];
  double span = OUTLIER_RANGES * (high - low);

  return (struct byte_limits){ fmin(low - span, low / OUTLIER_FACTOR),
                               fmax(high + span, high * OUTLIER_FACTOR) };
}

/* Fits a line, or with FACTOR a power law, to BYTES, limited to LIMITS, of the COUNT runs over
 * their covariates. Without a slope BASELINE stays empty. */
static void fit_baseline(ft_baseline *baseline, bool factor, const struct sort_row *run,
                         const double *bytes, size_t count, struct byte_limits limits)
{
  double x[RUNS], y[RUNS], z[RUNS], smallest = INFINITY;
  struct sort_row list[RUNS];
  struct ft_line l;
  size_t used = 0;

  *baseline = (ft_baseline){ .factor = factor };
  for (size_t i = 0; i < count; i++) {
    if (run[i].covariate < 0)
      continue;
    x[used] = factor ? (double)run[i].covariate : expm1((double)run[i].covariate);
    y[used] = factor ? log(bytes[i]) : bytes[i];
    z[used] = fmin(fmax(bytes[i], limits.min), limits.max);
    if (factor)
      z[used] = log(fmax(z[used], 1));
    smallest = fmin(smallest, bytes[i]);
    list[used++].run = (unsigned char)i;
  }
  if (used < MIN_LINE_RUNS)
    return;
  l = ft_line_fit(x, z, used);
  if (l.slope == 0)
    return;
  for (size_t i = 0; i < used; i++) {
    double residual = leave_one_out_residual(&l, x[i], y[i]);

    list[i].value = (float)(factor ? exp(fmin(fmax(residual, -30), 30)) : residual);
  }
  baseline->intercept = l.intercept;
  baseline->slope = l.slope;
  baseline->min_prediction = FT_ENSEMBLE_MIN_FRACTION * smallest;
  store_values(baseline, list, used);
}

/* Limits the run times of runs with bytes above LIMITS to the mean run time of the others. */
static void limit_seconds(ft_evaluator *e, const double *bytes, struct byte_limits limits)
{
  size_t count = e->seconds_count, inside = 0;
  float sum = 0, mean;

  for (size_t i = 0; i < count; i++)
    if (bytes[i] <= limits.max) {
      sum += e->seconds[i];
      inside++;
    }
  mean = inside ? sum / (float)inside : 1;
  for (size_t i = 0; i < count; i++)
    if (bytes[i] > limits.max)
      e->seconds[i] = fminf(e->seconds[i], mean);
}

static void fit_baselines(ft_evaluator *e, const struct sort_row *run, const double *bytes,
                          size_t count)
{
  ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  struct byte_limits limits;
  struct sort_row list[RUNS];

  *peak = (ft_baseline){ 0 };
  for (size_t i = 0; i < count; i++)
    list[i] = (struct sort_row){ .value = (float)bytes[i], .run = (unsigned char)i };
  store_values(peak, list, count);
  e->baselines_count = 1;
  if (!count)
    return;
  limits = find_outlier_limits(peak);
  limit_seconds(e, bytes, limits);
  if (!e->has_primary_column)
    return;
  fit_baseline(&e->baselines[FT_BASELINE_LINE], false, run, bytes, count, limits);
  fit_baseline(&e->baselines[FT_BASELINE_POWER], true, run, bytes, count, limits);
  e->baselines_count = FT_BASELINES;
}

void ft_baselines_fill(ft_model *model, const double *log_residuals)
{
  ft_evaluator *e = &model->evaluator;
  struct sort_row list[RUNS];
  double bytes[RUNS];
  size_t history[RUNS], count = 0;

  choose_primary_column(model);
  for (size_t i = 0; i < model->history_count; i++) {
    if (model->history[i].censored)
      continue;
    history[count] = i;
    list[count] = (struct sort_row){ .value = (float)log_residuals[i],
                                     .covariate = ft_refit_primary_covariate(e, &model->history[i]),
                                     .run = (unsigned char)count };
    count++;
  }
  sort_rows(list, count, false);
  for (size_t i = 0; i < count; i++) {
    const ft_run *run = &model->history[history[list[i].run]];

    e->needs[i] = list[i].value;
    e->covariates[i] = list[i].covariate;
    e->seconds[i] = (float)fmin(fmax(run->runtime_seconds, 0), 1e9);
    e->ages.bytes[i] = (unsigned char)(count - 1 - list[i].run);
    bytes[i] = fmax(run->bytes, 1);
  }
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size = (pb_size_t)count;
  fit_baselines(e, list, bytes, count);
}
