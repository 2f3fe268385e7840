/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/history/store_private.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/runtimes.h"

/* Maximum number of runs of an app that are read, the newest; the length of ft_performance.history.
 */
enum { MAX_RUNS = 100 };

/* The newest runs of an app, newest first. */
struct recent_runs {
  ft_observation *run;
  size_t count;
};

static bool collect_run(const ft_observation *o, void *data)
{
  struct recent_runs *runs = data;

  runs->run[runs->count++] = *o;
  return runs->count < MAX_RUNS;
}

/* Builds P from the newest runs of UID's APP, with RUNS as working memory. Returns 0; -1 on error.
 */
static int build_runtimes(struct ft_store *store, const char *app, uint32_t uid,
                          struct recent_runs *runs, ft_performance *p, struct ft_error *err)
{
  struct ft_store_filter filter = { .app = app, .by_uid = true, .uid = uid, .limit = MAX_RUNS };

  runs->count = 0;
  if (ft_store_each(store, &filter, collect_run, runs, err) < 0)
    return -1;
  ft_performance_init(p, app, uid);
  while (runs->count)
    if (ft_performance_update(p, &runs->run[--runs->count], err) < 0)
      return -1;
  return 0;
}

int ft_rebuild_each_runtime(struct ft_store *store, unsigned limit,
                            int (*visit)(const ft_performance *performance, void *data,
                                         struct ft_error *err),
                            void *data, struct ft_error *err)
{
  static const char sql[] =
      "SELECT app, uid FROM observation"
      " WHERE app <> '' AND platform <> '' AND runtime_seconds > 0"
      " AND outcome = ?1 GROUP BY app, uid HAVING min(platform) < max(platform)"
      " ORDER BY max(end_time) DESC LIMIT ?2";
  struct recent_runs runs = { malloc(MAX_RUNS * sizeof *runs.run), 0 };
  ft_performance *p = malloc(sizeof *p);
  sqlite3_stmt *statement = NULL;
  int step = SQLITE_DONE, status = 0;

  if (!runs.run || !p) {
    status = ft_error_set(err, "%s: out of memory", store->path);
    goto out;
  }
  statement = ft_store_prepare(
      store, "prepare", sql,
      FT_VALUES(FT_TEXT(ft_outcome_name(FT_OUTCOME_COMPLETED)), FT_INT(limit)), err);
  if (!statement) {
    status = -1;
    goto out;
  }
  while (status == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
    const char *name = (const char *)sqlite3_column_text(statement, 0);
    char app[sizeof p->app];

    if (!name || !ft_string_copy(name, app, sizeof app))
      continue;
    status =
        build_runtimes(store, app, (uint32_t)sqlite3_column_int64(statement, 1), &runs, p, err);
    if (status == 0 && p->platforms_count > 1)
      status = visit(p, data, err);
  }
  if (status == 0)
    status = ft_store_step_status(store, step, "read", err);
out:
  sqlite3_finalize(statement);
  free(runs.run);
  free(p);
  return status;
}
