/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/recorder_internal.h"
#include "learner/user_cleanup.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/expire.h"
#include "predictor/history/node_platforms.h"
#include "predictor/history/stale_models.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/record/state_files.h"

/* Interval between two passes of expiry. */
#define EXPIRY_SECONDS 3600.0
/* Runs per ft_recorder_each_node, about 10 ms. */
#define NODES_AT_ONCE 4096
/* Maximum wait for SQLite's lock, during which no request is answered. An import may hold the lock
 * for long; observations are then delivered again. */
#define STORE_WAIT_MILLISECONDS 20

/* Time per step of ft_recorder_name_platforms, to which the last transaction adds 8 ms: 34 s for a
 * million runs. A request waits that long. */
#define NAME_STEP_SECONDS 0.002

/* SQLite's page cache: enough for the B-tree pages of one row and of its index entries. */
#define STORE_CACHE_KIB 128

/* Of the store, as it is made. */
enum { PRIVATE_MODE = 0600 };

/* Age of the runs that are read again if the file of GPU observations is missing. */
#define GPU_SECONDS (30 * 86400.0)

/* ---- the store's files ---- */

/* Takes all rights of other users to the files that are for the learner only: copies and restored
 * files often have them. */
static void make_files_private(int state_fd)
{
  DIR *files = ft_io_open_directory(state_fd, ".");
  const struct dirent *entry;
  struct stat about;

  while (files && (entry = readdir(files)))
    if (ft_state_is_private(entry->d_name) &&
        fstatat(state_fd, entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(about.st_mode) && (about.st_mode & 07777) != PRIVATE_MODE) {
      if (fchmodat(state_fd, entry->d_name, PRIVATE_MODE, 0) == 0)
        ft_log(LOG_WARNING, "%s: had mode %04o, now %04o", entry->d_name,
               (unsigned)(about.st_mode & 07777), PRIVATE_MODE);
      else
        ft_log(LOG_ERR, "%s: mode %04o, and chmod fails: %s", entry->d_name,
               (unsigned)(about.st_mode & 07777), strerror(errno));
    }
  if (files)
    closedir(files);
}

/* Returns 0 if this process's user owns the store, or for root the owner of the state directory, or
 * if there is none; -1 and ERR. */
static int check_store_owner(const struct ft_recorder *recorder, struct ft_error *err)
{
  struct stat store, state;

  if (fstatat(recorder->state_fd, FT_STATE_STORE, &store, 0) < 0 || store.st_uid == geteuid() ||
      (geteuid() == 0 && fstat(recorder->state_fd, &state) == 0 && store.st_uid == state.st_uid))
    return 0;
  return ft_error_set(err, "%s: belongs to user %u, and foretell-learnd is user %u; use chown",
                      recorder->store_path, (unsigned)store.st_uid, (unsigned)geteuid());
}

/* Notices that the store's file is another one than that which is open. */
static void check_store_file(struct ft_recorder *recorder)
{
  struct stat now;

  if (fstatat(recorder->state_fd, FT_STATE_STORE, &now, 0) < 0 ||
      now.st_ino != recorder->opened.st_ino || now.st_dev != recorder->opened.st_dev)
    recorder->replaced = true;
}

/* Notices that the store's content is older than what was in it: SQLite never reuses the number of
 * a stale mark. */
static void check_store_content(struct ft_recorder *recorder)
{
  int64_t mark;

  if (ft_store_last_mark(recorder->store, &mark, NULL) < 0)
    return;
  recorder->replaced = recorder->replaced || mark < recorder->last_mark;
  recorder->last_mark = mark;
}

bool ft_recorder_open_store(struct ft_recorder *recorder, struct ft_error *err)
{
  if (recorder->store && !recorder->together)
    check_store_file(recorder);
  if (recorder->replaced) {
    ft_error_set(err, "%s: replaced while foretell-learnd ran", recorder->store_path);
    return false;
  }
  if (!recorder->store && check_store_owner(recorder, err) == 0) {
    recorder->store = ft_store_open(recorder->store_path, true, err);
    if (recorder->store) {
      ft_store_set_wait(recorder->store, STORE_WAIT_MILLISECONDS);
      ft_store_set_cache(recorder->store, STORE_CACHE_KIB);
      (void)fstatat(recorder->state_fd, FT_STATE_STORE, &recorder->opened, 0);
    }
  }
  return recorder->store != NULL;
}

bool ft_recorder_was_replaced(const struct ft_recorder *recorder)
{
  return recorder->replaced;
}

/* Removes O from the GPU observations before O leaves the store: they are found by O's key. */
static int forget_gpu_run(const ft_observation *o, void *data, struct ft_error *err)
{
  struct ft_recorder *recorder = data;

  return ft_gpu_observations_forget(&recorder->gpus, o)
             ? ft_publish_gpus(recorder->publisher, &recorder->gpus, err)
             : 0;
}

static bool add_gpu_run(const ft_observation *o, void *data)
{
  (void)ft_gpu_observations_learn(data, o);
  return true;
}

/* Loads the GPU observations from their published file, else from recent runs in the store. */
static void load_gpus(struct ft_recorder *recorder)
{
  struct ft_store_filter lately = { .since = (double)time(NULL) - GPU_SECONDS };
  struct ft_error err;

  if (ft_record_read(FT_RECORD_GPUS, recorder->state_fd, FT_STATE_GPUS, &recorder->gpus, &err) == 0)
    return;
  recorder->gpus = (ft_gpus){ .schema = FT_SCHEMA };
  if (recorder->store &&
      ft_store_each(recorder->store, &lately, add_gpu_run, &recorder->gpus, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
}

struct ft_recorder *ft_recorder_open(int state_fd, const char *state_path,
                                     struct ft_publisher *publisher, struct ft_error *err)
{
  struct ft_recorder *recorder = calloc(1, sizeof *recorder);
  struct ft_error why;

  if (!recorder) {
    ft_error_errno(err, "recorder");
    return NULL;
  }
  recorder->state_fd = state_fd;
  recorder->failure_cost = 1;
  recorder->publisher = publisher;
  if (snprintf(recorder->store_path, sizeof recorder->store_path, "%s/" FT_STATE_STORE,
               state_path) >= (int)sizeof recorder->store_path) {
    ft_error_set(err, "%s: path is too long", state_path);
    goto fail;
  }
  recorder->rebuilder = ft_rebuilder_open(publisher, state_fd);
  recorder->cleanup = ft_user_cleanup_open(publisher, state_fd);
  recorder->forget_queue = ft_forget_queue_open(forget_gpu_run, recorder);
  if (!recorder->rebuilder || !recorder->cleanup || !recorder->forget_queue) {
    ft_error_errno(err, "recorder");
    goto fail;
  }
  recorder->cache = ft_publisher_cache(publisher);
  recorder->clock = ft_io_monotonic;
  ft_rebuilder_set_shared(recorder->rebuilder, &recorder->shared);
  make_files_private(state_fd);
  if (!ft_recorder_open_store(recorder, &why))
    ft_log(LOG_ERR, "%s; trying again with each observation", why.text);
  load_gpus(recorder);
  return recorder;
fail:
  ft_recorder_close(recorder);
  return NULL;
}

void ft_recorder_close(struct ft_recorder *recorder)
{
  if (!recorder)
    return;
  /* what is in memory belongs to another store */
  if (recorder->cache && !recorder->replaced)
    ft_recorder_publish_all(recorder);
  if (recorder->rebuilder && recorder->store && !recorder->replaced)
    ft_rebuilder_save(recorder->rebuilder, recorder->store);
  ft_rebuilder_close(recorder->rebuilder);
  ft_user_cleanup_close(recorder->cleanup);
  ft_forget_queue_close(recorder->forget_queue);
  ft_store_close(recorder->store);
  free(recorder->runs);
  free(recorder);
}

void ft_recorder_set_max_runs(struct ft_recorder *recorder, uint64_t max_runs)
{
  recorder->max_runs = max_runs;
}

void ft_recorder_set_expiry(struct ft_recorder *recorder, double max_age_seconds, uint64_t max_apps)
{
  recorder->expire.max_age_seconds = max_age_seconds;
  recorder->expire.max_apps = max_apps;
  recorder->expiring = false;
  recorder->expire_at = 0;
}

void ft_recorder_set_shared(struct ft_recorder *recorder, const ft_declared_app *apps, size_t count)
{
  struct ft_shared_apps before = recorder->shared;
  struct ft_error err;

  recorder->shared.count = 0;
  for (size_t i = 0; i < count; i++)
    (void)ft_string_copy(apps[i].name, recorder->shared.name[recorder->shared.count++],
                         sizeof recorder->shared.name[0]);
  ft_publish_remove_unshared(recorder->publisher, &recorder->shared);
  for (size_t i = 0; i < count; i++)
    if (!ft_is_shared_app(&before, apps[i].name) && ft_recorder_open_store(recorder, &err) &&
        ft_store_mark_stale(recorder->store, FT_STATE_POOLED, apps[i].name, NULL, &err) < 0)
      ft_log(LOG_WARNING, "%s", err.text);
}

void ft_recorder_set_rule(struct ft_recorder *recorder, ft_rule rule)
{
  recorder->rule = rule;
  ft_rebuilder_set_rule(recorder->rebuilder, rule);
}

void ft_recorder_set_failure_cost(struct ft_recorder *recorder, double cost)
{
  recorder->failure_cost = cost;
  ft_rebuilder_set_failure_cost(recorder->rebuilder, cost);
}

void ft_recorder_set_borrow(struct ft_recorder *recorder, bool borrow)
{
  recorder->borrow = borrow;
}

void ft_recorder_name_platforms(struct ft_recorder *recorder, const struct ft_platform_map *map)
{
  recorder->unnamed = map;
  recorder->next_unnamed = 0;
}

/* Removes some expired runs. Returns as ft_store_expire_step. */
static int expire_runs(struct ft_recorder *recorder, struct ft_error *err)
{
  struct ft_expiry *e = &recorder->expire;
  double now = ft_io_monotonic();
  int status;

  if (!recorder->expiring && now < recorder->expire_at)
    return 0;
  if (!recorder->expiring && ft_store_expire_begin(recorder->store, e, ft_io_now(), err) < 0)
    return -1;
  recorder->expiring = true;
  status = ft_store_expire_step(recorder->store, e, err);
  if (status)
    return status;
  ft_tally_add(FT_TALLY_RUNS_EXPIRED, (double)e->runs);
  if (e->runs)
    ft_log(LOG_INFO,
           "%" PRIu64 " run%s removed from the store by max_age or max_apps, and %" PRIu64
           " app%s without remaining runs",
           e->runs, ft_plural(e->runs), e->apps, ft_plural(e->apps));
  recorder->expiring = false;
  recorder->expire_at = now + EXPIRY_SECONDS;
  return 0;
}

/* Removes some forgotten or expired runs. Returns as ft_store_expire_step. */
static int remove_some_runs(struct ft_recorder *recorder, struct ft_error *err)
{
  int status = ft_forget_queue_step(recorder->forget_queue, recorder->store, err);

  return status ? status : expire_runs(recorder, err);
}

/* Gives the runs of some nodes the names of their platforms. Returns as ft_store_expire_step. */
static int name_some_platforms(struct ft_recorder *recorder, struct ft_error *err)
{
  double deadline = ft_io_monotonic() + NAME_STEP_SECONDS;
  const char *node, *platform;
  int status;

  while (recorder->unnamed) {
    if (!ft_platform_map_assignment(recorder->unnamed, recorder->next_unnamed, &node, &platform)) {
      recorder->unnamed = NULL;
      break;
    }
    status = ft_store_name_platform(recorder->store, node, platform, err);
    if (status < 0)
      return -1;
    recorder->next_unnamed += status == 0;
    if (ft_io_monotonic() >= deadline)
      return 1;
  }
  return 0;
}

/* Completes removals after all models are rebuilt. Returns as ft_store_expire_step. */
static int clean_up(struct ft_recorder *recorder, struct ft_error *err)
{
  int status = ft_user_cleanup_step(recorder->cleanup, recorder->store, err);

  return status ? status : ft_forget_queue_finish(recorder->forget_queue, recorder->store, err);
}

bool ft_recorder_maintain(struct ft_recorder *recorder)
{
  struct ft_error err;
  int status;

  if (!ft_recorder_open_store(recorder, &err))
    return false;
  check_store_content(recorder);
  if (recorder->replaced)
    return false;
  status = ft_store_release_waiting(recorder->store, ft_io_now(), &err);
  if (status == 0)
    status = remove_some_runs(recorder, &err);
  if (status == 0)
    status = name_some_platforms(recorder, &err);
  /* models are rebuilt from the remaining runs, then users' directories are cleaned */
  if (status > 0 || ft_rebuilder_step(recorder->rebuilder, recorder->store))
    return true;
  if (status == 0)
    status = clean_up(recorder, &err);
  ft_recorder_drop_unused(recorder);
  if (status < 0 && !recorder->upkeep_warned)
    ft_log(LOG_WARNING, "cannot maintain the store, trying again: %s", err.text);
  recorder->upkeep_warned = status < 0;
  return status > 0;
}

int ft_recorder_forget(struct ft_recorder *recorder, const ft_forget *what,
                       struct ft_forget_report *report, struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err)
             ? ft_forget_queue_add(recorder->forget_queue, recorder->store, what, report, err)
             : -1;
}

int ft_recorder_has_job(struct ft_recorder *recorder, uint32_t job_id, uint32_t uid,
                        struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err) ? ft_store_has_job(recorder->store, job_id, uid, err)
                                               : -1;
}

void ft_recorder_drop_report(struct ft_recorder *recorder, struct ft_forget_report *report)
{
  ft_forget_queue_drop(recorder->forget_queue, report);
}

int ft_recorder_mark_step(struct ft_recorder *recorder, struct ft_mark_pass *pass,
                          struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err) ? ft_store_mark_step(recorder->store, pass, err)
                                               : -1;
}

