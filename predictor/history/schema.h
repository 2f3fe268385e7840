/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens, checks, creates and upgrades the store's file. */
#ifndef FT_HISTORY_SCHEMA_H
#define FT_HISTORY_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "predictor/core/error.h"

/* Newest supported schema of the store (PRAGMA user_version). */
#define FT_STORE_SCHEMA 10

/* SQL: time from which the age of a run counts, its end or its insertion; as in the index
 * observation_age. */
#define FT_SCHEMA_AGE_TIME "max(ifnull(end_time, 0), ifnull(put_time, 0))"

/* Key of the table meta: pages of the file may hold removed data. */
#define FT_SCHEMA_SCRUB "scrub"

/* As ft_store_open. Returns the connection, closed by the caller; NULL on error, fills ERR and
 * leaves no new file. */
sqlite3 *ft_schema_open(const char *path, bool create, struct ft_error *err);

/*
 * Fills ERR with one line: PATH, the failed operation DOING ("put", "read"), SQLite's reason for
 * the last failure on DB, and the remedy if known. Returns -1.
 */
int ft_schema_error(struct ft_error *err, sqlite3 *db, const char *path, const char *doing);

/* Runs SQL without result rows. Returns 0; -1 on error and fills ERR as ft_schema_error. */
int ft_schema_run(sqlite3 *db, const char *path, const char *sql, const char *doing,
                  struct ft_error *err);

#endif
