/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"
#include "predictor/history/waiting.h"

#define KEY_OF(run) FT_INT((run)->job_id), FT_TEXT((run)->node), FT_REAL((run)->start_time)

/* Inserts RUN, which no tombstone covers. Returns 0; -1 and ERR. */
static int insert_waiting(struct ft_store *store, const ft_observation *run, struct ft_error *err)
{
  static const char sql[] = "INSERT INTO waiting (job_id, node, start_time, uid, since, run)"
                            " VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (job_id, node,"
                            " start_time) DO UPDATE SET run = excluded.run";
  const struct ft_sql_value *values =
      FT_VALUES(KEY_OF(run), FT_INT(run->uid), FT_REAL(ft_io_now()));
  struct ft_buf record;
  int status = -1;

  ft_buf_init(&record, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_OBSERVATION, run, &record, err) == 0 &&
      ft_store_prepare_once(store, &store->wait, sql, values, err) == 0) {
    (void)sqlite3_bind_blob(store->wait, 6, record.data, (int)record.length, SQLITE_STATIC);
    status = ft_store_step_status(store, sqlite3_step(store->wait), "put", err);
    sqlite3_reset(store->wait);
    sqlite3_clear_bindings(store->wait);
  }
  ft_buf_free(&record);
  return status;
}

int ft_store_wait(struct ft_store *store, const ft_observation *run, struct ft_error *err)
{
  ft_observation *rest = malloc(sizeof *rest);
  int covered, status = -1;

  if (!rest)
    return ft_error_set(err, "%s: out of memory", store->path);
  *rest = *run;
  covered = ft_store_apply_tombstones(store, rest, err);
  if (covered >= 0)
    status = covered == 1 ? 0 : insert_waiting(store, rest, err);
  free(rest);
  return status;
}

int ft_store_end_wait(struct ft_store *store, const ft_observation *run, struct ft_error *err)
{
  int step;

  if (ft_store_prepare_once(store, &store->end_wait,
                            "DELETE FROM waiting WHERE job_id = ?1 AND node = ?2"
                            " AND start_time = ?3",
                            FT_VALUES(KEY_OF(run)), err) < 0)
    return -1;
  step = sqlite3_step(store->end_wait);
  sqlite3_reset(store->end_wait);
  return ft_store_step_status(store, step, "put", err);
}

/* Decodes the run in COLUMN of S's row. An unreadable one has no job. */
static void read_waiting(sqlite3_stmt *s, int column, ft_observation *out)
{
  const void *record = sqlite3_column_blob(s, column);

  if (ft_record_decode(FT_RECORD_OBSERVATION, record, (size_t)sqlite3_column_bytes(s, column), out,
                       NULL) < 0)
    *out = (ft_observation){ .schema = FT_SCHEMA };
}

int ft_store_next_waiting(struct ft_store *store, ft_observation *run, int64_t last,
                          struct ft_error *err)
{
  sqlite3_stmt *s;
  int status;

  do {
    if (ft_store_prepare_once(
            store, &store->next_waiting,
            "SELECT run, node, start_time FROM waiting WHERE job_id = ?1 AND"
            " (node, start_time) > (?2, ?3) AND id <= ?4 ORDER BY node, start_time LIMIT 1",
            FT_VALUES(KEY_OF(run), FT_INT(last)), err) < 0)
      return -1;
    s = store->next_waiting;
    status = ft_store_step_status(store, sqlite3_step(s), "read", err);
    if (status > 0) {
      uint32_t job_id = run->job_id;

      read_waiting(s, 0, run);
      run->job_id = job_id;
      ft_store_column_text(s, 1, run->node, sizeof run->node);
      run->start_time = sqlite3_column_double(s, 2);
    }
    sqlite3_reset(s);
  } while (status > 0 && !run->schema);
  return status;
}

int ft_store_each_waiting_job(struct ft_store *store, uint32_t job_id,
                              bool (*visit)(uint32_t job_id, double since, int64_t run, void *data),
                              void *data, struct ft_error *err)
{
  sqlite3_stmt *s =
      ft_store_prepare(store, "read",
                       "SELECT job_id, max(since), max(id) FROM waiting WHERE job_id > ?1"
                       " GROUP BY job_id ORDER BY job_id",
                       FT_VALUES(FT_INT(job_id)), err);
  int step = SQLITE_DONE;

  if (!s)
    return -1;
  while ((step = sqlite3_step(s)) == SQLITE_ROW)
    if (!visit((uint32_t)sqlite3_column_int64(s, 0), sqlite3_column_double(s, 1),
               sqlite3_column_int64(s, 2), data))
      break;
  step = ft_store_step_status(store, step, "read", err);
  sqlite3_finalize(s);
  return step < 0 ? -1 : 0;
}

int ft_store_forget_waiting(struct ft_store *store, int64_t uid, struct ft_error *err)
{
  ft_observation *run = malloc(sizeof *run), *rest = malloc(sizeof *rest);
  sqlite3_stmt *s =
      ft_store_prepare(store, "forget", "SELECT id, run FROM waiting WHERE ?1 < 0 OR uid = ?1",
                       FT_VALUES(FT_INT(uid)), err);
  int step = SQLITE_DONE, status = run && rest && s ? 0 : -1;

  while (status == 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
    read_waiting(s, 1, run);
    *rest = *run;
    status = ft_store_apply_tombstones(store, rest, err);
    if (status == 1)
      status = ft_store_run(store, "forget", "DELETE FROM waiting WHERE id = ?1",
                            FT_VALUES(FT_INT(sqlite3_column_int64(s, 0))), err);
    else if (status == 2)
      status = insert_waiting(store, rest, err);
    else
      continue;
    if (status == 0)
      status = ft_store_run(store, "forget",
                            "INSERT OR REPLACE INTO meta VALUES ('" FT_SCHEMA_SCRUB "', '1')", NULL,
                            err);
  }
  if (status == 0)
    status = ft_store_step_status(store, step, "read", err);
  sqlite3_finalize(s);
  free(run);
  free(rest);
  return status;
}

int ft_store_expire_waiting(struct ft_store *store, double before, struct ft_error *err)
{
  return ft_store_run(store, "expire", "DELETE FROM waiting WHERE since < ?1",
                      FT_VALUES(FT_REAL(before)), err);
}
