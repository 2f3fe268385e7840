/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores observations, each alone or several in one transaction, and marks their apps' models as
 * stale until these are published. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/recorder_internal.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/history/stale_models.h"
#include "predictor/record/state_files.h"

/* Minimum time between two renames of a user's runs to one name, seconds. Each rebuilds the model
 * of all runs with that name: 0.3 s for 10,000. The next submission renames the rest. */
#define RENAME_PAUSE_SECONDS 60.0
/* Observations between two removals of runs beyond max_runs. */
#define TRIM_EVERY 8

static void trim_store(struct ft_recorder *recorder, size_t added)
{
  struct ft_error err;

  recorder->since_trim += (unsigned)added;
  if (!recorder->max_runs || recorder->since_trim < TRIM_EVERY)
    return;
  recorder->since_trim = 0;
  if (ft_store_trim(recorder->store, recorder->max_runs, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
}

/* Returns the run of UID's APP, of all users for FT_STATE_POOLED, that is stored in the current
 * transaction; NULL if there is none. */
static const struct recorded_run *find_stored_before(const struct ft_recorder *recorder,
                                                     uint32_t uid, const char *app)
{
  for (size_t i = 0; i < recorder->run_count; i++) {
    const ft_observation *o = &recorder->runs[i].o;

    if ((o->uid == uid || uid == FT_STATE_POOLED) && strcmp(o->submission.app, app) == 0)
      return &recorder->runs[i];
  }
  return NULL;
}

/*
 * Marks the model of UID's APP as stale until it is published. A queued model, and an app of the
 * current transaction, keep their mark. Sets MARK as in struct recorded_run. Returns 0; -1 and ERR.
 */
static int mark_stale(struct ft_recorder *recorder, uint32_t uid, const char *app, int64_t *mark,
                      struct ft_error *err)
{
  const struct ft_cached_app *cached = ft_model_cache_find(recorder->cache, uid, app);
  const struct recorded_run *before = find_stored_before(recorder, uid, app);
  int64_t handled;

  if (cached && cached->queued && cached->mark) {
    *mark = cached->mark;
    return 0;
  }
  if (before) {
    *mark = uid == FT_STATE_POOLED ? before->pooled_mark : before->mark;
    return 0;
  }
  if (ft_rebuilder_handled(recorder->rebuilder, recorder->store, &handled, err) < 0)
    return -1;
  return ft_store_mark_stale_after(recorder->store, uid, app, handled, mark, err);
}

/* Updates the models of the runs that are stored now. */
static void refine_models(struct ft_recorder *recorder)
{
  double begun = ft_io_monotonic(), published = ft_tally_value(FT_TALLY_PUBLISH_SECONDS);
  struct ft_error err;

  for (size_t i = 0; i < recorder->run_count; i++) {
    const ft_observation *o = &recorder->runs[i].o;

    if (ft_recorder_refine(recorder, &recorder->runs[i], &err) == 0)
      continue;
    ft_log(LOG_WARNING, "job %" PRIu32 ": model of %s of user %" PRIu32 " not updated: %s",
           o->job_id, o->submission.app, o->uid, err.text);
    recorder->needs_rebuild = true;
  }
  /* publishing has a counter of its own */
  published = ft_tally_value(FT_TALLY_PUBLISH_SECONDS) - published;
  ft_tally_add(FT_TALLY_REFINE_SECONDS, ft_io_monotonic() - begun - published);
}

static int begin_transaction(struct ft_recorder *recorder, struct ft_error *err)
{
  if (!ft_recorder_open_store(recorder, err))
    return -1;
  if (!recorder->runs)
    recorder->runs = malloc(FT_RECORDER_TOGETHER * sizeof *recorder->runs);
  if (!recorder->runs)
    return ft_error_errno(err, "observations");
  recorder->needs_rebuild = false;
  recorder->run_count = recorder->ignored_count = 0;
  return ft_store_begin(recorder->store, err);
}

static int commit_transaction(struct ft_recorder *recorder, bool *rebuild, struct ft_error *err)
{
  if (ft_store_commit(recorder->store, err) < 0)
    return -1;
  if (ft_io_confirm_sync(recorder->state_fd, FT_STATE_LEARNER_LOCK) < 0)
    return ft_error_errno(err, "%s", recorder->store_path);
  ft_tally_add(FT_TALLY_RUNS_IGNORED, (double)recorder->ignored_count);
  refine_models(recorder);
  trim_store(recorder, recorder->run_count);
  *rebuild = recorder->needs_rebuild;
  return 0;
}

/* Ends the transaction with what it has stored, and begins the next one. Returns 0; -1 and ERR. */
static int continue_in_next_transaction(struct ft_recorder *recorder, struct ft_error *err)
{
  bool rebuild;

  if (commit_transaction(recorder, &rebuild, err) < 0 || begin_transaction(recorder, err) < 0)
    return -1;
  recorder->needs_rebuild = rebuild;
  return 0;
}

/* Returns the pause of UID's renames to APP. It may be one of another app or user. */
static struct rename_pause *rename_pause_of(struct ft_recorder *recorder, uint32_t uid,
                                            const char *app)
{
  uint64_t hash = ft_hash64(ft_hash64(FT_HASH_SEED, &uid, sizeof uid), app, strlen(app));

  return &recorder->rename_pauses[hash % FT_RECORDER_RENAMES];
}

/*
 * Renames the runs of the former names of O's app, unless the last such rename was just now. The
 * store marks the models as stale, so that they are rebuilt even if the learner ends before. If it
 * ends between two transactions, the agent delivers O again, and the rest is renamed then. Returns
 * 0; -1 and ERR.
 */
static int rename_former_apps(struct ft_recorder *recorder, const ft_observation *o,
                              struct ft_error *err)
{
  const ft_submission *s = &o->submission;
  struct rename_pause *pause = rename_pause_of(recorder, o->uid, s->app);

  if (pause->uid == o->uid && recorder->clock() < pause->until)
    return 0;
  for (size_t i = 0; i < s->former_apps_count; i++) {
    const char *from = s->former_apps[i];
    bool renamed = false;
    int status;

    while ((status = ft_store_rename_app(recorder->store, o->uid, from, s->app, err)) > 0) {
      renamed = recorder->needs_rebuild = true;
      if (continue_in_next_transaction(recorder, err) < 0)
        return -1;
    }
    if (status < 0)
      return -1;
    if (renamed) {
      ft_log(LOG_INFO, "%s renamed to %s", from, s->app);
      *pause = (struct rename_pause){ o->uid, recorder->clock() + RENAME_PAUSE_SECONDS };
    }
  }
  return 0;
}

/* Inside a transaction: stores O and its stale marks. Returns 0; -1 and ERR. */
static int put_with_marks(struct ft_recorder *recorder, const ft_observation *o,
                          struct ft_error *err)
{
  struct recorded_run *run;
  const char *app;
  int status;

  if (rename_former_apps(recorder, o, err) < 0)
    return -1;
  run = &recorder->runs[recorder->run_count];
  app = run->o.submission.app;
  status = ft_store_put(recorder->store, o, &run->o, err);
  if (status == 2) {
    ft_log(LOG_DEBUG, "job %" PRIu32 ": waits for its other nodes", o->job_id);
  } else if (status > 0) {
    recorder->ignored_count++;
    ft_log(LOG_DEBUG,
           "job %" PRIu32 ": not stored, because it is forgotten or has already completed",
           o->job_id);
  }
  if (status)
    return status < 0 ? -1 : 0;
  run->pooled_mark = 0;
  if (mark_stale(recorder, run->o.uid, app, &run->mark, err) < 0 ||
      (ft_is_shared_app(&recorder->shared, app) &&
       mark_stale(recorder, FT_STATE_POOLED, app, &run->pooled_mark, err) < 0))
    return -1;
  recorder->run_count++;
  return 0;
}

/* Whether the store accepts a transaction, and its file system another. */
static bool store_is_writable(struct ft_recorder *recorder)
{
  struct ft_error err;

  return ft_recorder_open_store(recorder, &err) && ft_store_begin(recorder->store, &err) == 0 &&
         ft_store_commit(recorder->store, &err) == 0 &&
         ft_io_confirm_sync(recorder->state_fd, FT_STATE_LEARNER_LOCK) == 0;
}

/* Stores O in a transaction of its own. Returns 0; -1 and ERR. */
static int add_alone(struct ft_recorder *recorder, const ft_observation *o, bool *rebuild,
                     struct ft_error *err)
{
  if (begin_transaction(recorder, err) < 0)
    return -1;
  if (put_with_marks(recorder, o, err) == 0)
    return commit_transaction(recorder, rebuild, err);
  ft_store_rollback(recorder->store);
  return -1;
}

int ft_recorder_add(struct ft_recorder *recorder, const ft_observation *o, bool *rebuild,
                    struct ft_error *err)
{
  *rebuild = false;
  if (recorder->together)
    return recorder->run_count < FT_RECORDER_TOGETHER
               ? put_with_marks(recorder, o, err)
               : ft_error_set(err, "more than %d observations together", FT_RECORDER_TOGETHER);
  if (add_alone(recorder, o, rebuild, err) == 0)
    return 0;
  return store_is_writable(recorder) ? 1 : -1;
}

int ft_recorder_begin(struct ft_recorder *recorder, struct ft_error *err)
{
  recorder->together = begin_transaction(recorder, err) == 0;
  return recorder->together ? 0 : -1;
}

int ft_recorder_commit(struct ft_recorder *recorder, bool *rebuild, struct ft_error *err)
{
  *rebuild = recorder->together = false;
  return commit_transaction(recorder, rebuild, err);
}

void ft_recorder_rollback(struct ft_recorder *recorder)
{
  recorder->together = false;
  ft_store_rollback(recorder->store);
}
