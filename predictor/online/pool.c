/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/variant.h"
#include "predictor/online/facts.h"
#include "predictor/online/pool.h"
#include "predictor/online/refit.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { COLUMNS = COUNT(((ft_model *)NULL)->columns) };

/* The upper bits of a key are its user's: of the site's users few share 24 bits of a hash. */
#define RUN_BITS 40

/* Numbers this much beyond those of others are still like them. */
#define SLACK 0.01

/* What of the others' distribution a run counts within, and the middle one of its user's. */
#define TAIL 0.05
#define QUARTER 0.25

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

static void remove_run(ft_model *model, size_t at)
{
  model->history_count--;
  memmove(&model->history[at], &model->history[at + 1],
          (model->history_count - at) * sizeof *model->history);
}

bool ft_pool_make_room(ft_model *model, const ft_run *run)
{
  size_t count = 0, oldest = 0;

  /* the history is in order of time */
  for (size_t i = model->history_count; i-- > 0;)
    if (ft_pool_same_user(model->history[i].key, run->key)) {
      count++;
      oldest = i;
    }
  if (count < FT_POOL_RUNS)
    return true;
  if (model->history[oldest].time > run->time)
    return false;
  remove_run(model, oldest);
  return true;
}

/* ---- what others bear out ---- */

/* A user's runs that others bear out: logarithms beside the middle of what those say of each. */
struct beside {
  double run[FT_POOL_RUNS];
  struct ft_estimate others[FT_POOL_RUNS];
  size_t count;
};

struct work {
  struct ft_refit *refit;
  ft_model all, others; /* than one user, and what they say */
  struct beside beside;
};

/* Whether the run at AT is the first of its user. */
static bool is_first(const ft_model *model, size_t at)
{
  for (size_t i = 0; i < at; i++)
    if (ft_pool_same_user(model->history[i].key, model->history[at].key))
      return false;
  return true;
}

static size_t count_users(const ft_model *model)
{
  size_t users = 0;

  for (size_t i = 0; i < model->history_count; i++)
    users += is_first(model, i);
  return users;
}

static void fit(ft_model *model, struct ft_refit *refit)
{
  const ft_evaluator empty = { .failure_price = model->evaluator.failure_price };

  model->runs = model->completed = (uint32_t)model->history_count;
  model->censored = 0;
  model->evaluator = empty;
  ft_refit_model(model, refit);
}

/* OUT becomes ALL without the runs of the user of KEY. */
static void leave_out(const ft_model *all, uint64_t key, ft_model *out)
{
  *out = *all;
  out->history_count = 0;
  for (size_t i = 0; i < all->history_count; i++)
    if (!ft_pool_same_user(all->history[i].key, key))
      out->history[out->history_count++] = all->history[i];
}

/* Whether OTHERS have values of column J on both sides of X, or that category; HAVE: any at all. */
static bool is_like(const ft_model *others, size_t j, float x, bool *have)
{
  double low = INFINITY, high = -INFINITY, slack;
  bool same = false;

  for (size_t i = 0; i < others->history_count; i++) {
    const ft_run *run = &others->history[i];

    if (j >= run->x_count || isnan(run->x[j]))
      continue;
    same = same || run->x[j] == x;
    low = fmin(low, (double)run->x[j]);
    high = fmax(high, (double)run->x[j]);
  }
  *have = low <= high;
  slack = SLACK * fmax(fabs(low), fabs(high));
  return same ||
         (!others->columns[j].categorical && (double)x >= low - slack && (double)x <= high + slack);
}

/* RUN without what no other user's run has; false where it lies beyond the others'. */
static bool is_borne_out(const ft_model *others, ft_run *run)
{
  for (size_t j = 0; j < others->columns_count && j < run->x_count; j++) {
    bool have, like;

    if (isnan(run->x[j]))
      continue;
    like = is_like(others, j, run->x[j], &have);
    if (!have)
      run->x[j] = NAN;
    else if (!like)
      return false;
  }
  return true;
}

static size_t features_of(const ft_model *model, const ft_run *run, ft_feature *out)
{
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
      (void)ft_string_copy(column->categories[level], feature->category, sizeof feature->category);
    count++;
  }
  return count;
}

/* Put into TAKEN the runs of KEY's user in ALL that the others bear out, and what these say. */
static void compare(const ft_model *all, uint64_t key, struct work *w, ft_run *taken)
{
  ft_feature features[COLUMNS];
  struct beside *b = &w->beside;
  struct ft_estimate *e;

  leave_out(all, key, &w->others);
  fit(&w->others, w->refit);
  b->count = 0;
  for (size_t i = 0; i < all->history_count && b->count < FT_POOL_RUNS; i++) {
    ft_run run = all->history[i];

    e = &b->others[b->count];
    if (!ft_pool_same_user(run.key, key) || !is_borne_out(&w->others, &run) ||
        ft_estimate_memory(&w->others, features, features_of(all, &run, features), e, NULL) < 0)
      continue;
    taken[b->count] = run;
    b->run[b->count++] = log(run.bytes) - log(ft_estimate_quantile(e, 0.5));
  }
}

