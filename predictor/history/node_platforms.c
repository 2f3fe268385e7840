/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/history/node_platforms.h"
#include "predictor/history/store_private.h"

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
