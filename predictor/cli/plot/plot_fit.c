/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws an app's fit from the runs in its model's history. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/model/model_equation.h"
#include "predictor/cli/plot/chart.h"
#include "predictor/cli/plot/plot.h"
#include "predictor/cli/state_dir.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/quantity.h"
#include "predictor/history/json.h"
#include "predictor/learn/table/show.h"
#include "predictor/record/state_files.h"

enum {
  RUNS = FT_HISTORY_RUNS,
  COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column),
  CURVE = 96 /* points of a curve */
};

/* Allocated because of its size. */
struct fit {
  const struct ft_plot *plot;
  struct ft_config config;
  struct ft_user user;
  ft_model model;
  struct ft_history history;
  struct points {
    double x[RUNS], y[RUNS];
    size_t count;
  } full, faint, bounds;           /* completed; earlier or of another category; censored */
  double low, high, y_low, y_high; /* ranges of x and of bytes over all points */
};

/* Returns RUN's value in COLUMN; NAN if missing or if the model does not store the category. */
static double column_value(const ft_model *model, const ft_run *run, size_t column)
{
  double x = column < run->x_count ? (double)run->x[column] : NAN;

  return model->columns[column].categorical && x < 0 ? NAN : x;
}

static void add_run_point(struct fit *fit, const ft_run *run, double x, bool faint)
{
  struct points *points = run->censored ? &fit->bounds : faint ? &fit->faint : &fit->full;

  if (!isfinite(x) || !(run->bytes > 0))
    return;
  fit->low = fmin(fit->low, x);
  fit->high = fmax(fit->high, x);
  fit->y_low = fmin(fit->y_low, run->bytes);
  fit->y_high = fmax(fit->y_high, run->bytes);
  points->x[points->count] = x;
  points->y[points->count++] = run->bytes;
}

static size_t is_shown(const struct fit *fit)
{
  return fit->full.count + fit->faint.count + fit->bounds.count;
}

/* Returns the column's median or most frequent category over the runs; NAN without values. */
static double usual_value(const struct fit *fit, size_t column)
{
  const struct ft_history *history = &fit->history;
  const ft_model *model = &fit->model;
  double values[RUNS], best = NAN;
  size_t count = 0, longest = 0;

  for (size_t i = 0; i < history->count; i++)
    if (!isnan(column_value(model, &history->run[i], column)))
      values[count++] = column_value(model, &history->run[i], column);
  if (count == 0)
    return NAN;
  qsort(values, count, sizeof *values, ft_sort_compare);
  if (!model->columns[column].categorical)
    return values[count / 2];
  for (size_t i = 0, next; i < count; i = next) {
    for (next = i; next < count && values[next] <= values[i]; next++)
      continue;
    if (next - i > longest) {
      longest = next - i;
      best = values[i];
    }
  }
  return best;
}

/* Returns true if RUN differs from the usual category in a column other than COLUMN. */
static bool differs_in_category(const struct fit *fit, const ft_run *run, size_t column)
{
  const ft_model *model = &fit->model;

  for (size_t i = 0; i < model->columns_count; i++)
    if (i != column && model->columns[i].categorical &&
        fabs(column_value(model, run, i) - usual_value(fit, i)) > 0.5)
      return true;
  return false;
}

static void put_feature(const struct fit *fit, size_t column, double value, ft_feature *features,
                        pb_size_t *count)
{
  const ft_column *c = &fit->model.columns[column];

  if (isnan(value))
    return;
  if (!c->categorical)
    (void)ft_feature_number(features, count, COLUMNS, c->name, value);
  else if (value >= 0 && value < c->categories_count)
    (void)ft_feature_category(features, count, COLUMNS, c->name,
                              ft_category_name(&fit->history.categories, column, (size_t)value));
}

/* Estimates with COLUMN (COLUMNS: none) at VALUE and the other columns at their usual values.
 * Returns 0; -1 on error and fills ERR. */
static int evaluate_at(const struct fit *fit, size_t column, double value, struct ft_estimate *out,
                       struct ft_error *err)
{
  ft_feature features[COLUMNS];
  pb_size_t count = 0;

  for (size_t i = 0; i < fit->model.columns_count; i++)
    put_feature(fit, i, i == column ? value : usual_value(fit, i), features, &count);
  return ft_estimate_memory(&fit->model, features, count, out, err);
}

