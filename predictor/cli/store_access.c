/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads observations from the store, or queries the daemons for them. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/store_access.h"
#include "predictor/cli/store_access_asked.h"
#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/timezone.h"
#include "predictor/record/request_memory.h"
#include "predictor/record/state_files.h"

int ft_store_access_open(struct ft_store_access *records, const char *state, bool create,
                         struct ft_error *err)
{
  records->store = NULL;
  records->runs = NULL;
  records->refused = records->elsewhere = false;
  records->state_fd = ft_open_state(state, &records->config, err);
  if (records->state_fd < 0)
    return -1;
  if (snprintf(records->path, sizeof records->path, "%s/" FT_STATE_STORE,
               records->config.state_directory) >= (int)sizeof records->path)
    return ft_error_set(err, "state directory: path too long");
  records->elsewhere = ft_store_is_elsewhere(state, records->state_fd, &records->config, err);
  if (records->elsewhere)
    return -1;
  records->store = ft_store_open(records->path, create, err);
  return records->store ? 0 : -1;
}

int ft_store_access_ask(struct ft_store_access *records, const char *state,
                        const struct ft_store_filter *wanted, struct ft_error *err)
{
  struct ft_error why;

  if (ft_store_access_open(records, state, false, err) == 0)
    return 0;
  if (records->state_fd < 0 || records->elsewhere || access(records->path, R_OK) == 0 || errno != EACCES)
    return -1;
  records->runs =
      ft_store_access_asked_open(records->config.learner_socket, records->state_fd, wanted, &why);
  if (records->runs)
    return 0;
  records->refused = errno == 0;
  if (records->refused)
    return ft_error_set(err, "%s", why.text);
  return ft_error_set(err, "%s: not readable, and foretell-learnd did not answer: %s",
                      records->path, why.text);
}

int ft_store_access_each(struct ft_store_access *records, const struct ft_store_filter *filter,
                         bool (*visit)(const ft_observation *observation, void *data), void *data,
                         struct ft_error *err)
{
  if (records->runs)
    return ft_store_access_asked_each(records->runs, filter, visit, data, err);
  return ft_store_each(records->store, filter, visit, data, err);
}

int ft_store_access_apps(struct ft_store_access *records,
                         bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                         struct ft_error *err)
{
  if (records->runs)
    return ft_store_access_asked_apps(records->runs, visit, data, err);
  return ft_store_each_app(records->store, visit, data, err);
}

int ft_store_access_rejections(struct ft_store_access *records,
                               const struct ft_store_filter *filter,
                               bool (*visit)(const struct ft_rejections *one, void *data),
                               void *data, struct ft_error *err)
{
  struct ft_rejections row = { .uid = filter->by_uid ? filter->uid : 0 };
  int status;

  if (records->runs)
    return ft_store_access_asked_rejections(records->config.learner_socket, records->state_fd,
                                            filter, visit, data, err);
  while ((status = ft_store_next_rejections(records->store, filter->by_uid, filter->since, &row,
                                            err)) > 0)
    if ((!filter->app || strcmp(filter->app, row.app) == 0) && !visit(&row, data))
      break;
  return status < 0 ? -1 : 0;
}

unsigned ft_store_access_live(struct ft_store_access *records, const struct ft_store_filter *wanted,
                              void (*visit)(const ft_observation *observation, double now_bytes,
                                            void *data),
                              void *data)
{
  /* a daemon that does not run here knows no running job */
  (void)ft_store_access_asked_live(FT_DAEMON_AGENT, records->config.socket, records->state_fd,
                                   wanted, visit, data);
  return ft_store_access_asked_live(FT_DAEMON_LEARNER, records->config.learner_socket,
                                    records->state_fd, wanted, visit, data);
}

void ft_store_access_close(struct ft_store_access *records)
{
  ft_store_close(records->store);
  ft_store_access_asked_close(records->runs);
  if (records->state_fd >= 0)
    close(records->state_fd);
}

/* Parses an age such as "30d", "12h" or "90m". Sets *SINCE to the time that long ago. */
static bool parse_age(const char *text, double *since)
{
  static const struct {
    const char *unit;
    double seconds;
  } units[] = { { "w", 7 * 86400 }, { "d", 86400 }, { "h", 3600 }, { "m", 60 } };
  struct ft_text cursor = ft_text_from(text);
  uint64_t count;

  if (!ft_text_u64(&cursor, 1000000, &count))
    return false;
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (ft_text_equals(cursor, units[i].unit)) {
      *since = ft_io_now() - (double)count * units[i].seconds;
      return true;
    }
  return false;
}

