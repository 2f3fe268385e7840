/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store of observations. One writer (the learner or an import), any readers. This header and
 * those of its kind beside it are the interface; a folder holds its implementation (sqlite/). */
#ifndef FT_HISTORY_STORE_H
#define FT_HISTORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_store;

/*
 * Opens PATH read-only. With CREATE opens it for writing, creates it (mode 0600) or upgrades an
 * older schema. A newer schema is an error. Returns the store, released by ft_store_close; NULL on
 * error and fills ERR.
 */
struct ft_store *ft_store_open(const char *path, bool create, struct ft_error *err);

/* Closes STORE; NULL is accepted. */
void ft_store_close(struct ft_store *store);

/* Sets how long a call waits for another process that writes, initially 1000 ms, before it fails.
 */
void ft_store_set_wait(struct ft_store *store, int milliseconds);

/* Limits the memory in which STORE caches what it has read to KIB, initially 2000 KiB. */
void ft_store_set_cache(struct ft_store *store, int kib);

/*
 * Stores OBSERVATION, or completes the stored run of the same key (merge.h): a field of the new
 * record replaces the stored one, an absent field does not. An unknown outcome never replaces a
 * known one, and a peak from sacct never one from the agent. If the run moves to another app or
 * key, the former app is marked as stale (stale_models.h). Durable on return outside a transaction.
 *
 * Records of one run by several nodes are stored each, and read as one run (run_nodes.h). MERGED
 * (may be NULL) receives the run, or this node's record while the run waits for other nodes.
 *
 * Returns 0; 2 if the run waits, and models must not learn it yet. Returns 1, with MERGED
 * undefined, if a tombstone covers the run (forget.h; at most its policy override is stored), or if
 * OBSERVATION is an agent's completed run of a job that has already completed. Returns -1 on error
 * and fills ERR.
 */
int ft_store_put(struct ft_store *store, const ft_observation *observation, ft_observation *merged,
                 struct ft_error *err);

/*
 * Ends the wait of runs whose other nodes have not delivered for a minute at the time NOW (UTC
 * seconds), and marks their apps as stale (stale_models.h). A record that comes later still
 * completes its run. Returns 1 if more may be due, else 0; -1 on error and fills ERR.
 */
int ft_store_release_waiting(struct ft_store *store, double now, struct ft_error *err);

/*
 * Renames UID's app FROM to TO in at most some hundred runs of that user and marks both as stale
 * (stale_models.h). Durable on return outside a transaction. Returns 1: the caller ends its
 * transaction and calls again; 0 without any write if FROM has no run left, if these runs had the
 * name TO before, or had four names; -1 on error and fills ERR. Renamed runs do not enter the model
 * of all users' runs.
 */
int ft_store_rename_app(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err);

/*
 * Start and commit a transaction of several calls. Return 0; -1 on error and fill ERR; a failed
 * commit has rolled back. A transaction waits for nothing but the store: it ends before its process
 * reads another request or more of a file, and it changes fewer than 1000 rows, as with 128 calls
 * of ft_store_put.
 */
int ft_store_begin(struct ft_store *store, struct ft_error *err);
int ft_store_commit(struct ft_store *store, struct ft_error *err);

/* Discards all changes since ft_store_begin. */
void ft_store_rollback(struct ft_store *store);

/* Selects the runs that meet all conditions; a zero field is no condition. */
struct ft_store_filter {
  const char *app;
  bool by_uid;
  uint32_t uid;
  uint32_t job_id; /* the run's own job, or the job array of its task */
  bool by_task;
  uint32_t task_id; /* in the job array JOB_ID */
  bool by_node;     /* visit the record of each node instead of runs */
  double since;     /* earliest end_time, UTC seconds */
  uint64_t limit;   /* number of runs, newest first; 0: all runs, oldest first */
};

/*
 * Calls VISIT for each selected run; VISIT returns false to stop. The observation is valid during
 * the call. Returns 0; -1 on error and fills ERR.
 */
int ft_store_each(struct ft_store *store, const struct ft_store_filter *filter,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err);

/* A summary of one app of one user. */
struct ft_store_app {
  char app[128];
  uint32_t uid;
  char user[64];
  uint64_t runs, completed, censored;
  double last_time; /* end of the newest run, UTC seconds */
  double max_bytes; /* largest peak */
  double min_bytes; /* smallest peak of a completed run; 0: none */
};

/* Calls VISIT for each app of each user, most recent first; VISIT returns false to stop. Returns 0;
 * -1 on error and fills ERR. */
int ft_store_each_app(struct ft_store *store,
                      bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                      struct ft_error *err);

#endif
