/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "learner/new_apps/usage_index.h"
#include "predictor/core/sort.h"
#include "predictor/estimate/new_apps/new_app.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  MAX_APPS = COUNT(((ft_usage *)NULL)->apps),
  MAX_PROGRAM_APPS = COUNT(((ft_program *)NULL)->apps),
  MAX_USER_APPS = 8 /* limit of a program's, so that no user displaces the others */
};

static void warn_usage(const char *what, const struct ft_error *why)
{
  ft_log(LOG_WARNING, "%s: %s", what, why->text);
}

/* Fills OUT with what the completed runs in HISTORY used. Returns false without such runs. */
static bool summarise_runs(const ft_model *model, const struct ft_history *history,
                           ft_app_usage *out)
{
  double bytes[FT_HISTORY_RUNS], share[FT_HISTORY_RUNS];
  size_t count = 0, shares = 0;
  char program[FT_STATE_PROGRAM];

  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    if (run->censored || !(run->bytes > 0))
      continue;
    bytes[count++] = run->bytes;
    if (run->requested_bytes > 0)
      share[shares++] = run->bytes / (double)run->requested_bytes;
  }
  if (!count)
    return false;
  *out = (ft_app_usage){ .app = ft_state_usage_hash(model->app),
                         .bytes = (float)ft_sort_median(bytes, count),
                         .updated = model->updated };
  if (ft_state_program(model->app, program))
    out->program = ft_state_usage_hash(program);
  if (shares)
    out->share = (float)ft_sort_median(share, shares);
  return true;
}

/* ---- the apps of a user ---- */

/* Enters APP (bytes 0: removes it) in UID's file. */
static int update_user(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                       const ft_app_usage *app, struct ft_error *err)
{
  ft_usage *usage = malloc(sizeof *usage);
  size_t at = 0, oldest = 0;
  int status = 0;

  if (!usage)
    return ft_error_errno(err, FT_STATE_USAGE);
  if (ft_state_read_usage(state_fd, uid, usage, NULL) < 0)
    *usage = (ft_usage){ .schema = FT_SCHEMA };
  while (at < usage->apps_count && usage->apps[at].app != app->app)
    at++;
  if (app->bytes > 0) {
    for (size_t i = 0; i < usage->apps_count; i++)
      if (usage->apps[i].updated < usage->apps[oldest].updated)
        oldest = i;
    if (at == MAX_APPS)
      at = oldest;
    usage->apps_count += at == usage->apps_count;
    usage->apps[at] = *app;
  } else if (at < usage->apps_count) {
    usage->apps[at] = usage->apps[--usage->apps_count];
  }
  if (usage->apps_count)
    status = ft_publish_user_file(publisher, uid, FT_RECORD_USAGE, usage, FT_STATE_USAGE, err);
  else
    ft_publish_remove_user_file(publisher, uid, FT_STATE_USAGE);
  free(usage);
  return status;
}

/* ---- programs, over all users ---- */

/* Returns where the entry of UID's APP belongs in KNOWN: its place, a free one, or that of the app
 * that was updated longest ago, one of UID's if UID has MAX_USER_APPS. */
static size_t find_program_app(const ft_program *known, uint32_t uid, uint32_t app)
{
  size_t oldest = 0, own = 0, own_oldest = SIZE_MAX;

  for (size_t i = 0; i < known->apps_count; i++) {
    const ft_program_app *one = &known->apps[i];

    if (one->user == uid && one->app == app)
      return i;
    if (one->updated < known->apps[oldest].updated)
      oldest = i;
    if (one->user != uid)
      continue;
    own++;
    if (own_oldest == SIZE_MAX || one->updated < known->apps[own_oldest].updated)
      own_oldest = i;
  }
  if (own >= MAX_USER_APPS)
    return own_oldest;
  return known->apps_count < MAX_PROGRAM_APPS ? known->apps_count : oldest;
}

