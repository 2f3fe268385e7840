/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/history/expire.h"
#include "predictor/history/rejections.h"
#include "predictor/history/waiting.h"
#include "predictor/history/sqlite/run_nodes.h"
#include "predictor/history/sqlite/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/sqlite/store_private.h"
#include "predictor/history/sqlite/tombstones.h"

/* Runs removed per step: with their indexes some 60 pages are written, in a few milliseconds. */
enum { RUNS_PER_STEP = 8 };
/* Runs removed per call of ft_store_trim, which is called after every eight new runs. */
enum { RUNS_PER_TRIM = 64 };
/* ft_store_trim removes runs of an app when they exceed its limit by 1/64 of the limit, because
 * each removal is a commit. */
enum { TRIM_FRACTION = 64 };

/* Largest advance of the store's clock per pass, in seconds: one day. */
#define MAX_CLOCK_ADVANCE 86400.0
/* Runs are removed when the age of the oldest exceeds max_age_seconds by this fraction of it. */
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
  expire->before = expire->rejected_before = 0;
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
  expire->rejected_before = now - age;
  return 0;
}

/* A run, or with id 0 an app, to remove. */
struct candidate {
  sqlite3_int64 id;
  uint32_t uid;
  char app[128];
};

/* Reads the runs to remove that SQL selects with VALUES, at most SIZE, the columns id, uid and app.
 * Returns their number; -1 on error and fills ERR. */
static int find_candidates(struct ft_store *store, const char *sql,
                           const struct ft_sql_value *values, struct candidate *out, int size,
                           struct ft_error *err)
{
  sqlite3_stmt *s = ft_store_prepare(store, "expire", sql, values, err);
  int step = SQLITE_DONE, count = 0;

  if (!s)
    return -1;
  while (count < size && (step = sqlite3_step(s)) == SQLITE_ROW) {
    out[count] = (struct candidate){ .id = sqlite3_column_int64(s, 0),
                                     .uid = (uint32_t)sqlite3_column_int64(s, 1) };
    ft_store_column_text(s, 2, out[count++].app, sizeof out->app);
  }
  if (ft_store_step_status(store, step, "expire", err) < 0)
    count = -1;
  sqlite3_finalize(s);
  return count;
}

/* Inside a transaction: removes COUNT RUNS in their order, fewer if enough is changed, and adds the
 * records to *REMOVED. Returns the number of removed runs; -1 on error and fills ERR. */
static int remove_candidates(struct ft_store *store, const struct candidate *runs, int count,
                             uint64_t *removed, struct ft_error *err)
{
  for (int i = 0; i < count; i++) {
    int status = ft_run_nodes_shrink(store, runs[i].id, err);

    if (status)
      return status < 0 ? -1 : i;
    if (ft_store_run(store, "expire", "DELETE FROM observation WHERE id = ?1",
                     FT_VALUES(FT_INT(runs[i].id)), err) < 0)
      return -1;
    /* 0 if it was removed with another node's record of its run */
    *removed += (unsigned)sqlite3_changes(store->db);
  }
  return count;
}

/* Inside a transaction: removes some old runs. Returns 1 if more may remain, else 0; -1 on error.
 */
