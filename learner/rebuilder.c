/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/new_apps/similar_apps_index.h"
#include "learner/new_apps/usage_index.h"
#include "learner/rebuilder.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/stale_models.h"
#include "predictor/online/app_models.h"
#include "predictor/online/failure_cost.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Time per step. A run takes up to 1 ms to learn (24 columns, 200 runs); writing the model's file
 * is extra. */
#define REBUILD_STEP_SECONDS 0.002
enum { RUNS_PER_CLOCK_CHECK = 2 }; /* learnt between two reads of the clock */

struct ft_rebuilder {
  struct ft_publisher *publisher;
  int state_fd;
  const struct ft_shared_apps *shared;
  ft_rule rule;
  double failure_cost;
  bool has_handled;      /* `handled` was read from the store */
  bool settings_applied; /* the store has this rule, failure cost and model format */
  bool warned;           /* the current failure is logged */
  int64_t handled;       /* last change that is published, or contained in a model in memory */
  int64_t saved;         /* last published change, as the store has it */
  int64_t round_end;     /* changes from this number on wait for the next round; 0: none do */
  uint64_t failures;     /* of models */
  uint64_t round_models; /* published in this round, which ends when no change is due */
  struct ft_stale_model change;
  struct ft_rebuild *rebuild; /* for `change`; NULL: none under construction */
};

struct ft_rebuilder *ft_rebuilder_open(struct ft_publisher *publisher, int state_fd)
{
  struct ft_rebuilder *rebuilder = calloc(1, sizeof *rebuilder);

  if (!rebuilder)
    return NULL;
  rebuilder->publisher = publisher;
  rebuilder->state_fd = state_fd;
  rebuilder->failure_cost = 1;
  return rebuilder;
}

void ft_rebuilder_close(struct ft_rebuilder *rebuilder)
{
  if (!rebuilder)
    return;
  free(rebuilder->rebuild);
  free(rebuilder);
}

void ft_rebuilder_set_shared(struct ft_rebuilder *rebuilder, const struct ft_shared_apps *shared)
{
  rebuilder->shared = shared;
}

static void abandon_rebuild(struct ft_rebuilder *rebuilder)
{
  free(rebuilder->rebuild);
  rebuilder->rebuild = NULL;
}

void ft_rebuilder_set_rule(struct ft_rebuilder *rebuilder, ft_rule rule)
{
  if (rebuilder->rule == rule)
    return;
  rebuilder->rule = rule;
  rebuilder->settings_applied = false;
  abandon_rebuild(rebuilder);
}

void ft_rebuilder_set_failure_cost(struct ft_rebuilder *rebuilder, double cost)
{
  if (rebuilder->failure_cost == cost)
    return;
  rebuilder->failure_cost = cost;
  rebuilder->settings_applied = false;
  abandon_rebuild(rebuilder);
}

uint64_t ft_rebuilder_failures(const struct ft_rebuilder *rebuilder)
{
  return rebuilder->failures;
}

int ft_rebuilder_handled(struct ft_rebuilder *rebuilder, struct ft_store *store, int64_t *number,
                         struct ft_error *err)
{
  if (!rebuilder->has_handled && ft_store_published(store, &rebuilder->handled, err) < 0)
    return -1;
  if (!rebuilder->has_handled)
    rebuilder->saved = rebuilder->handled;
  rebuilder->has_handled = true;
  *number = rebuilder->handled;
  return 0;
}

static int apply_settings(struct ft_rebuilder *rebuilder, struct ft_store *store,
                          struct ft_error *err)
{
  int64_t number;
  int changed;

  if (rebuilder->settings_applied)
    return 0;
  if (ft_rebuilder_handled(rebuilder, store, &number, err) < 0)
    return -1;
  changed = ft_store_set_rule(store, rebuilder->rule, err);
  if (changed < 0)
    return -1;
  if (changed)
    ft_log(LOG_DEBUG, "memory accounting rule is %s: all models are rebuilt",
           ft_rule_name(rebuilder->rule));
  changed = ft_store_set_failure_cost(store, rebuilder->failure_cost, err);
  if (changed < 0)
    return -1;
  if (changed)
    ft_log(LOG_DEBUG, "failure cost is %g: all models are rebuilt", rebuilder->failure_cost);
  changed = ft_store_set_model_format(store, FT_MODEL_FORMAT, err);
  if (changed < 0)
    return -1;
  if (changed)
    ft_log(LOG_DEBUG, "model files have format %d: all models are rebuilt", FT_MODEL_FORMAT);
  rebuilder->settings_applied = true;
  return 0;
}

