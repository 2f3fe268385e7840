/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "predictor/rebuild/baseline_policies.h"

/* Initial capacity in runs. */
enum { FIRST_CAPACITY = 64 };
/* A fit is repeated when 1 in this number of runs is new, which keeps long replays fast. */
enum { REFIT_FRACTION = 512 };

/* Witt, Wagner, Leser 2019, "Feedback-based resource allocation for batch scheduling of scientific
 * workflows". */
#define WITT_PERCENTILE 0.95

const char *ft_policy_name(enum ft_baseline_policy policy)
{
  static const char *const names[FT_POLICY_COUNT] = { "request", "quantile95", "regression",
                                                      "tovar", "largest", "last", "last_two" };

  return policy < FT_POLICY_COUNT ? names[policy] : "unknown";
}

bool ft_policy_is_for(enum ft_baseline_policy policy, bool time)
{
  /* a time limit has no node that an attempt can fall back on */
  return time ? policy != FT_POLICY_TOVAR : policy < FT_POLICY_LAST;
}

/* ---- past runs ---- */

/* Returns whether A is nearer to the top of a heap than B: the LOW heap has its largest number on
 * top, the high heap its smallest. */
static bool heap_precedes(bool low, double a, double b)
{
  return low ? a > b : a < b;
}

static void heap_push(struct ft_past_heap *heap, bool low, double number)
{
  size_t at = heap->count++;

  for (; at > 0 && heap_precedes(low, number, heap->number[(at - 1) / 2]); at = (at - 1) / 2)
    heap->number[at] = heap->number[(at - 1) / 2];
  heap->number[at] = number;
}

