/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/variant.h"
#include "predictor/online/facts.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/pool.h"
#include "predictor/online/refit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { COLUMNS = COUNT(((ft_model *)NULL)->columns) };

/* Bits of a key that identify the run; the other 24 are a hash of the user, with few collisions on
 * a site. */
#define RUN_BITS 40

/* Relative distance outside the range of the other users' feature values that still counts as
 * inside. Chosen by judgement. */
#define RANGE_SLACK 0.01

/* Tail probabilities of the prediction from the other users' runs: limits of each run (RUN_TAIL)
 * and of the median of a user's runs (MEDIAN_TAIL). Chosen by judgement. */
#define RUN_TAIL 0.05
#define MEDIAN_TAIL 0.25

uint64_t ft_pool_key(uint64_t key, uint32_t uid)
{
  uint64_t user = ft_hash64(FT_HASH_SEED, &uid, sizeof uid);

  return user << RUN_BITS | (key & ((UINT64_C(1) << RUN_BITS) - 1));
}

bool ft_pool_same_user(uint64_t key, uint64_t other)
{
  return key >> RUN_BITS == other >> RUN_BITS;
}

bool ft_pool_accepts(const ft_observation *o)
{
  return !o->has_command_ran || o->command_ran;
}

size_t ft_pool_leaving(const struct ft_pool_run *runs, size_t count, struct ft_pool_run run)
{
  size_t same = 0, oldest = count;

  for (size_t i = count; i-- > 0;)
    if (ft_pool_same_user(runs[i].key, run.key)) {
      same++;
      oldest = i;
    }
  if (same < FT_POOL_RUNS)
    return count;
  return runs[oldest].time > run.time ? SIZE_MAX : oldest;
}

/* ---- checks against other users ---- */

/* The accepted runs of one user and their predictions from the other users' runs. */
struct comparison {
  double run[FT_POOL_RUNS];                /* log(value / median of the prediction) */
  struct ft_estimate others[FT_POOL_RUNS]; /* prediction of each run */
  size_t count;
};

/* Runs and the model of them. */
struct fitted_runs {
  ft_model model;
  struct ft_history history;
};

struct pool_work {
  struct ft_refit *refit;
  struct fitted_runs all, others; /* all runs; the runs of all users but one */
  struct fitted_runs shared;
  struct comparison comparison;
};

/* Returns whether the run AT is the first of its user. */
static bool is_first_of_user(const struct ft_history *history, size_t at)
{
  for (size_t i = 0; i < at; i++)
    if (ft_pool_same_user(history->run[i].key, history->run[at].key))
      return false;
  return true;
}

static size_t count_pool_users(const struct ft_history *history)
{
  size_t users = 0;

  for (size_t i = 0; i < history->count; i++)
    users += is_first_of_user(history, i);
  return users;
}

/* Counts the runs of P, all completed, and fits its model. */
static void fit_pooled_model(struct fitted_runs *p, struct ft_refit *refit)
{
  ft_model *model = &p->model;
  const ft_evaluator empty = { .failure_price = model->evaluator.failure_price };

  model->runs = model->completed = (uint32_t)p->history.count;
  model->censored = 0;
  model->evaluator = empty;
  ft_refit_model(model, &p->history, refit);
}

/* Sets OUT to ALL without the runs of KEY's user. */
static void exclude_user(const struct fitted_runs *all, uint64_t key, struct fitted_runs *out)
{
  const struct ft_history *from = &all->history;
  struct ft_history *to = &out->history;

  out->model = all->model;
  to->count = 0;
  for (size_t i = 0; i < from->count; i++)
    if (!ft_pool_same_user(from->run[i].key, key))
      to->run[to->count++] = from->run[i];
}

/* Returns whether X lies in the range of OTHERS' values of column J, or for a category is one of
 * them. Sets *HAVE if OTHERS have any value of J. */
static bool is_in_range_of(const struct fitted_runs *others, size_t j, float x, bool *have)
{
  const struct ft_history *history = &others->history;
  double low = INFINITY, high = -INFINITY, slack;
  bool same = false;

  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    if (j >= run->x_count || isnan(run->x[j]))
      continue;
    same = same || run->x[j] == x;
    low = fmin(low, (double)run->x[j]);
    high = fmax(high, (double)run->x[j]);
  }
  *have = low <= high;
  slack = RANGE_SLACK * fmax(fabs(low), fabs(high));
  return same || (!others->model.columns[j].categorical && (double)x >= low - slack &&
                  (double)x <= high + slack);
}

