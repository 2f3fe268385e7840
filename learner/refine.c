/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates the models of stored observations' apps in memory, and publishes them when they are
 * due. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/log.h"
#include "learner/new_apps/similar_apps_index.h"
#include "learner/new_apps/usage_index.h"
#include "learner/recorder_internal.h"
#include "predictor/online/app_models.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Runs from which a missing model is rebuilt at once, at most 2 ms; the rebuilder does more. */
#define MAX_INLINE_RUNS 16
/* Minimum time between two publications of an app. */
#define PUBLISH_INTERVAL_SECONDS 1.0
/* Time per step of publishing, and the pause after it in times of its duration, during which
 * requests are served: many active apps must not stop reception. */
#define PUBLISH_STEP_SECONDS 0.01
#define PUBLISH_PAUSE 3.0
/* Time after which a model that no run uses leaves the memory. */
#define UNUSED_SECONDS 600.0

/* ---- publishing ---- */

/* Publishes what has changed of APP. An app that cannot be published leaves the memory, and the
 * rebuilder does it again later. Returns 0; -1 if APP is freed. */
static int publish_app(struct ft_recorder *recorder, struct ft_cached_app *app)
{
  struct ft_error err;

  if (!app->changed || ft_publish_app(recorder->publisher, &app->models, app->changed, &err) == 0) {
    if (app->index_due) {
      ft_usage_index_update(recorder->publisher, recorder->state_fd, &app->models.model,
                            &app->models.history);
      if (recorder->borrow)
        ft_similar_apps_index_update(recorder->publisher, recorder->state_fd, &app->models.model,
                                     &app->models.history, app->similarity_keys);
    }
    app->index_due = false;
    app->published = recorder->clock();
    return 0;
  }
  ft_log(LOG_WARNING, "model of %s of user %" PRIu32 " not published: %s", app->app, app->uid,
         err.text);
  ft_rebuilder_reopen(recorder->rebuilder, app->mark);
  ft_model_cache_drop(recorder->cache, app);
  recorder->needs_rebuild = true;
  return -1;
}

double ft_recorder_publish_due(const struct ft_recorder *recorder)
{
  const struct ft_cached_app *first = ft_model_cache_first_due(recorder->cache);
  double due = first ? first->due : INFINITY;

  if (ft_publisher_prior(recorder->publisher)->changed)
    due = fmin(due, recorder->prior_from);
  return fmax(due, recorder->publish_from);
}

double ft_recorder_publish(struct ft_recorder *recorder, bool *rebuild)
{
  double begin = recorder->clock(), now = begin;
  struct ft_cached_app *app;

  recorder->needs_rebuild = false;
  if (begin >= recorder->publish_from) {
    while ((app = ft_model_cache_first_due(recorder->cache)) && app->due <= now &&
           now - begin < PUBLISH_STEP_SECONDS) {
      (void)publish_app(recorder, app);
      now = recorder->clock();
    }
    if (now >= recorder->prior_from) {
      ft_similar_apps_index_write(recorder->publisher, recorder->state_fd);
      now = recorder->clock();
      recorder->prior_from = now + PUBLISH_INTERVAL_SECONDS;
    }
    recorder->publish_from = now + PUBLISH_PAUSE * (now - begin);
  }
  *rebuild = recorder->needs_rebuild;
  return ft_recorder_publish_due(recorder);
}

void ft_recorder_publish_all(struct ft_recorder *recorder)
{
  struct ft_cached_app *app;

  while ((app = ft_model_cache_first_due(recorder->cache)))
    (void)publish_app(recorder, app);
  ft_similar_apps_index_write(recorder->publisher, recorder->state_fd);
}

void ft_recorder_set_clock(struct ft_recorder *recorder, double (*clock)(void))
{
  recorder->clock = clock;
}

/* ---- models in memory ---- */

static void drop_oldest_app(struct ft_recorder *recorder)
{
  struct ft_cached_app *oldest = ft_model_cache_oldest(recorder->cache);

  if (!oldest->queued || publish_app(recorder, oldest) == 0)
    ft_model_cache_drop(recorder->cache, oldest);
}

void ft_recorder_drop_unused(struct ft_recorder *recorder)
{
  double now = recorder->clock();
  struct ft_cached_app *oldest;

  while ((oldest = ft_model_cache_oldest(recorder->cache)) && !oldest->queued &&
         now - oldest->used > UNUSED_SECONDS)
    ft_model_cache_drop(recorder->cache, oldest);
}

/* Returns UID's app NAME (FT_STATE_POOLED: the pooled one) in memory, read from its files if it was
 * not. NULL and ERR out of memory. */
static struct ft_cached_app *use_app(struct ft_recorder *recorder, uint32_t uid, const char *name,
                                     struct ft_error *err)
{
  struct ft_cached_app *app = ft_model_cache_find(recorder->cache, uid, name);