/* Fills VALUE with the median over each user's apps in KNOWN, ascending. Returns their number. */
static size_t collect_users(const ft_program *known, double value[MAX_PROGRAM_APPS])
{
  double own[MAX_PROGRAM_APPS];
  size_t users = 0;

  for (size_t i = 0; i < known->apps_count; i++) {
    size_t count = 0, earlier = 0;

    for (size_t k = 0; k < known->apps_count; k++)
      if (known->apps[k].user == known->apps[i].user) {
        earlier += k < i;
        own[count++] = (double)known->apps[k].bytes;
      }
    if (!earlier)
      value[users++] = ft_sort_median(own, count);
  }
  ft_sort_doubles(value, users);
  return users;
}

/* Fills OUT with what all users may read of KNOWN. Returns false with too few users. */
static bool summarise_program(const ft_program *known, ft_program *out)
{
  double value[MAX_PROGRAM_APPS];
  size_t users = collect_users(known, value), low, high;

  if (users < FT_NEW_APP_USERS)
    return false;
  low = (users - 1) / 4;
  high = users - 1 - low;
  *out = (ft_program){ .schema = FT_SCHEMA, .users = (uint32_t)users };
  out->bytes[out->bytes_count++] = ft_new_app_round(value[low]);
  out->bytes[out->bytes_count++] = ft_new_app_round(value[high]);
  if (users == FT_NEW_APP_USERS)
    return true;
  /* a reader's own runs do not count, and the reader alone knows them: the quartiles of the others
   * are one of two values each */
  low = (users - 2) / 4;
  high = users - 2 - low;
  for (size_t i = 0; i < 2; i++)
    out->bytes[out->bytes_count++] = ft_new_app_round(value[low + i]);
  for (size_t i = 0; i < 2; i++)
    out->bytes[out->bytes_count++] = ft_new_app_round(value[high + i]);
  return true;
}

/* Enters UID's APP (bytes 0: removes it) in the files of PROGRAM. */
static int update_program(struct ft_publisher *publisher, const char *program, uint32_t uid,
                          const ft_app_usage *app, struct ft_error *err)
{
  ft_program *known = malloc(sizeof *known), *public = malloc(sizeof *public);
  int status = -1;
  size_t at;

  if (!known || !public) {
    (void)ft_error_errno(err, FT_STATE_PROGRAMS);
    goto out;
  }
  if (ft_published_program(publisher, program, known, NULL) < 0)
    *known = (ft_program){ .schema = FT_SCHEMA };
  at = find_program_app(known, uid, app->app);
  if (app->bytes > 0) {
    known->apps_count += at == known->apps_count;
    known->apps[at] = (ft_program_app){
      .user = uid, .app = app->app, .bytes = app->bytes, .updated = app->updated
    };
  } else if (at < known->apps_count && known->apps[at].user == uid &&
             known->apps[at].app == app->app) {
    known->apps[at] = known->apps[--known->apps_count];
  }
  status = ft_publish_program(publisher, program, known->apps_count ? known : NULL,
                              summarise_program(known, public) ? public : NULL, err);
out:
  free(known);
  free(public);
  return status;
}

/* ---- both ---- */

/* Enters USAGE (bytes 0: removes it) of UID's app NAME. */
static void update_files(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                         const char *name, const ft_app_usage *usage)
{
  char program[FT_STATE_PROGRAM];
  struct ft_error err;

  if (update_user(publisher, state_fd, uid, usage, &err) < 0)
    warn_usage(FT_STATE_USAGE, &err);
  if (ft_publisher_has_programs(publisher) && ft_state_program(name, program) &&
      update_program(publisher, program, uid, usage, &err) < 0)
    warn_usage(program, &err);
}

void ft_usage_index_update(struct ft_publisher *publisher, int state_fd, const ft_model *model,
                           const struct ft_history *history)
{
  ft_app_usage usage;

  if (model->uid == FT_STATE_POOLED)
    return;
  if (summarise_runs(model, history, &usage))
    update_files(publisher, state_fd, model->uid, model->app, &usage);
  else
    ft_usage_index_remove(publisher, state_fd, model->uid, model->app);
}

void ft_usage_index_remove(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                           const char *app)
{
  const ft_app_usage none = { .app = ft_state_usage_hash(app) };

  if (uid != FT_STATE_POOLED)
    update_files(publisher, state_fd, uid, app, &none);
}
