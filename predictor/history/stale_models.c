/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/history/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store_private.h"

/* keys of the table meta */
#define PUBLISHED "published"
#define RULE "rule"
#define PRICE "failure_price"

static int prepare_once(struct ft_store *store, sqlite3_stmt **statement, const char *sql,
                        struct ft_error *err)
{
  if (*statement || sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement,
                                       NULL) == SQLITE_OK)
    return 0;
  return ft_store_set_error(store, "prepare", err);
}

int ft_store_mark_stale_after(struct ft_store *store, uint32_t uid, const char *app, int64_t after,
                              int64_t *number, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = 0;

  if (number)
    *number = 0;
  if (!*app)
    return 0;
  if (prepare_once(store, &store->mark,
                   "INSERT OR REPLACE INTO changed (app, uid) SELECT ?1, ?2 WHERE NOT EXISTS"
                   " (SELECT 1 FROM changed WHERE app = ?1 AND uid = ?2 AND id > ?3)",
                   err) < 0)
    return -1;
  s = store->mark;
  sqlite3_bind_text(s, 1, app, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 2, uid);
  sqlite3_bind_int64(s, 3, after);
  if (sqlite3_step(s) != SQLITE_DONE)
    status = ft_store_set_error(store, "mark", err);
  else if (number && sqlite3_changes(store->db))
    *number = sqlite3_last_insert_rowid(store->db);
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

int ft_store_mark_stale(struct ft_store *store, uint32_t uid, const char *app, int64_t *number,
                        struct ft_error *err)
{
  return ft_store_mark_stale_after(store, uid, app, INT64_MAX, number, err);
}

int ft_store_next_stale(struct ft_store *store, int64_t after, struct ft_stale_model *change,
                        struct ft_error *err)
{
  sqlite3_stmt *s;
  const char *app;
  int status, step;

  if (prepare_once(store, &store->next,
                   "SELECT id, app, uid FROM changed WHERE id > ?1 ORDER BY id LIMIT 1", err) < 0)
    return -1;
  s = store->next;
  sqlite3_bind_int64(s, 1, after);
  step = sqlite3_step(s);
  status = step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ft_store_set_error(store, "read", err);
  if (status == 1) {
    change->number = sqlite3_column_int64(s, 0);
    app = (const char *)sqlite3_column_text(s, 1);
    /* one that no app can be called has no runs, and so no model */
    (void)ft_string_copy(app ? app : "", change->app, sizeof change->app);
    change->uid = (uint32_t)sqlite3_column_int64(s, 2);
  }
  sqlite3_reset(s);
  return status;
}

/* TEXT becomes what meta says of KEY, empty for nothing. */
static int read_meta(struct ft_store *store, const char *key, char *text, size_t size,
                     struct ft_error *err)
{
  sqlite3_stmt *s = NULL;
  const char *value;
  int status = 0, step = SQLITE_ERROR;

  text[0] = '\0';
  if (sqlite3_prepare_v2(store->db, "SELECT value FROM meta WHERE key = ?1", -1, &s, NULL) ==
      SQLITE_OK) {
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    step = sqlite3_step(s);
  }
  if (step == SQLITE_ROW && (value = (const char *)sqlite3_column_text(s, 0)))
    (void)ft_string_copy(value, text, size);
  else if (step != SQLITE_DONE && step != SQLITE_ROW)
    status = ft_store_set_error(store, "read", err);
  sqlite3_finalize(s);
  return status;
}

static int write_meta(struct ft_store *store, const char *key, const char *text,
                      struct ft_error *err)
{
  sqlite3_stmt *s = NULL;
  int status = 0, step = SQLITE_ERROR;

  if (sqlite3_prepare_v2(store->db, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", -1, &s, NULL) ==
      SQLITE_OK) {
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, text, -1, SQLITE_STATIC);
    step = sqlite3_step(s);
  }
  if (step != SQLITE_DONE)
    status = ft_store_set_error(store, "put", err);
  sqlite3_finalize(s);
  return status;
}

int ft_store_published(struct ft_store *store, int64_t *number, struct ft_error *err)
{
  struct ft_text cursor;
  uint64_t value;
  char text[32];

  *number = 0;
  if (read_meta(store, PUBLISHED, text, sizeof text, err) < 0)
    return -1;
  cursor = ft_text_from(text);
  /* what is no number is as good as none: models are made once more */
  if (ft_text_u64(&cursor, INT64_MAX, &value) && ft_text_left(&cursor) == 0)
    *number = (int64_t)value;
  return 0;
}

int ft_store_set_published(struct ft_store *store, int64_t number, struct ft_error *err)
{
  char text[32];

  (void)snprintf(text, sizeof text, "%lld", (long long)number);
  return write_meta(store, PUBLISHED, text, err);
}

/* Keep TEXT under NAME and mark every app, in one transaction. Returns 1 or -1 with ERR. */
static int mark_all(struct ft_store *store, const char *name, const char *text,
                    struct ft_error *err)
{
  if (ft_store_begin(store, err) < 0)
    return -1;
  if (ft_schema_run(store->db, store->path,
                    "INSERT OR REPLACE INTO changed (app, uid)"
                    " SELECT DISTINCT app, uid FROM observation WHERE app > ''",
                    "mark", err) < 0 ||
      write_meta(store, name, text, err) < 0) {
    ft_store_rollback(store);
    return -1;
  }
  return ft_store_commit(store, err) < 0 ? -1 : 1;
}

int ft_store_set_rule(struct ft_store *store, ft_rule rule, struct ft_error *err)
{
  char text[32];

  if (read_meta(store, RULE, text, sizeof text, err) < 0)
    return -1;
  if (strcmp(text, ft_rule_name(rule)) == 0)
    return 0;
  return mark_all(store, RULE, ft_rule_name(rule), err);
}

int ft_store_set_failure_cost(struct ft_store *store, double price, struct ft_error *err)
{
  char before[32], text[32];

  if (read_meta(store, PRICE, before, sizeof before, err) < 0)
    return -1;
  (void)snprintf(text, sizeof text, "%.9g", price);
  if (strcmp(before[0] ? before : "1", text) == 0)
    return 0;
  return mark_all(store, PRICE, text, err);
}
