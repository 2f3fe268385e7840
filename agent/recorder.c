/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "agent/rebuilder.h"
#include "agent/similar_apps_index.h"
#include "agent/recorder.h"
#include "agent/log.h"
#include "agent/spool.h"
#include "agent/user_cleanup.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/history/expire.h"
#include "predictor/history/node_platforms.h"
#include "predictor/history/stale_models.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Between two looks at what is too old. */
#define EXPIRE_SECONDS 3600.0
/* Observations between two trims of an app in the store. */
#define TRIM_EVERY 8
/* Runs of an app without a model that are learnt on the spot: no more than 2 ms. */
#define RUNS_AT_ONCE 16
/* Runs whose nodes are looked at, some 10 ms' work. */
#define NODES_AT_ONCE 4096
/* Others may hold the store for long (an import): what is to be put waits in the spool, jobs are
 * sampled meanwhile. */
#define WAIT_MILLISECONDS 20

/* Of the pages of the store in memory: enough for those on the way to one row and to its places in
 * the indexes. */
#define CACHE_KIB 128

struct work;

/* Of a run that was put: its app's, and where that is shared that of all users' runs
 * (stale_models.h); 0: another one waits. */
struct marks {
  int64_t first, last;
};

struct ft_recorder {
  int state_fd;
  char store_path[PATH_MAX];
  struct ft_publisher *publisher;
  struct ft_store *store; /* NULL while it cannot be opened */
  struct ft_spool *spool;
  struct ft_rebuilder *follow;
  struct ft_user_cleanup *sweep;
  struct ft_forget_queue *forgetter;
  struct ft_expiry expire;
  bool expiring;    /* a pass of it is under way */
  double expire_at; /* the next one, of ft_io_monotonic */
  bool expire_told; /* that it fails */
  bool behind; /* a model is to be made by and by of what was put last */
  struct ft_shared_apps shared;
  ft_rule rule;
  double price;
  bool borrow; /* similar apps and what apps need at large are noted */
  uint64_t keep;
  unsigned since_trim;
  bool told;    /* that the store refuses */
  bool skip_told; /* that it refuses one that waits, and takes others */
  int64_t seen; /* up to this run its nodes were */
  ft_gpus gpus;
  struct work *work; /* while an observation is put */
};

/* What a run is learnt in: twice what else the agent holds, so not kept between two. */
struct work {
  ft_observation merged;
  ft_model model;
  ft_performance performance;
};

/* Observations of so many seconds tell of the GPUs where no file of them is there. */
#define GPU_SECONDS (30 * 86400.0)

static bool have_store(struct ft_recorder *ledger, struct ft_error *err)
{
  if (!ledger->store) {
    ledger->store = ft_store_open(ledger->store_path, true, err);
    if (ledger->store) {
      ft_store_set_wait(ledger->store, WAIT_MILLISECONDS);
      ft_store_set_cache(ledger->store, CACHE_KIB);
    }
  }
  return ledger->store != NULL;
}

/* What GPUs were measured to give is known by the run's key, which is gone with the run. */
static int leave_gpus(const ft_observation *o, void *data, struct ft_error *err)
{
  struct ft_recorder *ledger = data;

  return ft_gpu_observations_forget(&ledger->gpus, o)
             ? ft_publish_gpus(ledger->publisher, &ledger->gpus, err)
             : 0;
}

static bool learn_gpu(const ft_observation *o, void *data)
{
  (void)ft_gpu_observations_learn(data, o);
  return true;
}

