/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store's file: opened, checked, created and brought up to date. */
#ifndef FT_HISTORY_SCHEMA_H
#define FT_HISTORY_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>

#include "predictor/core/error.h"

/* The newest schema of the store that this build knows: PRAGMA user_version. */
#define FT_STORE_SCHEMA 10

/* What a run's age counts from, as the index observation_age has it: its end, or when it was put.
 */
#define FT_SCHEMA_AGE_TIME "max(ifnull(end_time, 0), ifnull(put_time, 0))"

/* A key of the table meta: pages of the file may hold what was removed. */
#define FT_SCHEMA_SCRUB "scrub"

/*
 * Open PATH as ft_store_open says. Returns NULL with ERR; nothing is left behind that was not
 * there.
 */
sqlite3 *ft_schema_open(const char *path, bool create, struct ft_error *err);

/*
 * Put in one line why the last call on DB failed while DOING ("put", "read"):
 * PATH, what, SQLite's reason, and what to do where that is known. Returns -1.
 */
int ft_schema_error(struct ft_error *err, sqlite3 *db, const char *path, const char *doing);

/* Run SQL that gives no rows. Returns 0; -1 with ERR as above. */
int ft_schema_run(sqlite3 *db, const char *path, const char *sql, const char *doing,
                  struct ft_error *err);

#endif
