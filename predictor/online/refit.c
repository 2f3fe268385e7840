/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/order.h"
#include "predictor/core/text.h"
#include "predictor/estimate/evaluate.h"
#include "predictor/learn/additive.h"
#include "predictor/learn/spread.h"
#include "predictor/online/refit.h"
#include "predictor/online/views.h"

enum {
  RUNS = FT_ADDITIVE_RUNS,
  ENOUGH_EXACT = 10, /* exactly measured runs, from which on sampled peaks are but bounds */
  FRESH = 5,         /* a bound counts in full until so many runs have completed since */
  RECENT = 4,        /* completed runs that a fresh bound is weighed against */
  FRESH_LIST = 100,  /* residuals where there are fresh bounds */
  WINDOW = 5,        /* residuals that the centre follows when they drift */
  DRIFT_FIRST = 2,   /* residuals before the first that is judged so */
  REMEMBERED = 40,   /* runs whose needs outlast a centre that followed others down */
  DRIFT_RUNS = 10,   /* least number of runs to see a drift in */
  EQUATION_RUNS = 10 /* least number of runs to prefer an equation on */
};

/* Following the last residuals has to reduce the error to this part. */
#define DRIFT_GAIN 0.95
/* A run killed for its memory needed at least a tenth more than it had, and at a mean a fifth above
 * that (a Pareto tail). */
#define KILLED_MARGIN 0.1
#define KILLED_MEAN 0.2
/* One that ended otherwise had perhaps all but reached its peak. */
#define STOPPED_MARGIN 0.03
#define STOPPED_MEAN 0.05
/* An equation has to be better by this than the additive centre, on the same runs, both honest. */
#define EQUATION_GAIN 0.9
/* Killed again at the same peak: this much more each time. */
#define AGAIN 0.3
/* What a category never seen may do in an app that has had only one, in log units. */
#define UNTRIED_LEVEL 0.3

/* A residual, or what one was at least. */
struct ft_bound {
  double above;
  bool bound;
};

struct ft_refit {
  struct ft_additive_data data;
  struct ft_additive fit;
  size_t rows;           /* observed ones; bounds that join come after them */
  size_t row[RUNS];      /* of the history */
  double above[RUNS];    /* by run: log(bytes / centre) */
  double residual[RUNS]; /* sorted */
  size_t residuals;
  double sorted[RUNS];
  struct ft_bound bound[RUNS];
  double work[]; /* of ft_additive_fit */
};