/* What was published of the GPUs before; else what the store still tells of them. */
static void read_gpus(struct ft_recorder *ledger)
{
  struct ft_store_filter lately = { .since = (double)time(NULL) - GPU_SECONDS };
  struct ft_error err;

  if (ft_record_read(FT_RECORD_GPUS, ledger->state_fd, FT_STATE_GPUS, &ledger->gpus, &err) == 0)
    return;
  ledger->gpus = (ft_gpus){ .schema = FT_SCHEMA };
  if (ledger->store && ft_store_each(ledger->store, &lately, learn_gpu, &ledger->gpus, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
}

/* With ledger->told where it cannot be: what is to be stored waits. */
static void open_store(struct ft_recorder *ledger)
{
  struct ft_error err;

  if (have_store(ledger, &err))
    return;
  ft_log(LOG_ERR, "%s; observations wait in the spool", err.text);
  ledger->told = true;
}

struct ft_recorder *ft_recorder_open(int state_fd, const char *state_path,
                                     struct ft_publisher *publisher, struct ft_error *err)
{
  struct ft_recorder *ledger = calloc(1, sizeof *ledger);

  if (!ledger) {
    ft_error_errno(err, "ledger");
    return NULL;
  }
  ledger->state_fd = state_fd;
  ledger->price = 1;
  ledger->publisher = publisher;
  if (snprintf(ledger->store_path, sizeof ledger->store_path, "%s/" FT_STATE_STORE, state_path) >=
      (int)sizeof ledger->store_path) {
    ft_error_set(err, "%s: too long a path", state_path);
    goto fail;
  }
  ledger->spool = ft_spool_open(state_fd, err);
  if (!ledger->spool)
    goto fail;
  ledger->follow = ft_rebuilder_open(publisher, state_fd);
  ledger->sweep = ft_user_cleanup_open(publisher, state_fd);
  ledger->forgetter = ft_forget_queue_open(leave_gpus, ledger);
  if (!ledger->follow || !ledger->sweep || !ledger->forgetter) {
    ft_error_errno(err, "ledger");
    goto fail;
  }
  ft_rebuilder_set_shared(ledger->follow, &ledger->shared);
  open_store(ledger);
  read_gpus(ledger);
  return ledger;
fail:
  ft_recorder_close(ledger);
  return NULL;
}

void ft_recorder_close(struct ft_recorder *ledger)
{
  if (!ledger)
    return;
  ft_spool_close(ledger->spool);
  if (ledger->follow && ledger->store)
    ft_rebuilder_save(ledger->follow, ledger->store);
  ft_rebuilder_close(ledger->follow);
  ft_user_cleanup_close(ledger->sweep);
  ft_forget_queue_close(ledger->forgetter);
  ft_store_close(ledger->store);
  free(ledger);
}

void ft_recorder_set_max_runs(struct ft_recorder *ledger, uint64_t keep)
{
  ledger->keep = keep;
}

void ft_recorder_set_expiry(struct ft_recorder *ledger, double max_age_seconds, uint64_t max_apps)
{
  ledger->expire.max_age_seconds = max_age_seconds;
  ledger->expire.max_apps = max_apps;
  ledger->expiring = false;
  ledger->expire_at = 0;
}

void ft_recorder_set_shared(struct ft_recorder *ledger, const ft_declared_app *apps, size_t count)
{
  struct ft_shared_apps before = ledger->shared;
  struct ft_error err;

  ledger->shared.count = 0;
  for (size_t i = 0; i < count; i++)
    (void)ft_string_copy(apps[i].name, ledger->shared.name[ledger->shared.count++],
                         sizeof ledger->shared.name[0]);
  ft_publish_remove_unshared(ledger->publisher, &ledger->shared);
  for (size_t i = 0; i < count; i++)
    if (!ft_is_shared_app(&before, apps[i].name) && have_store(ledger, &err) &&
        ft_store_mark_stale(ledger->store, FT_STATE_POOLED, apps[i].name, NULL, &err) < 0)
      ft_log(LOG_WARNING, "%s", err.text);
}

void ft_recorder_set_rule(struct ft_recorder *ledger, ft_rule rule)
{
  ledger->rule = rule;
  ft_rebuilder_set_rule(ledger->follow, rule);
}

void ft_recorder_set_failure_cost(struct ft_recorder *ledger, double price)
{
  ledger->price = price;
  ft_rebuilder_set_failure_cost(ledger->follow, price);
}

void ft_recorder_set_borrow(struct ft_recorder *ledger, bool borrow)
{
  ledger->borrow = borrow;
}

/* Returns as ft_store_expire_step. */
static int expire(struct ft_recorder *ledger, struct ft_error *err)
{
  struct ft_expiry *e = &ledger->expire;
  double now = ft_io_monotonic();
  int status;

  if (!ledger->expiring && now < ledger->expire_at)
    return 0;
  if (!ledger->expiring && ft_store_expire_begin(ledger->store, e, ft_io_now(), err) < 0)
    return -1;
  ledger->expiring = true;
  status = ft_store_expire_step(ledger->store, e, err);
  if (status)
    return status;
  if (e->runs)
    ft_log(LOG_INFO,
           "%" PRIu64 " runs removed from the store by max_age or max_apps, %" PRIu64
           " apps with their last one",
           e->runs, e->apps);
  ledger->expiring = false;
  ledger->expire_at = now + EXPIRE_SECONDS;
  return 0;
}

/* What is to leave the store. Returns as ft_store_expire_step. */
static int leave(struct ft_recorder *ledger, struct ft_error *err)
{
  int status = ft_forget_queue_step(ledger->forgetter, ledger->store, err);

  return status ? status : expire(ledger, err);
}

/* What follows when all models are made. Returns likewise. */
static int clean(struct ft_recorder *ledger, struct ft_error *err)
{
  int status = ft_user_cleanup_step(ledger->sweep, ledger->store, err);

  return status ? status : ft_forget_queue_finish(ledger->forgetter, ledger->store, err);
}

bool ft_recorder_maintain(struct ft_recorder *ledger)
{
  struct ft_error err;
  int status;

  if (!have_store(ledger, &err))
    return false;
  status = leave(ledger, &err);
  /* models are made of what is left, and a folder is swept when its models have gone */
  if (status > 0 || ft_rebuilder_step(ledger->follow, ledger->store))
    return true;
  if (status == 0)
    status = clean(ledger, &err);
  if (status < 0 && !ledger->expire_told)
    ft_log(LOG_WARNING, "old runs stay for now: %s", err.text);
  ledger->expire_told = status < 0;
  return status > 0;
}

/* The model of UID, be it the user's own or that of all, as it was published. */
static bool read_model(struct ft_recorder *ledger, uint32_t uid, const ft_observation *o)
{
  ft_model *model = &ledger->work->model;

  return ft_state_read_own_model(ledger->state_fd, uid, o->submission.app, model, NULL) == 0 &&
         model->rule == ledger->rule && ft_failure_cost_equals(model, ledger->price);
}

/*
 * Make the model from the store: here and now where that is soon done, else by and by, by the mark
 * of O's run. Returns 1 when it is made, 0 when it will be, -1 with ERR.
 */
static int rebuild(struct ft_recorder *ledger, uint32_t uid, const ft_observation *o,
                   struct ft_error *err)
{
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  int status;

  if (!rebuild)
    return ft_error_errno(err, "%s", o->submission.app);
  ft_rebuild_init(rebuild, uid, o->submission.app, ledger->rule);
  ft_failure_cost_set(&rebuild->model, ledger->price);
  status = ft_rebuild_step(rebuild, ledger->store, RUNS_AT_ONCE, err);
  if (status > 0) {
    ledger->work->model = rebuild->model;
    ledger->work->performance = rebuild->performance;
  } else if (status == 0) {
    ledger->behind = true;
  }
  free(rebuild);
  return status;
}

/* The run times of UID's app, as they were published, with O's. Returns whether they changed; -1
 * with ERR. */
static int refine_performance(struct ft_recorder *ledger, uint32_t uid, const ft_observation *o,
                              struct ft_error *err)
{
  ft_performance *p = &ledger->work->performance;

  if (ft_state_read_own_performance(ledger->state_fd, uid, o->submission.app, p, NULL) < 0)
    ft_performance_init(p, o->submission.app, uid);
  return ft_performance_update(p, o, err);
}

/* The model first: a submission is sooner for it. */
static int refine_app(struct ft_recorder *ledger, uint32_t uid, const ft_observation *o,
                      struct ft_error *err)
{
  struct work *w = ledger->work;
  bool known = read_model(ledger, uid, o);
  int changed = known ? ft_online_update(&w->model, o, err) : rebuild(ledger, uid, o, err);

  if (changed < 0 || (changed == 0 && !known))
    return changed;
  ft_online_clamp_times(&w->model, (double)time(NULL));
  if (changed > 0 && ft_publish_model(ledger->publisher, &w->model, err) < 0)
    return -1;
  if (known)
    changed = refine_performance(ledger, uid, o, err);
  if (changed <= 0 || !w->performance.runs)
    return changed;
  ft_performance_clamp_times(&w->performance, (double)time(NULL));
  return ft_publish_performance(ledger->publisher, &w->performance, err);
}

/* Learn from what the store now holds of O's run and publish. Returns 0 or -1 with ERR. */
static int refine(struct ft_recorder *ledger, const ft_observation *o, struct ft_error *err)
{
  if (ft_gpu_observations_learn(&ledger->gpus, o) &&
      ft_publish_gpus(ledger->publisher, &ledger->gpus, err) < 0)
    return -1;
  if (!o->submission.app[0])
    return 0;
  ft_rebuilder_add_run(ledger->follow, o);
  if (refine_app(ledger, o->uid, o, err) < 0)
    return -1;
  if (ledger->borrow && !ledger->behind)
    ft_similar_apps_index_update(ledger->publisher, ledger->state_fd, &ledger->work->model, o);
  return ft_is_shared_app(&ledger->shared, o->submission.app)
             ? refine_app(ledger, FT_STATE_POOLED, o, err)
             : 0;
}

static void say(const ft_observation *o)
{
  char bytes[32];

  ft_log(LOG_INFO, "job %" PRIu32 ": %s, %s, %s in %.1f s, %u samples", o->job_id,
         o->submission.app[0] ? o->submission.app : "no app", ft_outcome_name(o->outcome),
         ft_units_show_bytes((uint64_t)ft_observation_peak(o, o->rule), bytes, sizeof bytes),
         o->runtime_seconds, o->samples);
}

static void trim(struct ft_recorder *ledger)
{
  struct ft_error err;

  if (!ledger->keep || ++ledger->since_trim < TRIM_EVERY)
    return;
  ledger->since_trim = 0;
  if (ft_store_trim(ledger->store, ledger->keep, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
}

/*
 * Runs that are recorded under O's app's former names are its own. Their marks in the store have
 * the models follow, also where the agent ends before they do.
 */
static int link_former(struct ft_recorder *ledger, const ft_observation *o, struct ft_error *err)
{
  const ft_submission *s = &o->submission;

  for (size_t i = 0; i < s->former_apps_count; i++) {
    int renamed = ft_store_rename_app(ledger->store, o->uid, s->former_apps[i], s->app, err);

    if (renamed < 0)
      return -1;
    if (renamed)
      ft_log(LOG_INFO, "runs of %s are runs of %s now", s->former_apps[i], s->app);
    ledger->behind |= renamed > 0;
  }
  return 0;
}

/* Mark what MERGED is of, as long as the models do not tell of it. Returns 0 or -1 with ERR. */
static int mark(struct ft_recorder *ledger, const ft_observation *merged, struct marks *marks,
                struct ft_error *err)
{
  const char *app = merged->submission.app;
  int64_t after;

  *marks = (struct marks){ 0 };
  if (ft_rebuilder_published(ledger->follow, ledger->store, &after, err) < 0 ||
      ft_store_mark_stale_after(ledger->store, merged->uid, app, after, &marks->first, err) < 0)
    return -1;
  marks->last = marks->first;
  if (!ft_is_shared_app(&ledger->shared, app))
    return 0;
  return ft_store_mark_stale_after(ledger->store, FT_STATE_POOLED, app, after, &marks->last, err);
}

/* O's run and its marks are stored together or not at all. Returns as ft_store_put. */
static int put_marked(struct ft_recorder *ledger, const ft_observation *o, ft_observation *merged,
                      struct marks *marks, struct ft_error *err)
{
  int status;

  if (ft_store_begin(ledger->store, err) < 0)
    return -1;
  status = ft_store_put(ledger->store, o, merged, err);
  if (status < 0 || (status == 0 && mark(ledger, merged, marks, err) < 0)) {
    ft_store_rollback(ledger->store);
    return -1;
  }
  return ft_store_commit(ledger->store, err) < 0 ? -1 : status;
}

static int put_and_learn(struct ft_recorder *ledger, const ft_observation *o, struct ft_error *err)
{
  ft_observation *merged = &ledger->work->merged;
  struct ft_error why;
  struct marks marks;
  int status;

  if (link_former(ledger, o, err) < 0)
    return -1;
  status = put_marked(ledger, o, merged, &marks, err);
  if (status < 0)
    return -1;
  if (status > 0) {
    ft_log(LOG_DEBUG, "job %" PRIu32 ": it was to be forgotten, or has completed before", o->job_id);
  } else if (refine(ledger, merged, &why) < 0) {
    ft_log(LOG_WARNING, "job %" PRIu32 ": %s of user %" PRIu32 " has no new model: %s", o->job_id,
           merged->submission.app, merged->uid, why.text);
    ledger->behind = true;
  } else if (marks.first && marks.last && !ledger->behind) {
    ft_rebuilder_mark_published(ledger->follow, ledger->store, marks.first, marks.last);
  }
  return 0;
}

/* Store, learn, publish. Returns 0 when the store has it or refuses it for good, -1 with ERR. */
static int put(struct ft_recorder *ledger, const ft_observation *o, struct ft_error *err)
{
  int status;

  if (!have_store(ledger, err))
    return -1;
  ledger->work = malloc(sizeof *ledger->work);
  if (!ledger->work)
    return ft_error_errno(err, "job %" PRIu32, o->job_id);
  ledger->behind = false;
  status = put_and_learn(ledger, o, err);
  free(ledger->work);
  ledger->work = NULL;
  if (status == 0)
    trim(ledger);
  return status;
}

bool ft_recorder_add(struct ft_recorder *ledger, const ft_observation *o)
{
  struct ft_error err, why;
  int status;

  say(o);
  if (put(ledger, o, &err) == 0)
    return ledger->behind;
  status = ft_spool_put(ledger->spool, o, &why);
  if (status < 0)
    ft_log(LOG_ERR, "job %" PRIu32 ": its observation is lost: %s; %s", o->job_id, err.text,
           why.text);
  else if (!ledger->told)
    ft_log(LOG_ERR, "%s; observations wait %s", err.text,
           status == 0 ? "in the spool" : "in memory");
  ledger->told = true;
  return false;
}

/* Whether the store can be written at all. */
static bool takes_any(struct ft_recorder *ledger)
{
  struct ft_error err;

  return have_store(ledger, &err) && ft_store_begin(ledger->store, &err) == 0 &&
         ft_store_commit(ledger->store, &err) == 0;
}

static int take_again(const ft_observation *o, void *data)
{
  struct ft_recorder *ledger = data;
  struct ft_error err;

  if (put(ledger, o, &err) == 0)
    return 0;
  if (!takes_any(ledger)) {
    ft_log(LOG_DEBUG, "still waiting: %s", err.text);
    return -1;
  }
  if (!ledger->skip_told)
    ft_log(LOG_WARNING, "job %" PRIu32 ": its observation stays in the spool: %s", o->job_id,
           err.text);
  ledger->skip_told = true;
  return 1;
}

bool ft_recorder_retry(struct ft_recorder *ledger)
{
  if (ft_spool_empty(ledger->spool))
    return false;
  if (ft_spool_drain(ledger->spool, take_again, ledger) > 0)
    return true;
  if (ledger->told)
    ft_log(LOG_INFO, "the store takes observations again; none waits");
  ledger->told = ledger->skip_told = false;
  return false;
}

int ft_recorder_forget(struct ft_recorder *ledger, const ft_forget *what,
                       struct ft_forget_report *report, struct ft_error *err)
{
  if (!have_store(ledger, err) ||
      ft_forget_queue_add(ledger->forgetter, ledger->store, what, report, err) < 0)
    return -1;
  /* what waits is put now, or refused */
  ft_spool_remove_damaged(ledger->spool);
  (void)ft_recorder_retry(ledger);
  return 0;
}

void ft_recorder_drop_report(struct ft_recorder *ledger, struct ft_forget_report *report)
{
  ft_forget_queue_drop(ledger->forgetter, report);
}

bool ft_recorder_is_forgetting(const struct ft_recorder *ledger)
{
  return ft_forget_queue_busy(ledger->forgetter);
}

const char *ft_recorder_scrub(struct ft_recorder *ledger)
{
  struct ft_error err;
  int status;

  if (!have_store(ledger, &err))
    return NULL;
  status = ft_store_scrub(ledger->store, FT_SCRUB_INLINE_BYTES, &err);
  if (status < 0)
    ft_log(LOG_DEBUG, "what was removed is in the file still: %s", err.text);
  return status > 0 ? ledger->store_path : NULL;
}

int ft_recorder_count_begin(struct ft_recorder *ledger, const ft_forget *what,
                            struct ft_forget_pass *pass, struct ft_error *err)
{
  return have_store(ledger, err)
             ? ft_store_forget_begin(ledger->store, what, ft_io_now(), pass, err)
             : -1;
}

int ft_recorder_count_step(struct ft_recorder *ledger, struct ft_forget_pass *pass,
                           struct ft_error *err)
{
  return have_store(ledger, err) ? ft_store_forget_step(ledger->store, pass, err) : -1;
}

bool ft_recorder_is_forgotten(struct ft_recorder *ledger, const ft_observation *o)
{
  struct ft_error err;

  return have_store(ledger, &err) && ft_store_is_forgotten(ledger->store, o, &err) > 0;
}

void ft_recorder_release_cache(struct ft_recorder *ledger)
{
  if (ledger->store)
    ft_store_release_cache(ledger->store);
}

struct ft_store *ft_recorder_store(struct ft_recorder *ledger, struct ft_error *err)
{
  return have_store(ledger, err) ? ledger->store : NULL;
}

bool ft_recorder_has_spooled(const struct ft_recorder *ledger)
{
  return !ft_spool_empty(ledger->spool);
}

void ft_recorder_each_node(struct ft_recorder *ledger,
                           void (*see)(const char *node, const char *platform, double time,
                                       void *data),
                           void *data)
{
  /* what cannot be read now is read the next time */
  if (have_store(ledger, NULL))
    (void)ft_store_each_node(ledger->store, &ledger->seen, NODES_AT_ONCE, see, data, NULL);
}
