/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/history/fields.h"
#include "predictor/history/sqlite/schema.h"

/* PRAGMA application_id of a store, "ftel"; file(1) shows it. */
enum { APPLICATION_ID = 0x6674656c };
/* Rows that one step of an upgrade adapts. */
#define ROWS_PER_STEP "512"
/* Default of ft_store_set_wait, ms. */
enum { BUSY_MILLISECONDS = 1000 };

/* SQL: the records of the run of the outer statement's row. */
#define NODES_OF_ROW                                                                               \
  "observation AS other WHERE " FT_SCHEMA_RUN_KEY(                                                 \
      "observation.job_id", "observation.cluster", "observation.submit_time",                      \
      "observation.restart_count", "observation.het_offset", "observation.array_job_id",           \
      "observation.array_task_id")

/* Keys in the table meta while an upgrade adapts rows: the last adapted row, and the last one of
 * the current step. */
#define UPGRADED_ROW "upgraded_row"
#define STEP_ROW "upgrade_step_row"
/* SQL: the value of a key of meta as a number. */
#define META_NUMBER(key) "(SELECT CAST(value AS INTEGER) FROM meta WHERE key = '" key "')"
/* SQL condition: the rows of the current step of an upgrade. */
#define ROWS_OF_STEP "id > " META_NUMBER(UPGRADED_ROW) " AND id <= " META_NUMBER(STEP_ROW)

/* SQL: groups the records of runs on several nodes (run_nodes.h). */
#define GROUP_NODES                                                                                \
  "UPDATE observation SET records = CASE id WHEN (SELECT id FROM " NODES_OF_ROW                    \
  " ORDER BY ifnull(peak_bytes, 0) DESC, node LIMIT 1) THEN (SELECT COUNT(*) FROM " NODES_OF_ROW   \
  ") ELSE 0 END WHERE " ROWS_OF_STEP " AND job_id > 0 AND EXISTS (SELECT 1 FROM " NODES_OF_ROW     \
  " AND other.node <> observation.node)"

/* SQL: fills the table app. */
#define FILL_APP                                                                                   \
  "INSERT INTO app SELECT uid, app, ifnull(MAX(end_time), 0) FROM observation WHERE app > ''"      \
  " AND " ROWS_OF_STEP " GROUP BY app, uid"                                                        \
  " ON CONFLICT (uid, app) DO UPDATE SET last = max(last, excluded.last)"

/* SQL: removes the records of a run together. */
#define NODES_TRIGGER                                                                              \
  "CREATE TRIGGER observation_nodes AFTER DELETE ON observation WHEN OLD.records IS NOT NULL"      \
  " BEGIN DELETE FROM observation WHERE " FT_SCHEMA_RUN_KEY(                                       \
      "OLD.job_id", "OLD.cluster", "OLD.submit_time", "OLD.restart_count", "OLD.het_offset",       \
      "OLD.array_job_id", "OLD.array_task_id") " AND records IS NOT NULL; END;"

/*
 * The changes of each schema beyond its new columns (`since` in fields.c) and the rows that
 * rows_statement adapts. Append only; never change what a row does. The key starts with job_id, so
 * that its index also serves look-ups by job.
 */