int ft_store_access_time(const char *option, const char *text, double *time, struct ft_error *err)
{
  struct ft_timezone *zone;
  char day[32];
  int status;

  if (parse_age(text, time))
    return 0;
  /* without a zone file, times are in UTC */
  zone = ft_timezone_open("local", NULL, NULL);
  if (!zone)
    zone = ft_timezone_open("UTC", NULL, err);
  if (!zone)
    return -1;
  status = ft_time_parse(ft_text_from(text), zone, time);
  if (status != 1) {
    (void)snprintf(day, sizeof day, "%.20sT00:00:00", text);
    status = ft_time_parse(ft_text_from(day), zone, time);
  }
  ft_timezone_close(zone);
  if (status != 1)
    return ft_error_set(err,
                        "--%s=%.60s: expected a day such as 2026-11-20, a time or an age"
                        " such as 30d",
                        option, text);
  return 0;
}

int ft_store_access_filter(const char *app, const char *user, const char *since,
                           struct ft_store_filter *filter, struct ft_error *err)
{
  struct ft_user found;

  *filter = (struct ft_store_filter){ .app = app };
  if (user) {
    if (ft_find_user(user, &found, err) < 0)
      return -1;
    filter->by_uid = true;
    filter->uid = found.uid;
  }
  return since ? ft_store_access_time("since", since, &filter->since, err) : 0;
}

bool ft_store_access_job(const char *text, struct ft_store_filter *filter)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t job, task = 0;
  bool by_task;

  if (!ft_text_u64(&cursor, UINT32_MAX, &job) || !job)
    return false;
  by_task = ft_text_skip(&cursor, "_");
  if ((by_task && !ft_text_u64(&cursor, UINT32_MAX, &task)) || ft_text_left(&cursor))
    return false;
  filter->job_id = (uint32_t)job;
  filter->by_task = by_task;
  filter->task_id = (uint32_t)task;
  return true;
}

const char *ft_store_access_job_name(const ft_observation *o, char out[24])
{
  if (o->array_job_id)
    (void)snprintf(out, 24, "%" PRIu32 "_%" PRIu32, o->array_job_id, o->array_task_id);
  else
    (void)snprintf(out, 24, "%" PRIu32, o->job_id);
  return out;
}

double ft_store_access_asked(const ft_observation *o)
{
  const ft_request *r = &o->submission.request;

  if (!o->submission.has_request)
    return 0;
  if (r->mem_unit == FT_MEM_NONE)
    return o->has_partition_default_bytes ? (double)o->partition_default_bytes : 0;
  return (double)ft_request_node_bytes(r, o->cpus);
}

static uint64_t hash_app(const char *app, uint32_t uid)
{
  return ft_hash64(ft_hash64(FT_HASH_SEED, app, strlen(app) + 1), &uid, sizeof uid);
}

/* Returns the slot of the app, or the free slot for it. */
static size_t find_app_slot(const struct ft_app_set *set, const char *app, uint32_t uid)
{
  size_t i = hash_app(app, uid) & (set->slots - 1);

  for (; set->slot[i]; i = (i + 1) & (set->slots - 1)) {
    const struct ft_app_name *name = &set->name[set->slot[i] - 1];

    if (name->uid == uid && strcmp(name->app, app) == 0)
      break;
  }
  return i;
}

/* Doubles the set; its hash table is at most half full. */
static int grow_app_set(struct ft_app_set *set)
{
  size_t room = set->room ? 2 * set->room : 64;
  struct ft_app_name *name = realloc(set->name, room * sizeof *name);
  uint32_t *slot = calloc(2 * room, sizeof *slot);

  if (name)
    set->name = name;
  if (!name || !slot) {
    free(slot);
    return -1;
  }
  free(set->slot);
  set->slot = slot;
  set->room = room;
  set->slots = 2 * room;
  for (size_t i = 0; i < set->count; i++)
    set->slot[find_app_slot(set, name[i].app, name[i].uid)] = (uint32_t)i + 1;
  return 0;
}

long ft_app_set_add(struct ft_app_set *set, const char *app, uint32_t uid)
{
  size_t at;

  if (set->count == set->room && grow_app_set(set) < 0)
    return -1;
  at = find_app_slot(set, app, uid);
  if (!set->slot[at]) {
    set->name[set->count].uid = uid;
    (void)ft_string_copy(app, set->name[set->count].app, sizeof set->name->app);
    set->slot[at] = (uint32_t)++set->count;
  }
  return (long)set->slot[at] - 1;
}

void ft_app_set_free(struct ft_app_set *set)
{
  free(set->name);
  free(set->slot);
  *set = (struct ft_app_set){ 0 };
}
