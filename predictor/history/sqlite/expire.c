/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/history/expire.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/sqlite/store_private.h"

/* Runs removed per step: with their indexes some 60 pages are written, in a few milliseconds. */
enum { RUNS_PER_STEP = 8 };
/* Published marks removed per step. Chosen by judgement. */
enum { MARKS_PER_STEP = 256 };
/* ft_store_trim removes runs of an app when they exceed its limit by 1/64 of the limit, because
 * each removal is a commit. Chosen by judgement. */
enum { TRIM_FRACTION = 64 };

/* Largest advance of the store's clock per pass, in seconds: one day. */
#define MAX_CLOCK_ADVANCE 86400.0
/* Runs are removed when the age of the oldest exceeds max_age_seconds by this fraction of it.
 * Chosen by judgement. */
#define AGE_SLACK (1.0 / 16)

/* Key of the store's clock in the table meta. */
#define CLOCK_KEY "age_clock"

/* SQL expression: runs are removed in ascending order of it, by the index observation_age. */
#define AGE_TIME FT_SCHEMA_AGE_TIME

/* Limits *NOW to MAX_CLOCK_ADVANCE after the store's clock and sets the clock to *NOW. Returns 0;
 * -1 on error and fills ERR. */
static int advance_clock(struct ft_store *store, double *now, struct ft_error *err)
{
  double before;

  if (ft_store_query_number(store, "expire", "SELECT value FROM meta WHERE key = '" CLOCK_KEY "'",
                            NULL, &before, err) < 0 ||
      (before <= 0 && ft_store_query_number(store, "expire",
                                            "SELECT " AGE_TIME
                                            " FROM observation ORDER BY " AGE_TIME " DESC LIMIT 1",
                                            NULL, &before, err) < 0))
    return -1;
  if (before <= 0)
    return 0;
  *now = fmin(*now, before + MAX_CLOCK_ADVANCE);
  if (*now <= before)
    return 0;
  return ft_store_run(store, "expire", "INSERT OR REPLACE INTO meta VALUES ('" CLOCK_KEY "', ?1)",
                      FT_VALUES(FT_REAL(*now)), err);
}

int ft_store_expire_begin(struct ft_store *store, struct ft_expiry *expire, double now,
                          struct ft_error *err)
{
  double age = expire->max_age_seconds, oldest;

  expire->runs = expire->apps = 0;
  expire->before = 0;
  expire->uid = -1;
  if (age <= 0)
    return 0;
  if (advance_clock(store, &now, err) < 0 ||
      ft_store_query_number(store, "expire",
                            "SELECT " AGE_TIME " FROM observation WHERE " AGE_TIME
                            " > 0 ORDER BY " AGE_TIME " LIMIT 1",
                            NULL, &oldest, err) < 0)
    return -1;
  if (oldest > 0 && oldest < now - age * (1 + AGE_SLACK))
    expire->before = now - age;
  return ft_store_run(store, "expire", "DELETE FROM rejection WHERE (day + 1) * 86400 < ?1",
                      FT_VALUES(FT_REAL(now - age)), err);
}

int ft_store_note_removal(struct ft_store *store, uint32_t uid, const char *app,
                          struct ft_error *err)
{
  const struct ft_sql_value *values = FT_VALUES(FT_INT(uid), FT_TEXT(app));
  int gone;

  if (!*app)
    return 0;
  if (ft_store_run(store, "expire",
                   "DELETE FROM app WHERE uid = ?1 AND app = ?2 AND NOT EXISTS"
                   " (SELECT 1 FROM observation WHERE app = ?2 AND uid = ?1)",
                   values, err) < 0)
    return -1;
  gone = sqlite3_changes(store->db) > 0;
  if (gone &&
      ft_store_run(store, "expire", "INSERT OR IGNORE INTO gone VALUES (?1)", values, err) < 0)
    return -1;
  return ft_store_mark_stale(store, uid, app, NULL, err) < 0 ? -1 : gone;
}

/* A run, or with id 0 an app, to remove. */
struct candidate {
  sqlite3_int64 id;
  uint32_t uid;
  char app[128];
};

/* Reads up to RUNS_PER_STEP of the oldest runs before BEFORE. Returns their number; -1 on error and
 * fills ERR. */