static const struct migration {
  int version;
  const char *sql;
} migrations[] = {
  { 1, "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
       "CREATE UNIQUE INDEX observation_key ON observation (job_id, cluster, submit_time,"
       " restart_count, het_offset, array_job_id, array_task_id, node);"
       "CREATE INDEX observation_app ON observation (app, uid, end_time);"
       "CREATE INDEX observation_end ON observation (end_time);"
       "INSERT INTO meta VALUES ('created', strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));"
       "INSERT INTO meta VALUES ('created_by', 'foretell " PACKAGE_VERSION "');" },
  /* table of stale_models.h; AUTOINCREMENT never reuses a number */
  { 2, "CREATE TABLE changed (id INTEGER PRIMARY KEY AUTOINCREMENT, app TEXT NOT NULL,"
       " uid INTEGER NOT NULL, UNIQUE (app, uid));" },
  { 3, "" }, /* column killed_at_bytes */
  { 4, "" }, /* columns system_seconds, gpu_transfer_bytes */
  { 5, "" }, /* columns script_hash, directory_hash */
  /* expire.h: table app with the end of each app's last run; table gone of users with a removed
   * app. The trigger does not use ON CONFLICT, because the conflict clause of the outer statement
   * overrides it. */
  { 6, "ALTER TABLE observation ADD COLUMN put_time REAL;"
       "CREATE INDEX observation_age ON observation (" FT_SCHEMA_AGE_TIME ");"
       "CREATE TABLE app (uid INTEGER NOT NULL, app TEXT NOT NULL, last REAL NOT NULL,"
       " PRIMARY KEY (uid, app)) WITHOUT ROWID;"
       "CREATE INDEX app_last ON app (uid, last);"
       "CREATE TRIGGER observation_app_last AFTER INSERT ON observation WHEN NEW.app > '' BEGIN"
       " INSERT OR REPLACE INTO app VALUES (NEW.uid, NEW.app, max(ifnull(NEW.end_time, 0), ifnull("
       "(SELECT last FROM app WHERE uid = NEW.uid AND app = NEW.app), 0))); END;"
       "CREATE TABLE gone (uid INTEGER PRIMARY KEY);" },
  /* forget.h: table forgotten of tombstones (told: time of the request); table former of hashes of
   * apps' former names (was). Data removed under older schemas may remain in the file, so the file
   * is marked for overwriting. */
  { 7, "CREATE TABLE forgotten (id INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL,"
       " array_task_id INTEGER NOT NULL, cluster TEXT NOT NULL, uid INTEGER NOT NULL,"
       " app INTEGER NOT NULL, before REAL NOT NULL, told REAL NOT NULL, done INTEGER NOT NULL,"
       " UNIQUE (job_id, array_task_id, cluster, uid, app, before));"
       "CREATE INDEX forgotten_undone ON forgotten (done) WHERE done = 0;"
       "CREATE TABLE former (uid INTEGER NOT NULL, app INTEGER NOT NULL, was INTEGER NOT NULL,"
       " PRIMARY KEY (uid, app, was)) WITHOUT ROWID;"
       "INSERT OR REPLACE INTO meta VALUES ('" FT_SCHEMA_SCRUB "', '1');" },
  /* column decision_rule; index to find the tasks of a job array */
  { 8, "CREATE INDEX observation_array ON observation (array_job_id, array_task_id)"
       " WHERE array_job_id > 0;" },
  /* column decision_overrode; table of rejections.h, day: days since 1970, UTC */
  { 9, "CREATE TABLE rejection (uid INTEGER NOT NULL, app TEXT NOT NULL, day INTEGER NOT NULL,"
       " count INTEGER NOT NULL, PRIMARY KEY (uid, app, day)) WITHOUT ROWID;"
       "CREATE INDEX rejection_day ON rejection (uid, day);" },
  { 10, "" }, /* column command_ran */
  /* column allocated_nodes; run_nodes.h: column records. All models are rebuilt, because they
   * identify runs by another key: without a recorded rule ft_store_set_rule marks them. */
  { 11, "ALTER TABLE observation ADD COLUMN records INTEGER;"
        "CREATE INDEX observation_waiting ON observation (job_id) WHERE records < 0;" NODES_TRIGGER
        "DELETE FROM meta WHERE key = 'rule';" },
  { 12, "" }, /* columns package_energy_joules, package_energy_share */
  /* index for ft_store_name_platform */
  { 13, "CREATE INDEX observation_unnamed ON observation (node) WHERE " FT_SCHEMA_UNNAMED ";" },
  { 14, "" }, /* columns of the decision about the time limit, node_energy_joules */
  { 15, "" }, /* column code_hash */
  /* table of waiting.h; run: an encoded ft_observation */
  { 16, "CREATE TABLE waiting (id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL, node TEXT NOT NULL,"
        " start_time REAL NOT NULL, uid INTEGER NOT NULL, since REAL NOT NULL, run BLOB NOT NULL,"
        " UNIQUE (job_id, node, start_time));"
        "CREATE INDEX waiting_since ON waiting (job_id, since);" },
};

