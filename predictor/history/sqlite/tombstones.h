/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores tombstones (forget.h) and decides which runs they cover. */
#ifndef FT_HISTORY_SQLITE_TOMBSTONES_H
#define FT_HISTORY_SQLITE_TOMBSTONES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/forget.h"

/* The fields of a run that a tombstone is compared with. */
struct ft_run_identity {
  int64_t id;  /* row; 0: not stored */
  int64_t app; /* hash of the name, as in ft_tombstone */
  uint32_t uid, job_id, array_job_id, array_task_id;
  char app_name[128];
  char cluster[64];
  double submitted, started, ended; /* UTC seconds; 0: unknown */
  bool has_nodes; /* one of several records of the run, or of one that waits (run_nodes.h) */
  bool is_part;   /* another row stands for the run */
};

/* The columns that ft_tombstone_read_run reads. */
#define FT_TOMBSTONE_RUN_COLUMNS                                                                   \
  "id, uid, job_id, array_job_id, array_task_id, app, cluster, submit_time, start_time, end_time," \
  " runtime_seconds, put_time, records"

/* Returns the hash of an app's name; 0 for the empty name. */
int64_t ft_tombstone_hash(const char *app);

/* Fills RUN from the current row of S, whose columns are FT_TOMBSTONE_RUN_COLUMNS. */
void ft_tombstone_read_run(sqlite3_stmt *s, struct ft_run_identity *run);

/* Returns whether TOMBSTONE, restricted to CLUSTER unless that is empty, covers RUN. */
bool ft_tombstone_covers(const struct ft_tombstone *tombstone, const char *cluster,
                         const struct ft_run_identity *run);

/*
 * Inside a transaction: stores TOMBSTONE as unfinished, and one more for each former name of its
 * app. Sets its id. Returns 0; -1 on error, also above the limit per user, and fills ERR.
 */
int ft_tombstone_add(struct ft_store *store, struct ft_tombstone *tombstone, struct ft_error *err);

/* Sets TOMBSTONE to the oldest unfinished tombstone. Returns 1; 0 if there is none; -1 on error and
 * fills ERR. */
int ft_tombstone_next(struct ft_store *store, struct ft_tombstone *tombstone, struct ft_error *err);

/* Inside a transaction: removes some finished tombstones of requests before this UTC time. Returns
 * 1 if more may remain, else 0; -1 and ERR. */
int ft_tombstone_expire(struct ft_store *store, double before, struct ft_error *err);

/* Marks the tombstone ID as finished. Returns 0; -1 on error and fills ERR. */
int ft_tombstone_finish(struct ft_store *store, int64_t id, struct ft_error *err);

/*
 * Inside a transaction: stores a tombstone for RUN, which TOMBSTONE removes, if TOMBSTONE names an
 * app: an import may bring the run back under another name. Returns 0; -1 on error and fills ERR.
 */
int ft_tombstone_add_run(struct ft_store *store, const struct ft_tombstone *tombstone,
                         const struct ft_run_identity *run, struct ft_error *err);

/*
 * Inside a transaction: applies tombstones to O before its insertion. Returns 0 if none covers O;
 * 1 if O must not be stored; 2 if O was reduced to its policy override, which must be stored; -1 on
 * error and fills ERR.
 */
int ft_store_apply_tombstones(struct ft_store *store, ft_observation *o, struct ft_error *err);

/* Returns 1 if UID's runs of FROM may get the name TO: they did not have it before, and had few
 * others; else 0; -1 on error and fills ERR. */
int ft_store_may_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err);

/* Inside a transaction: records that runs of UID's app TO had the name FROM. Returns 0; -1 on error
 * and fills ERR. */
int ft_store_record_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                           struct ft_error *err);

/* Returns whether O overrode the site's policy or was rejected by it. */
bool ft_tombstone_is_override(const ft_observation *o);

/* Returns whether O is already reduced to a policy override. */
bool ft_tombstone_is_stripped(const ft_observation *o);

/* Reduces O to its policy override: key, user, times and outcome. Out of memory zeroes O. */
void ft_tombstone_strip(ft_observation *o);

#endif