static void draw_fit_legend(struct ft_chart *chart, const struct fit *fit)
{
  ft_chart_legend(chart, FT_MARK_POINT, fit->plot->by ? "run" : "later half of the runs");
  if (fit->faint.count)
    ft_chart_legend(chart, FT_MARK_FAINT, fit->plot->by ? "of another category" : "earlier half");
  if (fit->bounds.count)
    ft_chart_legend(chart, FT_MARK_BOUND, "did not complete: at least this");
  ft_chart_legend(chart, fit->plot->by ? FT_MARK_LINE : FT_MARK_SAME,
                  fit->plot->by ? "predicted now" : "predicted = observed");
  ft_chart_legend(chart, FT_MARK_BAND, "90 % of runs");
}

/* Replaces the subtitle by the equation if the model predicts with a short one. */
static void describe_equation(const struct fit *fit, char *subtitle, size_t size)
{
  enum { SHOWN = 110 }; /* longest equation in bytes that fits the chart */
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_LINE);
  if (fit->model.evaluator.by_equation &&
      ft_show_equation(&fit->model, &fit->history.categories, false, &text) == 0 && text.length &&
      text.length <= SHOWN)
    (void)snprintf(subtitle, size, "%s", text.data);
  ft_buf_free(&text);
}

static void draw_runs(struct ft_chart *chart, const struct fit *fit)
{
  ft_chart_series(chart, FT_MARK_FAINT, fit->faint.x, fit->faint.y, NULL, fit->faint.count);
  ft_chart_series(chart, FT_MARK_POINT, fit->full.x, fit->full.y, NULL, fit->full.count);
  ft_chart_series(chart, FT_MARK_BOUND, fit->bounds.x, fit->bounds.y, NULL, fit->bounds.count);
}

/* Returns true if the range needs a logarithmic axis: a decade and a little. */
static bool spans_decades(double low, double high)
{
  return low > 0 && high / low > 12;
}

static int draw_against_prediction(struct fit *fit, struct ft_error *err)
{
  const ft_model *model = &fit->model;
  struct ft_estimate estimate;
  double low, high, factor05, factor95, edge[2], upper[2], lower[2];
  char title[192], subtitle[192];
  struct ft_axis x = { .kind = FT_AXIS_BYTES, .title = "Predicted peak memory" }, y;
  struct ft_chart *chart;

  if (evaluate_at(fit, COLUMNS, NAN, &estimate, err) < 0)
    return -1;
  factor05 = ft_estimate_quantile(&estimate, 0.05) / ft_estimate_quantile(&estimate, 0.5);
  factor95 = ft_estimate_quantile(&estimate, 0.95) / ft_estimate_quantile(&estimate, 0.5);
  low = fmin(fit->low, fit->y_low);
  high = fmax(fit->high, fit->y_high);
  x.log = spans_decades(low, high);
  x.low = x.log ? low : fmax(0, low - 0.1 * (high - low));
  x.high = x.log ? high : high + 0.05 * (high - low);
  y = x;
  y.title = "Observed peak memory";
  (void)snprintf(title, sizeof title, "%s: observed against predicted peak memory", model->app);
  (void)snprintf(subtitle, sizeof subtitle,
                 "%zu of the last %u runs, each predicted from the runs before it; %u runs in all",
                 is_shown(fit), (unsigned)fit->history.count, (unsigned)model->runs);
  describe_equation(fit, subtitle, sizeof subtitle);
  chart = ft_chart_open(fit->plot->png, true, title, subtitle, &x, &y, err);
  if (!chart)
    return -1;
  ft_axis_fit(&x);
  edge[0] = fmax(x.low, 1);
  edge[1] = x.high;
  for (size_t i = 0; i < 2; i++) {
    upper[i] = edge[i] * factor95;
    lower[i] = edge[i] * factor05;
  }
  ft_chart_series(chart, FT_MARK_BAND, edge, upper, lower, 2);
  ft_chart_series(chart, FT_MARK_SAME, edge, edge, NULL, 2);
  draw_runs(chart, fit);
  draw_fit_legend(chart, fit);
  return ft_chart_close(chart, fit->plot->output, err);
}

/* Derives the axis unit from the suffix of a feature name. */
static enum ft_axis_kind axis_kind_of_feature(const char *name)
{
  size_t length = strlen(name);

  if (ft_named_bytes(name))
    return FT_AXIS_BYTES;
  if (length > 8 && strcmp(name + length - 8, "_seconds") == 0)
    return FT_AXIS_SECONDS;
  return FT_AXIS_NUMBER;
}

struct curve {
  double x[CURVE], middle[CURVE], high[CURVE], low[CURVE];
  size_t count;
};

static int add_to_curve(struct fit *fit, size_t column, double value, double at,
                        struct curve *curve, struct ft_error *err)
{
  struct ft_estimate estimate;
  size_t i = curve->count++;

