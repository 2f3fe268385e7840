/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens, checks, creates and upgrades the store's file. */
#ifndef FT_HISTORY_SQLITE_SCHEMA_H
#define FT_HISTORY_SQLITE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "predictor/core/error.h"

/* Newest supported schema of the store (PRAGMA user_version). */
#define FT_STORE_SCHEMA 16

/* SQL expression: the time from which the age of a run counts, the later of its end and its
 * insertion. The index observation_age is on the same expression. */
#define FT_SCHEMA_AGE_TIME "max(ifnull(end_time, 0), ifnull(put_time, 0))"

/* SQL condition: the row is a record of the run with this key, on any node. */
#define FT_SCHEMA_RUN_KEY(job, cluster, submit, restart, het, array, task)                         \
  "job_id = " job " AND cluster = " cluster " AND submit_time = " submit                           \
  " AND restart_count = " restart " AND het_offset = " het " AND array_job_id = " array            \
  " AND array_task_id = " task

/* SQL condition: no configuration has named the run's platform, so that it is the fingerprint, as
 * far as ft_observation.platform holds it (foretell.options). The index observation_unnamed has it.
 */
#define FT_SCHEMA_UNNAMED "platform = substr(fingerprint, 1, 63)"

/* Key in the table meta, present while pages of the file may hold removed data. */
#define FT_SCHEMA_SCRUB "scrub"

/* As ft_store_open. Returns the connection, closed by the caller; NULL on error, fills ERR and
 * leaves no new file. */
sqlite3 *ft_schema_open(const char *path, bool create, struct ft_error *err);

/*
 * Fills ERR with one line: PATH, the operation ACTION ("put", "read"), SQLite's reason for
 * the last failure on DB, and the remedy if known. Returns -1.
 */
int ft_schema_error(struct ft_error *err, sqlite3 *db, const char *path, const char *action);

/* Runs SQL that returns no rows. Returns 0; -1 on error and fills ERR as ft_schema_error. */
int ft_schema_run(sqlite3 *db, const char *path, const char *sql, const char *action,
                  struct ft_error *err);

#endif
