/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/history/expire.h"
#include "predictor/history/schema.h"
#include "predictor/history/stale_models.h"
#include "predictor/history/store_private.h"

enum {
  RUNS = 8,   /* removed in one step: with their indexes some 60 pages are written */
  MARKS = 256 /* old marks removed in one step */
};

/* What counts as now moves on by at most so much a pass. */
#define MOST_SECONDS 86400.0
/* A part of max_age: how much older than it the oldest run becomes before any goes. */
#define SLACK (1.0 / 16)

#define CLOCK "age_clock" /* key of the table meta */

/* The order in which runs leave, as the index observation_age has it. */
#define AGE_TIME FT_SCHEMA_AGE_TIME

/*
 * Run SQL, whose parameters are 1: UID, 2: APP (NULL: none), 3: NUMBER. Returns what sqlite3_step
 * says; the statement, for its columns, becomes *S, which the caller finalizes.
 */
static int run(struct ft_store *store, sqlite3_stmt **s, const char *sql, int64_t uid,
               const char *app, double number)
{
  *s = NULL;
  if (sqlite3_prepare_v2(store->db, sql, -1, s, NULL) != SQLITE_OK)
    return SQLITE_ERROR;
  sqlite3_bind_int64(*s, 1, uid);
  sqlite3_bind_text(*s, 2, app, -1, SQLITE_STATIC);
  sqlite3_bind_double(*s, 3, number);
  return sqlite3_step(*s);
}

/* The same of SQL that gives no rows. Returns 0 or -1 with ERR. */
static int change(struct ft_store *store, const char *sql, int64_t uid, const char *app,
                  double number, struct ft_error *err)
{
  sqlite3_stmt *s;
  int status = 0;

  if (run(store, &s, sql, uid, app, number) != SQLITE_DONE)
    status = ft_store_set_error(store, "expire", err);
  sqlite3_finalize(s);
  return status;
}

/* OUT becomes the one number that SQL gives, 0 without one. Returns 0 or -1 with ERR. */
static int ask(struct ft_store *store, const char *sql, double *out, struct ft_error *err)
{
  sqlite3_stmt *s;
  int step = run(store, &s, sql, 0, NULL, 0), status = 0;

  *out = step == SQLITE_ROW ? sqlite3_column_double(s, 0) : 0;
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    status = ft_store_set_error(store, "expire", err);
  sqlite3_finalize(s);
  return status;
}

/* NOW becomes what counts as now, for good. Returns 0 or -1 with ERR. */
static int move_clock(struct ft_store *store, double *now, struct ft_error *err)
{
  double before;

  if (ask(store, "SELECT value FROM meta WHERE key = '" CLOCK "'", &before, err) < 0 ||
      (before <= 0 &&
       ask(store, "SELECT " AGE_TIME " FROM observation ORDER BY " AGE_TIME " DESC LIMIT 1",
           &before, err) < 0))
    return -1;
  if (before <= 0)
    return 0;
  *now = fmin(*now, before + MOST_SECONDS);
  if (*now <= before)
    return 0;
  return change(store, "INSERT OR REPLACE INTO meta VALUES ('" CLOCK "', ?3)", 0, NULL, *now, err);
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
  if (move_clock(store, &now, err) < 0 || ask(store,
                                              "SELECT " AGE_TIME " FROM observation WHERE " AGE_TIME
                                              " > 0 ORDER BY " AGE_TIME " LIMIT 1",
                                              &oldest, err) < 0)
    return -1;
  if (oldest > 0 && oldest < now - age * (1 + SLACK))
    expire->before = now - age;
  return change(store, "DELETE FROM rejection WHERE (day + 1) * 86400 < ?3", 0, NULL, now - age,
                err);
}

int ft_store_note_removal(struct ft_store *store, uint32_t uid, const char *app,
                          struct ft_error *err)
{
  int gone;

  if (!*app)
    return 0;
  if (change(store,
             "DELETE FROM app WHERE uid = ?1 AND app = ?2 AND NOT EXISTS"
             " (SELECT 1 FROM observation WHERE app = ?2 AND uid = ?1)",
             uid, app, 0, err) < 0)
    return -1;
  gone = sqlite3_changes(store->db) > 0;
  if (gone && change(store, "INSERT OR IGNORE INTO gone VALUES (?1)", uid, NULL, 0, err) < 0)
    return -1;
  return ft_store_mark_stale(store, uid, app, NULL, err) < 0 ? -1 : gone;
}

struct removed {
  sqlite3_int64 id;
  uint32_t uid;
  char app[128];
};

/* Up to RUNS of the oldest before BEFORE. Returns how many, -1 with ERR. */
static int oldest(struct ft_store *store, double before, struct removed out[RUNS],
                  struct ft_error *err)
{
  sqlite3_stmt *s;
  int step = run(store, &s,
                 "SELECT id, uid, app FROM observation WHERE " AGE_TIME " > 0 AND " AGE_TIME
                 " < ?3 ORDER BY " AGE_TIME,
                 0, NULL, before),
      count = 0;

  for (; step == SQLITE_ROW && count < RUNS; step = sqlite3_step(s)) {
    const char *app = (const char *)sqlite3_column_text(s, 2);

    out[count] = (struct removed){ .id = sqlite3_column_int64(s, 0),
                                   .uid = (uint32_t)sqlite3_column_int64(s, 1) };
    (void)ft_string_copy(app ? app : "", out[count++].app, sizeof out->app);
  }
  if (step != SQLITE_ROW && step != SQLITE_DONE)
    count = ft_store_set_error(store, "expire", err);
  sqlite3_finalize(s);
  return count;
}

