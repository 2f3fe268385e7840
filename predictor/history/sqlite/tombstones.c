/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"

/* Maximum numbers of a user's tombstones: without a job, because ft_store_put compares each run
 * with all of them; and of requests that name a job. */
enum { MAX_PER_USER = 1000, MAX_JOBS_PER_USER = 10000 };

/* Number of names that the runs of an app may have had: an earlier release's, the derived and a
 * declared one, and one more. Each rename writes all runs, so that renaming back and forth would
 * occupy the learner. */
enum { MAX_RENAMES = 4 };

int64_t ft_tombstone_hash(const char *app)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, app, strlen(app));
  int64_t number;

  if (!*app)
    return 0;
  memcpy(&number, &hash, sizeof number);
  return number ? number : 1;
}

/* Sets the times of RUN in UTC seconds from those of its record; 0: unknown. SECONDS is the run
 * time. */
static void set_run_times(struct ft_run_identity *run, double submit, double start, double end,
                          double seconds)
{
  run->ended = end;
  run->started = start > 0 ? start : end > 0 ? end - seconds : submit;
  run->submitted = submit > 0 ? submit : run->started;
}

/* Fills RUN from O, which is not stored. */
static void identify_run(const ft_observation *o, struct ft_run_identity *run)
{
  *run = (struct ft_run_identity){ .app = ft_tombstone_hash(o->submission.app),
                                   .uid = o->uid,
                                   .job_id = o->job_id,
                                   .array_job_id = o->array_job_id,
                                   .array_task_id = o->array_task_id };
  (void)ft_string_copy(o->submission.app, run->app_name, sizeof run->app_name);
  (void)ft_string_copy(o->cluster, run->cluster, sizeof run->cluster);
  set_run_times(run, o->submit_time, o->start_time, o->end_time, o->runtime_seconds);
}

void ft_tombstone_read_run(sqlite3_stmt *s, struct ft_run_identity *run)
{
  *run = (struct ft_run_identity){ .id = sqlite3_column_int64(s, 0),
                                   .uid = (uint32_t)sqlite3_column_int64(s, 1),
                                   .job_id = (uint32_t)sqlite3_column_int64(s, 2),
                                   .array_job_id = (uint32_t)sqlite3_column_int64(s, 3),
                                   .array_task_id = (uint32_t)sqlite3_column_int64(s, 4) };
  ft_store_column_text(s, 5, run->app_name, sizeof run->app_name);
  ft_store_column_text(s, 6, run->cluster, sizeof run->cluster);
  run->app = ft_tombstone_hash(run->app_name);
  set_run_times(run, sqlite3_column_double(s, 7), sqlite3_column_double(s, 8),
                sqlite3_column_double(s, 9), sqlite3_column_double(s, 10));
  if (run->ended <= 0)
    run->ended = sqlite3_column_double(s, 11);
  run->has_nodes = sqlite3_column_type(s, 12) != SQLITE_NULL;
  run->is_part = run->has_nodes && sqlite3_column_int64(s, 12) == 0;
}

static bool matches_job(const struct ft_tombstone *tombstone, const struct ft_run_identity *run)
{
  if (!tombstone->job_id)
    return true;
  if (tombstone->array_task_id >= 0 && tombstone->array_task_id != (int64_t)run->array_task_id)
    return false;
  return tombstone->job_id == run->job_id || tombstone->job_id == run->array_job_id;
}

bool ft_tombstone_covers(const struct ft_tombstone *tombstone, const char *cluster,
                         const struct ft_run_identity *run)
{
  return (!tombstone->app || tombstone->app == run->app) &&
         (tombstone->uid < 0 || tombstone->uid == (int64_t)run->uid) &&
         matches_job(tombstone, run) &&
         (!*cluster || !run->cluster[0] || strcmp(cluster, run->cluster) == 0) &&
         (tombstone->before <= 0 || (run->ended > 0 && run->ended < tombstone->before)) &&
         (tombstone->job_id ? run->submitted : run->started) < tombstone->request_time;
}

