/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/evaluate.h"
#include "predictor/learn/additive.h"
#include "predictor/learn/spread.h"
#include "predictor/online/refit.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  ENOUGH_EXACT = 10, /* exactly measured runs, from which on sampled peaks are but bounds */
  FRESH = 5,         /* a bound counts in full until so many runs have completed since */
  RECENT = 4,        /* completed runs that a fresh bound is weighed against */
  WINDOW = 8,        /* residuals that the centre follows when they drift */
  DRIFT_RUNS = 20    /* least number of runs to see a drift in */
};

/* Following the last residuals has to reduce the error to this part. */
#define DRIFT_GAIN 0.9
/* A run killed for its memory needed at least a tenth more than it had, and at a mean a fifth above that (a Pareto tail). */
#define KILLED_MARGIN 0.1
#define KILLED_MEAN 0.2
/* One that ended otherwise had perhaps all but reached its peak. */
#define STOPPED_MARGIN 0.03
#define STOPPED_MEAN 0.05
/* Killed again at the same peak: this much more each time. */
#define AGAIN 0.3
/* What a category never seen may do in an app that has had only one, in log units. */
#define UNTRIED_LEVEL 0.3

struct ft_refit {
  struct ft_additive_data data;
  struct ft_additive fit;
  size_t rows;         /* observed ones; bounds that join come after them */
  size_t row[RUNS];    /* of the history */
  double above[RUNS];  /* by run: log(bytes / centre) */
  double residual[2 * RUNS];
  size_t residuals;
  double sorted[RUNS];
  double work[]; /* of ft_additive_fit */
};

struct ft_refit *ft_refit_new(void)
{
  return malloc(sizeof(struct ft_refit) + ft_additive_work_size());
}

static int rising(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static float x_of(const ft_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

static void add_row(const ft_model *model, struct ft_refit *r, size_t run, double bytes)
{
  size_t row = r->data.runs++;

  r->row[row] = run;
  r->data.y[row] = fmax(bytes, 1);
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.x[j][row] = x_of(&model->history[run], j);
}

/* Whether RUN of the history is an observation rather than a bound. */
static bool observed(const ft_run *run, bool sampled_count)
{
  return !run->censored && (sampled_count || !run->sampled);
}

static bool sampled_count(const ft_model *model)
{
  size_t exact = 0;

  for (size_t i = 0; i < model->history_count; i++)
    exact += !model->history[i].censored && !model->history[i].sampled;
  return exact < ENOUGH_EXACT;
}

static double joining_bytes(const ft_run *run)
{
  if (run->out_of_memory)
    return run->bytes * exp(KILLED_MARGIN + KILLED_MEAN * M_LN2);
  return run->censored ? run->bytes * exp(STOPPED_MARGIN + STOPPED_MEAN * M_LN2) : run->bytes;
}

static void gather(const ft_model *model, struct ft_refit *r)
{
  bool sampled = sampled_count(model);

  r->data.runs = 0;
  r->data.columns = model->columns_count;
  for (size_t j = 0; j < model->columns_count; j++)
    r->data.levels[j] =
        model->columns[j].categorical ? (unsigned)model->columns[j].categories_count : 0;
  for (size_t i = 0; i < model->history_count; i++)
    if (observed(&model->history[i], sampled))
      add_row(model, r, i, model->history[i].bytes);
  r->rows = r->data.runs;
  for (size_t i = 0; i < model->history_count && !r->rows; i++)
    if (model->history[i].out_of_memory)
      add_row(model, r, i, joining_bytes(&model->history[i]));
}

/* ---- the evaluator's centre ---- */

/* The range of a column in the evidence and what an unseen value may do; false when it has none. */
static bool describe(const ft_model *model, const struct ft_refit *r, size_t column, ft_term *t)
{
  bool seen[FT_ADDITIVE_LEVELS] = { false };
  size_t present = 0, distinct = 0;

  *t = (ft_term){ .column = (uint32_t)column, .low = INFINITY, .high = -INFINITY };
  for (size_t i = 0; i < r->data.runs; i++) {
    double x = (double)r->data.x[column][i];

    if (isnan(x))
      continue;
    present++;
    t->low = fmin(t->low, x);
    t->high = fmax(t->high, x);
    if (model->columns[column].categorical && x >= 0 && !seen[(size_t)x]) {
      seen[(size_t)x] = true;
      distinct++;
    }
  }
  if (!present)
    return false;
  if (model->columns[column].categorical) {
    t->levels_count = model->columns[column].categories_count;
    t->scale = distinct == 1 ? UNTRIED_LEVEL * (r->fit.log_target ? 1 : r->fit.intercept) : 0;
    return t->levels_count > 0;
  }
  return true;
}

static void make_centre(const ft_model *model, const struct ft_refit *r, ft_evaluator *e)
{
  e->log_target = r->fit.log_target;
  e->intercept = r->fit.intercept;
  e->terms_count = 0;
  (void)ft_string_copy(r->fit.terms ? "regression" : "quantiles", e->method, sizeof e->method);
  for (size_t j = 0; j < model->columns_count; j++) {
    ft_term *t = &e->terms[e->terms_count];

    if (!describe(model, r, j, t))
      continue;
    e->terms_count++;
    for (size_t k = 0; k < r->fit.terms; k++) {
      const struct ft_additive_term *from = &r->fit.term[k];

      if (from->column != j)
        continue;
      t->log = from->log;
      t->mean = from->mean;
      t->scale = from->levels ? from->level_scale : from->scale;
      t->coefficient = from->coefficient;
      for (size_t l = 0; l < t->levels_count; l++)
        t->levels[l] = from->level[l];
    }
  }
}

static void measure_above(const ft_model *model, struct ft_refit *r)
{
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];
    struct ft_centre centre;

    ft_evaluate_centre(&model->evaluator, run->x, run->x_count, &centre);
    r->above[i] = log(fmax(run->bytes, 1)) - centre.log;
  }
}

