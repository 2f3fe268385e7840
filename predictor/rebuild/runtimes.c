/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/history/node_platforms.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/runtimes.h"

/* Where the run times of apps go, and the newest runs of one app, newest first. */
struct runtimes_pass {
  struct ft_store *store;
  ft_runtime_visit *visit;
  void *data; /* for visit */
  ft_performance *performance;
  struct ft_runtimes *runtimes;
  ft_observation *run;
  size_t count;
};

static bool collect_run(const ft_observation *o, void *data)
{
  struct runtimes_pass *pass = data;

  pass->run[pass->count++] = *o;
  return pass->count < FT_RUNTIME_RUNS;
}

/* Builds the run times of UID's APP from its newest runs and visits them. Returns 0; -1 on error.
 */
static int build_runtimes(const char *app, uint32_t uid, void *data, struct ft_error *err)
{
  struct ft_store_filter filter = {
    .app = app, .by_uid = true, .uid = uid, .limit = FT_RUNTIME_RUNS
  };
  struct runtimes_pass *pass = data;

  pass->count = 0;
  if (ft_store_each(pass->store, &filter, collect_run, pass, err) < 0)
    return -1;
  ft_performance_init(pass->performance, pass->runtimes, app, uid);
  while (pass->count)
    if (ft_performance_update(pass->performance, pass->runtimes, &pass->run[--pass->count], err) <
        0)
      return -1;
  return pass->performance->platforms_count > 1
             ? pass->visit(pass->performance, pass->runtimes, pass->data, err)
             : 0;
}

int ft_rebuild_each_runtime(struct ft_store *store, unsigned limit, ft_runtime_visit *visit,
                            void *data, struct ft_error *err)
{
  struct runtimes_pass pass = { store,
                                visit,
                                data,
                                malloc(sizeof *pass.performance),
                                malloc(sizeof *pass.runtimes),
                                malloc(FT_RUNTIME_RUNS * sizeof *pass.run),
                                0 };
  int status = -1;

  if (!pass.run || !pass.performance || !pass.runtimes)
    ft_error_set(err, "run times: out of memory");
  else
    status = ft_store_each_app_of_platforms(store, limit, build_runtimes, &pass, err);
  free(pass.run);
  free(pass.runtimes);
  free(pass.performance);
  return status;
}