bool ft_tombstone_is_override(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;

  return o->submission.has_decision && (d->overrode || d->action == FT_ACTION_REJECT);
}

void ft_tombstone_strip(ft_observation *o)
{
  ft_observation *rest = malloc(sizeof *rest);
  const ft_submission *s = &o->submission;

  if (!rest) {
    /* the request to forget is more important than the record of the override */
    memset(o, 0, sizeof *o);
    return;
  }
  *rest = (ft_observation){ .schema = o->schema,
                            .job_id = o->job_id,
                            .submit_time = o->submit_time,
                            .restart_count = o->restart_count,
                            .het_offset = o->het_offset,
                            .array_job_id = o->array_job_id,
                            .array_task_id = o->array_task_id,
                            .uid = o->uid,
                            .source = o->source,
                            .start_time = o->start_time,
                            .end_time = o->end_time,
                            .outcome = o->outcome,
                            .censored = o->censored };
  memcpy(rest->cluster, o->cluster, sizeof rest->cluster);
  memcpy(rest->node, o->node, sizeof rest->node);
  memcpy(rest->user, o->user, sizeof rest->user);
  memcpy(rest->account, o->account, sizeof rest->account);
  memcpy(rest->partition, o->partition, sizeof rest->partition);
  rest->submission.has_decision = true;
  rest->submission.decision = (ft_decision){ .action = s->decision.action,
                                             .mode = s->decision.mode,
                                             .overrode = s->decision.overrode,
                                             .mem_unit = s->decision.mem_unit,
                                             .mem_bytes = s->decision.mem_bytes,
                                             .rule = s->decision.rule };
  rest->submission.has_request = s->has_request;
  rest->submission.request = (ft_request){ .command = s->request.command,
                                           .mem_unit = s->request.mem_unit,
                                           .mem_bytes = s->request.mem_bytes };
  *o = *rest;
  free(rest);
}

bool ft_tombstone_is_stripped(const ft_observation *o)
{
  const ft_submission *s = &o->submission;

  return !s->app[0] && !s->job_name[0] && !s->features_count && !s->decision.reason[0] &&
         !o->has_limit_bytes && ft_observation_peak(o, o->rule) <= 0;
}

/* SQL: the columns that read_tombstone reads. */
#define TOMBSTONE_COLUMNS "id, job_id, array_task_id, cluster, uid, app, before, told"

static void read_tombstone(sqlite3_stmt *s, struct ft_tombstone *tombstone)
{
  *tombstone = (struct ft_tombstone){ .id = sqlite3_column_int64(s, 0),
                                      .job_id = (uint32_t)sqlite3_column_int64(s, 1),
                                      .array_task_id = sqlite3_column_int64(s, 2),
                                      .uid = sqlite3_column_int64(s, 4),
                                      .app = sqlite3_column_int64(s, 5),
                                      .before = sqlite3_column_double(s, 6),
                                      .request_time = sqlite3_column_double(s, 7) };
}

/* SQL condition: tombstones without a job; served by the unique index. */
#define NO_JOB "job_id = 0 AND array_task_id = -1 AND cluster = ''"

/* SQL: the next tombstone's number. Passes run in the order of these numbers, so a later tombstone
 * must have the larger one, which a database with several writers does not promise. */
#define NEXT_TOMBSTONE "1 + ifnull((SELECT max(id) FROM forgotten), 0)"

/* Sets *OUT to a tombstone that covers RUN. Returns 1; 0 if there is none; -1 on error. */
static int find_tombstone(struct ft_store *store, const struct ft_run_identity *run,
                          struct ft_tombstone *out, struct ft_error *err)
{
  sqlite3_stmt *s;
  int step = SQLITE_DONE, found = 0;