static int save_published(struct ft_rebuilder *rebuilder, struct ft_store *store,
                          struct ft_error *err)
{
  int64_t queued = ft_model_cache_oldest_mark(ft_publisher_cache(rebuilder->publisher));
  int64_t published = rebuilder->handled;

  if (queued && queued <= published)
    published = queued - 1;
  if (published <= rebuilder->saved)
    return 0;
  if (ft_store_set_published(store, published, err) < 0)
    return -1;
  rebuilder->saved = published;
  return 0;
}

void ft_rebuilder_save(struct ft_rebuilder *rebuilder, struct ft_store *store)
{
  struct ft_error err;

  if (save_published(rebuilder, store, &err) < 0)
    ft_log(LOG_DEBUG, "%s", err.text);
}

/* Ends a round: no stale model is left but those that could not be published in it. */
static int end_round(struct ft_rebuilder *rebuilder, struct ft_store *store, struct ft_error *err)
{
  if (rebuilder->round_models)
    ft_log(LOG_INFO, "%" PRIu64 " model%s published from the store", rebuilder->round_models,
           ft_plural(rebuilder->round_models));
  rebuilder->round_models = 0;
  if (!rebuilder->round_end)
    rebuilder->warned = false;
  rebuilder->round_end = 0;
  return save_published(rebuilder, store, err);
}

/* Whether the model in memory contains the current change, so that no rebuild is needed. */
static bool is_refined(const struct ft_rebuilder *rebuilder)
{
  const struct ft_stale_model *change = &rebuilder->change;
  const struct ft_cached_app *app =
      ft_model_cache_find(ft_publisher_cache(rebuilder->publisher), change->uid, change->app);

  return app && app->mark == change->number;
}

/* Begins the next rebuild unless one is running. Returns 1; 0 if no change is due; -1 and ERR. */
static int begin_rebuild(struct ft_rebuilder *rebuilder, struct ft_store *store,
                         struct ft_error *err)
{
  int status;

  if (rebuilder->rebuild)
    return 1;
  while ((status = ft_store_next_stale(store, rebuilder->handled, &rebuilder->change, err)) > 0 &&
         is_refined(rebuilder))
    rebuilder->handled = rebuilder->change.number;
  if (status < 0)
    return -1;
  if (status == 0 || (rebuilder->round_end && rebuilder->change.number >= rebuilder->round_end))
    return 0;
  rebuilder->rebuild = malloc(sizeof *rebuilder->rebuild);
  if (!rebuilder->rebuild)
    return ft_error_errno(err, "%s", rebuilder->change.app);
  ft_rebuild_init(rebuilder->rebuild, rebuilder->change.uid, rebuilder->change.app,
                  rebuilder->rule);
  ft_failure_cost_set(&rebuilder->rebuild->models.model, rebuilder->failure_cost);
  return 1;
}

/* Marks the current change as handled and frees its rebuild. */
static void complete_change(struct ft_rebuilder *rebuilder)
{
  rebuilder->handled = rebuilder->change.number;
  abandon_rebuild(rebuilder);
}

static void warn_no_model(struct ft_rebuilder *rebuilder, const struct ft_error *why)
{
  if (!rebuilder->warned)
    ft_log(LOG_WARNING, "model of %s of user %" PRIu32 " not updated: %s", rebuilder->change.app,
           rebuilder->change.uid, why->text);
  rebuilder->failures++;
  rebuilder->warned = true;
}

/* Marks the app as stale again, for the next round, so that a directory that cannot be written does
 * not delay other users. */
static int postpone_change(struct ft_rebuilder *rebuilder, struct ft_store *store,
                           struct ft_error *err)
{
  int64_t number;

  warn_no_model(rebuilder, err);
  if (ft_store_mark_stale(store, rebuilder->change.uid, rebuilder->change.app, &number, err) < 0)
    return -1;
  if (!rebuilder->round_end)
    rebuilder->round_end = number;
  complete_change(rebuilder);
  return 0;
}

