/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/history/run_nodes.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

/* Runs per step of ft_rebuild_model. Chosen by judgement. */
enum { PAGE_RUNS = 256 };

void ft_rebuild_init(struct ft_rebuild *rebuild, uint32_t uid, const char *app, ft_rule rule)
{
  ft_online_init(&rebuild->model, app, uid, rule);
  ft_performance_init(&rebuild->performance, app, uid);
  rebuild->time = -INFINITY;
  rebuild->row = 0;
}

/* Returns a statement that selects the next RUNS runs, owned by STORE; NULL on error and fills ERR.
 * Runs with equal end times are ordered by row, so that each is read exactly once. */
static sqlite3_stmt *select_next_runs(struct ft_rebuild *rebuild, struct ft_store *store,
                                      unsigned runs, struct ft_error *err)
{
  bool pooled = rebuild->model.uid == FT_STATE_POOLED;
  const struct ft_sql_value *values =
      FT_VALUES(FT_TEXT(rebuild->model.app), FT_INT(rebuild->model.uid), FT_REAL(rebuild->time),
                FT_INT(rebuild->row), FT_INT(runs));
  sqlite3_stmt **cached = pooled ? &store->pooled_page : &store->page;

  if (*cached)
    return ft_store_bind(store, *cached, "read", values, err) < 0 ? NULL : *cached;
#define NEXT_RUNS                                                                                  \
  " AND (end_time, id) > (?3, ?4) AND " FT_SQL_IS_LEARNT " ORDER BY end_time, id LIMIT ?5"
  return *cached = ft_store_prepare_columns(
             store, "SELECT id, end_time, records, ",
             pooled ? " FROM observation WHERE app = ?1 AND ?2 = ?2" NEXT_RUNS
                    : " FROM observation WHERE app = ?1 AND uid = ?2" NEXT_RUNS,
             values, err);
#undef NEXT_RUNS
}

int ft_rebuild_learn(struct ft_rebuild *rebuild, const ft_observation *o, struct ft_error *err)
{
  if (ft_online_update(&rebuild->model, o, err) < 0)
    return -1;
  return ft_performance_update(&rebuild->performance, o, err) < 0 ? -1 : 0;
}

int ft_rebuild_step(struct ft_rebuild *rebuild, struct ft_store *store, unsigned runs,
                    struct ft_error *err)
{
  sqlite3_stmt *s = select_next_runs(rebuild, store, runs, err);
  ft_observation *o = malloc(sizeof *o);
  unsigned learnt = 0;
  int status = -1, step = SQLITE_DONE;

  if (!s)
    goto out;
  if (!o) {
    ft_error_set(err, "%s: out of memory", store->path);
    goto out;
  }
  while (learnt < runs && (step = sqlite3_step(s)) == SQLITE_ROW) {
    if (ft_run_nodes_read(store, s, 2, false, o, err) < 0 || ft_rebuild_learn(rebuild, o, err) < 0)
      goto out;
    rebuild->time = sqlite3_column_double(s, 1);
    rebuild->row = sqlite3_column_int64(s, 0);
    learnt++;
  }
  if (step == SQLITE_ROW || step == SQLITE_DONE)
    status = learnt < runs;
  else
    ft_store_set_error(store, "read", err);
out:
  sqlite3_reset(s);
  free(o);
  return status;
}

int ft_rebuild_model(struct ft_store *store, uint32_t uid, const char *app, ft_rule rule,
                     ft_model *model, struct ft_error *err)
{
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  int status = 0;

  if (!rebuild)
    return ft_error_set(err, "%s: out of memory", app);
  ft_rebuild_init(rebuild, uid, app, rule);
  while (status == 0)
    status = ft_rebuild_step(rebuild, store, PAGE_RUNS, err);
  if (status > 0)
    *model = rebuild->model;
  free(rebuild);
  return status < 0 ? -1 : 0;
}