/* Removes RUN's values of columns in which OTHERS have none. Returns false if one of the remaining
 * values is outside the range of OTHERS' values. */
static bool restrict_to_others(const struct fitted_runs *others, ft_run *run)
{
  for (size_t j = 0; j < others->model.columns_count && j < run->x_count; j++) {
    bool have, inside;

    if (isnan(run->x[j]))
      continue;
    inside = is_in_range_of(others, j, run->x[j], &have);
    if (!have)
      run->x[j] = NAN;
    else if (!inside)
      return false;
  }
  return true;
}

/* Converts the values of RUN, one of ALL, to features. Returns their number. */
static size_t run_to_features(const struct fitted_runs *all, const ft_run *run, ft_feature *out)
{
  const ft_model *model = &all->model;
  size_t count = 0;

  for (size_t j = 0; j < model->columns_count && j < run->x_count; j++) {
    const ft_column *column = &model->columns[j];
    size_t level = run->x[j] >= 0 ? (size_t)run->x[j] : COUNT(column->categories);
    ft_feature *feature = &out[count];

    if (isnan(run->x[j]) || (column->categorical && level >= column->categories_count))
      continue;
    *feature = (ft_feature){ .has_number = !column->categorical, .number = (double)run->x[j] };
    (void)ft_string_copy(column->name, feature->name, sizeof feature->name);
    if (column->categorical)
      (void)ft_string_copy(ft_category_name(&all->history.categories, j, level), feature->category,
                           sizeof feature->category);
    count++;
  }
  return count;
}

/* Copies the runs of KEY's user that the other users' runs can predict to ACCEPTED, and fills W's
 * comparison with them. */
static void compare_user(const struct fitted_runs *all, uint64_t key, struct pool_work *w,
                         ft_run *accepted)
{
  ft_feature features[COLUMNS];
  struct comparison *b = &w->comparison;
  struct ft_estimate *e;

  exclude_user(all, key, &w->others);
  fit_pooled_model(&w->others, w->refit);
  b->count = 0;
  for (size_t i = 0; i < all->history.count && b->count < FT_POOL_RUNS; i++) {
    ft_run run = all->history.run[i];
    size_t count;

    e = &b->others[b->count];
    if (!ft_pool_same_user(run.key, key) || !restrict_to_others(&w->others, &run))
      continue;
    count = run_to_features(all, &run, features);
    if (ft_estimate_memory(&w->others.model, features, count, e, NULL) < 0)
      continue;
    accepted[b->count] = run;
    b->run[b->count++] =
        log(ft_need_of(&run, all->model.quantity).value) - log(ft_estimate_quantile(e, 0.5));
  }
}

/* Returns the median, over a user's runs, of log(quantile / median) of the prediction at
 * PROBABILITY. */
static double median_log_quantile(const struct comparison *b, double probability)
{
  double value[FT_POOL_RUNS];

  for (size_t i = 0; i < b->count; i++)
    value[i] = log(ft_estimate_quantile(&b->others[i], probability) /
                   ft_estimate_quantile(&b->others[i], 0.5));
  return ft_sort_median(value, b->count);
}

/* Returns the signed log distance of a user's median run from the range between the predicted
 * quantiles TAIL and 1 - TAIL; 0 inside. */
static double distance_outside(struct comparison *b, double tail)
{
  double median = b->count ? ft_sort_median(b->run, b->count) : 0;

  return b->count ? median - fmin(fmax(median, median_log_quantile(b, tail)),
                                  median_log_quantile(b, 1 - tail))
                  : 0;
}

/* Multiplies a user's values of QUANTITY by one factor so that their median lies between the
 * predicted quartiles, and limits each to the predicted quantiles RUN_TAIL and 1 - RUN_TAIL. */
static void limit_runs(struct comparison *b, size_t quantity, ft_run *accepted)
{
  double factor = exp(-distance_outside(b, MEDIAN_TAIL));

  for (size_t i = 0; i < b->count; i++) {
    double value = ft_need_of(&accepted[i], quantity).value * factor;

    ft_need_set(&accepted[i], quantity,
                fmin(fmax(value, ft_estimate_quantile(&b->others[i], RUN_TAIL)),
                     ft_estimate_quantile(&b->others[i], 1 - RUN_TAIL)));
  }
}

