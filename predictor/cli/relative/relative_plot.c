/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of Nichols, Yeom and Bhatele 2022, drawn from held-out predictions. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/plot/chart.h"
#include "predictor/cli/relative/relative.h"
#include "predictor/core/sort.h"

struct drawing {
  const struct ft_relative_table *t;
  const struct ft_relative_trial *y;
  const char *names[FT_RELATIVE_PLATFORMS], *prefix;
  char performance[96];  /* axis title; names the source platform */
  double *x, *a, *b, *c; /* work arrays, two values per row and platform plus two */
};

static int close_chart(const struct drawing *d, struct ft_chart *chart, const char *what,
                       struct ft_error *err)
{
  char path[4096];

  if (snprintf(path, sizeof path, "%s-%s.svg", d->prefix, what) >= (int)sizeof path) {
    ft_chart_discard(chart);
    return ft_error_set(err, "--plot: name too long");
  }
  return ft_chart_close(chart, path, err);
}

/* Makes AXIS logarithmic, spans the positive ones of COUNT values and at least a factor of 2. */
static void fit_log_to_values(struct ft_axis *axis, const double *value, size_t count)
{
  axis->log = true;
  axis->low = INFINITY;
  axis->high = -INFINITY;
  for (size_t i = 0; i < count; i++)
    if (value[i] > 0) {
      axis->low = fmin(axis->low, value[i]);
      axis->high = fmax(axis->high, value[i]);
    }
  if (!(axis->low <= axis->high))
    axis->low = axis->high = 1;
  if (axis->high < 2 * axis->low) {
    axis->low /= 2;
    axis->high *= 2;
  }
}

static struct ft_axis platforms_axis(const struct drawing *d)
{
  return (struct ft_axis){
    .kind = FT_AXIS_NAMES, .title = "Platform", .names = d->names, .name_count = d->t->platforms
  };
}

/* Figure 2: measured relative performance, one point per row. The row number sets the horizontal
 * offset so that points do not overlap, with a period of 97 rows. */
static int draw_distribution(struct drawing *d, struct ft_error *err)
{
  size_t n = d->t->platforms, count = 0;
  struct ft_axis x = platforms_axis(d), y = { .title = d->performance };
  struct ft_chart *chart;

  for (size_t i = 0; i < d->y->rows * n; i++)
    if (d->y->measured[i] > 0) {
      d->x[count] = (double)(i % n) + 0.5 * ((double)(i / n % 97) / 96 - 0.5);
      d->a[count++] = d->y->measured[i];
    }
  fit_log_to_values(&y, d->a, count);
  chart = ft_chart_open(false, false, "Relative performance by platform", NULL, &x, &y, err);
  if (!chart)
    return -1;
  ft_chart_series(chart, FT_MARK_POINT, d->x, d->a, NULL, count);
  return close_chart(d, chart, "distribution", err);
}

/* Figure 3: measured and predicted vector of the row with the median error. */
static int draw_vector(struct drawing *d, struct ft_error *err)
{
  size_t n = d->t->platforms, rows = 0, which = 0, count = 0;
  struct ft_axis x = platforms_axis(d), y = { .title = d->performance };
  struct ft_chart *chart;
  char title[160];

  for (size_t r = 0; r < d->y->rows; r++) {
    double sum = 0, known = 0;

    for (size_t p = 0; p < n; p++) {
      double e = fabs(log(d->y->measured[r * n + p] / d->y->speed[r * n + p]));

      sum += isfinite(e) ? e : 0;
      known += isfinite(e);
    }
    d->b[r] = known > 1 ? sum / known : INFINITY;
    rows += known > 1;
  }
  for (size_t r = 0; r < d->y->rows; r++) { /* the median by rank; row order breaks ties */
    size_t below = 0;

    for (size_t q = 0; q < d->y->rows; q++)
      below += d->b[q] < d->b[r] || (q < r && d->b[q] <= d->b[r]);
    if (isfinite(d->b[r]) && below == rows / 2)
      which = r;
  }
  for (size_t p = 0; p < n; p++)
    if (d->y->measured[which * n + p] > 0) {
      d->x[count] = (double)p;
      d->a[count] = d->y->measured[which * n + p];
      d->b[count++] = d->y->speed[which * n + p];
    }
  (void)snprintf(title, sizeof title, "%s: the row of median error", d->t->label[which]);
  memcpy(d->c, d->a, count * sizeof *d->c);
  memcpy(d->c + count, d->b, count * sizeof *d->c);
  fit_log_to_values(&y, d->c, 2 * count);
  chart = ft_chart_open(false, true, title, NULL, &x, &y, err);
  if (!chart)
    return -1;
  ft_chart_series(chart, FT_MARK_POINT, d->x, d->a, NULL, count);
  ft_chart_series(chart, FT_MARK_LINE, d->x, d->b, NULL, count);
  ft_chart_legend(chart, FT_MARK_POINT, "measured");
  ft_chart_legend(chart, FT_MARK_LINE, "predicted");
  return close_chart(d, chart, "vector", err);
}

