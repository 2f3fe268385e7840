/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "predictor/learn/regression/line.h"
#include "predictor/learn/series/baselines.h"

enum {
  RUNS = FT_SERIES_RUNS,
  MIN_NEIGHBOUR_RUNS = 3, /* fewest completed runs to compare neighbours */
  MIN_LINE_RUNS = 4,      /* fewest runs to fit a line */
  KEY_BYTES = sizeof(uint32_t)
};

/* Maximum leverage in a leave-one-out residual; larger ones are replaced by this one. Half and
 * twice were compared. */
#define MAX_LEVERAGE 0.6

/* A fit limits values to OUTLIER_RANGES interquartile ranges beyond the quartiles, or to
 * OUTLIER_FACTOR times (1 / OUTLIER_FACTOR of) the quartile where that is farther. Half and twice
 * were compared. */
#define OUTLIER_RANGES 8
#define OUTLIER_FACTOR 4

/* A run to be sorted. */
struct sort_row {
  float value, covariate;
  uint32_t key;      /* sort key */
  unsigned char run; /* index of the run: among completed runs by time, or in fit->needs */
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

/* Fills LIST with the logs of the completed runs and their index, sorted by value. Returns their
 * number. */
static size_t sort_completed_runs(const struct ft_series *s, struct sort_row *list)
{
  size_t count = 0;

  for (size_t i = 0; i < s->runs; i++)
    if (!s->run[i].censored)
      list[count++] =
          (struct sort_row){ .value = (float)log(ft_series_unit_value(&s->fit, &s->run[i])),
                             .run = (unsigned char)i };
  sort_rows(list, count, false);
  return count;
}

/* Makes the first numeric column with a value in any run the primary one; for few runs. */
static void choose_first_number(struct ft_series *s)
{
  struct ft_series_fit *fit = &s->fit;

  for (size_t j = 0; j < s->columns && !fit->has_primary_column; j++)
    for (size_t i = 0; i < s->runs && !s->levels[j]; i++)
      if (ft_series_covariate(&s->run[i], j) >= 0) {
        fit->has_primary_column = true;
        fit->primary_column = (uint32_t)j;
        break;
      }
}

/* Makes the numeric column in which neighbouring runs have the most similar values the primary one.
 */
static void choose_primary_column(struct ft_series *s)
{
  struct ft_series_fit *fit = &s->fit;
  struct sort_row sorted[RUNS], list[RUNS];
  size_t count = sort_completed_runs(s, sorted);
  double least = INFINITY, overall;

  if (count < MIN_NEIGHBOUR_RUNS) {
    choose_first_number(s);
    return;
  }
  overall = mean_difference(sorted, count);
  for (size_t j = 0; j < s->columns; j++) {
    double ratio;

    if (s->levels[j])
      continue;
    for (size_t i = 0; i < count; i++) {
      list[i] = sorted[i];
      list[i].covariate = ft_series_covariate(&s->run[sorted[i].run], j);
    }
    ratio = neighbour_difference(list, count, overall);
    if (ratio >= least)
      continue;
    least = ratio;
    fit->has_primary_column = true;
    fit->primary_column = (uint32_t)j;
  }
}

/* Stores the values and runs of LIST in BASELINE in ascending order. Sorts LIST. */
static void store_values(struct ft_series_baseline *baseline, struct sort_row *list, size_t count)
{
  sort_rows(list, count, false);
  for (size_t i = 0; i < count; i++) {
    baseline->needs[i] = list[i].value;
    baseline->runs[i] = list[i].run;
  }
  baseline->needs_count = count;
}

static double leave_one_out_residual(const struct ft_line *l, double x, double y)
{
  double leverage = 1 / (double)l->count + (x - l->mean_x) * (x - l->mean_x) / l->sum_squares;

  return (y - l->intercept - l->slope * x) / (1 - fmin(leverage, MAX_LEVERAGE));
}

/* Limits of the values in a fit; those outside are replaced by the nearer limit. */
struct value_limits {
  double min, max;
};

static struct value_limits find_outlier_limits(const struct ft_series_baseline *constant)
{
  size_t count = constant->needs_count;
  double low = (double)constant->needs[count / 4],
         high = (double)constant->needs[count - 1 - count / 4];
  double span = OUTLIER_RANGES * (high - low);