static double heap_pop(struct ft_past_heap *heap, bool low)
{
  double top = heap->number[0], moved = heap->number[--heap->count];
  size_t at = 0, child;

  while ((child = 2 * at + 1) < heap->count) {
    child +=
        child + 1 < heap->count && heap_precedes(low, heap->number[child + 1], heap->number[child]);
    if (!heap_precedes(low, heap->number[child], moved))
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

/* Adds BYTES to the heaps. The top of the low heap is then the largest value at or below the
 * percentile. */
static void add_to_heaps(struct ft_past_runs *past, double bytes)
{
  bool low = past->low.count && bytes < past->low.number[0];

  heap_push(low ? &past->low : &past->high, low, bytes);
  while (past->low.count < (size_t)percentile_position(past->count) + 1)
    heap_push(&past->low, true, heap_pop(&past->high, false));
  while (past->low.count > (size_t)percentile_position(past->count) + 1)
    heap_push(&past->high, false, heap_pop(&past->low, true));
}

static bool grow_heap(struct ft_past_heap *heap, size_t capacity)
{
  double *more = reallocarray(heap->number, capacity, sizeof *more);

  if (more)
    heap->number = more;
  return more != NULL;
}

static bool grow_runs(struct ft_past_run **runs, size_t capacity)
{
  struct ft_past_run *more = reallocarray(*runs, capacity, sizeof *more);

  if (more)
    *runs = more;
  return more != NULL;
}

int ft_past_runs_add(struct ft_past_runs *past, const struct ft_past_run *run)
{
  size_t capacity = past->capacity ? 2 * past->capacity : FIRST_CAPACITY;

  if (past->count == past->capacity) {
    if (!grow_runs(&past->run, capacity) || !grow_runs(&past->fresh, capacity) ||
        !grow_heap(&past->low, capacity) || !grow_heap(&past->high, capacity))
      return -1;
    past->capacity = capacity;
  }
  past->fresh[past->count - past->sorted] = *run;
  past->min_bytes = past->count ? fmin(past->min_bytes, run->bytes) : run->bytes;
  past->max_bytes = past->count ? fmax(past->max_bytes, run->bytes) : run->bytes;
  past->before_last_bytes = past->count ? past->last_bytes : run->bytes;
  past->last_bytes = run->bytes;
  past->count++;
  add_to_heaps(past, run->bytes);
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

static int compare_runs(const void *a, const void *b)
{
  const struct ft_past_run *x = a, *y = b;

  if (x->bytes != y->bytes)
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
  /* a total order makes the result independent of the sort algorithm */
  return (x->seconds > y->seconds) - (x->seconds < y->seconds);
}

/* Sorts the fresh runs and merges them into the sorted ones. */
static void sort_runs(struct ft_past_runs *past)
{
  size_t old = past->sorted, fresh = past->count - old, at = past->count;

  qsort(past->fresh, fresh, sizeof *past->fresh, compare_runs);
  while (fresh > 0)
    past->run[--at] = old > 0 && compare_runs(&past->run[old - 1], &past->fresh[fresh - 1]) > 0
                          ? past->run[--old]
                          : past->fresh[--fresh];
  past->sorted = past->count;
}

/* ---- policies ---- */

/* Returns the 95th percentile, interpolated between the two nearest runs. */
static double interpolate_percentile(const struct ft_past_runs *past)
{
  double position = percentile_position(past->count), low = past->low.number[0];
  double next = past->high.count ? past->high.number[0] : low;

  return low + (next - low) * (position - floor(position));
}

/*
 * Returns the past peak with the minimum waste as the first allocation of all past runs, with a
 * retry of each larger run at the largest peak. Tovar et al. 2018, "A job sizing strategy for
 * high-throughput scientific workflows".
 */
static double tovar_allocation(const struct ft_past_runs *past, double failure_time_fraction)
{
  double total = 0, within = 0, best = INFINITY, chosen = past->max_bytes;

  for (size_t i = 0; i < past->count; i++)
    total += past->run[i].seconds;
  for (size_t i = 0; i < past->count; i++) {
    double bytes = past->run[i].bytes, waste;

    within += past->run[i].seconds;
    /* the memory used by the runs is the same for every choice and is left out */
    waste = bytes * within + (total - within) * (bytes * failure_time_fraction + past->max_bytes);
    if (waste < best) {
      best = waste;
      chosen = bytes;
    }
  }
  return chosen;
}

/* Fits bytes over input by least squares, without a slope unless all runs have an input. Sets
 * offset to the largest residual. */
static void fit_line(struct ft_past_runs *past)
{
  double x = 0, y = 0, xx = 0, xy = 0, n = (double)past->count, max_residual = 0;
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
    max_residual = fmax(max_residual, past->run[i].bytes - line);
  }
  past->offset = max_residual;
}

/* Fits the regression and Tovar's allocation if enough runs are new. */
static void refit_policies(struct ft_past_runs *past, double failure_time_fraction)
{
  if (past->fitted && past->count - past->fitted <= past->count / REFIT_FRACTION)
    return;
  sort_runs(past);
  past->tovar = tovar_allocation(past, failure_time_fraction);
  fit_line(past);
  past->fitted = past->count;
}

/* Returns the regression's allocation in bytes for INPUT. */
static double regression_allocation(const struct ft_past_runs *past, double input)
{
  double bytes = past->intercept + past->offset;

  if (past->slope != 0) {
    if (!isfinite(input))
      return past->max_bytes;
    bytes += past->slope * input;
  }
  /* the line may fall below all past peaks; rounding up to a byte fails no job */
  return ceil(fmax(bytes, past->min_bytes));
}

double ft_policy_first_allocation(enum ft_baseline_policy policy, struct ft_past_runs *past,
                                  const struct ft_policy_task *task)
{
  if (policy == FT_POLICY_REQUEST || !past->count)
    return task->request_bytes > 0 ? task->request_bytes : task->node_bytes;
  if (policy == FT_POLICY_QUANTILE)
    return interpolate_percentile(past);
  if (policy == FT_POLICY_LAST)
    return past->last_bytes;
  if (policy == FT_POLICY_LAST_TWO)
    return (past->last_bytes + past->before_last_bytes) / 2;
  if (policy == FT_POLICY_LARGEST)
    return past->max_bytes;
  refit_policies(past, task->failure_time_fraction);
  return policy == FT_POLICY_TOVAR ? past->tovar : regression_allocation(past, task->input);
}

double ft_policy_next_allocation(enum ft_baseline_policy policy, const struct ft_past_runs *past,
                                 const struct ft_policy_task *task, double failed_bytes)
{
  if ((policy == FT_POLICY_TOVAR || policy == FT_POLICY_REGRESSION) && past->count &&
      past->max_bytes > failed_bytes)
    return past->max_bytes;
  if (policy == FT_POLICY_TOVAR && task->node_bytes > failed_bytes)
    return task->node_bytes;
  return 2 * failed_bytes;
}