/* Returns the fraction of ROW's platform pairs predicted in the right order; NAN: no pairs. */
static double row_order_share(const struct drawing *d, size_t row)
{
  size_t n = d->t->platforms;
  const double *truth = d->y->measured + row * n, *said = d->y->speed + row * n;
  double pairs = 0, right = 0;

  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < p; q++) {
      if (isnan(truth[p]) || isnan(truth[q]) || isnan(said[p]) || isnan(said[q]))
        continue;
      pairs++;
      right += (said[p] > said[q]) == (truth[p] > truth[q]);
    }
  return pairs > 0 ? right / pairs : NAN;
}

/* Figure 4: fraction of correctly ordered platform pairs per row, sorted. */
static int draw_order(struct drawing *d, struct ft_error *err)
{
  struct ft_axis x = { .title = "Rows, sorted by order", .tight = true };
  struct ft_axis y = { .title = "Pairs in the right order, %", .low = 0, .high = 100 };
  struct ft_chart *chart;
  size_t count = 0, whole = 0;
  char subtitle[128];

  for (size_t r = 0; r < d->y->rows; r++) {
    double part = row_order_share(d, r);
    size_t at = count;

    if (isnan(part))
      continue;
    for (; at > 0 && d->a[at - 1] < 100 * part; at--)
      d->a[at] = d->a[at - 1];
    d->a[at] = 100 * part;
    count++;
    whole += part >= 1;
  }
  for (size_t i = 0; i < count; i++)
    d->x[i] = (double)(i + 1);
  x.high = (double)(count ? count : 1);
  (void)snprintf(subtitle, sizeof subtitle, "%zu of %zu rows completely in order", whole, count);
  chart = ft_chart_open(false, false, "Order by row", subtitle, &x, &y, err);
  if (!chart)
    return -1;
  ft_chart_series(chart, FT_MARK_LINE, d->x, d->a, NULL, count);
  return close_chart(d, chart, "order", err);
}

/* Returns the median relative error over ROW's target platforms; NAN without a measured target. */
static double row_median_error(const struct drawing *d, size_t row)
{
  size_t n = d->t->platforms, count = 0;
  double errors[FT_RELATIVE_PLATFORMS];

  for (size_t p = 0; p < n; p++) {
    double e = fabs(d->y->measured[row * n + p] / d->y->speed[row * n + p] - 1);

    if (p != d->y->from && isfinite(e))
      errors[count++] = e;
  }
  return count ? ft_sort_median(errors, count) : NAN;
}

/* Median error per row, sorted. */
static int draw_error(struct drawing *d, struct ft_error *err)
{
  struct ft_axis x = { .title = "Rows, sorted by error", .tight = true };
  struct ft_axis y = { .title = "Median error over the platforms, %" };
  struct ft_chart *chart;
  size_t count = 0;
  char subtitle[128];

  for (size_t r = 0; r < d->y->rows; r++) {
    double error = row_median_error(d, r);

    if (!isnan(error))
      d->a[count++] = 100 * error;
  }
  ft_sort_doubles(d->a, count);
  for (size_t i = 0; i < count; i++)
    d->x[i] = (double)(i + 1);
  x.high = (double)(count ? count : 1);
  fit_log_to_values(&y, d->a, count);
  (void)snprintf(subtitle, sizeof subtitle, "half of %zu rows within %.3g %%", count,
                 count ? ft_sort_median(d->a, count) : 0);
  chart = ft_chart_open(false, false, "Error by row", subtitle, &x, &y, err);
  if (!chart)
    return -1;
  ft_chart_series(chart, FT_MARK_LINE, d->x, d->a, NULL, count);
  return close_chart(d, chart, "error", err);
}