static int remove_oldest(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  static const char sql[] = "SELECT id, uid, app FROM observation WHERE " AGE_TIME
                            " > 0 AND " AGE_TIME " < ?1 ORDER BY " AGE_TIME;
  struct candidate runs[RUNS_PER_STEP];
  int count =
      find_candidates(store, sql, FT_VALUES(FT_REAL(expire->before)), runs, RUNS_PER_STEP, err);
  int removed = count < 0 ? -1 : remove_candidates(store, runs, count, &expire->runs, err), gone;

  for (int i = 0; i < removed; i++) {
    if (i > 0 && runs[i].uid == runs[i - 1].uid && strcmp(runs[i].app, runs[i - 1].app) == 0)
      continue;
    gone = ft_store_note_removal(store, runs[i].uid, runs[i].app, err);
    if (gone < 0)
      return -1;
    expire->apps += (unsigned)gone;
  }
  return removed < 0 ? -1 : removed < count || count == RUNS_PER_STEP;
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
  static const char sql[] = "SELECT id, uid, app FROM observation WHERE app = ?2 AND uid = ?1"
                            " ORDER BY end_time";
  struct candidate app, runs[RUNS_PER_STEP];
  int status = next_user_to_check(store, expire, &app, err), count, gone;

  if (status <= 0)
    return status;
  if (!app.app[0]) {
    expire->uid = app.uid;
    return 1;
  }
  count = find_candidates(store, sql, FT_VALUES(FT_INT(app.uid), FT_TEXT(app.app)), runs,
                          RUNS_PER_STEP, err);
  if (count < 0 || remove_candidates(store, runs, count, &expire->runs, err) < 0)
    return -1;
  gone = ft_store_note_removal(store, app.uid, app.app, err);
  expire->apps += gone > 0;
  return gone < 0 ? -1 : 1;
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
  if (!status)
    status = ft_store_expire_waiting(store, expire->rejected_before, err);
  if (!status)
    status = ft_store_expire_rejections(store, expire->rejected_before, err);
  /* what is older than the request would expire, too */
  if (!status)
    status = ft_tombstone_expire(store, expire->rejected_before, err);
  return status ? status : ft_store_remove_published_marks(store, err);
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

/* Sets *EXCESS to the number of runs that CURSOR's app has above KEEP. Returns 0; -1 on error. */
static int count_excess_runs(struct ft_store *store, const struct ft_trim_cursor *cursor,
                             uint64_t keep, uint64_t *excess, struct ft_error *err)
{
  static const char sql[] =
      "SELECT COUNT(*) FROM observation WHERE app = ?1 AND uid = ?2 AND " FT_SQL_IS_RUN;
  double runs;

  if (ft_store_query_number(store, "trim", sql,
                            FT_VALUES(FT_TEXT(cursor->app), FT_INT(cursor->uid)), &runs, err) < 0)
    return -1;
  *excess = runs > (double)keep ? (uint64_t)runs - keep : 0;
  return 0;
}

/* Inside a transaction: removes the oldest COUNT runs of CURSOR's app, or fewer. Returns as
 * remove_candidates. */
static int trim_app(struct ft_store *store, const struct ft_trim_cursor *cursor, int count,
                    struct ft_error *err)
{
  static const char sql[] = "SELECT id, uid, app FROM observation WHERE app = ?1 AND uid = ?2"
                            " AND " FT_SQL_IS_RUN " ORDER BY end_time, id";
  struct candidate runs[RUNS_PER_TRIM];
  uint64_t removed = 0;

  count = find_candidates(store, sql, FT_VALUES(FT_TEXT(cursor->app), FT_INT(cursor->uid)), runs,
                          count, err);
  return count < 0 ? -1 : remove_candidates(store, runs, count, &removed, err);
}

int ft_store_trim(struct ft_store *store, uint64_t keep, struct ft_error *err)
{
  struct ft_trim_cursor *cursor = &store->trim_cursor;
  int status = !keep ? 0 : cursor->unfinished ? 1 : advance_trim_cursor(store, cursor, err);
  uint64_t excess;

  if (status <= 0)
    return status;
  if (count_excess_runs(store, cursor, keep, &excess, err) < 0)
    return -1;
  if (excess <= (cursor->unfinished ? 0 : keep / TRIM_FRACTION)) {
    cursor->unfinished = false;
    return 1;
  }
  if (ft_store_begin(store, err) < 0)
    return -1;
  status = trim_app(store, cursor, excess < RUNS_PER_TRIM ? (int)excess : RUNS_PER_TRIM, err);
  if (ft_store_end(store, status, err) < 0)
    return -1;
  cursor->unfinished = (uint64_t)status < excess;
  return 1;
}
