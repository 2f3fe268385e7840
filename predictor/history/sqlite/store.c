/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"

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
  store->trim_cursor.uid = -1;
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
  sqlite3_finalize(store->select_run);
  sqlite3_finalize(store->completed);
  sqlite3_finalize(store->put);
  sqlite3_finalize(store->page);
  sqlite3_finalize(store->pooled_page);
  sqlite3_finalize(store->mark);
  sqlite3_finalize(store->next_stale);
  sqlite3_finalize(store->unnamed);
  sqlite3_finalize(store->tombstones);
  sqlite3_finalize(store->waits);
  sqlite3_finalize(store->group);
  sqlite3_finalize(store->mark_group);
  sqlite3_finalize(store->mark_part);
  sqlite3_finalize(store->give_key);
  sqlite3_finalize(store->nodes);
  sqlite3_finalize(store->wait);
  sqlite3_finalize(store->end_wait);
  sqlite3_finalize(store->next_waiting);
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

int ft_store_check_transaction(struct ft_store *store, struct ft_error *err)
{
  if (!store->in_transaction)
    return ft_error_set(err, "%s: commit without begin", store->path);
  if (!sqlite3_get_autocommit(store->db))
    return 0;
  return ft_error_set(err, "%s: put: the transaction was rolled back after an earlier failure",
                      store->path);
}

int ft_store_begin(struct ft_store *store, struct ft_error *err)
{
  if (store->in_transaction)
    return ft_error_set(err, "%s: begin inside begin", store->path);
  if (ft_schema_run(store->db, store->path, "BEGIN IMMEDIATE", "put", err) < 0)
    return -1;
  store->in_transaction = true;
  store->changes_before = sqlite3_total_changes(store->db);
  return 0;
}

int ft_store_changes(const struct ft_store *store)
{
  return sqlite3_total_changes(store->db) - store->changes_before;
}

void ft_store_rollback(struct ft_store *store)
{
  store->in_transaction = false;
  (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
}

int ft_store_commit(struct ft_store *store, struct ft_error *err)
{
  int status = ft_store_check_transaction(store, err);

  store->in_transaction = false;
  if (status == 0 && ft_schema_run(store->db, store->path, "COMMIT", "put", err) == 0)
    return 0;
  (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
  return -1;
}

int ft_store_end(struct ft_store *store, int status, struct ft_error *err)
{
  if (status >= 0)
    return ft_store_commit(store, err) < 0 ? -1 : status;
  ft_store_rollback(store);
  return status;
}

int ft_store_rename_app(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err)
{
  static const char select[] = "SELECT 1 FROM observation WHERE app = ?2 AND uid = ?1 AND ?3 > ''"
                               " AND ?3 <> ?2 LIMIT 1";
  /* no agent has seen the command of TO in these runs (ft_pool_accepts) */
  static const char rename[] = "UPDATE observation SET app = ?3, command_ran = 0 WHERE id IN"
                               " (SELECT id FROM observation WHERE app = ?2 AND uid = ?1 LIMIT ?4)";
  /* the trigger of the schema acts on insertions only */
  static const char last[] = "INSERT OR REPLACE INTO app SELECT uid, ?3, max(last, ifnull("
                             "(SELECT last FROM app WHERE uid = ?1 AND app = ?3), 0))"
                             " FROM app WHERE uid = ?1 AND app = ?2";
  bool inside = store->in_transaction;
  int room = FT_STORE_ENOUGH_CHANGES - (inside ? ft_store_changes(store) : 0);
  const struct ft_sql_value *values =
      FT_VALUES(FT_INT(uid), FT_TEXT(from), FT_TEXT(to), FT_INT(room > 0 ? room : 1));
  int status = *from ? ft_store_run(store, "read", select, values, err) : 0, allowed;

  /* usually there is nothing to rename; then no write lock is needed */
  if (status <= 0)
    return status;
  allowed = ft_store_may_rename(store, uid, from, to, err);
  if (allowed <= 0)
    return allowed;
  if (!inside && ft_store_begin(store, err) < 0)
    return -1;
  if (ft_store_run(store, "rename", rename, values, err) < 0 ||
      ft_store_run(store, "rename", last, values, err) < 0 ||
      ft_store_note_removal(store, uid, from, err) < 0 ||
      ft_store_record_rename(store, uid, from, to, err) < 0 ||
      ft_store_mark_stale(store, uid, to, NULL, err) < 0)
    status = -1;
  return inside ? status : ft_store_end(store, status, err);
}