int ft_recorder_mark_extend(struct ft_recorder *recorder, struct ft_mark_pass *pass,
                            struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err) ? ft_store_mark_extend(recorder->store, pass, err)
                                               : -1;
}

int ft_recorder_rebuild_progress(struct ft_recorder *recorder, const struct ft_mark_pass *pass,
                                 ft_rebuild_progress *out, struct ft_error *err)
{
  int64_t handled;

  *out = (ft_rebuild_progress){ .models = pass->count,
                                .failed = ft_rebuilder_failures(recorder->rebuilder) };
  return !ft_recorder_open_store(recorder, err) ||
                 ft_rebuilder_handled(recorder->rebuilder, recorder->store, &handled, err) < 0
             ? -1
             : ft_store_marks_after(recorder->store, pass, handled, &out->left, err);
}

bool ft_recorder_is_forgetting(const struct ft_recorder *recorder)
{
  return ft_forget_queue_busy(recorder->forget_queue);
}

const char *ft_recorder_scrub(struct ft_recorder *recorder)
{
  struct ft_error err;
  int status;

  if (!ft_recorder_open_store(recorder, &err))
    return NULL;
  status = ft_store_scrub(recorder->store, FT_SCRUB_INLINE_BYTES, &err);
  if (status < 0)
    ft_log(LOG_DEBUG, "removed runs are not yet overwritten in the store: %s", err.text);
  return status > 0 ? recorder->store_path : NULL;
}