static int find_oldest(struct ft_store *store, double before, struct candidate out[RUNS_PER_STEP],
                       struct ft_error *err)
{
  static const char sql[] = "SELECT id, uid, app FROM observation WHERE " AGE_TIME
                            " > 0 AND " AGE_TIME " < ?1 ORDER BY " AGE_TIME " LIMIT ?2";
  sqlite3_stmt *s = ft_store_prepare(store, "expire", sql,
                                     FT_VALUES(FT_REAL(before), FT_INT(RUNS_PER_STEP)), err);
  int step, count = 0;

  if (!s)
    return -1;
  while ((step = sqlite3_step(s)) == SQLITE_ROW) {
    out[count] = (struct candidate){ .id = sqlite3_column_int64(s, 0),
                                     .uid = (uint32_t)sqlite3_column_int64(s, 1) };
    ft_store_column_text(s, 2, out[count++].app, sizeof out->app);
  }
  if (ft_store_step_status(store, step, "expire", err) < 0)
    count = -1;
  sqlite3_finalize(s);
  return count;
}

/* Inside a transaction: removes some old runs. Returns 1 if more may remain, else 0; -1 on error.
 */
static int remove_oldest(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct candidate runs[RUNS_PER_STEP];
  int count = find_oldest(store, expire->before, runs, err), gone;

  for (int i = 0; i < count; i++) {
    if (ft_store_run(store, "expire", "DELETE FROM observation WHERE id = ?1",
                     FT_VALUES(FT_INT(runs[i].id)), err) < 0)
      return -1;
    /* 0 if it was removed with another node's record of its run */
    expire->runs += (unsigned)sqlite3_changes(store->db);
  }
  for (int i = 0; i < count; i++) {
    if (i > 0 && runs[i].uid == runs[i - 1].uid && strcmp(runs[i].app, runs[i - 1].app) == 0)
      continue;
    gone = ft_store_note_removal(store, runs[i].uid, runs[i].app, err);
    if (gone < 0)
      return -1;
    expire->apps += (unsigned)gone;
  }
  return count < 0 ? -1 : count == RUNS_PER_STEP;
}

/* Sets OUT to the next user and to that user's app to remove, "" for none. Returns 1; 0 after the
 * last user; -1 on error and fills ERR. */
static int next_user_to_check(struct ft_store *store, struct ft_expiry *expire,
                              struct candidate *out, struct ft_error *err)
{
  static const char next_user[] = "SELECT uid FROM app WHERE uid > ?1 ORDER BY uid LIMIT 1";
  static const char excess_app[] =
      "SELECT app FROM app WHERE uid = ?1 ORDER BY last DESC, app DESC LIMIT 1 OFFSET ?2";
  sqlite3_stmt *s;
  int status =
      ft_store_first_row(store, "expire", next_user, FT_VALUES(FT_INT(expire->uid)), &s, err);

  if (status <= 0)
    return status;
  *out = (struct candidate){ .uid = (uint32_t)sqlite3_column_int64(s, 0) };
  sqlite3_finalize(s);
  status =
      ft_store_first_row(store, "expire", excess_app,
                         FT_VALUES(FT_INT(out->uid), FT_INT((int64_t)expire->max_apps)), &s, err);
  if (status > 0)
    ft_store_column_text(s, 0, out->app, sizeof out->app);
  sqlite3_finalize(s);
  return status < 0 ? -1 : 1;
}

/* Inside a transaction: removes some runs of an app beyond the limit. Returns as remove_oldest. */
static int remove_excess_app(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct candidate app;
  int status = next_user_to_check(store, expire, &app, err), gone;

  if (status <= 0)
    return status;
  if (!app.app[0]) {
    expire->uid = app.uid;
    return 1;
  }
  if (ft_store_run(store, "expire",
                   "DELETE FROM observation WHERE id IN (SELECT id FROM observation"
                   " WHERE app = ?2 AND uid = ?1 ORDER BY end_time LIMIT ?3)",
                   FT_VALUES(FT_INT(app.uid), FT_TEXT(app.app), FT_INT(RUNS_PER_STEP)), err) < 0)
    return -1;
  expire->runs += (unsigned)sqlite3_changes(store->db);
  gone = ft_store_note_removal(store, app.uid, app.app, err);
  expire->apps += gone > 0;
  return gone < 0 ? -1 : 1;
}