static int compare_run_times(const void *a, const void *b)
{
  const ft_run *one = a, *two = b;

  if (one->time != two->time)
    return one->time < two->time ? -1 : 1;
  return one->key < two->key ? -1 : one->key > two->key;
}

/* Replaces times so that the users alternate: many new runs of one user must not look like a recent
 * change of the app. */
static void interleave_users(struct ft_history *history)
{
  for (size_t i = 0; i < history->count; i++) {
    history->run[i].time = 0;
    for (size_t k = i + 1; k < history->count; k++)
      history->run[i].time -= ft_pool_same_user(history->run[i].key, history->run[k].key);
  }
  qsort(history->run, history->count, sizeof *history->run, compare_run_times);
}

/* Sets ALL to the completed runs of HISTORY, of POOLED, that have a value of QUANTITY, without data
 * about scripts, which belong to single users. */
static void copy_public_runs(const ft_model *pooled, const struct ft_history *history,
                             size_t quantity, struct fitted_runs *all)
{
  all->model = *pooled;
  all->model.quantity = (uint32_t)quantity;
  all->model.variant_hashes_count = 0;
  all->model.variant_ids.size = 0;
  all->model.last_scripts_count = all->model.last_code_count = all->model.last_programs_count = 0;
  all->history.count = 0;
  all->history.categories = history->categories;
  for (size_t i = 0; i < history->count; i++) {
    ft_run *run = &all->history.run[all->history.count];

    if (history->run[i].censored || !(ft_need_of(&history->run[i], quantity).value > 0))
      continue;
    *run = history->run[i];
    run->predicted_log = run->equation_log = run->residual = 0;
    for (size_t j = 0; j < pooled->columns_count && j < run->x_count; j++)
      if (ft_is_text_feature(pooled->columns[j].name))
        run->x[j] = NAN;
    all->history.count++;
  }
  interleave_users(&all->history);
}

/* Sets SHARED to the runs of all users in ALL that the other users' runs can predict. With LIMIT
 * limits them to this prediction, else omits users whose median run is outside its RUN_TAIL. */
static void check_all_users(const struct fitted_runs *all, bool limit, struct pool_work *w,
                            struct fitted_runs *shared)
{
  struct ft_history *to = &shared->history;

  shared->model = all->model;
  to->count = 0;
  for (size_t i = 0; i < all->history.count; i++) {
    ft_run *accepted = &to->run[to->count];

    if (!is_first_of_user(&all->history, i))
      continue;
    compare_user(all, all->history.run[i].key, w, accepted);
    if (limit)
      limit_runs(&w->comparison, all->model.quantity, accepted);
    if (limit || distance_outside(&w->comparison, RUN_TAIL) == 0)
      to->count += w->comparison.count;
  }
  qsort(to->run, to->count, sizeof *to->run, compare_run_times);
}

int ft_pool_shared_model(const ft_model *pooled, const struct ft_history *history, size_t quantity,
                         ft_model *shared, struct ft_error *err)
{
  struct pool_work *w = malloc(sizeof *w);
  struct ft_refit *refit = ft_refit_new();
  int status = 0;

  if (!w || !refit) {
    status = ft_error_errno(err, "%s: all users' runs", pooled->app);
    goto out;
  }
  w->refit = refit;
  copy_public_runs(pooled, history, quantity, &w->all);
  if (count_pool_users(&w->all.history) < FT_POOL_USERS)
    goto out;
  /* omit outlying users first, because they would distort the limits of the others */
  check_all_users(&w->all, false, w, &w->shared);
  w->all = w->shared;
  if (count_pool_users(&w->all.history) < FT_POOL_USERS)
    goto out;
  check_all_users(&w->all, true, w, &w->shared);
  if (count_pool_users(&w->shared.history) < FT_POOL_USERS)
    goto out;
  fit_pooled_model(&w->shared, w->refit);
  ft_facts_fill(&w->shared.model, &w->shared.history);
  if (quantity == FT_QUANTITY_GPU_MEMORY)
    w->shared.model.held_bytes = ft_gpu_model_filled(&w->shared.history);
  *shared = w->shared.model;
  status = 1;
out:
  free(refit);
  free(w);
  return status;
}

bool ft_pool_has_users(const struct ft_runtimes *h)
{
  size_t users = 0;

  for (size_t i = 0; i < h->count; i++) {
    bool known = false;

    for (size_t k = 0; k < i && !known; k++)
      known = ft_pool_same_user(h->run[k].key, h->run[i].key);
    users += !known;
  }
  return users >= FT_POOL_USERS;
}