int ft_recorder_count_begin(struct ft_recorder *recorder, const ft_forget *what,
                            struct ft_forget_pass *pass, struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err)
             ? ft_store_forget_begin(recorder->store, what, ft_io_now(), pass, err)
             : -1;
}

int ft_recorder_count_step(struct ft_recorder *recorder, struct ft_forget_pass *pass,
                           struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err) ? ft_store_forget_step(recorder->store, pass, err)
                                               : -1;
}

bool ft_recorder_is_forgotten(struct ft_recorder *recorder, const ft_observation *o)
{
  struct ft_error err;

  return ft_recorder_open_store(recorder, &err) &&
         ft_store_is_forgotten(recorder->store, o, &err) > 0;
}

struct ft_store *ft_recorder_store(struct ft_recorder *recorder, struct ft_error *err)
{
  return ft_recorder_open_store(recorder, err) ? recorder->store : NULL;
}

void ft_recorder_each_node(struct ft_recorder *recorder,
                           void (*see)(const char *node, const char *platform, double time,
                                       void *data),
                           void *data)
{
  /* unread runs are read by the next call */
  if (ft_recorder_open_store(recorder, NULL))
    (void)ft_store_each_node(recorder->store, &recorder->last_node_run, NODES_AT_ONCE, see, data,
                             NULL);
}
