/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/rebuilder.h"
#include "agent/similar_apps_index.h"
#include "agent/log.h"
#include "predictor/core/io.h"
#include "predictor/history/stale_models.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Of work between two looks at what else there is to do. A run takes up to 1 ms to learn (24
 * columns, 200 runs), and a model's file is written on top. */
#define STEP_SECONDS 0.002
enum { RUNS = 2 }; /* learnt between two looks at the clock */

struct ft_rebuilder {
  struct ft_publisher *publisher;
  int state_fd;
  const struct ft_shared_apps *shared;
  ft_rule rule;
  double price;
  bool known;         /* what was published before us */
  bool ready;         /* the store knows the rule */
  bool told;          /* that it fails */
  int64_t at, kept;   /* changes up to here are published; so the store was told */
  int64_t limit;      /* changes from here on are for the next look; 0: there is no such */
  uint64_t published; /* models since there was nothing to do */
  struct ft_stale_model change;
  struct ft_rebuild *rebuild; /* of that change; NULL: none is being made */
};

struct ft_rebuilder *ft_rebuilder_open(struct ft_publisher *publisher, int state_fd)
{
  struct ft_rebuilder *follow = calloc(1, sizeof *follow);

  if (!follow)
    return NULL;
  follow->publisher = publisher;
  follow->state_fd = state_fd;
  follow->price = 1;
  return follow;
}

void ft_rebuilder_close(struct ft_rebuilder *follow)
{
  if (!follow)
    return;
  free(follow->rebuild);
  free(follow);
}

void ft_rebuilder_set_shared(struct ft_rebuilder *follow, const struct ft_shared_apps *shared)
{
  follow->shared = shared;
}

static void give_up(struct ft_rebuilder *follow)
{
  free(follow->rebuild);
  follow->rebuild = NULL;
}

void ft_rebuilder_set_rule(struct ft_rebuilder *follow, ft_rule rule)
{
  if (follow->rule == rule)
    return;
  follow->rule = rule;
  follow->ready = false;
  give_up(follow);
}

void ft_rebuilder_set_failure_cost(struct ft_rebuilder *follow, double price)
{
  if (follow->price == price)
    return;
  follow->price = price;
  follow->ready = false;
  give_up(follow);
}

int ft_rebuilder_published(struct ft_rebuilder *follow, struct ft_store *store, int64_t *number,
                           struct ft_error *err)
{
  if (!follow->known && ft_store_published(store, &follow->at, err) < 0)
    return -1;
  if (!follow->known)
    follow->kept = follow->at;
  follow->known = true;
  *number = follow->at;
  return 0;
}

static int make_ready(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  int64_t number;
  int marked;

  if (follow->ready)
    return 0;
  if (ft_rebuilder_published(follow, store, &number, err) < 0)
    return -1;
  marked = ft_store_set_rule(store, follow->rule, err);
  if (marked < 0)
    return -1;
  if (marked)
    ft_log(LOG_DEBUG, "memory counts by rule %s: every app's model is made anew",
           ft_rule_name(follow->rule));
  marked = ft_store_set_failure_cost(store, follow->price, err);
  if (marked < 0)
    return -1;
  if (marked)
    ft_log(LOG_DEBUG, "a failure costs %g now: every app's model is made anew", follow->price);
  follow->ready = true;
  return 0;
}

static int keep(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  if (follow->kept == follow->at)
    return 0;
  if (ft_store_set_published(store, follow->at, err) < 0)
    return -1;
  follow->kept = follow->at;
  return 0;
}

void ft_rebuilder_save(struct ft_rebuilder *follow, struct ft_store *store)
{
  struct ft_error err;

  if (keep(follow, store, &err) < 0)
    ft_log(LOG_DEBUG, "%s", err.text);
}

/* Nothing is marked any more but what could not be published just now. */
static int end(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  if (follow->published)
    ft_log(LOG_INFO, "%" PRIu64 " model%s published from the store", follow->published,
           follow->published == 1 ? "" : "s");
  follow->published = 0;
  if (!follow->limit)
    follow->told = false;
  follow->limit = 0;
  return keep(follow, store, err);
}