static void fit(ft_model *model, struct ft_refit *r)
{
  ft_additive_fit(&r->data, (struct ft_additive_work *)r->work, &r->fit);
  make_centre(model, r, &model->evaluator);
  measure_above(model, r);
}

/* Bounds above the centre join; whether any did. */
static bool join_bounds(const ft_model *model, struct ft_refit *r)
{
  bool sampled = sampled_count(model);
  size_t before = r->data.runs;

  for (size_t i = 0; i < model->history_count && r->rows; i++)
    if (!observed(&model->history[i], sampled) && r->above[i] > 0)
      add_row(model, r, i, joining_bytes(&model->history[i]));
  return r->data.runs > before;
}

/* ---- residuals ---- */

/* The mean of the WINDOW residuals before ROW. */
static double level_before(const double *residual, size_t row)
{
  double sum = 0;

  for (size_t k = row - WINDOW; k < row; k++)
    sum += residual[k];
  return sum / WINDOW;
}

/* By how much the centre moves to follow the last residuals; 0 where that would not have helped. */
static double drift(struct ft_refit *r)
{
  const double *residual = r->fit.residual;
  double still = 0, moving = 0;

  if (r->rows < DRIFT_RUNS)
    return 0;
  for (size_t i = WINDOW; i < r->rows; i++) {
    still += fmin(fabs(residual[i]), 1);
    moving += fmin(fabs(residual[i] - level_before(residual, i)), 1);
  }
  return moving < DRIFT_GAIN * still ? level_before(residual, r->rows) : 0;
}

static void move_centre(ft_evaluator *e, double by)
{
  double factor = exp(by);

  if (e->log_target) {
    e->intercept += by;
    return;
  }
  e->intercept *= factor;
  for (size_t i = 0; i < e->terms_count; i++) {
    ft_term *t = &e->terms[i];

    t->coefficient *= factor;
    for (size_t l = 0; l < t->levels_count; l++)
      t->levels[l] *= factor;
    if (t->levels_count)
      t->scale *= factor;
  }
}

static void collect(ft_model *model, struct ft_refit *r)
{
  double by = drift(r);

  r->residuals = 0;
  for (size_t i = by != 0 ? WINDOW : 0; i < r->rows; i++)
    r->residual[r->residuals++] =
        r->fit.residual[i] - (by != 0 ? level_before(r->fit.residual, i) : 0);
  if (by != 0) {
    move_centre(&model->evaluator, by);
    measure_above(model, r);
  }
  qsort(r->residual, r->residuals, sizeof *r->residual, rising);
}

/* ---- bounds ---- */

/* Whether a run has completed above bound I, each by its own centre. */
static bool passed(const ft_model *model, const struct ft_refit *r, size_t i)
{
  for (size_t j = 0; j < model->history_count; j++)
    if (!model->history[j].censored && r->above[j] >= r->above[i])
      return true;
  return false;
}

