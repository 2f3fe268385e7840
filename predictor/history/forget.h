/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Removes runs on request and prevents their return by a late spool file, a journal that is read
 * again or a repeated import.
 *
 * A request is stored as a tombstone: uid, job ID, hash of the app's name, `before` (the run's
 * end), and the time of the request. ft_store_put rejects an observation that a tombstone covers:
 * all fields of the tombstone match, and the run is older than the request. The age of a run counts
 * from its start (from its end or submission if only that is known). For a tombstone with a job the
 * age counts from the job's submission. Later runs of the same app, or of a reused job ID, are
 * therefore accepted. A tombstone expires with max_age after the request. A run without any known
 * time is covered. For `before`, a run without an end time counts as ended at its insertion.
 *
 * - The tombstone of an app also covers former names of the app.
 * - Each run removed by its app's name gets a tombstone of its own, because an import of the same
 *   run may use another name.
 * - The tombstone of a job covers all tasks of a job array with this ID, or the one task it names.
 *
 * A run that overrode the site's policy, or was rejected by it, is not removed. Its row stays
 * without app, job name, features and measurements; a late record of such a run is stored the same
 * way. Rejections (rejections.h) stay without their app.
 *
 * Removal is a pass in steps of a few milliseconds. Each step is one transaction, which also marks
 * the affected models as stale (stale_models.h). ft_store_forget_next resumes an interrupted pass.
 */
#ifndef FT_HISTORY_FORGET_H
#define FT_HISTORY_FORGET_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/store.h"

/* Unrestricted fields are 0, or -1 where 0 is a value. */
struct ft_tombstone {
  int64_t id;  /* row in the store; 0: not stored */
  int64_t app; /* hash of the name */
  int64_t uid, array_task_id;
  uint32_t job_id;
  double before;       /* covers runs that ended before this time, UTC seconds */
  double request_time; /* UTC seconds */
};

/* The state of a pass. */
struct ft_forget_pass {
  struct ft_tombstone tombstone;
  bool dry_run;      /* count only, remove nothing */
  uint64_t runs;     /* removed so far; of a dry run, to be removed */
  uint64_t stripped; /* reduced to policy overrides so far */
  uint64_t models;   /* apps without any run left */
  uint64_t *apps;    /* ascending hashes of the affected apps; freed by ft_forget_pass_free */
  size_t app_count, app_capacity;
  int64_t row; /* rows up to this number are done */
  bool marked; /* the store file is marked for overwriting */
  /*
   * Called in the transaction for each run before its removal; returns 0, or -1 and fills ERR.
   * The same run may be passed again after a crash. NULL: no call.
   */
  int (*before_removal)(const ft_observation *observation, void *data, struct ft_error *err);
  void *data; /* for before_removal */
};

/*
 * Starts a pass for the request WHAT, which names at least one criterion, at the time NOW (UTC
 * seconds): stores its tombstone unless WHAT is a dry run, and fills PASS except before_removal and
 * data. Returns 0; -1 on error, also if the user's limit of tombstones is reached, and fills ERR.
 */
int ft_store_forget_begin(struct ft_store *store, const ft_forget *what, double now,
                          struct ft_forget_pass *pass, struct ft_error *err);

/* Returns 1 if a run of UID's job, or job array, JOB_ID is stored, else 0; -1 and ERR. */
int ft_store_has_job(struct ft_store *store, uint32_t job_id, uint32_t uid, struct ft_error *err);

/* Sets PASS to the start of an unfinished pass. Returns 1; 0: there is none; -1 on error, fills
 * ERR.
 */
int ft_store_forget_next(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err);

/* Runs the next step. Returns 1 if more rows remain, 0 after the last; -1 on error and fills ERR.
 */
int ft_store_forget_step(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err);

/*
 * Ends PASS after the caller has removed its traces elsewhere. Overwrites the removed data in the
 * file too: now if the store has at most NOW_BYTES, else in ft_store_scrub. Returns 0; -1 on error
 * (a reader may block it) and fills ERR; the caller then calls again.
 */
int ft_store_forget_end(struct ft_store *store, struct ft_forget_pass *pass, uint64_t now_bytes,
                        struct ft_error *err);

/* Frees the contents of PASS. */
void ft_forget_pass_free(struct ft_forget_pass *pass);

/*
 * Overwrites removed data if some is left and the store has at most MAX_BYTES. The whole file is
 * rewritten at some 70 MB/s; no other process can write meanwhile. Returns 0 if nothing is left, 1
 * if the store is larger; -1 on error and fills ERR.
 */
int ft_store_scrub(struct ft_store *store, uint64_t max_bytes, struct ft_error *err);

/* The same for the store PATH of any size; waits up to MILLISECONDS for other processes' locks.
 * Returns 0; -1 and ERR. */
int ft_store_scrub_file(const char *path, int milliseconds, struct ft_error *err);

/*
 * Returns 1 if a tombstone covers OBSERVATION of a job that still runs, else 0; -1 on error and
 * fills ERR. A covered run gets a tombstone of its own, like a removed run.
 */
int ft_store_is_forgotten(struct ft_store *store, const ft_observation *observation,
                          struct ft_error *err);

#endif