/* What others say is passed with PROBABILITY, beside the middle: in the middle of a user's runs. */
static double bound(const struct beside *b, double probability)
{
  double value[FT_POOL_RUNS];

  for (size_t i = 0; i < b->count; i++)
    value[i] = log(ft_estimate_quantile(&b->others[i], probability) /
                   ft_estimate_quantile(&b->others[i], 0.5));
  return ft_sort_median(value, b->count);
}

/* By how much the middle one of a user's runs is beyond what others say is passed with OUTSIDE, or
 * with 1 - OUTSIDE; 0: it is within. */
static double beyond(struct beside *b, double outside)
{
  double middle = b->count ? ft_sort_median(b->run, b->count) : 0;

  return b->count ? middle - fmin(fmax(middle, bound(b, outside)), bound(b, 1 - outside)) : 0;
}

/* Each run counts within what others say, all of a user's moved into their middle half. */
static void hold(struct beside *b, ft_run *taken)
{
  double factor = exp(-beyond(b, QUARTER));

  for (size_t i = 0; i < b->count; i++)
    taken[i].bytes = fmin(fmax(taken[i].bytes * factor, ft_estimate_quantile(&b->others[i], TAIL)),
                          ft_estimate_quantile(&b->others[i], 1 - TAIL));
}

static int by_time(const void *a, const void *b)
{
  const ft_run *one = a, *two = b;

  if (one->time != two->time)
    return one->time < two->time ? -1 : 1;
  return one->key < two->key ? -1 : one->key > two->key;
}

/* Users take turns: what follows the last runs follows nobody's flood. */
static void take_turns(ft_model *model)
{
  for (size_t i = 0; i < model->history_count; i++) {
    model->history[i].time = 0;
    for (size_t k = i + 1; k < model->history_count; k++)
      model->history[i].time -= ft_pool_same_user(model->history[i].key, model->history[k].key);
  }
  qsort(model->history, model->history_count, sizeof *model->history, by_time);
}

/* Only what is told apart by more than single users: which script a run had is theirs alone. */
static void prepare(const ft_model *pooled, ft_model *all)
{
  *all = *pooled;
  all->variant_hashes_count = 0;
  all->variant_ids.size = 0;
  all->history_count = 0;
  for (size_t i = 0; i < pooled->history_count; i++) {
    ft_run *run = &all->history[all->history_count];

    if (pooled->history[i].censored)
      continue;
    *run = pooled->history[i];
    run->predicted_log = run->equation_log = run->residual = 0;
    for (size_t j = 0; j < pooled->columns_count && j < run->x_count; j++)
      if (strcmp(pooled->columns[j].name, FT_VARIANT_FEATURE) == 0)
        run->x[j] = NAN;
    all->history_count++;
  }
  take_turns(all);
}

/* TOLD becomes what of the runs in ALL the others of each user bear out; HELD: within what they
 * say, else without users whose runs are far from that. */
static void take_all(const ft_model *all, bool held, struct work *w, ft_model *told)
{
  *told = *all;
  told->history_count = 0;
  for (size_t i = 0; i < all->history_count; i++) {
    ft_run *taken = &told->history[told->history_count];

    if (!is_first(all, i))
      continue;
    compare(all, all->history[i].key, w, taken);
    if (held)
      hold(&w->beside, taken);
    if (held || beyond(&w->beside, TAIL) == 0)
      told->history_count += (pb_size_t)w->beside.count;
  }
  qsort(told->history, told->history_count, sizeof *told->history, by_time);
}

int ft_pool_shared_model(const ft_model *pooled, ft_model *told, struct ft_error *err)
{
  struct work *w = malloc(sizeof *w);
  struct ft_refit *refit = ft_refit_new();
  int status = 0;

  if (!w || !refit) {
    status = ft_error_errno(err, "%s: all users' runs", pooled->app);
    goto out;
  }
  w->refit = refit;
  prepare(pooled, &w->all);
  if (count_users(&w->all) < FT_POOL_USERS)
    goto out;
  /* who is far from all others goes first: else they would be moved, not he */
  take_all(&w->all, false, w, told);
  w->all = *told;
  if (count_users(told) < FT_POOL_USERS)
    goto out;
  take_all(&w->all, true, w, told);
  if (count_users(told) < FT_POOL_USERS)
    goto out;
  fit(told, w->refit);
  ft_facts_fill(told);
  status = 1;
out:
  free(refit);
  free(w);
  return status;
}

bool ft_pool_has_users(const ft_performance *p)
{
  size_t users = 0;

  for (size_t i = 0; i < p->history_count; i++) {
    bool known = false;

    for (size_t k = 0; k < i && !known; k++)
      known = ft_pool_same_user(p->history[k].key, p->history[i].key);
    users += !known;
  }
  return users >= FT_POOL_USERS;
}
