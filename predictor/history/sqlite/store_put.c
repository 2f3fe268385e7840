/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores an observation, or merges it into the stored run of the same key. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/history/merge.h"
#include "predictor/history/sqlite/row.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/store.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"
#include "predictor/record/state_files.h"

/* SQL: the row of the parameters' job and node that meets CONDITION. */
#define ROW_OF_RUN(condition)                                                                      \
  "(SELECT id FROM observation WHERE job_id = ?1 AND restart_count = ?4 AND het_offset = ?5"       \
  " AND array_job_id = ?6 AND array_task_id = ?7 AND node = ?8 AND " condition " LIMIT 1)"
/* SQL conditions: the run of the key; one without its submit time, and any one if the parameters
 * lack it, of the same user at the same time. The first two are found in the index of the key,
 * whatever the number of the job's nodes. */
#define SAME_KEY "cluster = ?2 AND submit_time = ?3"
#define OVERLAPS " AND uid = ?9 AND start_time <= ?11 AND end_time >= ?10"
#define WITHOUT_TIME "submit_time = 0 AND cluster IN (?2, '')" OVERLAPS
#define OF_ANY_TIME "?3 = 0 AND ?2 IN (cluster, '')" OVERLAPS

static int prepare_put(struct ft_store *store, struct ft_error *err)
{
  static const char stored[] = " FROM observation WHERE id = coalesce(" ROW_OF_RUN(
      SAME_KEY) ", " ROW_OF_RUN(WITHOUT_TIME) ", " ROW_OF_RUN(OF_ANY_TIME) ")";
  struct ft_buf tail;

  if (!store->select_run)
    store->select_run = ft_store_prepare_columns(store, "SELECT id, ", stored, NULL, err);
  if (!store->select_run)
    return -1;
  if (store->put)
    return 0;
  ft_buf_init(&tail, FT_LIMIT_SQL);
  /* completing a stored run keeps its first insertion time */
  (void)ft_buf_printf(&tail, ") VALUES (?1, ?2,"
                             " ifnull((SELECT put_time FROM observation WHERE id = ?1), ?3),"
                             " (SELECT records FROM observation WHERE id = ?1)");
  for (int i = 0; i < sqlite3_column_count(store->select_run) - 1; i++)
    (void)ft_buf_printf(&tail, ", ?%d", i + 4);
  if (ft_buf_printf(&tail, ")") < 0)
    ft_error_set(err, "%s: out of memory", store->path);
  else
    store->put = ft_store_prepare_columns(store,
                                          "INSERT OR REPLACE INTO observation (id, peak_bytes,"
                                          " put_time, records, ",
                                          ft_buf_text(&tail), NULL, err);
  ft_buf_free(&tail);
  return store->put ? 0 : -1;
}

/* Returns TIME rounded down to seconds, as in Slurm's records, so that two records of one run have
 * equal keys; 0: unknown. */
static double whole_seconds(double time)
{
  return time > 0 ? floor(time) : 0;
}

/*
 * Reads the stored run of O's key into OLD and sets ID to its row. If Slurm did not answer, the
 * agent stores a run without its submit time, perhaps without the cluster's name, and completes
 * both later. Therefore overlapping runs of one job on one node count as the same run if one of
 * them lacks the submit time. Returns 1; 0 if there is none; -1 on error and fills ERR.
 */
static int find_stored_run(struct ft_store *store, const ft_observation *o, sqlite3_int64 *id,
                           ft_observation *old, struct ft_error *err)
{
  sqlite3_stmt *s = store->select_run;
  int64_t uid = o->source == FT_SOURCE_AGENT ? (int64_t)o->uid : -1; /* -1 equals no uid */
  int status = ft_store_bind(
      store, s, "put",
      FT_VALUES(FT_INT(o->job_id), FT_TEXT(o->cluster), FT_REAL(whole_seconds(o->submit_time)),
                FT_INT(o->restart_count), FT_INT(o->het_offset), FT_INT(o->array_job_id),
                FT_INT(o->array_task_id), FT_TEXT(o->node), FT_INT(uid), FT_REAL(o->start_time),
                FT_REAL(o->end_time)),
      err);

  if (status < 0)
    return -1;
  status = ft_store_step_status(store, sqlite3_step(s), "put", err);
  if (status > 0) {
    *id = sqlite3_column_int64(s, 0);
    if (ft_store_read_row(store, s, 1, old, err) < 0)
      status = -1;
  }
  sqlite3_reset(s);
  return status;
}

/* Inserts O, or with REPLACES overwrites row ID. Returns 0; -1 on error and fills ERR. */
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
 * Returns whether an earlier run of O's job has completed; -1 on error. A job completes only once;
 * a second completion is a restart by hand, or a restart that the agent assumed.
 */
static int has_completed(struct ft_store *store, const ft_observation *o, struct ft_error *err)
{
  static const char sql[] = "SELECT 1 FROM observation WHERE job_id = ?1 AND cluster = ?2"
                            " AND het_offset = ?4 AND array_job_id = ?5 AND array_task_id = ?6"
                            " AND uid = ?7 AND outcome = ?9 AND (restart_count < ?3"
                            " OR (restart_count = ?3 AND ?8 = 0 AND submit_time > 0)) LIMIT 1";
  const struct ft_sql_value *values = FT_VALUES(
      FT_INT(o->job_id), FT_TEXT(o->cluster), FT_INT(o->restart_count), FT_INT(o->het_offset),
      FT_INT(o->array_job_id), FT_INT(o->array_task_id), FT_INT(o->uid),
      FT_REAL(whole_seconds(o->submit_time)), FT_TEXT(ft_outcome_name(FT_OUTCOME_COMPLETED)));
  int step;

  if (o->source != FT_SOURCE_AGENT || o->outcome != FT_OUTCOME_COMPLETED ||
      (!o->restart_count && o->submit_time > 0))
    return 0;
  if (ft_store_prepare_once(store, &store->completed, sql, values, err) < 0)
    return -1;
  step = sqlite3_step(store->completed);
  sqlite3_reset(store->completed);
  return ft_store_step_status(store, step, "put", err);
}

