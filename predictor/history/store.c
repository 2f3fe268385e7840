/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/merge.h"
#include "predictor/history/row.h"
#include "predictor/history/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store.h"
#include "predictor/history/store_private.h"
#include "predictor/record/state_files.h"

/* Of the runs that are kept so many more may come before the oldest go: each time is a commit. */
#define TRIM_PART 64

struct ft_store *ft_store_open(const char *path, bool create, struct ft_error *err)
{
  struct ft_store *store = calloc(1, sizeof *store);

  if (store)
    store->path = strdup(path);
  if (!store || !store->path) {
    ft_error_set(err, "%s: out of memory", path);
    free(store);
    return NULL;
  }
  store->turn.uid = -1;
  store->db = ft_schema_open(path, create, err);
  if (store->db)
    return store;
  ft_store_close(store);
  return NULL;
}

void ft_store_close(struct ft_store *store)
{
  if (!store)
    return;
  sqlite3_finalize(store->find);
  sqlite3_finalize(store->completed);
  sqlite3_finalize(store->put);
  sqlite3_finalize(store->page);
  sqlite3_finalize(store->pooled_page);
  sqlite3_finalize(store->mark);
  sqlite3_finalize(store->next);
  sqlite3_finalize(store->stones);
  (void)sqlite3_close(store->db);
  free(store->path);
  free(store);
}

void ft_store_set_wait(struct ft_store *store, int milliseconds)
{
  (void)sqlite3_busy_timeout(store->db, milliseconds);
}

