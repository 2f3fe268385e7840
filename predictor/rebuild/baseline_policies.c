/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "predictor/rebuild/baseline_policies.h"

enum { FIRST_SIZE = 64, FIT_PART = 512 };

/* Witt, Wagner, Leser 2019, "Feedback-based resource allocation for batch scheduling of scientific
 * workflows". */
#define WITT_PERCENTILE 0.95

const char *ft_policy_name(enum ft_baseline_policy policy)
{
  static const char *const names[FT_POLICY_COUNT] = { "request", "quantile95", "regression",
                                                      "tovar", "largest" };

  return policy < FT_POLICY_COUNT ? names[policy] : "unknown";
}

/* ---- the past ---- */

/* Whether A stands above B: in the heap of the low ones the largest is on top, of the high the
 * least. */
static bool above(bool low, double a, double b)
{
  return low ? a > b : a < b;
}

static void push(struct ft_past_heap *heap, bool low, double number)
{
  size_t at = heap->count++;

  for (; at > 0 && above(low, number, heap->number[(at - 1) / 2]); at = (at - 1) / 2)
    heap->number[at] = heap->number[(at - 1) / 2];
  heap->number[at] = number;
}

static double pop(struct ft_past_heap *heap, bool low)
{
  double top = heap->number[0], moved = heap->number[--heap->count];
  size_t at = 0, child;

  while ((child = 2 * at + 1) < heap->count) {
    child += child + 1 < heap->count && above(low, heap->number[child + 1], heap->number[child]);
    if (!above(low, heap->number[child], moved))
      break;
    heap->number[at] = heap->number[child];
    at = child;
  }
  heap->number[at] = moved;
  return top;
}

static double percentile_position(size_t count)
{
  return WITT_PERCENTILE * (double)(count - 1);
}

/* Take BYTES in, so that the largest of the low ones is the last at or below the percentile. */
static void rank(struct ft_past_runs *past, double bytes)
{
  bool low = past->low.count && bytes < past->low.number[0];

  push(low ? &past->low : &past->high, low, bytes);
  while (past->low.count < (size_t)percentile_position(past->count) + 1)
    push(&past->low, true, pop(&past->high, false));
  while (past->low.count > (size_t)percentile_position(past->count) + 1)
    push(&past->high, false, pop(&past->low, true));
}

static bool grow_heap(struct ft_past_heap *heap, size_t size)
{
  double *more = reallocarray(heap->number, size, sizeof *more);

  if (more)
    heap->number = more;
  return more != NULL;
}

static bool grow_runs(struct ft_past_run **runs, size_t size)
{
  struct ft_past_run *more = reallocarray(*runs, size, sizeof *more);

  if (more)
    *runs = more;
  return more != NULL;
}

int ft_past_runs_add(struct ft_past_runs *past, const struct ft_past_run *run)
{
  size_t size = past->size ? 2 * past->size : FIRST_SIZE;

  if (past->count == past->size) {
    if (!grow_runs(&past->run, size) || !grow_runs(&past->fresh, size) ||
        !grow_heap(&past->low, size) || !grow_heap(&past->high, size))
      return -1;
    past->size = size;
  }
  past->fresh[past->count - past->sorted] = *run;
  past->least = past->count ? fmin(past->least, run->bytes) : run->bytes;
  past->most = past->count ? fmax(past->most, run->bytes) : run->bytes;
  past->count++;
  rank(past, run->bytes);
  return 0;
}

void ft_past_runs_clear(struct ft_past_runs *past)
{
  past->count = past->sorted = past->fitted = past->low.count = past->high.count = 0;
}

void ft_past_runs_free(struct ft_past_runs *past)
{
  if (!past)
    return;
  free(past->run);
  free(past->fresh);
  free(past->low.number);
  free(past->high.number);
  *past = (struct ft_past_runs){ 0 };
}