/* Copies submit time and cluster from FROM if TO lacks them. Returns whether TO's key changed. */
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

/* Groups RECORD, written as a new row with IS_NEW, with the records of other nodes, and replaces it
 * by its run. FORMER is the key of the run that it has left. Returns as ft_store_put. */
static int group_record(struct ft_store *store, const struct ft_run_key *former, bool is_new,
                        ft_observation *record, struct ft_error *err)
{
  struct ft_run_key key = ft_run_key_of(record);
  int64_t row = is_new ? sqlite3_last_insert_rowid(store->db) : 0;
  int state, completed = ft_run_nodes_complete_others(store, record, err);

  if (completed < 0)
    return -1;
  if (former && ft_run_nodes_group(store, former, record->allocated_nodes, 0, err) < 0)
    return -1;
  /* a record that has joined the run is not counted yet */
  state =
      ft_run_nodes_group(store, &key, completed || former ? 0 : record->allocated_nodes, row, err);
  if (state < 0 || state == FT_RUN_WAITS)
    return state < 0 ? -1 : 2;
  if (state == FT_RUN_SINGLE && record->allocated_nodes < 2)
    return 0;
  return ft_run_nodes_combine(store, record, err);
}

/* Stores O, which no tombstone covers. Returns as ft_store_put. */
static int put_uncovered(struct ft_store *store, const ft_observation *o, ft_observation *merged,
                         struct ft_error *err)
{
  sqlite3_int64 id = 0;
  int found, repeated = has_completed(store, o, err);
  char app[sizeof merged->submission.app];
  bool rekeyed = false, moved = false;
  struct ft_run_key former;
  uint32_t uid = 0;

  if (repeated)
    return repeated;
  found = find_stored_run(store, o, &id, merged, err);
  if (found < 0)
    return -1;
  if (found) {
    memcpy(app, merged->submission.app, sizeof app);
    uid = merged->uid;
    former = ft_run_key_of(merged);
    ft_observation_merge(merged, o);
    rekeyed = complete_key(merged, o);
    moved = rekeyed || strcmp(app, merged->submission.app) != 0 || uid != merged->uid;
  } else {
    *merged = *o;
  }
  merged->schema = FT_SCHEMA;
  merged->submit_time = whole_seconds(merged->submit_time);
  if (write_row(store, found, id, merged, err) < 0)
    return -1;
  /* models identify a run by its key: the former app's model must not keep a run that has another
   * app or key */
  if (moved && ft_store_note_removal(store, uid, app, err) < 0)
    return -1;
  return group_record(store, rekeyed ? &former : NULL, !found, merged, err);
}

/* The same for a record that may lack its submit time: another node's record may have it. */
static int put_with_submit_time(struct ft_store *store, const ft_observation *o,
                                ft_observation *merged, struct ft_error *err)
{
  ft_observation *known;
  int status;

  if (o->submit_time > 0)
    return put_uncovered(store, o, merged, err);
  known = malloc(sizeof *known);
  if (!known)
    return ft_error_set(err, "%s: out of memory", store->path);
  *known = *o;
  status =
      ft_run_nodes_complete(store, known, err) < 0 ? -1 : put_uncovered(store, known, merged, err);
  free(known);
  return status;
}

/* Inside a transaction: stores O. Returns as ft_store_put. */
static int put_in_transaction(struct ft_store *store, const ft_observation *o,
                              ft_observation *merged, struct ft_error *err)
{
  ft_observation *rest;
  int status;

  *merged = *o;
  status = ft_store_apply_tombstones(store, merged, err);
  if (status <= 0)
    return status < 0 ? -1 : put_with_submit_time(store, o, merged, err);
  if (status == 1)
    return 1;
  rest = malloc(sizeof *rest);
  if (!rest)
    return ft_error_set(err, "%s: out of memory", store->path);
  *rest = *merged;
  status = put_with_submit_time(store, rest, merged, err);
  free(rest);
  return status < 0 ? -1 : 1;
}

int ft_store_put(struct ft_store *store, const ft_observation *observation, ft_observation *merged,
                 struct ft_error *err)
{
  ft_observation *result = merged ? merged : malloc(sizeof *result);
  int status = -1;

  if (!result)
    return ft_error_set(err, "%s: out of memory", store->path);
  if (observation->uid == FT_STATE_POOLED) {
    ft_error_set(err, "%s: job %u: uid %u is reserved, run not stored", store->path,
                 (unsigned)observation->job_id, (unsigned)observation->uid);
    goto out;
  }
  if (prepare_put(store, err) < 0)
    goto out;
  if (store->in_transaction) {
    if (ft_store_check_transaction(store, err) == 0)
      status = put_in_transaction(store, observation, result, err);
    goto out;
  }
  if (ft_store_begin(store, err) == 0)
    status = ft_store_end(store, put_in_transaction(store, observation, result, err), err);
out:
  if (!merged)
    free(result);
  return status;
}
