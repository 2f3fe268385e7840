/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/history/import_batch.h"
#include "predictor/history/stale_models.h"

/* Inside a transaction: stores the gathered runs, replaces them by the merged ones, and drops those
 * that are forgotten. Returns 0; -1 on error and fills ERR. */
static int put_gathered_runs(struct ft_import_batch *batch, size_t *stored, struct ft_error *err)
{
  *stored = 0;
  for (size_t i = 0; i < batch->count; i++) {
    ft_observation *merged = &batch->run[FT_IMPORT_BATCH];
    int status = ft_store_put(batch->store, &batch->run[i], merged, err);

    if (status < 0)
      return -1;
    if (status == 1)
      continue;
    /* the merged run may belong to another app than the imported one */
    if (ft_store_mark_stale(batch->store, merged->uid, merged->submission.app, NULL, err) < 0)
      return -1;
    batch->run[(*stored)++] = *merged;
  }
  return 0;
}

int ft_import_batch_store(struct ft_import_batch *batch, struct ft_error *err)
{
  size_t count = batch->count, stored;
  int status;

  if (!count)
    return 0;
  if (ft_store_begin(batch->store, err) < 0)
    return -1;
  status = put_gathered_runs(batch, &stored, err);
  batch->count = 0;
  if (status < 0) {
    ft_store_rollback(batch->store);
    return -1;
  }
  if (ft_store_commit(batch->store, err) < 0)
    return -1;
  batch->done += count;
  batch->forgotten += count - stored;
  for (size_t i = 0; i < stored; i++)
    if (batch->stored(&batch->run[i], batch->data, err) < 0)
      return -1;
  return 0;
}

int ft_import_batch_add(struct ft_import_batch *batch, const ft_observation *observation,
                        struct ft_error *err)
{
  if (!batch->run)
    /* the last one is for ft_store_put */
    batch->run = malloc((FT_IMPORT_BATCH + 1) * sizeof *batch->run);
  if (!batch->run)
    return ft_error_set(err, "out of memory");
  batch->run[batch->count++] = *observation;
  return batch->count < FT_IMPORT_BATCH ? 0 : ft_import_batch_store(batch, err);
}

void ft_import_batch_free(struct ft_import_batch *batch)
{
  free(batch->run);
  batch->run = NULL;
  batch->count = 0;
}
