/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stores the runs of an import in small transactions. The store is locked only while a batch is
 * written, not while the import reads its file. A run that is stored again gets the values that it
 * lacks, so a repeated import completes an interrupted one.
 */
#ifndef FT_HISTORY_IMPORT_BATCH_H
#define FT_HISTORY_IMPORT_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/history/store.h"

/* Runs per transaction, which changes some rows for each. */
enum { FT_IMPORT_BATCH = 64 };

struct ft_import_batch {
  /* set by the caller */
  struct ft_store *store;
  /* Receives each stored run after its transaction. Returns 0; -1 on error and fills ERR. */
  int (*stored)(const ft_observation *run, void *data, struct ft_error *err);
  void *data; /* for stored */
  /* zero at first */
  ft_observation *run; /* gathered runs; freed by ft_import_batch_free */
  size_t count;
  uint64_t done;      /* runs of ended transactions, forgotten ones included */
  uint64_t forgotten; /* of them, runs that a tombstone covers (forget.h) */
};

/* Adds a copy of OBSERVATION, and stores the batch once it is full. Returns 0; -1 on error, fills
 * ERR and discards the batch. */
int ft_import_batch_add(struct ft_import_batch *batch, const ft_observation *observation,
                        struct ft_error *err);

/* Stores the gathered runs and marks their models as stale (stale_models.h). Returns as
 * ft_import_batch_add. */
int ft_import_batch_store(struct ft_import_batch *batch, struct ft_error *err);

/* Frees the gathered runs. */
void ft_import_batch_free(struct ft_import_batch *batch);

#endif