/* Finds the pair of platforms whose order is closest to 50:50 over the rows. FIRST faster than
 * SECOND is the positive outcome. */
static void find_balanced_pair(const struct drawing *d, size_t *first, size_t *second)
{
  size_t n = d->t->platforms;
  double even = INFINITY;

  *first = *second = 0;
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < p; q++) {
      double faster = 0, known = 0;

      for (size_t r = 0; r < d->y->rows; r++) {
        double ratio = d->y->measured[r * n + p] / d->y->measured[r * n + q];

        known += !isnan(ratio);
        faster += ratio > 1;
      }
      if (known > 1 && fabs(faster / known - 0.5) < even) {
        even = fabs(faster / known - 0.5);
        *first = p;
        *second = q;
      }
    }
}

/* Figure 5: ROC curve of predicting the faster platform, for the most evenly divided pair. */
static int draw_roc(struct drawing *d, struct ft_error *err)
{
  struct ft_axis x = { .title = "False positive rate", .high = 1 };
  struct ft_axis y = { .title = "True positive rate", .high = 1 };
  static const double edge[] = { 0, 1 };
  size_t n = d->t->platforms, rows = 0, first, second;
  double positives = 0, area = 0;
  struct ft_chart *chart;
  char title[256], subtitle[64];

  find_balanced_pair(d, &first, &second);
  for (size_t r = 0; r < d->y->rows; r++) { /* in descending order of the predicted log ratio */
    double score = log(d->y->speed[r * n + first] / d->y->speed[r * n + second]);
    double ratio = d->y->measured[r * n + first] / d->y->measured[r * n + second];
    size_t at = rows;

    if (isnan(score) || isnan(ratio))
      continue;
    for (; at > 0 && d->a[at - 1] < score; at--) {
      d->a[at] = d->a[at - 1];
      d->b[at] = d->b[at - 1];
    }
    d->a[at] = score;
    d->b[at] = ratio > 1;
    positives += ratio > 1;
    rows++;
  }
  d->x[0] = d->c[0] = 0;
  for (size_t i = 0; i < rows; i++) {
    double negatives = (double)rows - positives;

    d->x[i + 1] = d->x[i] + (negatives > 0 ? (1 - d->b[i]) / negatives : 0);
    d->c[i + 1] = d->c[i] + (positives > 0 ? d->b[i] / positives : 0);
    area += (d->x[i + 1] - d->x[i]) * d->c[i + 1];
  }
  (void)snprintf(title, sizeof title, "ROC: %s faster than %s", d->names[first], d->names[second]);
  (void)snprintf(subtitle, sizeof subtitle, "area %.3f", area);
  chart = ft_chart_open(false, true, title, subtitle, &x, &y, err);
  if (!chart)
    return -1;
  ft_chart_series(chart, FT_MARK_SAME, edge, edge, NULL, 2);
  ft_chart_series(chart, FT_MARK_LINE, d->x, d->c, NULL, rows + 1);
  ft_chart_legend(chart, FT_MARK_LINE, "predicted");
  ft_chart_legend(chart, FT_MARK_SAME, "random");
  return close_chart(d, chart, "roc", err);
}

int ft_relative_plot(const struct ft_relative_table *t, const struct ft_relative_trial *y,
                     const char *prefix, struct ft_error *err)
{
  struct drawing d = { .t = t, .y = y, .prefix = prefix };
  size_t room = 2 * t->rows * t->platforms + 2;
  double *numbers = calloc(4 * room, sizeof *numbers);
  int status = -1;

  if (!numbers)
    return ft_error_set(err, "out of memory");
  d.x = numbers;
  d.a = numbers + room;
  d.b = numbers + 2 * room;
  d.c = numbers + 3 * room;
  for (size_t p = 0; p < t->platforms; p++)
    d.names[p] = t->platform[p];
  (void)snprintf(d.performance, sizeof d.performance, "Relative performance: times as fast as on %s",
                 t->platform[y->from]);
  if (draw_distribution(&d, err) == 0 && draw_vector(&d, err) == 0 && draw_order(&d, err) == 0 &&
      draw_error(&d, err) == 0)
    status = draw_roc(&d, err);
  free(numbers);
  return status;
}