/* Inside a transaction: removes marks of published models. Returns as remove_oldest. */
static int remove_published_marks(struct ft_store *store, struct ft_error *err)
{
  int64_t published;

  if (ft_store_published(store, &published, err) < 0 ||
      ft_store_run(store, "expire",
                   "DELETE FROM changed WHERE id IN"
                   " (SELECT id FROM changed WHERE id <= ?1 ORDER BY id LIMIT ?2)",
                   FT_VALUES(FT_INT(published), FT_INT(MARKS_PER_STEP)), err) < 0)
    return -1;
  return sqlite3_changes(store->db) == MARKS_PER_STEP;
}

static int step_in_transaction(struct ft_store *store, struct ft_expiry *expire,
                               struct ft_error *err)
{
  int status;

  if (expire->before > 0) {
    status = remove_oldest(store, expire, err);
    if (status == 0)
      expire->before = 0;
    return status < 0 ? -1 : 1;
  }
  status = expire->max_apps ? remove_excess_app(store, expire, err) : 0;
  return status ? status : remove_published_marks(store, err);
}

int ft_store_expire_step(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct ft_expiry before = *expire;
  int status;

  /* the next pass repeats what a power failure undoes; frequent checkpoints keep each step short */
  (void)sqlite3_exec(store->db, "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 128",
                     NULL, NULL, NULL);
  status = ft_store_begin(store, err);
  if (status == 0)
    status = ft_store_end(store, step_in_transaction(store, expire, err), err);
  (void)sqlite3_exec(store->db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000", NULL,
                     NULL, NULL);
  if (status < 0)
    *expire = before;
  return status;
}

int ft_store_next_cleanup_user(struct ft_store *store, uint32_t *uid, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read", "SELECT uid FROM gone LIMIT 1", NULL, &s, err);

  if (status > 0)
    *uid = (uint32_t)sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  return status;
}

int ft_store_cleanup_done(struct ft_store *store, uint32_t uid, struct ft_error *err)
{
  return ft_store_run(store, "expire", "DELETE FROM gone WHERE uid = ?1", FT_VALUES(FT_INT(uid)),
                      err);
}

/* Advances CURSOR to the next app in the order of the index. Returns 1; 0 after the last; -1 on
 * error and fills ERR. */
static int advance_trim_cursor(struct ft_store *store, struct ft_trim_cursor *cursor,
                               struct ft_error *err)
{
  static const char sql[] = "SELECT app, uid FROM observation WHERE (app, uid) > (?1, ?2)"
                            " ORDER BY app, uid LIMIT 1";
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "trim", sql,
                                  FT_VALUES(FT_TEXT(cursor->app), FT_INT(cursor->uid)), &s, err);

  if (status > 0) {
    ft_store_column_text(s, 0, cursor->app, sizeof cursor->app);
    cursor->uid = sqlite3_column_int64(s, 1);
  } else {
    *cursor = (struct ft_trim_cursor){ .uid = -1 };
  }
  sqlite3_finalize(s);
  return status;
}

/* Runs SQL with the parameters app, uid and KEEP. Returns as ft_store_run. */
static int run_trim(struct ft_store *store, const char *sql, uint64_t keep, struct ft_error *err)
{
  const struct ft_trim_cursor *cursor = &store->trim_cursor;
  int64_t offset = keep > INT64_MAX ? INT64_MAX : (int64_t)keep;

  return ft_store_run(store, "trim", sql,
                      FT_VALUES(FT_TEXT(cursor->app), FT_INT(cursor->uid), FT_INT(offset)), err);
}

int ft_store_trim(struct ft_store *store, uint64_t keep, struct ft_error *err)
{
#define RUNS_BEYOND                                                                                \
  "SELECT id FROM observation WHERE app = ?1 AND uid = ?2 AND " FT_SQL_IS_RUN                      \
  " ORDER BY end_time DESC, id DESC LIMIT -1 OFFSET ?3"
  static const char exists[] = RUNS_BEYOND;
  static const char delete[] = "DELETE FROM observation WHERE id IN (" RUNS_BEYOND ")";
#undef RUNS_BEYOND
  int status = keep ? advance_trim_cursor(store, &store->trim_cursor, err) : 0;

  if (status <= 0)
    return status;
  status = run_trim(store, exists, keep + keep / TRIM_FRACTION, err);
  if (status > 0)
    status = run_trim(store, delete, keep, err);
  return status < 0 ? -1 : 1;
}