static size_t completed_since(const ft_model *model, size_t i)
{
  size_t count = 0;

  for (size_t j = i + 1; j < model->history_count; j++)
    count += !model->history[j].censored;
  return count;
}

/* The Kth point of a sequence that fills (0, 1) evenly at any length (van der Corput, base 2). */
static double even(unsigned k)
{
  double value = 0, part = 0.5;

  for (k++; k; k >>= 1, part /= 2)
    value += (k & 1) * part;
  return value;
}

/* An old bound goes where a completed run above it would lie. */
static double redistributed(const struct ft_refit *r, size_t observed_count, double above,
                            const ft_run *run, unsigned turn)
{
  size_t first = 0;

  while (first < observed_count && r->residual[first] < above)
    first++;
  if (first < observed_count)
    return fmax(above, ft_spread_between(r->residual + first, observed_count - first, even(turn)));
  return above + log(joining_bytes(run) / run->bytes);
}

struct fresh {
  size_t count; /* of runs */
  size_t again; /* of them, killed at the same peak as another */
  double above;
  bool killed;
};

static void note_fresh(struct fresh *f, const ft_run *run, double above)
{
  f->count++;
  if (f->count > 1 && run->out_of_memory && f->killed && fabs(above - f->above) < 0.2)
    f->again++;
  if (f->count == 1 || above > f->above) {
    f->above = above;
    f->killed = run->out_of_memory;
  }
}

/* Thin the COUNT observed residuals to KEEP evenly spaced ones. */
static size_t thin(double *residual, size_t count, size_t keep)
{
  if (count <= keep)
    return count;
  for (size_t i = 0; i < keep; i++)
    residual[i] = residual[(2 * i + 1) * count / (2 * keep)];
  return keep;
}

/*
 * What fresh bounds stand for: an exponential tail above them, as a share of
 * all residuals of their number against that of the recent completed runs.
 */
static void add_fresh(struct ft_refit *r, const struct fresh *f)
{
  size_t recent = r->rows < RECENT ? r->rows : RECENT, copies, kept;
  double share = (double)f->count / (double)(f->count + recent);
  double margin = f->killed ? KILLED_MARGIN + AGAIN * (double)f->again : STOPPED_MARGIN;
  double mean = f->killed ? KILLED_MEAN : STOPPED_MEAN;

  kept = thin(r->residual, r->residuals, (size_t)((1 - share) * RUNS));
  copies = kept ? (size_t)ceil((double)kept * share / (1 - share)) : 2 * WINDOW;
  for (size_t k = 0; k < copies && kept + k < RUNS; k++)
    r->residual[kept + k] =
        f->above + margin - mean * log1p(-((double)k + 0.5) / (double)copies);
  r->residuals = kept + copies < RUNS ? kept + copies : RUNS;
}

static void add_bounds(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  size_t observed_count = r->residuals;
  double most_completed = 0;
  struct fresh fresh = { 0 };
  unsigned turn = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      most_completed = fmax(most_completed, model->history[i].bytes);
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (!run->censored)
      continue;
    if (run->bytes > most_completed)
      e->bound_bytes = fmax(e->bound_bytes, run->bytes);
    if (!passed(model, r, i) && completed_since(model, i) < FRESH &&
        (observed_count || run->out_of_memory))
      note_fresh(&fresh, run, r->above[i]);
    else if (observed_count && r->residuals < RUNS && r->above[i] > r->residual[0])
      r->residual[r->residuals++] =
          redistributed(r, observed_count, r->above[i], run, turn++);
  }
  if (fresh.count) {
    e->has_bound_log = true;
    e->bound_log = fresh.above;
    add_fresh(r, &fresh);
  }
  qsort(r->residual, r->residuals, sizeof *r->residual, rising);
}

void ft_refit_model(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;

  *e = (ft_evaluator){ 0 };
  model->has_evaluator = false;
  gather(model, r);
  if (!r->data.runs)
    return;
  fit(model, r);
  if (join_bounds(model, r))
    fit(model, r);
  collect(model, r);
  add_bounds(model, r);
  for (size_t i = 0; i < model->history_count; i++)
    e->max_bytes = fmax(e->max_bytes, model->history[i].bytes);
  e->residuals_count = (pb_size_t)r->residuals;
  memcpy(e->residuals, r->residual, r->residuals * sizeof *r->residual);
  model->has_evaluator = true;
}
