/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <sqlite3.h>

#include "predictor/history/rejections.h"
#include "predictor/history/sqlite/store_private.h"

#define DAY_SECONDS 86400.0
/* Maximum time in seconds since 1970; limits the day to an integer. */
#define MAX_TIME 0x1p50

/* SQL condition: rows of user ?1 (-1: any) and app ?2 (empty: any) before day ?3. */
#define NAMED " WHERE app <> '' AND (?1 < 0 OR uid = ?1) AND (?2 = '' OR app = ?2) AND day < ?3"

/* Returns the day since 1970 of TIME (UTC seconds). */
static int64_t day_of(double time)
{
  return (int64_t)floor(fmin(fmax(time, 0), MAX_TIME) / DAY_SECONDS);
}

int ft_store_count_rejection(struct ft_store *store, uint32_t uid, const char *app, double time,
                             struct ft_error *err)
{
  static const char sql[] =
      "INSERT INTO rejection VALUES (?1, CASE WHEN (SELECT count(*) FROM rejection"
      " WHERE uid = ?1 AND day = ?3 AND app <> ?2) < ?4 THEN ?2 ELSE '' END, ?3, 1)"
      " ON CONFLICT DO UPDATE SET count = count + 1";

  return ft_store_run(
      store, "write", sql,
      FT_VALUES(FT_INT(uid), FT_TEXT(app), FT_INT(day_of(time)), FT_INT(FT_REJECTED_APPS)), err);
}

int ft_store_forget_rejections(struct ft_store *store, const ft_forget *what, struct ft_error *err)
{
#define SOME_NAMED                                                                                 \
  "SELECT uid, app, day, count FROM rejection" NAMED " ORDER BY uid, app, day LIMIT ?4"
  static const char without_app[] =
      "INSERT INTO rejection SELECT uid, '', day, sum(count) FROM (" SOME_NAMED
      ") WHERE 1 GROUP BY uid, day ON CONFLICT DO UPDATE SET count = count + excluded.count";
  static const char with_app[] = "DELETE FROM rejection WHERE (uid, app, day) IN (SELECT uid, app,"
                                 " day FROM (" SOME_NAMED "))";
#undef SOME_NAMED
  int64_t uid = what->has_uid ? (int64_t)what->uid : -1;
  int64_t before = what->before > 0 ? day_of(what->before) : INT64_MAX;
  const struct ft_sql_value *values =
      FT_VALUES(FT_INT(uid), FT_TEXT(what->app), FT_INT(before), FT_INT(FT_STORE_ENOUGH_CHANGES));

  if (what->job_id)
    return 0;
  if (ft_store_run(store, "write", without_app, values, err) < 0 ||
      ft_store_run(store, "write", with_app, values, err) < 0)
    return -1;
  return sqlite3_changes(store->db) == FT_STORE_ENOUGH_CHANGES;
}

int ft_store_expire_rejections(struct ft_store *store, double before, struct ft_error *err)
{
  static const char sql[] = "DELETE FROM rejection WHERE (uid, app, day) IN (SELECT uid, app, day"
                            " FROM rejection WHERE (day + 1) * 86400 < ?1 LIMIT ?2)";

  if (ft_store_run(store, "expire", sql,
                   FT_VALUES(FT_REAL(before), FT_INT(FT_STORE_ENOUGH_CHANGES)), err) < 0)
    return -1;
  return sqlite3_changes(store->db) == FT_STORE_ENOUGH_CHANGES;
}

int ft_store_next_rejections(struct ft_store *store, bool one_user, double since,
                             struct ft_rejections *row, struct ft_error *err)
{
  static const char sql[] =
      "SELECT uid, app, sum(count) FROM rejection WHERE (uid, app) >= (?1, ?2)"
      " AND (?5 = 0 OR uid <> ?1 OR app <> ?2) AND (?3 = 0 OR uid = ?1) AND day >= ?4"
      " GROUP BY uid, app ORDER BY uid, app LIMIT 1";
  sqlite3_stmt *s;
  int status = ft_store_first_row(store, "read", sql,
                                  FT_VALUES(FT_INT(row->uid), FT_TEXT(row->app), FT_INT(one_user),
                                            FT_INT(day_of(since)), FT_INT((int64_t)row->count)),
                                  &s, err);

  if (status > 0) {
    row->uid = (uint32_t)sqlite3_column_int64(s, 0);
    ft_store_column_text(s, 1, row->app, sizeof row->app);
    row->count = (uint64_t)sqlite3_column_int64(s, 2);
  }
  sqlite3_finalize(s);
  return status;
}