/* Returns the SQL that adapts the runs of an older store, some hundred (ROWS_OF_STEP) at a time, to
 * the schema VERSION; NULL if none has to change. */
static const char *rows_statement(int version)
{
  return version == 6 ? FILL_APP : version == 11 ? GROUP_NODES : NULL;
}

int ft_schema_error(struct ft_error *err, sqlite3 *db, const char *path, const char *action)
{
  int code = sqlite3_extended_errcode(db), system = sqlite3_system_errno(db);

  switch (code & 0xff) {
  case SQLITE_FULL:
    return ft_error_set(err, "%s: %s: the disk is full; nothing was changed", path, action);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return ft_error_set(err, "%s: %s: locked by another process", path, action);
  case SQLITE_READONLY:
    return ft_error_set(err, "%s: %s: read-only file, directory or file system", path, action);
  case SQLITE_NOTADB:
  case SQLITE_CORRUPT:
    return ft_error_set(err, "%s: %s: damaged (%s); move it away or restore it from a backup", path,
                        action, sqlite3_errmsg(db));
  case SQLITE_IOERR:
    return ft_error_set(err, "%s: %s: %s%s%s", path, action, sqlite3_errmsg(db), system ? ": " : "",
                        system ? strerror(system) : "");
  default:
    return ft_error_set(err, "%s: %s: %s", path, action, sqlite3_errmsg(db));
  }
}

int ft_schema_run(sqlite3 *db, const char *path, const char *sql, const char *action,
                  struct ft_error *err)
{
  if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
    return ft_schema_error(err, db, path, action);
  return 0;
}

/* Sets *VALUE to the integer that SQL returns. Returns 0; -1 on error and fills ERR. */
static int read_pragma(sqlite3 *db, const char *path, const char *sql, int *value,
                       struct ft_error *err)
{
  sqlite3_stmt *statement = NULL;
  int status = -1;

  if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    *value = sqlite3_column_int(statement, 0);
    status = 0;
  } else {
    ft_schema_error(err, db, path, "open");
  }
  sqlite3_finalize(statement);
  return status;
}

/* Returns the SQL type of FIELD's column. */
static const char *column_type(const struct ft_field *field)
{
  if (field->group == FT_GROUP_KEY)
    return field->type == FT_FIELD_TEXT     ? "TEXT NOT NULL"
           : field->type == FT_FIELD_DOUBLE ? "REAL NOT NULL"
                                            : "INTEGER NOT NULL";
  switch (field->type) {
  case FT_FIELD_DOUBLE:
    return "REAL";
  case FT_FIELD_TEXT:
  case FT_FIELD_ENUM:
  case FT_FIELD_FEATURES:
  case FT_FIELD_COUNTERS:
    return "TEXT";
  default:
    return "INTEGER";
  }
}

/* Appends the statements that add VERSION's columns to SQL. peak_bytes is the peak under the row's
 * own accounting rule, for users who read the store by SQL. Returns 0; -1 above the limit of SQL.
 */
static int append_columns(struct ft_buf *sql, int version)
{
  if (version == 1 &&
      ft_buf_printf(sql, "CREATE TABLE observation (id INTEGER PRIMARY KEY, peak_bytes REAL") < 0)
    return -1;
  for (size_t i = 0; i < ft_field_count; i++) {
    const struct ft_field *field = &ft_fields[i];

    if (field->since != version)
      continue;
    if (ft_buf_printf(
            sql, version == 1 ? ", \"%s\" %s" : "ALTER TABLE observation ADD COLUMN \"%s\" %s;",
            field->name, column_type(field)) < 0)
      return -1;
  }
  return version == 1 ? ft_buf_printf(sql, ");") : 0;
}

/* Inside a transaction: makes the changes of the schemas after FROM, up to the first that has to
 * adapt rows. Returns 0; -1 on error and fills ERR. */
