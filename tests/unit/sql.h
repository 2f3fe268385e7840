/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SQL on the file of a store, beside the store's own connection. */
#ifndef FT_TESTS_UNIT_SQL_H
#define FT_TESTS_UNIT_SQL_H

#include "tests/unit/unit.h"

#include <sqlite3.h>

/* Statements that turn a store of the current schema into an older one. */
#define SQL_DROP_COLUMN(name) "ALTER TABLE observation DROP COLUMN " name ";"
#define SQL_TO_SCHEMA_13                                                                           \
  "DROP TABLE waiting;" SQL_DROP_COLUMN("decision_time_mode")                                      \
      SQL_DROP_COLUMN("decision_time_action") SQL_DROP_COLUMN("decision_time_seconds")             \
          SQL_DROP_COLUMN("decision_p05_seconds") SQL_DROP_COLUMN("decision_p50_seconds")          \
              SQL_DROP_COLUMN("decision_p95_seconds") SQL_DROP_COLUMN("decision_p_timeout")        \
                  SQL_DROP_COLUMN("node_energy_joules")                                            \
                      SQL_DROP_COLUMN("code_hash") "PRAGMA user_version = 13;"
#define SQL_TO_SCHEMA_11                                                                           \
  SQL_TO_SCHEMA_13 "DROP INDEX observation_unnamed;" SQL_DROP_COLUMN("package_energy_joules")      \
      SQL_DROP_COLUMN("package_energy_share") "PRAGMA user_version = 11;"
#define SQL_TO_SCHEMA_10                                                                           \
  SQL_TO_SCHEMA_11                                                                                 \
  "DROP TRIGGER observation_nodes; DROP INDEX observation_waiting;" SQL_DROP_COLUMN("records")     \
      SQL_DROP_COLUMN("allocated_nodes") "PRAGMA user_version = 10;"
#define SQL_TO_SCHEMA_6                                                                            \
  SQL_TO_SCHEMA_10 SQL_DROP_COLUMN("command_ran")                                                  \
      SQL_DROP_COLUMN("decision_overrode") "DROP TABLE rejection; DROP INDEX "                     \
                                           "observation_array;" SQL_DROP_COLUMN(                   \
                                               "decision_rule") "DROP TABLE forgotten; DROP "      \
                                                                "TABLE former; DELETE FROM meta "  \
                                                                "WHERE key = 'scrub';"             \
                                                                "PRAGMA user_version = 6;"
#define SQL_TO_SCHEMA_5                                                                            \
  SQL_TO_SCHEMA_6                                                                                  \
  "DROP TRIGGER observation_app_last; DROP INDEX observation_age;"                                 \
  "DROP TABLE app; DROP TABLE gone;" SQL_DROP_COLUMN("put_time") "PRAGMA user_version = 5;"
#define SQL_TO_SCHEMA_1                                                                            \
  SQL_TO_SCHEMA_5 SQL_DROP_COLUMN("script_hash") SQL_DROP_COLUMN("directory_hash")                 \
      SQL_DROP_COLUMN("system_seconds") SQL_DROP_COLUMN("gpu_transfer_bytes")                      \
          SQL_DROP_COLUMN("killed_at_bytes") "DROP TABLE changed; PRAGMA user_version = 1;"

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