  if (!app) {
    while (ft_model_cache_is_full(recorder->cache))
      drop_oldest_app(recorder);
    app = ft_model_cache_add(recorder->cache, uid, name);
    if (!app) {
      ft_error_errno(err, "%s", name);
      return NULL;
    }
    if (ft_state_read_own_app(recorder->state_fd, uid, name, &app->models, NULL) < 0)
      app->models.has_model = app->models.has_performance = false;
    if (!app->models.has_performance)
      ft_performance_init(&app->models.performance, &app->models.runtimes, name, uid);
    app->models.has_performance = true;
  }
  ft_model_cache_use(recorder->cache, app, recorder->clock());
  return app;
}

/* Whether APP has a model with the current rule and failure cost. */
static bool has_current_model(const struct ft_recorder *recorder, const struct ft_cached_app *app)
{
  return app->models.has_model && app->models.model.rule == recorder->rule &&
         ft_failure_cost_equals(&app->models.model, recorder->failure_cost);
}

/* Rebuilds APP's models from the store. Returns 1; 0 if it has too many runs and the rebuilder has
 * to do it; -1 and ERR. */
static int rebuild_inline(struct ft_recorder *recorder, struct ft_cached_app *app,
                          struct ft_error *err)
{
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  int status;

  if (!rebuild)
    return ft_error_errno(err, "%s", app->app);
  ft_rebuild_init(rebuild, app->uid, app->app, recorder->rule);
  ft_failure_cost_set(&rebuild->models.model, recorder->failure_cost);
  status = ft_rebuild_step(rebuild, recorder->store, MAX_INLINE_RUNS, err);
  if (status > 0) {
    app->models = rebuild->models;
    app->changed = ft_app_models_all(&app->models);
  }
  free(rebuild);
  return status;
}

/* Adds O to APP's models. Returns as rebuild_inline. */
static int learn_observation(struct ft_recorder *recorder, struct ft_cached_app *app,
                             const ft_observation *o, struct ft_error *err)
{
  int status;

  if (has_current_model(recorder, app)) {
    status = ft_app_models_update(&app->models, o, err);
    if (status < 0)
      return -1;
    app->changed |= (unsigned)status;
  } else {
    status = rebuild_inline(recorder, app, err);
    if (status <= 0)
      return status;
  }
  ft_app_models_clamp_times(&app->models, (double)time(NULL));
  return 1;
}

static void queue_if_changed(struct ft_recorder *recorder, struct ft_cached_app *app)
{
  if (app->changed && !app->queued)
    ft_model_cache_queue(recorder->cache, app,
                         fmax(recorder->clock(), app->published + PUBLISH_INTERVAL_SECONDS));
}

/* Updates and queues the models of UID's app with O, whose stale mark is MARK. Returns 0; -1 and
 * ERR, and the rebuilder has to do it. */
static int refine_app(struct ft_recorder *recorder, uint32_t uid, const ft_observation *o,
                      int64_t mark, struct ft_error *err)
{
  struct ft_cached_app *app = use_app(recorder, uid, o->submission.app, err);
  int status = app ? learn_observation(recorder, app, o, err) : -1;

  if (status > 0) {
    if (ft_similar_apps_index_due(&app->models.model, o)) {
      app->index_due = true;
      ft_similar_apps_index_keys(o, app->similarity_keys);
    }
    if (mark) {
      app->mark = mark;
      ft_rebuilder_note_refined(recorder->rebuilder, recorder->store, mark);
    }
    queue_if_changed(recorder, app);
    return 0;
  }
  recorder->needs_rebuild = true;
  ft_rebuilder_reopen(recorder->rebuilder, mark);
  if (app) {
    ft_rebuilder_reopen(recorder->rebuilder, app->mark);
    ft_model_cache_drop(recorder->cache, app);
  }
  return status;
}

static void learn_gpu_run(struct ft_recorder *recorder, const ft_observation *o)
{
  struct ft_error err;

  if (ft_gpu_observations_learn(&recorder->gpus, o) &&
      ft_publish_gpus(recorder->publisher, &recorder->gpus, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
}

int ft_recorder_refine(struct ft_recorder *recorder, const struct recorded_run *run,
                       struct ft_error *err)
{
  const ft_observation *o = &run->o;
  const char *name = o->submission.app;
  int status;

  learn_gpu_run(recorder, o);
  if (!name[0])
    return 0;
  ft_rebuilder_add_run(recorder->rebuilder, o);
  status = refine_app(recorder, o->uid, o, run->mark, err);
  if (ft_is_shared_app(&recorder->shared, name) &&
      refine_app(recorder, FT_STATE_POOLED, o, run->pooled_mark, err) < 0)
    status = -1;
  return status;
}
