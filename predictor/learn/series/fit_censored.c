/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Adds censored runs to the residuals. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/sort.h"
#include "predictor/learn/residual_quantiles.h"
#include "predictor/learn/series/fit_work.h"

/* A censored run is recent until this number of runs have completed after it. Half and twice were
 * compared. */
enum { RECENT_COMPLETED = 5 };
/* The newest run is recent if at most 1 in this number of completed runs has a larger residual.
 * Half and twice were compared. */
enum { ABOVE_FRACTION = 10 };
/* Recent censored runs are weighted against at most this number of completed runs, so one has at
 * least a fifth of the probability. Half and twice were compared. */
enum { WEIGHT_RUNS = 4 };
/* Number of residuals if there are recent censored runs; each has 1 % of the probability. */
enum { RESAMPLED = 100 };

/* Log units added for each further run that a limit stopped at the same value. Half and twice were
 * compared. */
#define REPEAT_MARGIN 0.3
/* Log residuals that differ by less than this count as the same value. Half and twice were
 * compared. */
#define SAME_PEAK 0.2

/*
 * Returns whether the censored run I is recent, and no completed run has at least its log residual.
 * If run I is newer than all completed runs, up to 1 in ABOVE_FRACTION of them may have.
 */
static bool is_recent(const struct ft_series *s, const struct ft_series_work *r, size_t i)
{
  size_t completed = 0, since = 0, above = 0;

  for (size_t j = 0; j < s->runs; j++) {
    bool exact = !s->run[j].censored;

    completed += exact;
    since += exact && j > i;
    above += exact && r->log_residual[j] >= r->log_residual[i];
  }
  return since == 0 ? above <= completed / ABOVE_FRACTION : since < RECENT_COMPLETED && !above;
}

/* The recent censored runs. */
struct recent_censored {
  size_t count;
  size_t repeats;      /* stopped by a limit at the value of an earlier one */
  double log_residual; /* of the run with the largest one */
  bool killed;         /* a limit stopped that run */
};

static void add_recent_run(struct recent_censored *f, const struct ft_series_run *run,
                           double log_residual)
{
  f->count++;
  if (f->count > 1 && run->exceeded && f->killed &&
      fabs(log_residual - f->log_residual) < SAME_PEAK)
    f->repeats++;
  if (f->count == 1 || log_residual > f->log_residual) {
    f->log_residual = log_residual;
    f->killed = run->exceeded;
  }
}

/* Replaces the residuals by COUNT of their quantiles at evenly spaced probabilities. */
static void resample_residuals(struct ft_series_work *r, size_t count)
{
  for (size_t i = 0; i < r->residuals; i++)
    r->sorted[i] = r->residual[i];
  for (size_t i = 0; i < count && r->residuals; i++)
    r->residual[i] =
        ft_residual_interpolate(r->sorted, r->residuals, ((double)i + 0.5) / (double)count);
  r->residuals = r->residuals ? count : 0;
}

/* Returns quantile (K + 0.5) / COUNT of an exponential distribution with MEAN. */
static double exponential_quantile(size_t k, size_t count, double mean)
{
  return -mean * log1p(-((double)k + 0.5) / (double)count);
}

/*
 * Adds an exponential tail above the largest recent censored run. The fraction of the residuals
 * that is in the tail is recent / (recent + completed), with the number of recent censored runs and
 * up to WEIGHT_RUNS completed runs.
 */
static void add_recent_tail(struct ft_series_work *r, const struct recent_censored *f)
{
  size_t completed = r->rows < WEIGHT_RUNS ? r->rows : WEIGHT_RUNS;
  size_t copies = (size_t)ceil((double)f->count / (double)(f->count + completed) * RESAMPLED);
  double margin =
      f->killed ? FT_KILLED_MARGIN + REPEAT_MARGIN * (double)f->repeats : FT_STOPPED_MARGIN;
  double mean = f->killed ? FT_KILLED_MEAN : FT_STOPPED_MEAN;

  resample_residuals(r, RESAMPLED - copies);
  for (size_t k = 0; k < copies; k++)
    r->residual[r->residuals++] = f->log_residual + margin + exponential_quantile(k, copies, mean);
}

/* ---- older censored runs: the product-limit estimate (Kaplan and Meier 1958) ---- */

static int compare_censored_residuals(const void *a, const void *b)
{
  const struct ft_censored_residual *x = a, *y = b;

  if (x->log_residual != y->log_residual)
    return (x->log_residual > y->log_residual) - (x->log_residual < y->log_residual);
  return x->bound - y->bound; /* a bound is sorted after an equal residual */
}

/*
 * Replaces R's residuals and the first COUNT lower bounds of R->censored by as many residuals of
 * the product-limit distribution. The probability of a bound goes to the residuals above it, or if
 * there are none to an exponential tail. KILLED: a bound is of a run that a limit stopped.
 */
static void redistribute_bounds(struct ft_series_work *r, size_t count, bool killed)
{
  size_t total = r->residuals + count, limit = total < FT_SERIES_RUNS ? total : FT_SERIES_RUNS,
         stored = 0;
  double left = 1, cumulative = 0, last = 0;

  for (size_t i = 0; i < r->residuals; i++)
    r->censored[count + i] = (struct ft_censored_residual){ .log_residual = r->residual[i] };
  qsort(r->censored, total, sizeof *r->censored, compare_censored_residuals);
  for (size_t k = 0; k < total; k++) {
    last = r->censored[k].log_residual;
    if (r->censored[k].bound)
      continue;
    cumulative += left / (double)(total - k);
    left -= left / (double)(total - k);
    while (stored < limit && ((double)stored + 0.5) / (double)limit < cumulative)
      r->residual[stored++] = last;
  }
  for (size_t k = 0, rest = limit - stored; k < rest; k++)
    r->residual[stored++] =
        last + (killed ? FT_KILLED_MARGIN : FT_STOPPED_MARGIN) +
        exponential_quantile(k, rest, killed ? FT_KILLED_MEAN : FT_STOPPED_MEAN);
  r->residuals = stored;
}

size_t ft_series_count_exact(const struct ft_series *s)
{
  size_t exact = 0;

  for (size_t i = 0; i < s->runs; i++)
    exact += !s->run[i].censored && !s->run[i].sampled;
  return exact;
}

void ft_series_add_censored(struct ft_series *s, struct ft_series_work *r)
{
  struct ft_series_fit *fit = &s->fit;
  double max_completed = 0;
  struct recent_censored recent = { 0 };
  bool killed = false;
  size_t older = 0;

  for (size_t i = 0; i < s->runs; i++)
    if (!s->run[i].censored)
      max_completed = fmax(max_completed, s->run[i].value);
  for (size_t i = 0; i < s->runs; i++) {
    const struct ft_series_run *run = &s->run[i];

    if (r->observed[i])
      continue;
    if (run->value > max_completed)
      fit->bound_value = fmax(fit->bound_value, run->value);
    if (run->censored && is_recent(s, r, i) && (r->rows || run->exceeded)) {
      add_recent_run(&recent, run, r->log_residual[i]);
    } else if (r->residuals && r->log_residual[i] > r->residual[0]) {
      r->censored[older++] =
          (struct ft_censored_residual){ .log_residual = r->log_residual[i], .bound = true };
      killed |= run->exceeded;
    }
  }
  if (older)
    redistribute_bounds(r, older, killed);
  if (recent.count) {
    fit->has_bound_log = true;
    fit->bound_log = recent.log_residual;
    add_recent_tail(r, &recent);
  }
  ft_sort_doubles(r->residual, r->residuals);
}
