/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/history/node_platforms.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/stale_models.h"

int ft_store_each_node(struct ft_store *store, int64_t *after, unsigned limit,
                       void (*visit)(const char *node, const char *platform, double time,
                                     void *data),
                       void *data, struct ft_error *err)
{
  static const char sql[] = "SELECT node, platform, end_time, id FROM observation"
                            " WHERE id > ?1 ORDER BY id DESC LIMIT ?2";
  sqlite3_stmt *statement =
      ft_store_prepare(store, "prepare", sql, FT_VALUES(FT_INT(*after), FT_INT(limit)), err);
  int64_t last = *after;
  int step, status;

  if (!statement)
    return -1;
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *node = (const char *)sqlite3_column_text(statement, 0);
    const char *platform = (const char *)sqlite3_column_text(statement, 1);
    int64_t id = sqlite3_column_int64(statement, 3);

    if (id > last)
      last = id;
    if (node && platform && *node && *platform)
      visit(node, platform, sqlite3_column_double(statement, 2), data);
  }
  status = ft_store_step_status(store, step, "read", err);
  if (status == 0)
    *after = last;
  sqlite3_finalize(statement);
  return status;
}

int ft_store_each_app_of_platforms(struct ft_store *store, unsigned limit,
                                   int (*visit)(const char *app, uint32_t uid, void *data,
                                                struct ft_error *err),
                                   void *data, struct ft_error *err)
{
  static const char sql[] =
      "SELECT app, uid FROM observation"
      " WHERE app <> '' AND platform <> '' AND runtime_seconds > 0"
      " AND outcome = ?1 GROUP BY app, uid HAVING min(platform) < max(platform)"
      " ORDER BY max(end_time) DESC LIMIT ?2";
  sqlite3_stmt *statement = ft_store_prepare(
      store, "prepare", sql,
      FT_VALUES(FT_TEXT(ft_outcome_name(FT_OUTCOME_COMPLETED)), FT_INT(limit)), err);
  int step = SQLITE_DONE, status = 0;
  struct ft_store_app app;

  if (!statement)
    return -1;
  while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
    ft_store_column_text(statement, 0, app.app, sizeof app.app);
    status = visit(app.app, (uint32_t)sqlite3_column_int64(statement, 1), data, err);
  }
  if (status == 0)
    status = ft_store_step_status(store, step, "read", err);
  sqlite3_finalize(statement);
  return status;
}

/* SQL: the runs of node ?1 whose platform is their fingerprint and not ?2. */
#define UNNAMED_RUNS                                                                               \
  " FROM observation WHERE node = ?1 AND " FT_SCHEMA_UNNAMED " AND platform <> ?2"
/* SQL: those that one transaction names. */
#define NEXT_UNNAMED UNNAMED_RUNS " ORDER BY id LIMIT ?3"

/* Inside a transaction: names the next runs of VALUES: node, platform, limit. Returns 0; -1 on
 * error and fills ERR. */
static int name_next_runs(struct ft_store *store, const struct ft_sql_value *values,
                          struct ft_error *err)
{
  static const char apps[] = "SELECT DISTINCT uid, app FROM (SELECT uid, app" NEXT_UNNAMED ")";
  static const char name[] = "UPDATE observation SET platform = ?2 WHERE id IN"
                             " (SELECT id" NEXT_UNNAMED ")";
  sqlite3_stmt *statement = ft_store_prepare(store, "prepare", apps, values, err);
  int step = SQLITE_DONE, status = statement ? 0 : -1;
  struct ft_store_app app;

  while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
    ft_store_column_text(statement, 1, app.app, sizeof app.app);
    status = ft_store_mark_stale(store, (uint32_t)sqlite3_column_int64(statement, 0), app.app, NULL,
                                 err);
  }
  if (status == 0)
    status = ft_store_step_status(store, step, "read", err);
  sqlite3_finalize(statement);
  return status < 0 ? -1 : ft_store_run(store, "put", name, values, err);
}

int ft_store_name_platform(struct ft_store *store, const char *node, const char *platform,
                           struct ft_error *err)
{
  const struct ft_sql_value *values =
      FT_VALUES(FT_TEXT(node), FT_TEXT(platform), FT_INT(FT_STORE_ENOUGH_CHANGES));
  int step, status;

  /* usually there is no such run; then no write lock is needed */
  if (ft_store_prepare_once(store, &store->unnamed, "SELECT 1" UNNAMED_RUNS " LIMIT 1", values,
                            err) < 0)
    return -1;
  step = sqlite3_step(store->unnamed);
  sqlite3_reset(store->unnamed);
  status = ft_store_step_status(store, step, "read", err);
  if (status <= 0 || ft_store_begin(store, err) < 0)
    return status > 0 ? -1 : status;
  return ft_store_end(store, name_next_runs(store, values, err), err) < 0 ? -1 : 1;
}