static int change_tables(sqlite3 *db, const char *path, int from, struct ft_error *err)
{
  int version = from, status = -1;
  struct ft_buf sql;

  ft_buf_init(&sql, FT_LIMIT_SQL);
  for (size_t i = 0; i < sizeof migrations / sizeof *migrations; i++) {
    const struct migration *m = &migrations[i];

    if (m->version <= from)
      continue;
    version = m->version;
    if (append_columns(&sql, version) < 0 || ft_buf_printf(&sql, "%s", m->sql) < 0) {
      ft_error_set(err, "%s: open: out of memory", path);
      goto out;
    }
    /* a new store has no rows */
    if (from && rows_statement(version))
      break;
  }
  if (ft_buf_printf(&sql,
                    "INSERT OR REPLACE INTO meta VALUES ('schema', '%d'); PRAGMA user_version = %d;"
                    "PRAGMA application_id = %d;",
                    version, version, APPLICATION_ID) < 0 ||
      (from && ft_buf_printf(&sql, "INSERT INTO meta VALUES ('" UPGRADED_ROW "', '0');") < 0)) {
    ft_error_set(err, "%s: open: out of memory", path);
    goto out;
  }
  status = ft_schema_run(db, path, ft_buf_text(&sql), "upgrade", err);
out:
  ft_buf_free(&sql);
  return status;
}

/* Sets *VERSION to the file's schema, 0 for an empty file. Returns 0; -1 if it is no supported
 * store and fills ERR. */
static int check_schema(sqlite3 *db, const char *path, int *version, struct ft_error *err)
{
  int application, tables;

  if (read_pragma(db, path, "PRAGMA user_version", version, err) < 0 ||
      read_pragma(db, path, "PRAGMA application_id", &application, err) < 0 ||
      read_pragma(db, path, "SELECT COUNT(*) FROM sqlite_master", &tables, err) < 0)
    return -1;
  if (tables == 0 && *version == 0)
    return 0;
  if (application != APPLICATION_ID)
    return ft_error_set(err, "%s: open: an SQLite file, but not a store of foretell", path);
  if (*version < 1 || *version > FT_STORE_SCHEMA)
    return ft_error_set(err, "%s: open: schema %d; this version of foretell supports 1 to %d", path,
                        *version, FT_STORE_SCHEMA);
  return 0;
}

/* Sets *UNFINISHED to whether rows of a store with the schema VERSION are still to be adapted.
 * Returns 0; -1 on error and fills ERR. */
static int check_rows(sqlite3 *db, const char *path, int version, int *unfinished,
                      struct ft_error *err)
{
  *unfinished = 0;
  return version ? read_pragma(db, path, "SELECT COUNT(*) FROM meta WHERE key = '" UPGRADED_ROW "'",
                               unfinished, err)
                 : 0;
}

/* Inside a transaction: adapts the next rows to the schema VERSION. Returns 0; -1 on error and
 * fills ERR. */
static int adapt_rows(sqlite3 *db, const char *path, int version, struct ft_error *err)
{
#define ROWS_LEFT "SELECT id FROM observation WHERE id > " META_NUMBER(UPGRADED_ROW)
  static const char begin_step[] =
      "INSERT OR REPLACE INTO meta SELECT '" STEP_ROW "', max(id) FROM (" ROWS_LEFT
      " ORDER BY id LIMIT " ROWS_PER_STEP ")";
  static const char end_step[] =
      "UPDATE meta SET value = " META_NUMBER(STEP_ROW) " WHERE key = '" UPGRADED_ROW "'";
  const char *rows = rows_statement(version);
  int left = 0;

  if (rows && read_pragma(db, path, "SELECT EXISTS (" ROWS_LEFT ")", &left, err) < 0)
    return -1;
#undef ROWS_LEFT
  if (!left)
    return ft_schema_run(db, path,
                         "DELETE FROM meta WHERE key IN ('" UPGRADED_ROW "', '" STEP_ROW "')",
                         "upgrade", err);
  return ft_schema_run(db, path, begin_step, "upgrade", err) < 0 ||
                 ft_schema_run(db, path, rows, "upgrade", err) < 0 ||
                 ft_schema_run(db, path, end_step, "upgrade", err) < 0
             ? -1
             : 0;
}