  if (evaluate_at(fit, column, value, &estimate, err) < 0)
    return -1;
  curve->x[i] = at;
  curve->middle[i] = ft_estimate_quantile(&estimate, 0.5);
  curve->low[i] = ft_estimate_quantile(&estimate, 0.05);
  curve->high[i] = ft_estimate_quantile(&estimate, 0.95);
  fit->y_low = fmin(fit->y_low, curve->low[i]);
  fit->y_high = fmax(fit->y_high, curve->high[i]);
  return 0;
}

static void draw_curve(struct ft_chart *chart, const struct curve *curve)
{
  ft_chart_series(chart, FT_MARK_BAND, curve->x, curve->high, curve->low, curve->count);
  ft_chart_series(chart, FT_MARK_LINE, curve->x, curve->middle, NULL, curve->count);
}

/* Draws one short bar per category. */
static int draw_categories(struct fit *fit, struct ft_chart *chart, size_t column,
                           struct ft_error *err)
{
  for (size_t i = 0; i < fit->model.columns[column].categories_count; i++) {
    struct curve bar = { 0 };

    if (add_to_curve(fit, column, (double)i, (double)i - 0.3, &bar, err) < 0 ||
        add_to_curve(fit, column, (double)i, (double)i + 0.3, &bar, err) < 0)
      return -1;
    draw_curve(chart, &bar);
  }
  return 0;
}

/* Computes the curve over the observed range; called before the axes because it widens y. */
static int make_curve(struct fit *fit, size_t column, const struct ft_axis *x, struct curve *curve,
                      struct ft_error *err)
{
  for (size_t i = 0; i < CURVE; i++) {
    double part = (double)i / (CURVE - 1);
    double value = x->log ? fit->low * pow(fit->high / fit->low, part)
                          : fit->low + part * (fit->high - fit->low);

    if (add_to_curve(fit, column, value, value, curve, err) < 0)
      return -1;
  }
  return 0;
}

/* Returns true if a run differs from the usual value in COLUMN. */
static bool column_varies(const struct fit *fit, size_t column)
{
  for (size_t i = 0; i < fit->history.count; i++)
    if (fabs(column_value(&fit->model, &fit->history.run[i], column) - usual_value(fit, column)) >
        0)
      return true;
  return false;
}

/* Writes "42 of 42 runs; predicted for arch=unet, batch=4", with the features that vary. */
static void describe_usual(const struct fit *fit, size_t column, char *out, size_t size)
{
  const ft_model *model = &fit->model;
  const char *before = "; predicted for ";
  size_t used;

  (void)snprintf(out, size, "%zu of %u runs", is_shown(fit), (unsigned)model->runs);
  for (size_t i = 0; i < model->columns_count; i++) {
    double value = usual_value(fit, i);

    used = strlen(out);
    if (i == column || !column_varies(fit, i) || used + 2 > size)
      continue;
    if (model->columns[i].categorical)
      (void)snprintf(out + used, size - used, "%s%s=%s", before, model->columns[i].name,
                     ft_category_name(&fit->history.categories, i, (size_t)value));
    else
      (void)snprintf(out + used, size - used, "%s%s=%.10g", before, model->columns[i].name, value);
    before = ", ";
  }
}

static int draw_against_feature(struct fit *fit, size_t column, struct ft_error *err)
{
  const ft_column *c = &fit->model.columns[column];
  const char *names[sizeof c->categories / sizeof *c->categories];
  struct ft_axis x = { .kind = c->categorical ? FT_AXIS_NAMES : axis_kind_of_feature(c->name),
                       .title = c->name,
                       .names = names,
                       .name_count = c->categories_count };
  struct ft_axis y = { .kind = FT_AXIS_BYTES, .title = "Peak memory" };
  struct curve curve = { 0 };
  char title[192], subtitle[384];
  struct ft_chart *chart;

  for (size_t i = 0; i < c->categories_count; i++)
    names[i] = ft_category_name(&fit->history.categories, column, i);
  x.log = !c->categorical && spans_decades(fit->low, fit->high);
  x.low = fit->low;
  x.high = fit->high;
  for (size_t i = 0; c->categorical && i < c->categories_count; i++) {
    struct curve measured = { 0 };

    if (add_to_curve(fit, column, (double)i, 0, &measured, err) < 0)
      return -1;
  }
  if (!c->categorical && make_curve(fit, column, &x, &curve, err) < 0)
    return -1;
  y.log = spans_decades(fit->y_low, fit->y_high);
  y.low = y.log ? fit->y_low : 0;
  y.high = fit->y_high;
  (void)snprintf(title, sizeof title, "%s: peak memory by %s", fit->model.app, c->name);
  describe_usual(fit, column, subtitle, sizeof subtitle);
  chart = ft_chart_open(fit->plot->png, true, title, subtitle, &x, &y, err);
  if (!chart)
    return -1;
  if (c->categorical && draw_categories(fit, chart, column, err) < 0) {
    ft_chart_discard(chart);
    return -1;
  }
  draw_curve(chart, &curve);
  draw_runs(chart, fit);
  draw_fit_legend(chart, fit);
  return ft_chart_close(chart, fit->plot->output, err);
}

