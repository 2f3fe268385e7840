/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store's internals, shared by the files that work on its tables. */
#ifndef FT_HISTORY_STORE_PRIVATE_H
#define FT_HISTORY_STORE_PRIVATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* The app that ft_store_trim visited last. */
struct ft_trim_cursor {
  char app[128];
  int64_t uid; /* -1: before the first */
};

/* Prepared statements are NULL until their first use. */
struct ft_store {
  sqlite3 *db;
  char *path;
  bool in_transaction;       /* between ft_store_begin and ft_store_commit */
  sqlite3_stmt *select_run;  /* by key, for ft_store_put */
  sqlite3_stmt *completed;   /* earlier completed run of the same job */
  sqlite3_stmt *put;         /* insert or replace */
  sqlite3_stmt *page;        /* runs of a user's app after a given one */
  sqlite3_stmt *pooled_page; /* runs of all users of an app after a given one */
  sqlite3_stmt *mark;        /* stale model */
  sqlite3_stmt *next_stale;  /* stale model */
  sqlite3_stmt *tombstones;  /* that may cover a run */
  struct ft_trim_cursor trim_cursor;
};

/* Returns SQL as a statement to be finalized by the caller; NULL on error, fills ERR with the
 * operation DOING ("read"). */
sqlite3_stmt *ft_store_statement(struct ft_store *store, const char *sql, const char *doing,
                                 struct ft_error *err);

/* As ft_store_statement for HEAD, the columns of an observation, and TAIL. */
sqlite3_stmt *ft_store_prepare(struct ft_store *store, const char *head, const char *tail,
                               struct ft_error *err);

/* Sets *STATEMENT to SQL as a persistent statement, unless it is set. Returns 0; -1 on error and
 * fills ERR. */
int ft_store_prepare_once(struct ft_store *store, sqlite3_stmt **statement, const char *sql,
                          struct ft_error *err);

/* Converts STEP, a result of sqlite3_step: 1 for a row, 0 at the end; else -1 and fills ERR with
 * the operation DOING. */
int ft_store_step_status(struct ft_store *store, int step, const char *doing, struct ft_error *err);

/* Runs STATEMENT, which returns no rows, and finalizes it; NULL stands for a failed preparation.
 * Returns 0; -1 on error and fills ERR (not for NULL). */
int ft_store_finish(struct ft_store *store, sqlite3_stmt *statement, const char *doing,
                    struct ft_error *err);

/*
 * Runs the first step of SQL with the parameters UID, APP (may be NULL) and NUMBER. Returns the
 * result of sqlite3_step and sets *S to the statement, which the caller finalizes.
 */
int ft_store_start_query(struct ft_store *store, sqlite3_stmt **s, const char *sql, int64_t uid,
                         const char *app, double number);

/* Runs SQL, which returns no rows, with the same parameters. Returns 0; -1 on error and fills ERR
 * with the operation DOING. */
int ft_store_update(struct ft_store *store, const char *doing, const char *sql, int64_t uid,
                    const char *app, double number, struct ft_error *err);

/* Sets OUT to the number that SQL selects with the parameter UID, 0 without a row. Returns as
 * ft_store_update. */
int ft_store_query_number(struct ft_store *store, const char *doing, int64_t uid, const char *sql,
                          double *out, struct ft_error *err);

/* Returns 0 inside a transaction that is still open; -1 on error and fills ERR. A full disk may
 * roll back the whole transaction, not only the last statement. */
int ft_store_check_transaction(struct ft_store *store, struct ft_error *err);

/* Fills ERR with the reason why the last call on STORE failed, during the operation DOING. Returns
 * -1. */
int ft_store_set_error(struct ft_store *store, const char *doing, struct ft_error *err);

/*
 * Inside a transaction: runs of UID's APP were removed. Marks the app as stale (stale_models.h),
 * and as removed if no run is left (expire.h). Returns 1 if none is left, else 0; -1 on error and
 * fills ERR.
 */
int ft_store_note_removal(struct ft_store *store, uint32_t uid, const char *app,
                          struct ft_error *err);

/* Reads the run in the columns FIRST, FIRST + 1, ... of S's current row, whose column 0 is the
 * row's number. Returns 0; -1 on an invalid value and fills ERR with the store, the row and the
 * column. */
int ft_store_read_row(const struct ft_store *store, sqlite3_stmt *s, int first, ft_observation *o,
                      struct ft_error *err);

/* Inside a transaction: overwrites row ID with O. Returns 0; -1 on error and fills ERR. */
int ft_store_replace(struct ft_store *store, int64_t id, const ft_observation *o,
                     struct ft_error *err);

#endif
