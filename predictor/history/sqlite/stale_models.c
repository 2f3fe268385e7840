/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/sqlite/store_private.h"

/* Keys of the table meta. */
#define PUBLISHED "published"
#define RULE "rule"
#define FAILURE_COST "failure_price"

/* Apps marked by one call of ft_store_mark_step, within about 2 ms; by judgement. */
enum { MARKS_AT_ONCE = 500 };

int ft_store_mark_stale_after(struct ft_store *store, uint32_t uid, const char *app, int64_t after,
                              int64_t *number, struct ft_error *err)
{
  int status;

  if (number)
    *number = 0;
  if (!*app)
    return 0;
  if (ft_store_prepare_once(
          store, &store->mark,
          "INSERT OR REPLACE INTO changed (app, uid) SELECT ?1, ?2 WHERE NOT EXISTS"
          " (SELECT 1 FROM changed WHERE app = ?1 AND uid = ?2 AND id > ?3)",
          FT_VALUES(FT_TEXT(app), FT_INT(uid), FT_INT(after)), err) < 0)
    return -1;
  status = ft_store_step_status(store, sqlite3_step(store->mark), "mark", err);
  if (status == 0 && number && sqlite3_changes(store->db))
    *number = sqlite3_last_insert_rowid(store->db);
  sqlite3_reset(store->mark);
  return status;
}

int ft_store_mark_stale(struct ft_store *store, uint32_t uid, const char *app, int64_t *number,
                        struct ft_error *err)
{
  return ft_store_mark_stale_after(store, uid, app, INT64_MAX, number, err);
}

int ft_store_next_stale(struct ft_store *store, int64_t after, struct ft_stale_model *stale,
                        struct ft_error *err)
{
  sqlite3_stmt *s;
  int status;

  if (ft_store_prepare_once(store, &store->next_stale,
                            "SELECT id, app, uid FROM changed WHERE id > ?1 ORDER BY id LIMIT 1",
                            FT_VALUES(FT_INT(after)), err) < 0)
    return -1;
  s = store->next_stale;
  status = ft_store_step_status(store, sqlite3_step(s), "read", err);
  if (status == 1) {
    stale->number = sqlite3_column_int64(s, 0);
    ft_store_column_text(s, 1, stale->app, sizeof stale->app);
    stale->uid = (uint32_t)sqlite3_column_int64(s, 2);
  }
  sqlite3_reset(s);
  return status;
}

/* Sets PASS to continue after the mark NUMBER. Returns 0; -1 on error and fills ERR. */
static int note_last_mark(struct ft_store *store, struct ft_mark_pass *pass, int64_t number,
                          struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read", "SELECT app, uid FROM changed WHERE id = ?1",
                                  FT_VALUES(FT_INT(number)), &s, err);

  if (status > 0) {
    ft_store_column_text(s, 0, pass->last_app, sizeof pass->last_app);
    pass->last_uid = (uint32_t)sqlite3_column_int64(s, 1);
    pass->last = number;
  }
  sqlite3_finalize(s);
  return status > 0 ? 0 : -1;
}

int ft_store_mark_step(struct ft_store *store, struct ft_mark_pass *pass, struct ft_error *err)
{
  int marked;

  if (ft_store_run(store, "mark",
                   "INSERT OR REPLACE INTO changed (app, uid) SELECT app, uid FROM app"
                   " WHERE (uid, app) > (?1, ?2) AND (?3 = '' OR app = ?3)"
                   " AND (?4 < 0 OR uid = ?4) ORDER BY uid, app LIMIT ?5",
                   FT_VALUES(FT_INT(pass->last ? (int64_t)pass->last_uid : -1),
                             FT_TEXT(pass->last_app), FT_TEXT(pass->app),
                             FT_INT(pass->by_uid ? (int64_t)pass->uid : -1), FT_INT(MARKS_AT_ONCE)),
                   err) < 0)
    return -1;
  marked = sqlite3_changes(store->db);
  if (!marked)
    return 0;
  if (note_last_mark(store, pass, sqlite3_last_insert_rowid(store->db), err) < 0)
    return -1;
  if (!pass->first)
    pass->first = pass->last - marked + 1;
  pass->count += (uint64_t)marked;
  return marked == MARKS_AT_ONCE;
}

int ft_store_marks_after(struct ft_store *store, const struct ft_mark_pass *pass, int64_t after,
                         uint64_t *count, struct ft_error *err)
{
  int64_t first = after >= pass->first ? after + 1 : pass->first;
  double number = 0;

  if (pass->last && ft_store_query_number(
                        store, "read", "SELECT count(*) FROM changed WHERE id BETWEEN ?1 AND ?2",
                        FT_VALUES(FT_INT(first), FT_INT(pass->last)), &number, err) < 0)
    return -1;
  *count = (uint64_t)number;
  return 0;
}

int ft_store_mark_extend(struct ft_store *store, struct ft_mark_pass *pass, struct ft_error *err)
{
  double last;

  if (ft_store_query_number(store, "read", "SELECT max(id) FROM changed", NULL, &last, err) < 0)
    return -1;
  if ((int64_t)last > pass->last)
    pass->last = (int64_t)last;
  return 0;
}

/* Reads the value of KEY in the table meta into TEXT, empty without one. Returns 0; -1 on error and
 * fills ERR. */
static int read_meta(struct ft_store *store, const char *key, char *text, size_t size,
                     struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read", "SELECT value FROM meta WHERE key = ?1",
                                  FT_VALUES(FT_TEXT(key)), &s, err);

  text[0] = '\0';
  if (status > 0)
    ft_store_column_text(s, 0, text, size);
  sqlite3_finalize(s);
  return status < 0 ? -1 : 0;
}

/* Sets KEY in the table meta to TEXT. Returns 0; -1 on error and fills ERR. */
static int write_meta(struct ft_store *store, const char *key, const char *text,
                      struct ft_error *err)
{
  return ft_store_run(store, "put", "INSERT OR REPLACE INTO meta VALUES (?1, ?2)",
                      FT_VALUES(FT_TEXT(key), FT_TEXT(text)), err);
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
  /* an invalid number counts as none: models are rebuilt once more */
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

/* Sets KEY in the table meta to TEXT and marks every app as stale, in one transaction. Returns 1;
 * -1 on error and fills ERR. */
static int mark_all_stale(struct ft_store *store, const char *key, const char *text,
                          struct ft_error *err)
{
  int status = 1;

  if (ft_store_begin(store, err) < 0)
    return -1;
  if (ft_store_run(store, "mark",
                   "INSERT OR REPLACE INTO changed (app, uid)"
                   " SELECT DISTINCT app, uid FROM observation WHERE app > ''",
                   NULL, err) < 0 ||
      write_meta(store, key, text, err) < 0)
    status = -1;
  return ft_store_end(store, status, err);
}

int ft_store_set_rule(struct ft_store *store, ft_rule rule, struct ft_error *err)
{
  char text[32];

  if (read_meta(store, RULE, text, sizeof text, err) < 0)
    return -1;
  if (strcmp(text, ft_rule_name(rule)) == 0)
    return 0;
  return mark_all_stale(store, RULE, ft_rule_name(rule), err);
}

int ft_store_set_failure_cost(struct ft_store *store, double cost, struct ft_error *err)
{
  char before[32], text[32];

  if (read_meta(store, FAILURE_COST, before, sizeof before, err) < 0)
    return -1;
  (void)snprintf(text, sizeof text, "%.9g", cost);
  if (strcmp(before[0] ? before : "1", text) == 0)
    return 0;
  return mark_all_stale(store, FAILURE_COST, text, err);
}