/* Inside a transaction. Returns 1 when there may be more, 0 when not, -1 with ERR. */
static int remove_oldest(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct removed runs[RUNS];
  int count = oldest(store, expire->before, runs, err), gone;

  for (int i = 0; i < count; i++)
    if (change(store, "DELETE FROM observation WHERE id = ?3", 0, NULL, (double)runs[i].id, err) <
        0)
      return -1;
  for (int i = 0; i < count; i++) {
    if (i > 0 && runs[i].uid == runs[i - 1].uid && strcmp(runs[i].app, runs[i - 1].app) == 0)
      continue;
    gone = ft_store_note_removal(store, runs[i].uid, runs[i].app, err);
    if (gone < 0)
      return -1;
    expire->apps += (unsigned)gone;
  }
  if (count > 0)
    expire->runs += (unsigned)count;
  return count < 0 ? -1 : count == RUNS;
}

/* The user after EXPIRE's, and the app to remove of that one, "" for none. Returns as oldest. */
static int next_user(struct ft_store *store, struct ft_expiry *expire, struct removed *out,
                     struct ft_error *err)
{
  sqlite3_stmt *s;
  int step = run(store, &s, "SELECT uid FROM app WHERE uid > ?1 ORDER BY uid LIMIT 1", expire->uid,
                 NULL, 0),
      status = step == SQLITE_ROW;

  *out = (struct removed){ .uid = step == SQLITE_ROW ? (uint32_t)sqlite3_column_int64(s, 0) : 0 };
  sqlite3_finalize(s);
  if (step == SQLITE_ROW) {
    step = run(store, &s,
               "SELECT app FROM app WHERE uid = ?1 ORDER BY last DESC, app DESC LIMIT 1 OFFSET ?3",
               out->uid, NULL, (double)expire->max_apps);
    if (step == SQLITE_ROW)
      (void)ft_string_copy((const char *)sqlite3_column_text(s, 0), out->app, sizeof out->app);
    sqlite3_finalize(s);
  }
  return step == SQLITE_ROW || step == SQLITE_DONE ? status
                                                   : ft_store_set_error(store, "expire", err);
}

/* Inside a transaction: a part of an app beyond the limit. Returns likewise. */
static int remove_app(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct removed app;
  int status = next_user(store, expire, &app, err), gone;

  if (status <= 0)
    return status;
  if (!app.app[0]) {
    expire->uid = app.uid;
    return 1;
  }
  if (change(store,
             "DELETE FROM observation WHERE id IN (SELECT id FROM observation"
             " WHERE app = ?2 AND uid = ?1 ORDER BY end_time LIMIT ?3)",
             app.uid, app.app, RUNS, err) < 0)
    return -1;
  expire->runs += (unsigned)sqlite3_changes(store->db);
  gone = ft_store_note_removal(store, app.uid, app.app, err);
  expire->apps += gone > 0;
  return gone < 0 ? -1 : 1;
}

/* Marks of apps whose models were published are of no use. Returns likewise. */
static int remove_marks(struct ft_store *store, struct ft_error *err)
{
  int64_t published;

  if (ft_store_published(store, &published, err) < 0 ||
      change(store,
             "DELETE FROM changed WHERE id IN"
             " (SELECT id FROM changed WHERE id <= ?1 ORDER BY id LIMIT ?3)",
             published, NULL, MARKS, err) < 0)
    return -1;
  return sqlite3_changes(store->db) == MARKS;
}

static int step_inside(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  int status;

  if (expire->before > 0) {
    status = remove_oldest(store, expire, err);
    if (status == 0)
      expire->before = 0;
    return status < 0 ? -1 : 1;
  }
  status = expire->max_apps ? remove_app(store, expire, err) : 0;
  return status ? status : remove_marks(store, err);
}

static int step(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  int status;

  if (ft_store_begin(store, err) < 0)
    return -1;
  status = step_inside(store, expire, err);
  if (status < 0)
    ft_store_rollback(store);
  else if (ft_store_commit(store, err) < 0)
    status = -1;
  return status;
}

int ft_store_expire_step(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err)
{
  struct ft_expiry before = *expire;
  int status;

  /* what a power failure undoes the next pass does again; and few pages wait for a checkpoint,
   * which is part of a step */
  (void)sqlite3_exec(store->db, "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 128",
                     NULL, NULL, NULL);
  status = step(store, expire, err);
  (void)sqlite3_exec(store->db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 1000", NULL,
                     NULL, NULL);
  if (status < 0)
    *expire = before;
  return status;
}

int ft_store_next_cleanup_user(struct ft_store *store, uint32_t *uid, struct ft_error *err)
{
  sqlite3_stmt *s;
  int step = run(store, &s, "SELECT uid FROM gone LIMIT 1", 0, NULL, 0);

  if (step == SQLITE_ROW)
    *uid = (uint32_t)sqlite3_column_int64(s, 0);
  else if (step != SQLITE_DONE)
    ft_store_set_error(store, "read", err);
  sqlite3_finalize(s);
  return step == SQLITE_ROW ? 1 : step == SQLITE_DONE ? 0 : -1;
}

int ft_store_cleanup_done(struct ft_store *store, uint32_t uid, struct ft_error *err)
{
  return change(store, "DELETE FROM gone WHERE uid = ?1", uid, NULL, 0, err);
}
