/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/online/policies.h"

enum { FIRST_SIZE = 64, FIT_PART = 512 };

/* Witt, Wagner, Leser 2019, "Feedback-based resource allocation for batch scheduling of scientific
 * workflows". */
#define WITT_PERCENTILE 0.95

const char *ft_policy_name(enum ft_policy policy)
{
  static const char *const names[FT_POLICIES] = { "request", "quantile95", "regression", "tovar",
                                                  "largest" };

  return policy < FT_POLICIES ? names[policy] : "unknown";
}

int ft_past_add(struct ft_past *past, const struct ft_past_run *run)
{
  size_t low = 0, high = past->count;

  if (past->count == past->size) {
    size_t size = past->size ? 2 * past->size : FIRST_SIZE;
    struct ft_past_run *grown = reallocarray(past->run, size, sizeof *grown);

    if (!grown)
      return -1;
    past->run = grown;
    past->size = size;
  }
  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (past->run[middle].bytes <= run->bytes)
      low = middle + 1;
    else
      high = middle;
  }
  memmove(&past->run[low + 1], &past->run[low], (past->count - low) * sizeof *past->run);
  past->run[low] = *run;
  past->count++;
  return 0;
}

void ft_past_clear(struct ft_past *past)
{
  past->count = past->fitted = 0;
}

void ft_past_free(struct ft_past *past)
{
  if (!past)
    return;
  free(past->run);
  *past = (struct ft_past){ 0 };
}

static double largest(const struct ft_past *past)
{
  return past->run[past->count - 1].bytes;
}

static double percentile(const struct ft_past *past, double probability)
{
  double position = probability * (double)(past->count - 1);
  size_t below = (size_t)position, above = below + 1 < past->count ? below + 1 : below;
  double low = past->run[below].bytes;

  return low + (past->run[above].bytes - low) * (position - (double)below);
}

/*
 * Tovar et al. 2018, "A job sizing strategy for high-throughput scientific
 * workflows": of the peaks seen, the one that would have wasted least had every
 * larger run been tried again at the largest.
 */
static double tovar(const struct ft_past *past, double ttf)
{
  double total = 0, within = 0, best = INFINITY, chosen = largest(past);

  for (size_t i = 0; i < past->count; i++)
    total += past->run[i].seconds;
  for (size_t i = 0; i < past->count; i++) {
    double bytes = past->run[i].bytes, waste;

    within += past->run[i].seconds;
    /* what all runs used is the same for every choice, and left out */
    waste = bytes * within + (total - within) * (bytes * ttf + largest(past));
    if (waste < best) {
      best = waste;
      chosen = bytes;
    }
  }
  return chosen;
}

static void fit_line(struct ft_past *past)
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

static void fit(struct ft_past *past, double ttf)
{
  if (past->fitted && past->count - past->fitted <= past->count / FIT_PART)
    return;
  past->tovar = tovar(past, ttf);
  fit_line(past);
  past->fitted = past->count;
}

static double regression(const struct ft_past *past, double input)
{
  double bytes = past->intercept + past->offset;

  if (past->slope != 0) {
    if (!isfinite(input))
      return largest(past);
    bytes += past->slope * input;
  }
  /* a line may fall below all that was seen; a whole byte, so that rounding fails no job */
  return ceil(fmax(bytes, past->run[0].bytes));
}

double ft_policy_first(enum ft_policy policy, struct ft_past *past,
                       const struct ft_policy_task *task)
{
  if (policy == FT_POLICY_REQUEST || !past->count)
    return task->request_bytes > 0 ? task->request_bytes : task->node_bytes;
  if (policy == FT_POLICY_QUANTILE)
    return percentile(past, WITT_PERCENTILE);
  if (policy == FT_POLICY_LARGEST)
    return largest(past);
  fit(past, task->ttf);
  return policy == FT_POLICY_TOVAR ? past->tovar : regression(past, task->input);
}

double ft_policy_next(enum ft_policy policy, const struct ft_past *past,
                      const struct ft_policy_task *task, double failed_bytes)
{
  if ((policy == FT_POLICY_TOVAR || policy == FT_POLICY_REGRESSION) && past->count &&
      largest(past) > failed_bytes)
    return largest(past);
  if (policy == FT_POLICY_TOVAR && task->node_bytes > failed_bytes)
    return task->node_bytes;
  return 2 * failed_bytes;
}