  return (struct value_limits){ fmin(low - span, low / OUTLIER_FACTOR),
                                fmax(high + span, high * OUTLIER_FACTOR) };
}

/* Fits a line, or with FACTOR a power law, to VALUES, limited to LIMITS, of the COUNT runs over
 * their covariates. Without a slope BASELINE stays empty. */
static void fit_baseline(struct ft_series_baseline *baseline, bool factor,
                         const struct sort_row *run, const double *values, size_t count,
                         struct value_limits limits)
{
  double x[RUNS], y[RUNS], z[RUNS], smallest = INFINITY;
  struct sort_row list[RUNS];
  struct ft_line l;
  size_t used = 0;

  *baseline = (struct ft_series_baseline){ .factor = factor };
  for (size_t i = 0; i < count; i++) {
    if (run[i].covariate < 0)
      continue;
    x[used] = factor ? (double)run[i].covariate : expm1((double)run[i].covariate);
    y[used] = factor ? log(values[i]) : values[i];
    z[used] = fmin(fmax(values[i], limits.min), limits.max);
    if (factor)
      z[used] = log(fmax(z[used], 1));
    smallest = fmin(smallest, values[i]);
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
  baseline->min_prediction = FT_BASELINE_MIN_FRACTION * smallest;
  store_values(baseline, list, used);
}

/* Limits the run times of runs with values above LIMITS to the mean run time of the others. */
static void limit_seconds(struct ft_series_fit *fit, const double *values,
                          struct value_limits limits)
{
  size_t count = fit->needs_count, inside = 0;
  float sum = 0, mean;

  for (size_t i = 0; i < count; i++)
    if (values[i] <= limits.max) {
      sum += fit->seconds[i];
      inside++;
    }
  mean = inside ? sum / (float)inside : 1;
  for (size_t i = 0; i < count; i++)
    if (values[i] > limits.max)
      fit->seconds[i] = fminf(fit->seconds[i], mean);
}

static void fit_baselines(struct ft_series_fit *fit, const struct sort_row *run,
                          const double *values, size_t count)
{
  struct ft_series_baseline *constant = &fit->baselines[FT_BASELINE_CONSTANT];
  struct value_limits limits;
  struct sort_row list[RUNS];

  *constant = (struct ft_series_baseline){ 0 };
  for (size_t i = 0; i < count; i++)
    list[i] = (struct sort_row){ .value = (float)values[i], .run = (unsigned char)i };
  store_values(constant, list, count);
  fit->baselines_count = 1;
  if (!count)
    return;
  limits = find_outlier_limits(constant);
  limit_seconds(fit, values, limits);
  if (!fit->has_primary_column)
    return;
  fit_baseline(&fit->baselines[FT_BASELINE_LINE], false, run, values, count, limits);
  fit_baseline(&fit->baselines[FT_BASELINE_POWER], true, run, values, count, limits);
  fit->baselines_count = FT_BASELINES;
}

void ft_baselines_fill(struct ft_series *s, const double *log_residuals)
{
  struct ft_series_fit *fit = &s->fit;
  struct sort_row list[RUNS];
  double values[RUNS];
  size_t index[RUNS], count = 0;

  choose_primary_column(s);
  for (size_t i = 0; i < s->runs; i++) {
    if (s->run[i].censored)
      continue;
    index[count] = i;
    list[count] = (struct sort_row){ .value = (float)log_residuals[i],
                                     .covariate = ft_series_primary_covariate(fit, &s->run[i]),
                                     .run = (unsigned char)count };
    count++;
  }
  sort_rows(list, count, false);
  for (size_t i = 0; i < count; i++) {
    const struct ft_series_run *run = &s->run[index[list[i].run]];

    fit->needs[i] = list[i].value;
    fit->covariates[i] = list[i].covariate;
    fit->seconds[i] = (float)fmin(fmax(run->seconds, 0), 1e9);
    fit->ages[i] = (unsigned char)(count - 1 - list[i].run);
    values[i] = ft_series_unit_value(fit, run);
  }
  fit->needs_count = count;
  fit_baselines(fit, list, values, count);
}
