/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prepares and runs the statements of the store, whose files all do so. */
#include "config.h"

#include <sqlite3.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/history/sqlite/row.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/sqlite/store_private.h"

int ft_store_set_error(struct ft_store *store, const char *action, struct ft_error *err)
{
  return ft_schema_error(err, store->db, store->path, action);
}

int ft_store_step_status(struct ft_store *store, int step, const char *action, struct ft_error *err)
{
  if (step == SQLITE_ROW)
    return 1;
  return step == SQLITE_DONE ? 0 : ft_store_set_error(store, action, err);
}

int ft_store_bind(struct ft_store *store, sqlite3_stmt *statement, const char *action,
                  const struct ft_sql_value *values, struct ft_error *err)
{
  int count = values ? sqlite3_bind_parameter_count(statement) : 0, code = SQLITE_OK;

  for (int i = 1; i <= count && values->type != FT_SQL_END && code == SQLITE_OK; i++, values++)
    if (values->type == FT_SQL_INTEGER)
      code = sqlite3_bind_int64(statement, i, values->integer);
    else if (values->type == FT_SQL_REAL)
      code = sqlite3_bind_double(statement, i, values->real);
    else
      code = sqlite3_bind_text(statement, i, values->text, -1, SQLITE_TRANSIENT);
  return code == SQLITE_OK ? 0 : ft_store_set_error(store, action, err);
}

sqlite3_stmt *ft_store_prepare(struct ft_store *store, const char *action, const char *sql,
                               const struct ft_sql_value *values, struct ft_error *err)
{
  sqlite3_stmt *s = NULL;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
    ft_store_set_error(store, action, err);
  else if (ft_store_bind(store, s, action, values, err) == 0)
    return s;
  sqlite3_finalize(s);
  return NULL;
}

int ft_store_prepare_once(struct ft_store *store, sqlite3_stmt **statement, const char *sql,
                          const struct ft_sql_value *values, struct ft_error *err)
{
  if (!*statement && sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
                                        NULL) != SQLITE_OK)
    return ft_store_set_error(store, "prepare", err);
  return ft_store_bind(store, *statement, "prepare", values, err);
}

sqlite3_stmt *ft_store_prepare_columns(struct ft_store *store, const char *head, const char *tail,
                                       const struct ft_sql_value *values, struct ft_error *err)
{
  sqlite3_stmt *statement = NULL;
  struct ft_buf sql;

  ft_buf_init(&sql, FT_LIMIT_SQL);
  if (ft_buf_printf(&sql, "%s", head) < 0 || ft_row_columns(&sql) < 0 ||
      ft_buf_printf(&sql, "%s", tail) < 0)
    ft_error_set(err, "%s: out of memory", store->path);
  else if (ft_store_prepare_once(store, &statement, sql.data, values, err) < 0) {
    sqlite3_finalize(statement);
    statement = NULL;
  }
  ft_buf_free(&sql);
  return statement;
}

void ft_store_column_text(sqlite3_stmt *statement, int column, char *out, size_t size)
{
  const char *text = (const char *)sqlite3_column_text(statement, column);

  (void)ft_string_copy(text ? text : "", out, size);
}

int ft_store_first_row(struct ft_store *store, const char *action, const char *sql,
                       const struct ft_sql_value *values, sqlite3_stmt **statement,
                       struct ft_error *err)
{
  int status = -1;

  *statement = ft_store_prepare(store, action, sql, values, err);
  if (*statement)
    status = ft_store_step_status(store, sqlite3_step(*statement), action, err);
  if (status <= 0) {
    sqlite3_finalize(*statement);
    *statement = NULL;
  }
  return status;
}

int ft_store_run(struct ft_store *store, const char *action, const char *sql,
                 const struct ft_sql_value *values, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, action, sql, values, &s, err);

  sqlite3_finalize(s);
  return status;
}

int ft_store_query_number(struct ft_store *store, const char *action, const char *sql,
                          const struct ft_sql_value *values, double *out, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, action, sql, values, &s, err);

  *out = status > 0 ? sqlite3_column_double(s, 0) : 0;
  sqlite3_finalize(s);
  return status < 0 ? -1 : 0;
}

int ft_store_read_row(const struct ft_store *store, sqlite3_stmt *s, int first, ft_observation *o,
                      struct ft_error *err)
{
  struct ft_error why;

  if (ft_row_read(s, first, o, &why) < 0)
    return ft_error_set(err, "%s: row %lld: %s", store->path, (long long)sqlite3_column_int64(s, 0),
                        why.text);
  return 0;
}
