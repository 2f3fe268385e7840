/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <sqlite3.h>

#include "predictor/core/text.h"
#include "predictor/history/rejections.h"
#include "predictor/history/store_private.h"

#define DAY_SECONDS 86400.0
/* Of user ?1 (-1: any) and app ?2 (empty: any), before the day ?3. */
#define NAMED                                                                                      \
  " WHERE app <> '' AND (?1 < 0 OR uid = ?1) AND (?2 = '' OR app = ?2) AND day < ?3 AND ?4 = 0"

static int64_t day_of(double time)
{
  return (int64_t)floor(fmin(fmax(time, 0), 0x1p50) / DAY_SECONDS);
}

/* Run SQL with the parameters ?1 to ?4. Returns 0; -1 with ERR. */
static int write(struct ft_store *store, const char *sql, int64_t uid, const char *app, int64_t day,
                 int64_t most, struct ft_error *err)
{
  sqlite3_stmt *s = NULL;
  int status = 0;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "write", err);
  sqlite3_bind_int64(s, 1, uid);
  sqlite3_bind_text(s, 2, app, -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 3, day);
  sqlite3_bind_int64(s, 4, most);
  if (sqlite3_step(s) != SQLITE_DONE)
    status = ft_store_set_error(store, "write", err);
  sqlite3_finalize(s);
  return status;
}

int ft_store_count_rejection(struct ft_store *store, uint32_t uid, const char *app, double time,
                             struct ft_error *err)
{
  static const char sql[] =
      "INSERT INTO rejection VALUES (?1, CASE WHEN (SELECT count(*) FROM rejection"
      " WHERE uid = ?1 AND day = ?3 AND app <> ?2) < ?4 THEN ?2 ELSE '' END, ?3, 1)"
      " ON CONFLICT DO UPDATE SET count = count + 1";

  return write(store, sql, uid, app, day_of(time), FT_REJECTED_APPS, err);
}

int ft_store_forget_rejections(struct ft_store *store, const ft_forget *what,
                               struct ft_error *err)
{
  static const char without_app[] =
      "INSERT INTO rejection SELECT uid, '', day, sum(count) FROM rejection" NAMED
      " GROUP BY uid, day ON CONFLICT DO UPDATE SET count = count + excluded.count";
  static const char with_app[] = "DELETE FROM rejection" NAMED;
  int64_t uid = what->has_uid ? (int64_t)what->uid : -1;
  int64_t before = what->before > 0 ? day_of(what->before) : INT64_MAX;

  if (what->job_id)
    return 0;
  return write(store, without_app, uid, what->app, before, 0, err) < 0
             ? -1
             : write(store, with_app, uid, what->app, before, 0, err);
}

int ft_store_next_rejections(struct ft_store *store, bool one_user, double since,
                             struct ft_rejections *row, struct ft_error *err)
{
  static const char sql[] =
      "SELECT uid, app, sum(count) FROM rejection WHERE (uid, app) >= (?1, ?2)"
      " AND (?5 = 0 OR uid <> ?1 OR app <> ?2) AND (?3 = 0 OR uid = ?1) AND day >= ?4"
      " GROUP BY uid, app ORDER BY uid, app LIMIT 1";
  sqlite3_stmt *s = NULL;
  int status, step;

  if (sqlite3_prepare_v2(store->db, sql, -1, &s, NULL) != SQLITE_OK)
    return ft_store_set_error(store, "read", err);
  sqlite3_bind_int64(s, 1, row->uid);
  sqlite3_bind_text(s, 2, row->app, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int(s, 3, one_user);
  sqlite3_bind_int64(s, 4, day_of(since));
  sqlite3_bind_int64(s, 5, (sqlite3_int64)row->count);
  step = sqlite3_step(s);
  status = step == SQLITE_ROW    ? 1
           : step == SQLITE_DONE ? 0
                                 : ft_store_set_error(store, "read", err);
  if (status > 0) {
    row->uid = (uint32_t)sqlite3_column_int64(s, 0);
    (void)ft_string_copy((const char *)sqlite3_column_text(s, 1), row->app, sizeof row->app);
    row->count = (uint64_t)sqlite3_column_int64(s, 2);
  }
  sqlite3_finalize(s);
  return status;
}
