/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates the models of a stored observation's app, and publishes them. */
#include "config.h"

#include <stdlib.h>
#include <time.h>

#include "learner/metrics/tally.h"
#include "learner/recorder_internal.h"
#include "learner/similar_apps_index.h"
#include "predictor/core/io.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Runs from which a missing model is rebuilt at once, at most 2 ms; the rebuilder does more. */
#define MAX_INLINE_RUNS 16

/* Loads UID's published model of O's app (FT_STATE_POOLED: the pooled one). Returns false if there
 * is none with the current rule and failure cost. */
static bool load_model(struct ft_recorder *recorder, uint32_t uid, const ft_observation *o)
{
  ft_model *model = &recorder->work->model;

  return ft_state_read_own_model(recorder->state_fd, uid, o->submission.app, model, NULL) == 0 &&
         model->rule == recorder->rule && ft_failure_cost_equals(model, recorder->failure_cost);
}

/*
 * Rebuilds UID's model from the store. Returns 1; 0 if it has too many runs and the rebuilder does
 * it, because O's run made it stale; -1 and ERR.
 */
static int rebuild_inline(struct ft_recorder *recorder, uint32_t uid, const ft_observation *o,
                          struct ft_error *err)
{
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  int status;

  if (!rebuild)
    return ft_error_errno(err, "%s", o->submission.app);
  ft_rebuild_init(rebuild, uid, o->submission.app, recorder->rule);
  ft_failure_cost_set(&rebuild->model, recorder->failure_cost);
  status = ft_rebuild_step(rebuild, recorder->store, MAX_INLINE_RUNS, err);
  if (status > 0) {
    recorder->work->model = rebuild->model;
    recorder->work->performance = rebuild->performance;
  } else if (status == 0) {
    recorder->needs_rebuild = true;
  }
  free(rebuild);
  return status;
}

/* Adds O to the published run times of UID's app. Returns whether they changed; -1 and ERR. */
static int refine_runtimes(struct ft_recorder *recorder, uint32_t uid, const ft_observation *o,
                           struct ft_error *err)
{
  ft_performance *p = &recorder->work->performance;

  if (ft_state_read_own_performance(recorder->state_fd, uid, o->submission.app, p, NULL) < 0)
    ft_performance_init(p, o->submission.app, uid);
  return ft_performance_update(p, o, err);
}

/* Updates and publishes UID's model, then its run times. Returns 0 or 1; -1 and ERR. */
static int refine_app(struct ft_recorder *recorder, uint32_t uid, const ft_observation *o,
                      struct ft_error *err)
{
  struct work *w = recorder->work;
  bool loaded = load_model(recorder, uid, o);
  int changed =
      loaded ? ft_online_update(&w->model, o, err) : rebuild_inline(recorder, uid, o, err);

  if (changed < 0 || (changed == 0 && !loaded))
    return changed;
  ft_online_clamp_times(&w->model, (double)time(NULL));
  if (changed > 0 && ft_publish_model(recorder->publisher, &w->model, err) < 0)
    return -1;
  if (loaded)
    changed = refine_runtimes(recorder, uid, o, err);
  if (changed <= 0 || !w->performance.runs)
    return changed;
  ft_performance_clamp_times(&w->performance, (double)time(NULL));
  return ft_publish_performance(recorder->publisher, &w->performance, err);
}

static int refine_all(struct ft_recorder *recorder, const ft_observation *o, struct ft_error *err)
{
  if (ft_gpu_observations_learn(&recorder->gpus, o) &&
      ft_publish_gpus(recorder->publisher, &recorder->gpus, err) < 0)
    return -1;
  if (!o->submission.app[0])
    return 0;
  ft_rebuilder_add_run(recorder->rebuilder, o);
  if (refine_app(recorder, o->uid, o, err) < 0)
    return -1;
  if (recorder->borrow && !recorder->needs_rebuild)
    ft_similar_apps_index_update(recorder->publisher, recorder->state_fd, &recorder->work->model,
                                 o);
  return ft_is_shared_app(&recorder->shared, o->submission.app)
             ? refine_app(recorder, FT_STATE_POOLED, o, err)
             : 0;
}

int ft_recorder_refine(struct ft_recorder *recorder, const ft_observation *o, struct ft_error *err)
{
  double begun = ft_io_monotonic(), published = ft_tally_value(FT_TALLY_PUBLISH_SECONDS);
  int status = refine_all(recorder, o, err);

  /* publishing has a counter of its own */
  published = ft_tally_value(FT_TALLY_PUBLISH_SECONDS) - published;
  ft_tally_add(FT_TALLY_REFINE_SECONDS, ft_io_monotonic() - begun - published);
  return status;
}