static void remove_model(struct ft_rebuilder *rebuilder, const ft_model *model)
{
  ft_publish_remove_model(rebuilder->publisher, model->uid, model->app);
  ft_similar_apps_index_remove(rebuilder->publisher, rebuilder->state_fd, model->uid, model->app);
  ft_usage_index_remove(rebuilder->publisher, rebuilder->state_fd, model->uid, model->app);
}

static int publish_rebuilt(struct ft_rebuilder *rebuilder, struct ft_store *store,
                           struct ft_error *err)
{
  struct ft_app_models *models = &rebuilder->rebuild->models;
  const ft_model *model = &models->model;

  ft_app_models_clamp_times(models, (double)time(NULL));
  if (!model->runs ||
      (model->uid == FT_STATE_POOLED && !ft_is_shared_app(rebuilder->shared, model->app)))
    remove_model(rebuilder, model);
  else if (ft_publish_app(rebuilder->publisher, models, ft_app_models_all(models), err) < 0)
    return postpone_change(rebuilder, store, err);
  else {
    ft_usage_index_update(rebuilder->publisher, rebuilder->state_fd, model, &models->history);
    rebuilder->round_models++;
    ft_tally_add(FT_TALLY_MODELS_REBUILT, 1);
  }
  /* the pooled model depends on each user's runs */
  if (model->uid != FT_STATE_POOLED && ft_is_shared_app(rebuilder->shared, model->app) &&
      ft_store_mark_stale(store, FT_STATE_POOLED, model->app, NULL, err) < 0)
    return -1;
  complete_change(rebuilder);
  return 0;
}

/* Returns 1 if more work is due, 0 if not, -1 and ERR. */
static int rebuild_some(struct ft_rebuilder *rebuilder, struct ft_store *store,
                        struct ft_error *err)
{
  double deadline = ft_io_monotonic() + REBUILD_STEP_SECONDS;
  int status;

  if (apply_settings(rebuilder, store, err) < 0)
    return -1;
  status = begin_rebuild(rebuilder, store, err);
  if (status <= 0)
    return status < 0 ? -1 : end_round(rebuilder, store, err);
  do
    status = ft_rebuild_step(rebuilder->rebuild, store, RUNS_PER_CLOCK_CHECK, err);
  while (status == 0 && ft_io_monotonic() < deadline);
  if (status > 0)
    return publish_rebuilt(rebuilder, store, err) < 0 ? -1 : 1;
  if (status < 0) {
    /* a row that cannot be read must not delay other apps */
    warn_no_model(rebuilder, err);
    complete_change(rebuilder);
  }
  return 1;
}

bool ft_rebuilder_step(struct ft_rebuilder *rebuilder, struct ft_store *store)
{
  struct ft_error err;
  int status = rebuild_some(rebuilder, store, &err);

  if (status < 0 && !rebuilder->warned)
    ft_log(LOG_WARNING, "cannot rebuild models from the store: %s", err.text);
  rebuilder->warned = rebuilder->warned || status < 0;
  return status > 0;
}

void ft_rebuilder_note_refined(struct ft_rebuilder *rebuilder, struct ft_store *store,
                               int64_t number)
{
  struct ft_stale_model change;

  if (ft_store_next_stale(store, rebuilder->handled, &change, NULL) > 0 && change.number == number)
    rebuilder->handled = number;
}

void ft_rebuilder_reopen(struct ft_rebuilder *rebuilder, int64_t number)
{
  if (!number || number > rebuilder->handled)
    return;
  rebuilder->handled = number - 1;
  abandon_rebuild(rebuilder);
}

void ft_rebuilder_add_run(struct ft_rebuilder *rebuilder, const ft_observation *o)
{
  struct ft_error err;

  if (!rebuilder->rebuild || strcmp(o->submission.app, rebuilder->change.app) != 0 ||
      (o->uid != rebuilder->change.uid && rebuilder->change.uid != FT_STATE_POOLED))
    return;
  if (ft_rebuild_learn(rebuilder->rebuild, o, &err) < 0)
    abandon_rebuild(rebuilder); /* the next step begins again */
}