/* Makes the next step of an upgrade, in a transaction. An interrupted upgrade goes on with the step
 * after the last one that is complete. Returns 1; 0 if the schema is the newest; -1 on error and
 * fills ERR. */
static int upgrade_some(sqlite3 *db, const char *path, struct ft_error *err)
{
  int version, unfinished, status = -1;

  /* another process may upgrade the store at the same time: the state is read under the lock */
  if (ft_schema_run(db, path, "BEGIN IMMEDIATE", "open", err) < 0)
    return -1;
  if (check_schema(db, path, &version, err) == 0 &&
      check_rows(db, path, version, &unfinished, err) == 0) {
    status = unfinished || version < FT_STORE_SCHEMA;
    if (status && (unfinished ? adapt_rows(db, path, version, err)
                              : change_tables(db, path, version, err)) < 0)
      status = -1;
  }
  if (status >= 0 && ft_schema_run(db, path, "COMMIT", "upgrade", err) == 0)
    return status;
  (void)sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
  return -1;
}

/* Configures the connection and, with CREATE, creates or upgrades the schema. Returns 0; -1 on
 * error and fills ERR. */
static int prepare_connection(sqlite3 *db, const char *path, bool create, struct ft_error *err)
{
  int version, unfinished, status = 1;

  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, BUSY_MILLISECONDS);
  if (ft_schema_run(db, path, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;", "open",
                    err) < 0 ||
      check_schema(db, path, &version, err) < 0 ||
      check_rows(db, path, version, &unfinished, err) < 0)
    return -1;
  if (!create && (version < FT_STORE_SCHEMA || unfinished))
    return ft_error_set(err, "%s: open: %s", path,
                        version ? "older schema; foretell-learnd or foretell import upgrades it"
                                : "empty file");
  if (!create)
    return 0;
  /* FULL: each commit is durable on return, in WAL mode with one fsync. A file system without
   * shared memory keeps the rollback journal: slower, and as durable. */
  if (ft_schema_run(db, path,
                    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                    "PRAGMA secure_delete = ON;",
                    "open", err) < 0)
    return -1;
  if (version == FT_STORE_SCHEMA && !unfinished)
    return 0;
  while (status > 0)
    status = upgrade_some(db, path, err);
  return status;
}

/* Creates PATH if it does not exist. Returns 1 if created, 0 if it exists; -1 on error and fills
 * ERR.
 */
static int create_file(const char *path, struct ft_error *err)
{
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), status = 1;

  if (fd < 0)
    return errno == EEXIST ? 0 : ft_error_errno(err, "%s", path);
  if (ft_io_give_to_owner(fd, path) < 0)
    status = ft_error_errno(err, "%s", path);
  close(fd);
  return status;
}

/* Deletes PATH and the files that SQLite keeps beside it. */
static void delete_file(const char *path)
{
  static const char *const suffix[] = { "", "-wal", "-shm" };
  char name[4096];

  for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
    if (snprintf(name, sizeof name, "%s%s", path, suffix[i]) < (int)sizeof name)
      (void)unlink(name);
}

sqlite3 *ft_schema_open(const char *path, bool create, struct ft_error *err)
{
  int flags = create ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  int created = create ? create_file(path, err) : 0;
  sqlite3 *db = NULL;
  struct stat st;

  if (created < 0)
    return NULL;
  if (stat(path, &st) < 0 || access(path, create ? R_OK | W_OK : R_OK) < 0) {
    ft_error_errno(err, "%s", path);
    return NULL;
  }
  if (!S_ISREG(st.st_mode)) {
    errno = EINVAL;
    ft_error_set(err, "%s: not a regular file", path);
    return NULL;
  }
  if (sqlite3_open_v2(path, &db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
    if (db)
      ft_schema_error(err, db, path, "open");
    else
      ft_error_set(err, "%s: open: out of memory", path);
  } else if (prepare_connection(db, path, create, err) == 0) {
    return db;
  }
  (void)sqlite3_close(db);
  if (created)
    delete_file(path);
  return NULL;
}
