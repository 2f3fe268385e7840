/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SQL on the file of a store, beside the store's own connection. */
#ifndef FT_TESTS_UNIT_SQL_H
#define FT_TESTS_UNIT_SQL_H

#include "tests/unit/unit.h"

#include <sqlite3.h>

/* Executes the statements TEXT in the file PATH. */
static inline void sql_run(const char *path, const char *text)
{
  char *why = NULL;
  sqlite3 *db;

  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK)
    fail_msg("%s: %s", text, why);
  sqlite3_close(db);
}

/* Returns the first number of the query TEXT, which has a row, in the file PATH. */
static inline int64_t sql_number(const char *path, const char *text)
{
  sqlite3_stmt *s;
  int64_t value;
  sqlite3 *db;

  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_prepare_v2(db, text, -1, &s, NULL) != SQLITE_OK)
    fail_msg("%s: %s", text, sqlite3_errmsg(db));
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  value = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return value;
}

#endif