/* Returns 1 with the next change's rebuild begun, 0 when there is none, -1 with ERR. */
static int begin(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  int status;

  if (follow->rebuild)
    return 1;
  status = ft_store_next_stale(store, follow->at, &follow->change, err);
  if (status < 0)
    return -1;
  if (status == 0 || (follow->limit && follow->change.number >= follow->limit))
    return 0;
  follow->rebuild = malloc(sizeof *follow->rebuild);
  if (!follow->rebuild)
    return ft_error_errno(err, "%s", follow->change.app);
  ft_rebuild_init(follow->rebuild, follow->change.uid, follow->change.app, follow->rule);
  ft_failure_cost_set(&follow->rebuild->model, follow->price);
  return 1;
}

static void pass(struct ft_rebuilder *follow)
{
  follow->at = follow->change.number;
  give_up(follow);
}

static void tell(struct ft_rebuilder *follow, const struct ft_error *why)
{
  if (!follow->told)
    ft_log(LOG_WARNING, "%s of user %" PRIu32 " has no new model: %s", follow->change.app,
           follow->change.uid, why->text);
  follow->told = true;
}

/* A folder that cannot be written holds up no other user: its app is marked anew, for later. */
static int postpone(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  int64_t number;

  tell(follow, err);
  if (ft_store_mark_stale(store, follow->change.uid, follow->change.app, &number, err) < 0)
    return -1;
  if (!follow->limit)
    follow->limit = number;
  pass(follow);
  return 0;
}

static int publish_performance(struct ft_rebuilder *follow, struct ft_error *err)
{
  ft_performance *performance = &follow->rebuild->performance;

  ft_performance_clamp_times(performance, (double)time(NULL));
  return performance->runs ? ft_publish_performance(follow->publisher, performance, err) : 0;
}

static void forget(struct ft_rebuilder *follow, const ft_model *model)
{
  ft_publish_remove_model(follow->publisher, model->uid, model->app);
  ft_similar_apps_index_remove(follow->state_fd, model->uid, model->app);
}

static int publish(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  ft_model *model = &follow->rebuild->model;

  ft_online_clamp_times(model, (double)time(NULL));
  if (!model->runs ||
      (model->uid == FT_STATE_POOLED && !ft_is_shared_app(follow->shared, model->app)))
    forget(follow, model);
  else if (ft_publish_model(follow->publisher, model, err) < 0 ||
           publish_performance(follow, err) < 0)
    return postpone(follow, store, err);
  else
    follow->published++;
  /* what one user's model was made anew for changes that of all */
  if (model->uid != FT_STATE_POOLED && ft_is_shared_app(follow->shared, model->app) &&
      ft_store_mark_stale(store, FT_STATE_POOLED, model->app, NULL, err) < 0)
    return -1;
  pass(follow);
  return 0;
}

/* Returns 1 when there is more, 0 when not, -1 with ERR. */
static int step(struct ft_rebuilder *follow, struct ft_store *store, struct ft_error *err)
{
  double until = ft_io_monotonic() + STEP_SECONDS;
  int status;

  if (make_ready(follow, store, err) < 0)
    return -1;
  status = begin(follow, store, err);
  if (status <= 0)
    return status < 0 ? -1 : end(follow, store, err);
  do
    status = ft_rebuild_step(follow->rebuild, store, RUNS, err);
  while (status == 0 && ft_io_monotonic() < until);
  if (status > 0)
    return publish(follow, store, err) < 0 ? -1 : 1;
  if (status < 0) {
    /* a row that cannot be read holds up no other app */
    tell(follow, err);
    pass(follow);
  }
  return 1;
}

bool ft_rebuilder_step(struct ft_rebuilder *follow, struct ft_store *store)
{
  struct ft_error err;
  int status = step(follow, store, &err);

  if (status < 0 && !follow->told)
    ft_log(LOG_WARNING, "models do not follow the store now: %s", err.text);
  follow->told = follow->told || status < 0;
  return status > 0;
}

void ft_rebuilder_mark_published(struct ft_rebuilder *follow, struct ft_store *store, int64_t first,
                                 int64_t last)
{
  struct ft_stale_model change;

  if (ft_store_next_stale(store, follow->at, &change, NULL) > 0 && change.number == first)
    follow->at = last;
}

void ft_rebuilder_add_run(struct ft_rebuilder *follow, const ft_observation *o)
{
  struct ft_error err;

  if (!follow->rebuild || strcmp(o->submission.app, follow->change.app) != 0 ||
      (o->uid != follow->change.uid && follow->change.uid != FT_STATE_POOLED))
    return;
  if (ft_rebuild_learn(follow->rebuild, o, &err) < 0)
    give_up(follow); /* it begins again */
}
