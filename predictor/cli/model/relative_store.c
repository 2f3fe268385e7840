/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds the table of run times and performance counters from the observation store. */
#include "config.h"

#include <stdio.h>

#include "predictor/cli/model/relative_store.h"
#include "predictor/online/platform_transfer.h"
#include "predictor/rebuild/runtimes.h"
#include "predictor/record/state_files.h"

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

void ft_relative_store_path(const struct ft_store_access *records, char *out, size_t size)
{
  (void)snprintf(out, size, "%s/" FT_STATE_RELATIVE, records->config.state_directory);
}
