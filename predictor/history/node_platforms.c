/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/history/node_platforms.h"
#include "predictor/history/store_private.h"

int ft_store_each_node(struct ft_store *store, int64_t *after, unsigned limit,
                       void (*see)(const char *node, const char *platform, double time, void *data),
                       void *data, struct ft_error *err)
{
  static const char sql[] = "SELECT node, platform, end_time, id FROM observation"
                            " WHERE id > ?1 ORDER BY id DESC LIMIT ?2";
  sqlite3_stmt *statement = NULL;
  int64_t last = *after;
  int step = SQLITE_DONE, status = 0;

  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "prepare", err);
  sqlite3_bind_int64(statement, 1, *after);
  sqlite3_bind_int64(statement, 2, limit);
  while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *node = (const char *)sqlite3_column_text(statement, 0);
    const char *platform = (const char *)sqlite3_column_text(statement, 1);
    int64_t id = sqlite3_column_int64(statement, 3);

    if (id > last)
      last = id;
    if (node && platform && *node && *platform)
      see(node, platform, sqlite3_column_double(statement, 2), data);
  }
  if (step != SQLITE_DONE)
    status = ft_store_set_error(store, "read", err);
  else
    *after = last;
  sqlite3_finalize(statement);
  return status;
}
