/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <sqlite3.h>
#include <stdlib.h>

#include "predictor/history/pages.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/record/state_files.h"

enum { APP_SIZE = sizeof((struct ft_store_app *)NULL)->app };

/* Reads the current row of S, or its run, into O, calls VISIT and advances CURSOR. Returns 1; 0 if
 * VISIT stops; -1 on error and fills ERR. */
static int visit_row(struct ft_store *store, sqlite3_stmt *s, bool by_node,
                     struct ft_store_cursor *cursor, ft_observation *o,
                     bool (*visit)(const ft_observation *, void *), void *data,
                     struct ft_error *err)
{
  if (ft_run_nodes_read(store, s, 2, by_node, o, err) < 0)
    return -1;
  if (!visit(o, data))
    return 0;
  cursor->time = sqlite3_column_double(s, 1);
  cursor->row = sqlite3_column_int64(s, 0);
  return 1;
}

int ft_store_page(struct ft_store *store, uint32_t uid, const char *app, double since, bool by_node,
                  struct ft_store_cursor *cursor, unsigned limit,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err)
{
  sqlite3_stmt *s = ft_store_prepare_columns(
      store, "SELECT id, end_time, records, ",
      " FROM observation WHERE app = ?1 AND uid = ?2 AND end_time >= ?3"
      " AND (end_time, id) < (?4, ?5) AND (?7 OR " FT_SQL_IS_RUN
      ") ORDER BY end_time DESC, id DESC LIMIT ?6",
      FT_VALUES(FT_TEXT(app), FT_INT(uid), FT_REAL(since), FT_REAL(cursor->time),
                FT_INT(cursor->row), FT_INT(limit), FT_INT(by_node)),
      err);
  ft_observation *o = malloc(sizeof *o);
  int visited = 0, status = 1, step = SQLITE_DONE;

  if (!s || !o) {
    status = s ? ft_error_set(err, "%s: out of memory", store->path) : -1;
    goto out;
  }
  while (status > 0 && (step = sqlite3_step(s)) == SQLITE_ROW) {
    status = visit_row(store, s, by_node, cursor, o, visit, data, err);
    visited += status > 0;
  }
  if (status > 0)
    status = ft_store_step_status(store, step, "read", err);
out:
  sqlite3_finalize(s);
  free(o);
  return status < 0 ? -1 : visited;
}

/* Returns the cached statement that selects the next LIMIT runs after CURSOR; NULL on error and
 * fills ERR. */
static sqlite3_stmt *select_learnt_runs(struct ft_store *store, uint32_t uid, const char *app,
                                        const struct ft_store_cursor *cursor, unsigned limit,
                                        struct ft_error *err)
{
  bool pooled = uid == FT_STATE_POOLED;
  const struct ft_sql_value *values = FT_VALUES(FT_TEXT(app), FT_INT(uid), FT_REAL(cursor->time),
                                                FT_INT(cursor->row), FT_INT(limit));
  sqlite3_stmt **cached = pooled ? &store->pooled_page : &store->page;

  if (*cached)
    return ft_store_bind(store, *cached, "read", values, err) < 0 ? NULL : *cached;
#define NEXT_RUNS                                                                                  \
  " AND (end_time, id) > (?3, ?4) AND " FT_SQL_IS_LEARNT " ORDER BY end_time, id LIMIT ?5"
  return *cached = ft_store_prepare_columns(
             store, "SELECT id, end_time, records, ",
             pooled ? " FROM observation WHERE app = ?1 AND ?2 = ?2" NEXT_RUNS
                    : " FROM observation WHERE app = ?1 AND uid = ?2" NEXT_RUNS,
             values, err);
#undef NEXT_RUNS
}

int ft_store_learn_page(struct ft_store *store, uint32_t uid, const char *app,
                        struct ft_store_cursor *cursor, unsigned limit,
                        int (*visit)(const ft_observation *observation, void *data,
                                     struct ft_error *err),
                        void *data, struct ft_error *err)
{
  sqlite3_stmt *s = select_learnt_runs(store, uid, app, cursor, limit, err);
  ft_observation *o = malloc(sizeof *o);
  int visited = 0, status = 0, step = SQLITE_DONE;

  if (!s || !o) {
    status = s ? ft_error_set(err, "%s: out of memory", store->path) : -1;
    goto out;
  }
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    status = ft_run_nodes_read(store, s, 2, false, o, err) < 0 ? -1 : visit(o, data, err);
    if (status < 0)
      goto out;
    cursor->time = sqlite3_column_double(s, 1);
    cursor->row = sqlite3_column_int64(s, 0);
    visited++;
  }
  status = ft_store_step_status(store, step, "read", err);
out:
  sqlite3_reset(s);
  free(o);
  return status < 0 ? -1 : visited;
}

/* Runs SQL with the parameters *UID, APP and JOB_ID, and replaces *UID and APP by its row. Returns
 * 1; 0 without a row; -1 on error and fills ERR. */
static int query_user_app(struct ft_store *store, const char *sql, uint32_t *uid, char *app,
                          uint32_t job_id, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read", sql,
                                  FT_VALUES(FT_INT(*uid), FT_TEXT(app), FT_INT(job_id)), &s, err);

  if (status > 0) {
    *uid = (uint32_t)sqlite3_column_int64(s, 0);
    ft_store_column_text(s, 1, app, APP_SIZE);
  }
  sqlite3_finalize(s);
  return status;
}

int ft_store_next_app(struct ft_store *store, bool one_user, uint32_t *uid, char app[128],
                      struct ft_error *err)
{
  static const char any[] = "SELECT uid, app FROM app WHERE (uid, app) > (?1, ?2)"
                            " ORDER BY uid, app LIMIT 1";
  static const char own[] = "SELECT uid, app FROM app WHERE uid = ?1 AND app > ?2"
                            " ORDER BY app LIMIT 1";

  return query_user_app(store, one_user ? own : any, uid, app, 0, err);
}

int ft_store_find_job(struct ft_store *store, uint32_t job_id, bool one_user, uint32_t *uid,
                      char app[128], struct ft_error *err)
{
  static const char any[] = "SELECT uid, ifnull(app, '') FROM observation WHERE (job_id = ?3"
                            " OR (array_job_id = ?3 AND array_job_id > 0)) LIMIT 1";
  static const char own[] = "SELECT uid, ifnull(app, '') FROM observation WHERE (job_id = ?3"
                            " OR (array_job_id = ?3 AND array_job_id > 0)) AND uid = ?1 LIMIT 1";

  return query_user_app(store, one_user ? own : any, uid, app, job_id, err);
}