struct ft_refit *ft_refit_new(void)
{
  return malloc(sizeof(struct ft_refit) + ft_additive_work_size());
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

static double capped(double residual)
{
  return fmin(fabs(residual), 1);
}

/* Whether the equation has been better on the runs that both have told without knowing them. */
static bool equation_is_better(const ft_model *model, const struct ft_refit *r)
{
  double equation = 0, additive = 0;
  size_t count = 0;

  for (size_t i = 0; i < r->rows && model->evaluator.has_equation; i++) {
    double says = (double)model->history[r->row[i]].equation_log;

    if (says == 0)
      continue;
    equation += capped(log(r->data.y[i]) - says);
    additive += capped(r->fit.residual[i]);
    count++;
  }
  return count >= EQUATION_RUNS && 2 * count >= r->rows && equation < EQUATION_GAIN * additive;
}

static void prefer_equation(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;

  e->by_equation = equation_is_better(model, r);
  if (!e->by_equation)
    return;
  (void)ft_string_copy("equation", e->method, sizeof e->method);
  for (size_t i = 0; i < r->rows; i++)
    if (model->history[r->row[i]].equation_log != 0)
      r->fit.residual[i] = log(r->data.y[i]) - (double)model->history[r->row[i]].equation_log;
}

static void fit(ft_model *model, struct ft_refit *r)
{
  ft_additive_fit(&r->data, (struct ft_additive_work *)r->work, &r->fit);
  make_centre(model, r, &model->evaluator);
  prefer_equation(model, r);
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

/* The mean of up to WINDOW residuals before ROW, which is 1 or more. */
static double level_before(const double *residual, size_t row)
{
  size_t first = row > WINDOW ? row - WINDOW : 0;
  double sum = 0;

  for (size_t k = first; k < row; k++)
    sum += residual[k];
  return sum / (double)(row - first);
}

/* By how much the centre moves to follow the last residuals; 0 where that would not have helped. */
static double drift(struct ft_refit *r)
{
  const double *residual = r->fit.residual;
  double still = 0, moving = 0;

  if (r->rows < DRIFT_RUNS)
    return 0;
  for (size_t i = DRIFT_FIRST; i < r->rows; i++) {
    still += fmin(fabs(residual[i]), 1);
    moving += fmin(fabs(residual[i] - level_before(residual, i)), 1);
  }
  return moving < DRIFT_GAIN * still ? level_before(residual, r->rows) : 0;
}

static void move_centre(ft_evaluator *e, double by)
{
  double factor = exp(by);

  e->equation_shift = e->by_equation ? by : 0;
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

/*
 * A centre that followed the runs down does not forget what the last REMEMBERED
 * needed: from the middle up no residual lies below theirs of the same rank.
 */
static void remember(struct ft_refit *r, double by)
{
  size_t count = r->rows < REMEMBERED ? r->rows : REMEMBERED;

  for (size_t i = 0; i < count; i++)
    r->sorted[i] = r->fit.residual[r->rows - count + i] - by;
  ft_order_sort(r->sorted, count);
  for (size_t i = r->residuals / 2; i < r->residuals; i++)
    r->residual[i] =
        fmax(r->residual[i],
             ft_spread_between(r->sorted, count, (double)i / (double)(r->residuals - 1)));
}

/* What the runs that completed needed beside the centre: honest where it was fitted to them. */
static void note_needs(ft_model *model, struct ft_refit *r, double by)
{
  for (size_t i = 0; i < r->rows; i++)
    r->above[r->row[i]] = r->fit.residual[i] - by;
  ft_views_fill(model, r->above);
  measure_above(model, r);
}

static void collect(ft_model *model, struct ft_refit *r)
{
  double by = drift(r);

  r->residuals = 0;
  for (size_t i = by != 0 ? DRIFT_FIRST : 0; i < r->rows; i++)
    r->residual[r->residuals++] =
        r->fit.residual[i] - (by != 0 ? level_before(r->fit.residual, i) : 0);
  ft_order_sort(r->residual, r->residuals);
  if (by != 0) {
    move_centre(&model->evaluator, by);
    measure_above(model, r);
  }
  if (by < 0)
    remember(r, by);
  note_needs(model, r, by);
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

/* Make the list COUNT long: its quantiles at evenly spaced probabilities. */
static void resample(struct ft_refit *r, size_t count)
{
  for (size_t i = 0; i < r->residuals; i++)
    r->sorted[i] = r->residual[i];
  for (size_t i = 0; i < count && r->residuals; i++)
    r->residual[i] = ft_spread_between(r->sorted, r->residuals, ((double)i + 0.5) / (double)count);
  r->residuals = r->residuals ? count : 0;
}

/* The Kth of COUNT evenly spaced values of an exponential tail of MEAN. */
static double tail_value(size_t k, size_t count, double mean)
{
  return -mean * log1p(-((double)k + 0.5) / (double)count);
}

/*
 * What fresh bounds stand for: an exponential tail above them, as a share of
 * all residuals of their number against that of the recent completed runs.
 */
static void add_fresh(struct ft_refit *r, const struct fresh *f)
{
  size_t recent = r->rows < RECENT ? r->rows : RECENT;
  size_t copies = (size_t)ceil((double)f->count / (double)(f->count + recent) * FRESH_LIST);
  double margin = f->killed ? KILLED_MARGIN + AGAIN * (double)f->again : STOPPED_MARGIN;
  double mean = f->killed ? KILLED_MEAN : STOPPED_MEAN;

  resample(r, FRESH_LIST - copies);
  for (size_t k = 0; k < copies; k++)
    r->residual[r->residuals++] = f->above + margin + tail_value(k, copies, mean);
}

/* ---- older bounds: the product-limit estimate (Kaplan and Meier 1958) ---- */

static int rising_above(const void *a, const void *b)
{
  const struct ft_bound *x = a, *y = b;

  if (x->above != y->above)
    return (x->above > y->above) - (x->above < y->above);
  return x->bound - y->bound; /* a bound lies just above an equal value */
}

/*
 * The residuals and COUNT bounds, sorted, become as many residuals again: each
 * bound's probability goes to what lies above it, and that of bounds above
 * which nothing completed to a tail of their own.
 */
static void redistribute(struct ft_refit *r, size_t count, bool killed)
{
  size_t total = r->residuals + count, limit = total < RUNS ? total : RUNS, made = 0;
  double left = 1, mass = 0, last = 0;

  for (size_t i = 0; i < r->residuals; i++)
    r->bound[count + i] = (struct ft_bound){ .above = r->residual[i] };
  qsort(r->bound, total, sizeof *r->bound, rising_above);
  for (size_t k = 0; k < total; k++) {
    last = r->bound[k].above;
    if (r->bound[k].bound)
      continue;
    mass += left / (double)(total - k);
    left -= left / (double)(total - k);
    while (made < limit && ((double)made + 0.5) / (double)limit < mass)
      r->residual[made++] = last;
  }
  for (size_t k = 0, rest = limit - made; k < rest; k++)
    r->residual[made++] = last + (killed ? KILLED_MARGIN : STOPPED_MARGIN) +
                          tail_value(k, rest, killed ? KILLED_MEAN : STOPPED_MEAN);
  r->residuals = made;
}

static void add_bounds(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  double most_completed = 0;
  struct fresh fresh = { 0 };
  bool killed = false, sampled = sampled_count(model);
  size_t older = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      most_completed = fmax(most_completed, model->history[i].bytes);
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (observed(run, sampled))
      continue;
    if (run->bytes > most_completed)
      e->bound_bytes = fmax(e->bound_bytes, run->bytes);
    if (run->censored && !passed(model, r, i) && completed_since(model, i) < FRESH &&
        (r->rows || run->out_of_memory)) {
      note_fresh(&fresh, run, r->above[i]);
    } else if (r->residuals && r->above[i] > r->residual[0]) {
      r->bound[older++] = (struct ft_bound){ .above = r->above[i], .bound = true };
      killed |= run->out_of_memory;
    }
  }
  if (older)
    redistribute(r, older, killed);
  if (fresh.count) {
    e->has_bound_log = true;
    e->bound_log = fresh.above;
    add_fresh(r, &fresh);
  }
  ft_order_sort(r->residual, r->residuals);
}

/* What is found apart from the fit stays: the equation, and what the ensemble's members wasted. */
static void forget_fit(ft_evaluator *e)
{
  ft_evaluator kept = { .has_equation = e->has_equation,
                        .equation = e->equation,
                        .losses_count = e->losses_count,
                        .judged = e->judged,
                        .failure_price = e->failure_price,
                        .failure_time = e->failure_time,
                        .band = e->band };

  memcpy(kept.losses, e->losses, sizeof kept.losses);
  *e = kept;
}

void ft_refit_model(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;

  forget_fit(e);
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
