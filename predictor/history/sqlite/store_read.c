/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads runs and summaries of apps from the store. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "predictor/history/sqlite/row.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/store.h"
#include "predictor/history/sqlite/store_private.h"

/* Returns a statement with the columns id, records and ft_row_columns of the runs that FILTER
 * selects; NULL on error. */
static sqlite3_stmt *select_runs(struct ft_store *store, const struct ft_store_filter *filter,
                                 struct ft_error *err)
{
  int64_t limit = filter->limit > INT64_MAX ? INT64_MAX : (int64_t)filter->limit;
  const char *order = filter->limit ? "DESC" : "ASC";
  const char *job = "";
  char tail[512];

  if (filter->job_id && filter->by_task)
    job = " AND array_job_id = ?3 AND array_job_id > 0 AND array_task_id = ?6";
  else if (filter->job_id)
    job = " AND (job_id = ?3 OR (array_job_id = ?3 AND array_job_id > 0))";
  (void)snprintf(
      tail, sizeof tail, " FROM observation WHERE 1%s%s%s%s%s ORDER BY end_time %s, id %s%s",
      filter->by_node ? "" : " AND " FT_SQL_IS_RUN, filter->app ? " AND app = ?1" : "",
      filter->by_uid ? " AND uid = ?2" : "", job, filter->since > 0 ? " AND end_time >= ?4" : "",
      order, order, filter->limit ? " LIMIT ?5" : "");
  return ft_store_prepare_columns(store, "SELECT id, records, ", tail,
                                  FT_VALUES(FT_TEXT(filter->app), FT_INT(filter->uid),
                                            FT_INT(filter->job_id), FT_REAL(filter->since),
                                            FT_INT(limit), FT_INT(filter->task_id)),
                                  err);
}

int ft_store_each(struct ft_store *store, const struct ft_store_filter *filter,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err)
{
  sqlite3_stmt *s = select_runs(store, filter, err);
  ft_observation *o = malloc(sizeof *o);
  int status = -1, step = SQLITE_DONE;

  if (!s)
    goto out;
  if (!o) {
    ft_error_set(err, "%s: out of memory", store->path);
    goto out;
  }
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    if (ft_run_nodes_read(store, s, 1, filter->by_node, o, err) < 0)
      goto out;
    if (!visit(o, data)) {
      step = SQLITE_DONE;
      break;
    }
  }
  status = ft_store_step_status(store, step, "read", err);
out:
  sqlite3_finalize(s);
  free(o);
  return status;
}

static void read_app_summary(sqlite3_stmt *s, struct ft_store_app *app)
{
  *app = (struct ft_store_app){ .uid = (uint32_t)sqlite3_column_int64(s, 1) };
  ft_store_column_text(s, 0, app->app, sizeof app->app);
  ft_store_column_text(s, 2, app->user, sizeof app->user);
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
  static const char sql[] =
      "SELECT app, uid, MAX(user), COUNT(*), SUM(outcome = 'completed'),"
      " SUM(censored), MAX(end_time) AS last, MAX(peak_bytes),"
      " MIN(CASE WHEN outcome = 'completed' THEN peak_bytes END)"
      " FROM observation WHERE " FT_SQL_IS_RUN " GROUP BY app, uid ORDER BY last DESC, app, uid";
  sqlite3_stmt *s = ft_store_prepare(store, "read", sql, NULL, err);
  struct ft_store_app app;
  int status, step;

  if (!s)
    return -1;
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    read_app_summary(s, &app);
    if (!visit(&app, data)) {
      step = SQLITE_DONE;
      break;
    }
  }
  status = ft_store_step_status(store, step, "read", err);
  sqlite3_finalize(s);
  return status;
}
