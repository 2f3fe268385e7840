/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the table of run times and performance counters from the observation store. */
#include "config.h"

#include "predictor/cli/relative/relative.h"
#include "predictor/cli/store_access.h"
#include "predictor/online/platform_transfer.h"
#include "predictor/rebuild/runtimes.h"

static int append_performance(const ft_performance *performance, const struct ft_runtimes *runtimes,
                              void *data, struct ft_error *err)
{
  return ft_platform_transfer_add(data, performance, runtimes, err);
}

int ft_relative_read_store(const char *state, struct ft_store_access *records,
                           struct ft_relative_table *t, struct ft_error *err)
{
  *t = (struct ft_relative_table){ 0 };
  if (ft_store_access_open(records, state, false, err) < 0 ||
      ft_rebuild_each_runtime(records->store, FT_PLATFORM_TRANSFER_APPS, append_performance, t,
                              err) < 0)
    return -1;
  if (!t->rows)
    return ft_error_set(err, "%s: no app has completed on two platforms", records->path);
  return 0;
}