static int rising(const void *a, const void *b)
{
  const struct ft_past_run *x = a, *y = b;

  if (x->bytes != y->bytes)
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
  /* of equal ones in an order that does not depend on how they were sorted */
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Merge the fresh ones into the others. */
static void sort_runs(struct ft_past_runs *past)
{
  size_t old = past->sorted, fresh = past->count - old, at = past->count;

  qsort(past->fresh, fresh, sizeof *past->fresh, rising);
  while (fresh > 0)
    past->run[--at] = old > 0 && rising(&past->run[old - 1], &past->fresh[fresh - 1]) > 0
                          ? past->run[--old]
                          : past->fresh[--fresh];
  past->sorted = past->count;
}

/* ---- policies ---- */

/* The percentile, between the runs beside its position. */
static double percentile(const struct ft_past_runs *past)
{
  double position = percentile_position(past->count), low = past->low.number[0];
  double next = past->high.count ? past->high.number[0] : low;

  return low + (next - low) * (position - floor(position));
}

/*
 * Tovar et al. 2018, "A job sizing strategy for high-throughput scientific
 * workflows": of the peaks seen, the one that would have wasted least had every
 * larger run been tried again at the largest.
 */
static double tovar(const struct ft_past_runs *past, double failure_time_fraction)
{
  double total = 0, within = 0, best = INFINITY, chosen = past->most;

  for (size_t i = 0; i < past->count; i++)
    total += past->run[i].seconds;
  for (size_t i = 0; i < past->count; i++) {
    double bytes = past->run[i].bytes, waste;

    within += past->run[i].seconds;
    /* what all runs used is the same for every choice, and left out */
    waste = bytes * within + (total - within) * (bytes * failure_time_fraction + past->most);
    if (waste < best) {
      best = waste;
      chosen = bytes;
    }
  }
  return chosen;
}

static void fit_line(struct ft_past_runs *past)
{
  double x = 0, y = 0, xx = 0, xy = 0, n = (double)past->count, above = 0;
  size_t known = 0;

  for (size_t i = 0; i < past->count; i++) {
    known += isfinite(past->run[i].input);
    x += past->run[i].input / n;
    y += past->run[i].bytes / n;
  }
  past->slope = 0;
  if (known == past->count) {
    for (size_t i = 0; i < past->count; i++) {
      xx += (past->run[i].input - x) * (past->run[i].input - x);
      xy += (past->run[i].input - x) * (past->run[i].bytes - y);
    }
    past->slope = xx > 0 ? xy / xx : 0;
  }
  past->intercept = past->slope != 0 ? y - past->slope * x : y;
  for (size_t i = 0; i < past->count; i++) {
    double line = past->intercept;

    if (past->slope != 0)
      line += past->slope * past->run[i].input;
    above = fmax(above, past->run[i].bytes - line);
  }
  past->offset = above;
}

static void fit(struct ft_past_runs *past, double failure_time_fraction)
{
  if (past->fitted && past->count - past->fitted <= past->count / FIT_PART)
    return;
  sort_runs(past);
  past->tovar = tovar(past, failure_time_fraction);
  fit_line(past);
  past->fitted = past->count;
}

static double regression(const struct ft_past_runs *past, double input)
{
  double bytes = past->intercept + past->offset;

  if (past->slope != 0) {
    if (!isfinite(input))
      return past->most;
    bytes += past->slope * input;
  }
  /* a line may fall below all that was seen; a whole byte, so that rounding fails no job */
  return ceil(fmax(bytes, past->least));
}

double ft_policy_first_allocation(enum ft_baseline_policy policy, struct ft_past_runs *past,
                                  const struct ft_policy_task *task)
{
  if (policy == FT_POLICY_REQUEST || !past->count)
    return task->request_bytes > 0 ? task->request_bytes : task->node_bytes;
  if (policy == FT_POLICY_QUANTILE)
    return percentile(past);
  if (policy == FT_POLICY_LARGEST)
    return past->most;
  fit(past, task->failure_time_fraction);
  return policy == FT_POLICY_TOVAR ? past->tovar : regression(past, task->input);
}

double ft_policy_next_allocation(enum ft_baseline_policy policy, const struct ft_past_runs *past,
                                 const struct ft_policy_task *task, double failed_bytes)
{
  if ((policy == FT_POLICY_TOVAR || policy == FT_POLICY_REGRESSION) && past->count &&
      past->most > failed_bytes)
    return past->most;
  if (policy == FT_POLICY_TOVAR && task->node_bytes > failed_bytes)
    return task->node_bytes;
  return 2 * failed_bytes;
}