  /* IN would fill a temporary table each time */
  if (ft_store_prepare_once(
          store, &store->tombstones,
          "SELECT " TOMBSTONE_COLUMNS " FROM forgotten WHERE " NO_JOB " AND uid = -1"
          " UNION ALL SELECT " TOMBSTONE_COLUMNS " FROM forgotten WHERE " NO_JOB " AND uid = ?3"
          " UNION ALL SELECT " TOMBSTONE_COLUMNS " FROM forgotten WHERE job_id = ?1 AND job_id > 0"
          " UNION ALL SELECT " TOMBSTONE_COLUMNS " FROM forgotten WHERE job_id = ?2 AND job_id > 0",
          FT_VALUES(FT_INT(run->job_id), FT_INT(run->array_job_id), FT_INT(run->uid)), err) < 0)
    return -1;
  s = store->tombstones;
  while (!found && (step = sqlite3_step(s)) == SQLITE_ROW) {
    const char *cluster = (const char *)sqlite3_column_text(s, 3);

    read_tombstone(s, out);
    found = ft_tombstone_covers(out, cluster ? cluster : "", run);
  }
  if (!found)
    found = ft_store_step_status(store, step, "read", err);
  sqlite3_reset(s);
  return found;
}

/* Stores TOMBSTONE, restricted to CLUSTER unless empty. DONE: no stored run remains to be removed.
 */
static int put_tombstone(struct ft_store *store, const struct ft_tombstone *tombstone,
                         const char *cluster, bool done, struct ft_error *err)
{
  return ft_store_run(
      store, "forget",
      "INSERT OR REPLACE INTO forgotten (id, job_id, array_task_id, cluster, uid,"
      " app, before, told, done) VALUES (" NEXT_TOMBSTONE ", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
      FT_VALUES(FT_INT(tombstone->job_id), FT_INT(tombstone->array_task_id), FT_TEXT(cluster),
                FT_INT(tombstone->uid), FT_INT(tombstone->app), FT_REAL(tombstone->before),
                FT_REAL(tombstone->request_time), FT_INT(done)),
      err);
}

int ft_tombstone_add_run(struct ft_store *store, const struct ft_tombstone *tombstone,
                         const struct ft_run_identity *run, struct ft_error *err)
{
  struct ft_tombstone own = { .uid = run->uid,
                              .job_id = run->job_id,
                              .array_task_id = run->array_task_id,
                              .request_time = tombstone->request_time };

  return tombstone->app && run->job_id ? put_tombstone(store, &own, run->cluster, true, err) : 0;
}

int ft_store_is_forgotten(struct ft_store *store, const ft_observation *o, struct ft_error *err)
{
  struct ft_tombstone tombstone;
  struct ft_run_identity run;
  int status;

  identify_run(o, &run);
  status = find_tombstone(store, &run, &tombstone, err);
  return status > 0 && ft_tombstone_add_run(store, &tombstone, &run, err) < 0 ? -1 : status;
}

int ft_store_apply_tombstones(struct ft_store *store, ft_observation *o, struct ft_error *err)
{
  int status = ft_store_is_forgotten(store, o, err);

  if (status <= 0 || !ft_tombstone_is_override(o))
    return status;
  ft_tombstone_strip(o);
  return o->schema ? 2 : 1;
}

int ft_store_may_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err)
{
  static const char sql[] =
      "WITH RECURSIVE names(app, depth) AS (SELECT was, 1 FROM former WHERE uid = ?1 AND app = ?2"
      " UNION SELECT was, depth + 1 FROM former JOIN names USING (app) WHERE uid = ?1"
      " AND depth < ?4) SELECT ifnull(max(depth >= ?4 OR app = ?3), 0) FROM names";
  double refused;

  if (ft_store_query_number(store, "read", sql,
                            FT_VALUES(FT_INT(uid), FT_INT(ft_tombstone_hash(from)),
                                      FT_INT(ft_tombstone_hash(to)), FT_INT(MAX_RENAMES)),
                            &refused, err) < 0)
    return -1;
  return refused == 0;
}

int ft_store_record_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                           struct ft_error *err)
{
  return ft_store_run(
      store, "forget", "INSERT OR IGNORE INTO former VALUES (?1, ?2, ?3)",
      FT_VALUES(FT_INT(uid), FT_INT(ft_tombstone_hash(to)), FT_INT(ft_tombstone_hash(from))), err);
}