static int no_such_feature(const struct fit *fit, struct ft_error *err)
{
  char known[300] = "";
  size_t used = 0;

  for (pb_size_t i = 0; i < fit->model.columns_count && used < sizeof known - 60; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                             fit->model.columns[i].name);
  ft_error_set(err, "--by=%s: %s has %s%s", fit->plot->by, fit->plot->app,
               used ? "the features " : "no features", known);
  return FT_EXIT_USAGE;
}

static int plot_fit(struct fit *fit, struct ft_error *err)
{
  const ft_model *model = &fit->model;
  size_t column = 0;
  int done;

  while (fit->plot->by && column < model->columns_count &&
         strcmp(model->columns[column].name, fit->plot->by) != 0)
    column++;
  if (fit->plot->by && column == model->columns_count)
    return no_such_feature(fit, err);
  fit->low = fit->y_low = INFINITY;
  fit->high = fit->y_high = -INFINITY;
  for (size_t i = 0; i < fit->history.count; i++) {
    const ft_run *run = &fit->history.run[i];

    if (fit->plot->by)
      add_run_point(fit, run, column_value(model, run, column),
                    differs_in_category(fit, run, column));
    else
      add_run_point(fit, run, run->predicted_log != 0 ? exp((double)run->predicted_log) : NAN,
                    2 * i < fit->history.count);
  }
  if (fit->full.count + fit->faint.count == 0) {
    ft_error_set(err,
                 fit->plot->by ? "%s: no completed run to draw"
                               : "%s: no completed run had a prediction when it was submitted",
                 fit->plot->app);
    return FT_EXIT_NO;
  }
  done = fit->plot->by ? draw_against_feature(fit, column, err) : draw_against_prediction(fit, err);
  return done < 0 ? FT_EXIT_SYSTEM : FT_EXIT_DONE;
}

/* Reads APP's model and runs. Returns as ft_state_read_model. */
static int read_fit(struct fit *fit, int state_fd, const char *app, struct ft_error *err)
{
  return ft_state_read_model(state_fd, fit->user.uid, app, FT_QUANTITY_MEMORY, &fit->model,
                             &fit->history, err);
}

/* Reads the model of the app, or of the one that its name means. Returns an exit status; fills ERR
 * unless it is 0. */
static int read_plotted_model(struct fit *fit, int state_fd, struct ft_error *err)
{
  const struct ft_store_filter own = { .by_uid = true, .uid = fit->user.uid };
  const char *app = fit->plot->app;
  char meant[128], similar[FT_SUGGESTION];

  if (read_fit(fit, state_fd, app, err) == 0)
    return FT_EXIT_DONE;
  if (errno != ENOENT)
    return FT_EXIT_SYSTEM;
  if (ft_app_search_again("plot", fit->plot->state, &own, app, meant, similar) &&
      read_fit(fit, state_fd, meant, err) == 0)
    return FT_EXIT_DONE;
  ft_error_set(err, "%s: user %s has no model of this app%s", app, fit->user.name, similar);
  return FT_EXIT_NO;
}

int ft_plot_fit(const struct ft_plot *plot, json_t **drawn, struct ft_error *err)
{
  struct fit *fit = calloc(1, sizeof *fit);
  int state_fd = -1, status = FT_EXIT_SYSTEM;

  if (!fit) {
    ft_error_errno(err, "%s", plot->app);
    return status;
  }
  fit->plot = plot;
  if (ft_find_user(plot->user, &fit->user, err) < 0) {
    status = FT_EXIT_USAGE;
    goto out;
  }
  state_fd = ft_open_state(plot->state, &fit->config, err);
  if (state_fd < 0)
    goto out;
  status = read_plotted_model(fit, state_fd, err);
  if (status != FT_EXIT_DONE)
    goto out;
  status = plot_fit(fit, err);
  if (status == FT_EXIT_DONE)
    *drawn =
        json_pack("{s:o, s:s, s:o, s:o, s:I, s:I, s:I}", "output",
                  plot->output ? ft_json_text(plot->output) : json_null(), "kind", "fit", "app",
                  ft_json_text(plot->app), "by", plot->by ? ft_json_text(plot->by) : json_null(),
                  "runs", (json_int_t)fit->model.runs, "drawn", (json_int_t)is_shown(fit),
                  "lower_bounds", (json_int_t)fit->bounds.count);
out:
  if (state_fd >= 0)
    close(state_fd);
  free(fit);
  return status;
}
