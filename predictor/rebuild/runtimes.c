/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/history/store_private.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/runtimes.h"

enum { RUNS = 100 };

/* The last runs of an app, the newest first. */
struct runs {
  ft_observation *run;
  size_t count;
};

static bool keep(const ft_observation *o, void *data)
{
  struct runs *runs = data;

  runs->run[runs->count++] = *o;
  return runs->count < RUNS;
}

static int learn(struct ft_store *store, const char *app, uint32_t uid, struct runs *runs,
                 ft_performance *p, struct ft_error *err)
{
  struct ft_store_filter filter = { .app = app, .by_uid = true, .uid = uid, .limit = RUNS };

  runs->count = 0;
  if (ft_store_each(store, &filter, keep, runs, err) < 0)
    return -1;
  ft_performance_init(p, app, uid);
  while (runs->count)
    if (ft_performance_update(p, &runs->run[--runs->count], err) < 0)
      return -1;
  return 0;
}

int ft_rebuild_each_runtime(struct ft_store *store, unsigned most,
                            int (*visit)(const ft_performance *performance, void *data,
                                         struct ft_error *err),
                            void *data, struct ft_error *err)
{
  static const char sql[] =
      "SELECT app, uid FROM observation"
      " WHERE app <> '' AND platform <> '' AND runtime_seconds > 0"
      " AND outcome = ?1 GROUP BY app, uid HAVING min(platform) < max(platform)"
      " ORDER BY max(end_time) DESC LIMIT ?2";
  struct runs runs = { malloc(RUNS * sizeof *runs.run), 0 };
  ft_performance *p = malloc(sizeof *p);
  sqlite3_stmt *statement = NULL;
  int step = SQLITE_DONE, status = 0;

  if (!runs.run || !p) {
    status = ft_error_set(err, "%s: out of memory", store->path);
    goto out;
  }
  if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK) {
    status = ft_store_set_error(store, "prepare", err);
    goto out;
  }
  sqlite3_bind_text(statement, 1, ft_outcome_name(FT_OUTCOME_COMPLETED), -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 2, most);
  while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    char app[sizeof p->app];

    if (!name || !ft_string_copy(name, app, sizeof app))
      continue;
    status = learn(store, app, (uint32_t)sqlite3_column_int64(statement, 1), &runs, p, err);
    if (status == 0 && p->platforms_count > 1)
      status = visit(p, data, err);
  }
  if (status == 0 && step != SQLITE_DONE)
    status = ft_store_set_error(store, "read", err);
out:
  sqlite3_finalize(statement);
  free(runs.run);
  free(p);
  return status;
}