void ft_store_set_cache(struct ft_store *store, int kib)
{
  char sql[64];

  (void)snprintf(sql, sizeof sql, "PRAGMA cache_size = -%d", kib);
  (void)sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

void ft_store_release_cache(struct ft_store *store)
{
  (void)sqlite3_db_release_memory(store->db);
}

int ft_store_set_error(struct ft_store *store, const char *doing, struct ft_error *err)
{
  return ft_schema_error(err, store->db, store->path, doing);
}

sqlite3_stmt *ft_store_prepare(struct ft_store *store, const char *head, const char *tail,
                               struct ft_error *err)
{
  sqlite3_stmt *statement = NULL;
  struct ft_buf sql;

  ft_buf_init(&sql, FT_LIMIT_SQL);
  if (ft_buf_printf(&sql, "%s", head) < 0 || ft_row_columns(&sql, "") < 0 ||
      ft_buf_printf(&sql, "%s", tail) < 0)
    ft_error_set(err, "%s: out of memory", store->path);
  else if (sqlite3_prepare_v3(store->db, sql.data, (int)sql.length, SQLITE_PREPARE_PERSISTENT,
                              &statement, NULL) != SQLITE_OK)
    ft_store_set_error(store, "prepare", err);
  ft_buf_free(&sql);
  return statement;
}

static int prepare_completed(struct ft_store *store, struct ft_error *err)
{
  if (!store->completed &&
      sqlite3_prepare_v3(store->db,
                         "SELECT 1 FROM observation WHERE job_id = ?1 AND cluster = ?2"
                         " AND het_offset = ?4 AND array_job_id = ?5 AND array_task_id = ?6"
                         " AND uid = ?7 AND outcome = ?9 AND (restart_count < ?3"
                         " OR (restart_count = ?3 AND ?8 = 0 AND submit_time > 0)) LIMIT 1",
                         -1, SQLITE_PREPARE_PERSISTENT, &store->completed, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "prepare", err);
  return 0;
}

static int prepare_put(struct ft_store *store, struct ft_error *err)
{
  struct ft_buf tail;

  if (!store->find)
    store->find =
        ft_store_prepare(store, "SELECT id, ",
                         " FROM observation WHERE job_id = ?1 AND restart_count = ?4"
                         " AND het_offset = ?5 AND array_job_id = ?6 AND array_task_id = ?7"
                         " AND node = ?8 AND ((cluster = ?2 AND submit_time = ?3)"
                         " OR (uid = ?9 AND start_time <= ?11 AND end_time >= ?10"
                         " AND ((submit_time = 0 AND cluster IN (?2, ''))"
                         " OR (?3 = 0 AND ?2 IN (cluster, '')))))"
                         " ORDER BY cluster = ?2 AND submit_time = ?3 DESC LIMIT 1",
                         err);
  if (!store->find || prepare_completed(store, err) < 0)
    return -1;
  if (store->put)
    return 0;
  ft_buf_init(&tail, FT_LIMIT_SQL);
  /* a run that is completed is not put anew */
  (void)ft_buf_printf(&tail, ") VALUES (?1, ?2,"
                             " ifnull((SELECT put_time FROM observation WHERE id = ?1), ?3)");
  for (int i = 0; i < sqlite3_column_count(store->find) - 1; i++)
    (void)ft_buf_printf(&tail, ", ?%d", i + 4);
  if (ft_buf_printf(&tail, ")") < 0)
    ft_error_set(err, "%s: out of memory", store->path);
  else
    store->put = ft_store_prepare(store,
                                  "INSERT OR REPLACE INTO observation (id, peak_bytes,"
                                  " put_time, ",
                                  ft_buf_text(&tail), err);
  ft_buf_free(&tail);
  return store->put ? 0 : -1;
}

/* Whole seconds, as Slurm has them: the key of two records of one run must agree. */
static double whole(double time)
{
  return time > 0 ? floor(time) : 0;
}

/*
 * ID and OLD become the stored run of the same key. An agent that Slurm did not answer stores a run
 * without a submit time, perhaps without the cluster's name, and may learn both later, or the agent
 * after it: of runs of one job on one node those that overlap are one. Returns 1; 0 when there is
 * none; -1 with ERR.
 */
static int find(struct ft_store *store, const ft_observation *o, sqlite3_int64 *id,
                ft_observation *old, struct ft_error *err)
{
  sqlite3_stmt *s = store->find;
  struct ft_error why;
  int status, step;

  sqlite3_bind_int64(s, 1, o->job_id);
  sqlite3_bind_text(s, 2, o->cluster, -1, SQLITE_STATIC);
  sqlite3_bind_double(s, 3, whole(o->submit_time));
  sqlite3_bind_int64(s, 4, o->restart_count);
  sqlite3_bind_int64(s, 5, o->het_offset);
  sqlite3_bind_int64(s, 6, o->array_job_id);
  sqlite3_bind_int64(s, 7, o->array_task_id);
  sqlite3_bind_text(s, 8, o->node, -1, SQLITE_STATIC);
  if (o->source == FT_SOURCE_AGENT)
    sqlite3_bind_int64(s, 9, o->uid);
  else
    sqlite3_bind_null(s, 9); /* is no user */
  sqlite3_bind_double(s, 10, o->start_time);
  sqlite3_bind_double(s, 11, o->end_time);
  step = sqlite3_step(s);
  if (step == SQLITE_ROW) {
    *id = sqlite3_column_int64(s, 0);
    status = 1;
    if (ft_row_read(s, 1, old, &why) < 0)
      status = ft_error_set(err, "%s: row %lld: %s", store->path, (long long)*id, why.text);
  } else if (step == SQLITE_DONE) {
    status = 0;
  } else {
    status = ft_store_set_error(store, "put", err);
  }
  sqlite3_reset(s);
  return status;
}

static int write_row(struct ft_store *store, bool replaces, sqlite3_int64 id,
                     const ft_observation *o, struct ft_error *err)
{
  double peak = ft_observation_peak(o, o->rule);
  sqlite3_stmt *s = store->put;
  struct ft_error why;
  int status = 0;

  if (replaces)
    sqlite3_bind_int64(s, 1, id);
  else
    sqlite3_bind_null(s, 1);
  if (peak > 0)
    sqlite3_bind_double(s, 2, peak);
  else
    sqlite3_bind_null(s, 2);
  sqlite3_bind_double(s, 3, ft_io_now());
  if (ft_row_bind(s, 4, o, &why) < 0)
    status = ft_error_set(err, "%s: put: %s", store->path, why.text);
  else if (sqlite3_step(s) != SQLITE_DONE)
    status = ft_store_set_error(store, "put", err);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

int ft_store_replace(struct ft_store *store, int64_t id, const ft_observation *o,
                     struct ft_error *err)
{
  return prepare_put(store, err) < 0 ? -1 : write_row(store, true, id, o, err);
}

/*
 * Whether a run of O's job before it has completed: a job does so once, whoever has Slurm start it
 * again, or the agent take it for a restart that Slurm does not tell of. -1 with ERR.
 */
static int has_completed(struct ft_store *store, const ft_observation *o, struct ft_error *err)
{
  sqlite3_stmt *s = store->completed;
  int step;

  if (o->source != FT_SOURCE_AGENT || o->outcome != FT_OUTCOME_COMPLETED ||
      (!o->restart_count && o->submit_time > 0))
    return 0;
  sqlite3_bind_int64(s, 1, o->job_id);
  sqlite3_bind_text(s, 2, o->cluster, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, o->restart_count);
  sqlite3_bind_int64(s, 4, o->het_offset);
  sqlite3_bind_int64(s, 5, o->array_job_id);
  sqlite3_bind_int64(s, 6, o->array_task_id);
  sqlite3_bind_int64(s, 7, o->uid);
  sqlite3_bind_double(s, 8, whole(o->submit_time));
  sqlite3_bind_text(s, 9, ft_outcome_name(FT_OUTCOME_COMPLETED), -1, SQLITE_STATIC);
  step = sqlite3_step(s);
  sqlite3_reset(s);
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    return ft_store_set_error(store, "put", err);
  return step == SQLITE_ROW;
}

/* What TO's key lacks and FROM's has becomes TO's. Returns whether there is anything. */
static bool complete_key(ft_observation *to, const ft_observation *from)
{
  bool time = to->submit_time <= 0 && from->submit_time > 0;
  bool cluster = !to->cluster[0] && from->cluster[0];

  if (time)
    to->submit_time = from->submit_time;
  if (cluster)
    memcpy(to->cluster, from->cluster, sizeof to->cluster);
  return time || cluster;
}

static int put_live(struct ft_store *store, const ft_observation *o, ft_observation *merged,
                    struct ft_error *err)
{
  sqlite3_int64 id = 0;
  int found, again = has_completed(store, o, err);
  char app[sizeof merged->submission.app];
  bool moved = false;
  uint32_t uid = 0;

  if (again)
    return again;
  found = find(store, o, &id, merged, err);
  if (found < 0)
    return -1;
  if (found) {
    memcpy(app, merged->submission.app, sizeof app);
    uid = merged->uid;
    ft_observation_merge(merged, o);
    moved =
        complete_key(merged, o) || strcmp(app, merged->submission.app) != 0 || uid != merged->uid;
  } else {
    *merged = *o;
  }
  merged->schema = FT_SCHEMA;
  merged->submit_time = whole(merged->submit_time);
  if (write_row(store, found, id, merged, err) < 0)
    return -1;
  /* a run that turns out to be another app's is none of the first one's any more; models know a run
   * by its key */
  return moved && ft_store_note_removal(store, uid, app, err) < 0 ? -1 : 0;
}

/* Returns as ft_store_put. */
static int put_inside(struct ft_store *store, const ft_observation *o, ft_observation *merged,
                      struct ft_error *err)
{
  ft_observation *rest;
  int status;

  *merged = *o;
  status = ft_store_apply_tombstones(store, merged, err);
  if (status <= 0)
    return status < 0 ? -1 : put_live(store, o, merged, err);
  if (status == 1)
    return 1;
  rest = malloc(sizeof *rest);
  if (!rest)
    return ft_error_set(err, "%s: out of memory", store->path);
  *rest = *merged;
  status = put_live(store, rest, merged, err);
  free(rest);
  return status < 0 ? -1 : 1;
}

static int begin(struct ft_store *store, struct ft_error *err)
{
  return ft_schema_run(store->db, store->path, "BEGIN IMMEDIATE", "put", err);
}

static int commit(struct ft_store *store, struct ft_error *err)
{
  if (ft_schema_run(store->db, store->path, "COMMIT", "put", err) == 0)
    return 0;
  (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return -1;
}

/* a full disk may have undone the whole transaction, not the last statement alone */
static int still_inside(struct ft_store *store, struct ft_error *err)
{
  if (!store->inside)
    return ft_error_set(err, "%s: commit without begin", store->path);
  if (!sqlite3_get_autocommit(store->db))
    return 0;
  return ft_error_set(err, "%s: put: the transaction was undone by an earlier failure",
                      store->path);
}

int ft_store_put(struct ft_store *store, const ft_observation *observation, ft_observation *merged,
                 struct ft_error *err)
{
  ft_observation *result = merged ? merged : malloc(sizeof *result);
  int status = -1;

  if (!result)
    return ft_error_set(err, "%s: out of memory", store->path);
  if (observation->uid == FT_STATE_POOLED) {
    ft_error_set(err, "%s: job %u: user %u is nobody", store->path, (unsigned)observation->job_id,
                 (unsigned)observation->uid);
    goto out;
  }
  if (prepare_put(store, err) < 0)
    goto out;
  if (store->inside) {
    if (still_inside(store, err) == 0)
      status = put_inside(store, observation, result, err);
    goto out;
  }
  if (begin(store, err) < 0)
    goto out;
  status = put_inside(store, observation, result, err);
  if (status < 0)
    (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  else if (commit(store, err) < 0)
    status = -1;
out:
  if (!merged)
    free(result);
  return status;
}

int ft_store_begin(struct ft_store *store, struct ft_error *err)
{
  if (store->inside)
    return ft_error_set(err, "%s: begin inside begin", store->path);
  if (begin(store, err) < 0)
    return -1;
  store->inside = true;
  return 0;
}

void ft_store_rollback(struct ft_store *store)
{
  store->inside = false;
  (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int ft_store_commit(struct ft_store *store, struct ft_error *err)
{
  int status = still_inside(store, err);

  store->inside = false;
  return status < 0 ? -1 : commit(store, err);
}

/* Run SQL, whose ?1 to ?3 are UID, FROM and TO. Returns what sqlite3_step returns. */
static int step_names(struct ft_store *store, const char *sql, uint32_t uid, const char *from,
                      const char *to)
{
  sqlite3_stmt *s = NULL;
  int step = SQLITE_ERROR;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) == SQLITE_OK) {
    sqlite3_bind_int64(s, 1, uid);
    sqlite3_bind_text(s, 2, from, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, to, -1, SQLITE_STATIC);
    step = sqlite3_step(s);
  }
  sqlite3_finalize(s);
  return step;
}

int ft_store_rename_app(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err)
{
  static const char find[] = "SELECT 1 FROM observation WHERE app = ?2 AND uid = ?1 AND ?3 > ''"
                             " AND ?3 <> ?2 LIMIT 1";
  static const char rename[] = "UPDATE observation SET app = ?3 WHERE app = ?2 AND uid = ?1";
  /* of its runs the trigger of the schema knows those alone that are put */
  static const char last[] = "INSERT OR REPLACE INTO app SELECT uid, ?3, max(last, ifnull("
                             "(SELECT last FROM app WHERE uid = ?1 AND app = ?3), 0))"
                             " FROM app WHERE uid = ?1 AND app = ?2";
  int step = *from ? step_names(store, find, uid, from, to) : SQLITE_DONE;

  /* most runs have nothing to rename, and no writer is in anybody's way */
  if (step != SQLITE_ROW)
    return step == SQLITE_DONE ? 0 : ft_store_set_error(store, "read", err);
  if (ft_store_begin(store, err) < 0)
    return -1;
  if (step_names(store, rename, uid, from, to) != SQLITE_DONE ||
      step_names(store, last, uid, from, to) != SQLITE_DONE)
    ft_store_set_error(store, "rename", err);
  else if (ft_store_note_removal(store, uid, from, err) >= 0 &&
           ft_store_record_rename(store, uid, from, to, err) == 0 &&
           ft_store_mark_stale(store, uid, to, NULL, err) == 0)
    return ft_store_commit(store, err) < 0 ? -1 : 1;
  ft_store_rollback(store);
  return -1;
}

static sqlite3_stmt *select_runs(struct ft_store *store, const struct ft_store_filter *filter,
                                 struct ft_error *err)
{
  const char *order = filter->limit ? "DESC" : "ASC";
  sqlite3_stmt *s;
  const char *job = "";
  char tail[512];

  if (filter->job_id && filter->by_task)
    job = " AND array_job_id = ?3 AND array_job_id > 0 AND array_task_id = ?6";
  else if (filter->job_id)
    job = " AND (job_id = ?3 OR (array_job_id = ?3 AND array_job_id > 0))";
  (void)snprintf(tail, sizeof tail,
                 " FROM observation WHERE 1%s%s%s%s ORDER BY end_time %s, id %s%s",
                 filter->app ? " AND app = ?1" : "", filter->by_uid ? " AND uid = ?2" : "", job,
                 filter->since > 0 ? " AND end_time >= ?4" : "", order, order,
                 filter->limit ? " LIMIT ?5" : "");
  s = ft_store_prepare(store, "SELECT id, ", tail, err);
  if (!s)
    return NULL;
  if (filter->app)
    sqlite3_bind_text(s, 1, filter->app, -1, SQLITE_STATIC);
  if (filter->by_uid)
    sqlite3_bind_int64(s, 2, filter->uid);
  if (filter->job_id)
    sqlite3_bind_int64(s, 3, filter->job_id);
  if (filter->job_id && filter->by_task)
    sqlite3_bind_int64(s, 6, filter->task_id);
  if (filter->since > 0)
    sqlite3_bind_double(s, 4, filter->since);
  if (filter->limit)
    sqlite3_bind_int64(s, 5, filter->limit > INT64_MAX ? INT64_MAX : (sqlite3_int64)filter->limit);
  return s;
}

int ft_store_each(struct ft_store *store, const struct ft_store_filter *filter,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err)
{
  sqlite3_stmt *s = select_runs(store, filter, err);
  ft_observation *o = malloc(sizeof *o);
  struct ft_error why;
  int status = -1, step = SQLITE_DONE;

  if (!s)
    goto out;
  if (!o) {
    ft_error_set(err, "%s: out of memory", store->path);
    goto out;
  }
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    if (ft_row_read(s, 1, o, &why) < 0) {
      ft_error_set(err, "%s: row %lld: %s", store->path, (long long)sqlite3_column_int64(s, 0),
                   why.text);
      goto out;
    }
    if (!visit(o, data)) {
      step = SQLITE_DONE;
      break;
    }
  }
  status = step == SQLITE_DONE ? 0 : ft_store_set_error(store, "read", err);
out:
  sqlite3_finalize(s);
  free(o);
  return status;
}

static void read_app(sqlite3_stmt *s, struct ft_store_app *app)
{
  *app = (struct ft_store_app){ .uid = (uint32_t)sqlite3_column_int64(s, 1) };
  (void)ft_string_copy((const char *)sqlite3_column_text(s, 0), app->app, sizeof app->app);
  (void)ft_string_copy((const char *)sqlite3_column_text(s, 2), app->user, sizeof app->user);
  app->runs = (uint64_t)sqlite3_column_int64(s, 3);
  app->completed = (uint64_t)sqlite3_column_int64(s, 4);
  app->censored = (uint64_t)sqlite3_column_int64(s, 5);
  app->last_time = sqlite3_column_double(s, 6);
  app->max_bytes = sqlite3_column_double(s, 7);
  app->min_bytes = sqlite3_column_double(s, 8);
}

int ft_store_each_app(struct ft_store *store,
                      bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                      struct ft_error *err)
{
  static const char sql[] = "SELECT app, uid, MAX(user), COUNT(*), SUM(outcome = 'completed'),"
                            " SUM(censored), MAX(end_time) AS last, MAX(peak_bytes),"
                            " MIN(CASE WHEN outcome = 'completed' THEN peak_bytes END)"
                            " FROM observation GROUP BY app, uid ORDER BY last DESC, app, uid";
  sqlite3_stmt *s = NULL;
  struct ft_store_app app;
  int status = 0, step;

  if (sqlite3_prepare_v2(store->db, sql, sizeof sql, &s, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "read", err);
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    read_app(s, &app);
    if (!visit(&app, data)) {
      step = SQLITE_DONE;
      break;
    }
  }
  if (step != SQLITE_DONE)
    status = ft_store_set_error(store, "read", err);
  sqlite3_finalize(s);
  return status;
}

/* The app after the one in *TURN, in the order of the index, becomes it. 1; 0: none; -1 with ERR.
 */
static int next_turn(struct ft_store *store, struct ft_trim_cursor *turn, struct ft_error *err)
{
  static const char sql[] = "SELECT app, uid FROM observation WHERE (app, uid) > (?1, ?2)"
                            " ORDER BY app, uid LIMIT 1";
  sqlite3_stmt *s = NULL;
  int status, step;

  if (sqlite3_prepare_v2(store->db, sql, sizeof sql, &s, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "trim", err);
  sqlite3_bind_text(s, 1, turn->app, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 2, turn->uid);
  step = sqlite3_step(s);
  status = step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ft_store_set_error(store, "trim", err);
  if (status > 0) {
    (void)ft_string_copy((const char *)sqlite3_column_text(s, 0), turn->app, sizeof turn->app);
    turn->uid = sqlite3_column_int64(s, 1);
  } else {
    *turn = (struct ft_trim_cursor){ .uid = -1 };
  }
  sqlite3_finalize(s);
  return status;
}

/* Run SQL on the runs of TURN's app behind its newest KEEP. Returns what sqlite3_step says. */
static int beyond(struct ft_store *store, const char *sql, const struct ft_trim_cursor *turn,
                  uint64_t keep)
{
  sqlite3_stmt *s = NULL;
  int step = SQLITE_ERROR;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) == SQLITE_OK) {
    sqlite3_bind_text(s, 1, turn->app, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, turn->uid);
    sqlite3_bind_int64(s, 3, keep > INT64_MAX ? INT64_MAX : (sqlite3_int64)keep);
    step = sqlite3_step(s);
  }
  sqlite3_finalize(s);
  return step;
}

int ft_store_trim(struct ft_store *store, uint64_t keep, struct ft_error *err)
{
#define BEYOND                                                                                     \
  "SELECT id FROM observation WHERE app = ?1 AND uid = ?2 ORDER BY end_time DESC, id DESC"         \
  " LIMIT -1 OFFSET ?3"
  static const char any[] = BEYOND;
  static const char delete[] = "DELETE FROM observation WHERE id IN (" BEYOND ")";
#undef BEYOND
  int status = keep ? next_turn(store, &store->turn, err) : 0, step;

  if (status <= 0)
    return status;
  step = beyond(store, any, &store->turn, keep + keep / TRIM_PART);
  if (step == SQLITE_ROW)
    step = beyond(store, delete, &store->turn, keep);
  return step == SQLITE_DONE ? 1 : ft_store_set_error(store, "trim", err);
}