/* Stores a copy of TOMBSTONE for each former name of its app. */
static int put_former_names(struct ft_store *store, const struct ft_tombstone *tombstone,
                            struct ft_error *err)
{
  static const char sql[] =
      "WITH RECURSIVE names(app) AS (SELECT was FROM former WHERE app = ?1 AND ?2 IN (-1, uid)"
      " UNION SELECT was FROM former JOIN names USING (app) WHERE ?2 IN (-1, uid))"
      " INSERT OR REPLACE INTO forgotten (id, job_id, array_task_id, cluster, uid, app, before,"
      " told, done) SELECT " NEXT_TOMBSTONE " + row_number() OVER (ORDER BY app) - 1, ?3, ?4, '',"
      " ?2, app, ?5, ?6, 0 FROM names WHERE app <> ?1";

  return ft_store_run(store, "forget", sql,
                      FT_VALUES(FT_INT(tombstone->app), FT_INT(tombstone->uid),
                                FT_INT(tombstone->job_id), FT_INT(tombstone->array_task_id),
                                FT_REAL(tombstone->before), FT_REAL(tombstone->request_time)),
                      err);
}

/* Returns 0 if UID may have another tombstone, FOR_JOB: one with a job; -1 and ERR. Those of
 * removed runs, which do not count, name a cluster. */
static int check_limit(struct ft_store *store, int64_t uid, bool for_job, struct ft_error *err)
{
  int limit = for_job ? MAX_JOBS_PER_USER : MAX_PER_USER;
  double count = 0;

  if (uid >= 0 && ft_store_query_number(store, "forget",
                                        for_job ? "SELECT COUNT(*) FROM forgotten WHERE uid = ?1"
                                                  " AND job_id > 0 AND cluster = ''"
                                                : "SELECT COUNT(*) FROM forgotten WHERE " NO_JOB
                                                  " AND uid = ?1",
                                        FT_VALUES(FT_INT(uid)), &count, err) < 0)
    return -1;
  return count < limit ? 0
                       : ft_error_set(err,
                                      "user %lld: %d things are forgotten already, and no more are"
                                      " kept in mind; forget all of the user's runs at once",
                                      (long long)uid, limit);
}

int ft_tombstone_add(struct ft_store *store, struct ft_tombstone *tombstone, struct ft_error *err)
{
  if (check_limit(store, tombstone->uid, tombstone->job_id > 0, err) < 0)
    return -1;
  if (tombstone->app && put_former_names(store, tombstone, err) < 0)
    return -1;
  if (put_tombstone(store, tombstone, "", false, err) < 0)
    return -1;
  tombstone->id = sqlite3_last_insert_rowid(store->db);
  return 0;
}

int ft_tombstone_expire(struct ft_store *store, double before, struct ft_error *err)
{
  if (ft_store_run(store, "expire",
                   "DELETE FROM forgotten WHERE id IN (SELECT id FROM forgotten WHERE told < ?1"
                   " AND done = 1 LIMIT ?2)",
                   FT_VALUES(FT_REAL(before), FT_INT(FT_STORE_ENOUGH_CHANGES)), err) < 0)
    return -1;
  return sqlite3_changes(store->db) == FT_STORE_ENOUGH_CHANGES;
}

int ft_tombstone_next(struct ft_store *store, struct ft_tombstone *tombstone, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read",
                                  "SELECT " TOMBSTONE_COLUMNS
                                  " FROM forgotten WHERE done = 0 ORDER BY id LIMIT 1",
                                  NULL, &s, err);

  if (status > 0)
    read_tombstone(s, tombstone);
  sqlite3_finalize(s);
  return status;
}

int ft_tombstone_finish(struct ft_store *store, int64_t id, struct ft_error *err)
{
  return ft_store_run(store, "forget", "UPDATE forgotten SET done = 1 WHERE id = ?1",
                      FT_VALUES(FT_INT(id)), err);
}
