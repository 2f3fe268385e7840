/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What runs that did not complete say of those that did: a share of the residuals. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/online/refit_work.h"

enum {
  FRESH = 5,       /* a bound counts in full until so many runs have completed since */
  MANY = 10,       /* one in so many completed runs */
  RECENT = 4,      /* completed runs that a fresh bound is weighed against */
  FRESH_LIST = 100 /* residuals where there are fresh bounds */
};

/* Killed again at the same peak: this much more each time. */
#define AGAIN 0.3

/*
 * Whether bound I counts in full: not long ago, and no run has completed above it, each by its own
 * centre. Of one just seen it takes many such runs to say that another like it will do with less.
 */
static bool is_fresh(const ft_model *model, const struct ft_refit *r, size_t i)
{
  size_t completed = 0, since = 0, above = 0;

  for (size_t j = 0; j < model->history_count; j++) {
    bool exact = !model->history[j].censored;

    completed += exact;
    since += exact && j > i;
    above += exact && r->above[j] >= r->above[i];
  }
  return since == 0 ? above <= completed / MANY : since < FRESH && !above;
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
  if (f->count > 1 && run->killed_by == FT_KILLED_BY_LIMIT && f->killed &&
      fabs(above - f->above) < 0.2)
    f->again++;
  if (f->count == 1 || above > f->above) {
    f->above = above;
    f->killed = run->killed_by == FT_KILLED_BY_LIMIT;
  }
}

/* Make the list COUNT long: its quantiles at evenly spaced probabilities. */
static void resample(struct ft_refit *r, size_t count)
{
  for (size_t i = 0; i < r->residuals; i++)
    r->sorted[i] = r->residual[i];
  for (size_t i = 0; i < count && r->residuals; i++)
    r->residual[i] =
        ft_residual_between(r->sorted, r->residuals, ((double)i + 0.5) / (double)count);
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
  double margin = f->killed ? FT_KILLED_MARGIN + AGAIN * (double)f->again : FT_STOPPED_MARGIN;
  double mean = f->killed ? FT_KILLED_MEAN : FT_STOPPED_MEAN;

  resample(r, FRESH_LIST - copies);
  for (size_t k = 0; k < copies; k++)
    r->residual[r->residuals++] = f->above + margin + tail_value(k, copies, mean);
}

/* ---- older bounds: the product-limit estimate (Kaplan and Meier 1958) ---- */

static int rising_above(const void *a, const void *b)
{
  const struct ft_censored_residual *x = a, *y = b;

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
  size_t total = r->residuals + count, limit = total < FT_REFIT_RUNS ? total : FT_REFIT_RUNS,
         made = 0;
  double left = 1, mass = 0, last = 0;

  for (size_t i = 0; i < r->residuals; i++)
    r->bound[count + i] = (struct ft_censored_residual){ .above = r->residual[i] };
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
    r->residual[made++] = last + (killed ? FT_KILLED_MARGIN : FT_STOPPED_MARGIN) +
                          tail_value(k, rest, killed ? FT_KILLED_MEAN : FT_STOPPED_MEAN);
  r->residuals = made;
}

void ft_refit_add_censored(ft_model *model, struct ft_refit *r)
{
  ft_evaluator *e = &model->evaluator;
  double most_completed = 0;
  struct fresh fresh = { 0 };
  bool killed = false;
  size_t older = 0, exact = ft_refit_count_exact(model);

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored)
      most_completed = fmax(most_completed, model->history[i].bytes);
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (ft_refit_observed(run, exact))
      continue;
    if (run->bytes > most_completed)
      e->bound_bytes = fmax(e->bound_bytes, run->bytes);
    if (run->censored && is_fresh(model, r, i) &&
        (r->rows || run->killed_by == FT_KILLED_BY_LIMIT)) {
      note_fresh(&fresh, run, r->above[i]);
    } else if (r->residuals && r->above[i] > r->residual[0]) {
      r->bound[older++] = (struct ft_censored_residual){ .above = r->above[i], .bound = true };
      killed |= run->killed_by == FT_KILLED_BY_LIMIT;
    }
  }
  if (older)
    redistribute(r, older, killed);
  if (fresh.count) {
    e->has_bound_log = true;
    e->bound_log = fresh.above;
    add_fresh(r, &fresh);
  }
  ft_sort_doubles(r->residual, r->residuals);
}
