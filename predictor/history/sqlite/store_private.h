/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store's internals, shared by the files that work on its tables. */
#ifndef FT_HISTORY_SQLITE_STORE_PRIVATE_H
#define FT_HISTORY_SQLITE_STORE_PRIVATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* The app that ft_store_trim visited last. */
struct ft_trim_cursor {
  char app[128];
  int64_t uid;     /* -1: before the first */
  bool unfinished; /* the app has runs left to remove */
};

/* Prepared statements are NULL until their first use. */
struct ft_store {
  sqlite3 *db;
  char *path;
  bool in_transaction;        /* between ft_store_begin and ft_store_commit */
  int changes_before;         /* sqlite3_total_changes at ft_store_begin */
  sqlite3_stmt *select_run;   /* the stored run of a key */
  sqlite3_stmt *completed;    /* an earlier completed run of a job */
  sqlite3_stmt *put;          /* inserts or replaces a run */
  sqlite3_stmt *page;         /* next runs of a user's app by end time */
  sqlite3_stmt *pooled_page;  /* next runs of all users' app by end time */
  sqlite3_stmt *mark;         /* inserts a mark of a stale model */
  sqlite3_stmt *next_stale;   /* next mark of a stale model */
  sqlite3_stmt *unnamed;      /* whether a node has runs whose platform is a fingerprint */
  sqlite3_stmt *tombstones;   /* tombstones that may cover a run */
  sqlite3_stmt *waits;        /* of run_nodes.c, as the next ones: whether a run waits */
  sqlite3_stmt *group;        /* rows of a run */
  sqlite3_stmt *mark_group;   /* sets `records` of a run's rows */
  sqlite3_stmt *mark_part;    /* the same of one more row of a waiting run */
  sqlite3_stmt *give_key;     /* sets the submit time in records of other nodes */
  sqlite3_stmt *nodes;        /* records of a run */
  sqlite3_stmt *wait;         /* of waiting.c, as the next ones: adds a run */
  sqlite3_stmt *end_wait;     /* removes it */
  sqlite3_stmt *next_waiting; /* next run of a job */
  struct ft_trim_cursor trim_cursor;
};

/* A parameter of an SQL statement. */
struct ft_sql_value {
  enum { FT_SQL_END, FT_SQL_INTEGER, FT_SQL_REAL, FT_SQL_TEXT } type;
  int64_t integer;
  double real;
  const char *text; /* NULL: the SQL value NULL; copied when bound */
};

#define FT_INT(x) ((struct ft_sql_value){ .type = FT_SQL_INTEGER, .integer = (x) })
#define FT_REAL(x) ((struct ft_sql_value){ .type = FT_SQL_REAL, .real = (x) })
#define FT_TEXT(x) ((struct ft_sql_value){ .type = FT_SQL_TEXT, .text = (x) })
/* The parameters ?1, ?2, ... of a statement; those that the statement lacks are ignored. */
#define FT_VALUES(...) ((const struct ft_sql_value[]){ __VA_ARGS__, { .type = FT_SQL_END } })

/*
 * Prepares SQL and binds VALUES (NULL: no parameters). Returns the statement, finalized by the
 * caller; NULL on error and fills ERR. ACTION ("read") names the operation in the error message,
 * here and below.
 */
sqlite3_stmt *ft_store_prepare(struct ft_store *store, const char *action, const char *sql,
                               const struct ft_sql_value *values, struct ft_error *err);

/* As ft_store_prepare for the SQL of HEAD, the columns of an observation, and TAIL. */
sqlite3_stmt *ft_store_prepare_columns(struct ft_store *store, const char *head, const char *tail,
                                       const struct ft_sql_value *values, struct ft_error *err);

/*
 * Prepares SQL as the persistent *STATEMENT, unless that is set, and binds VALUES. The caller
 * resets *STATEMENT after its last step. Returns 0; -1 on error and fills ERR.
 */
int ft_store_prepare_once(struct ft_store *store, sqlite3_stmt **statement, const char *sql,
                          const struct ft_sql_value *values, struct ft_error *err);

/* Binds VALUES (NULL: nothing) to STATEMENT, which must be new or reset. Returns 0; -1 on error and
 * fills ERR. */
int ft_store_bind(struct ft_store *store, sqlite3_stmt *statement, const char *action,
                  const struct ft_sql_value *values, struct ft_error *err);

/* Converts STEP, a result of sqlite3_step. Returns 1 for a row, 0 after the last row; -1 for an
 * error and fills ERR. */
int ft_store_step_status(struct ft_store *store, int step, const char *action,
                         struct ft_error *err);

/* Copies the text of COLUMN in STATEMENT's current row to OUT of SIZE bytes, truncated; "" for
 * NULL. */
void ft_store_column_text(sqlite3_stmt *statement, int column, char *out, size_t size);

/*
 * Runs SQL with VALUES up to its first row. Returns 1 with *STATEMENT at that row, to be finalized
 * by the caller; else *STATEMENT is NULL. Returns 0 without a row; -1 on error and fills ERR.
 */
int ft_store_first_row(struct ft_store *store, const char *action, const char *sql,
                       const struct ft_sql_value *values, sqlite3_stmt **statement,
                       struct ft_error *err);

/* As ft_store_first_row without reading the row. */
int ft_store_run(struct ft_store *store, const char *action, const char *sql,
                 const struct ft_sql_value *values, struct ft_error *err);

/* Sets OUT to the number that SQL selects with VALUES, 0 without a row. Returns 0; -1 on error and
 * fills ERR. */
int ft_store_query_number(struct ft_store *store, const char *action, const char *sql,
                          const struct ft_sql_value *values, double *out, struct ft_error *err);

/*
 * Row changes after which a transaction takes no more work: a server that replicates transactions
 * has limits, and an interrupted one is lost as a whole. With the work begun before, a transaction
 * changes fewer than 1000 rows.
 */
enum { FT_STORE_ENOUGH_CHANGES = 256 };

/* Inside a transaction: returns the number of rows it has changed, those of triggers included. */
int ft_store_changes(const struct ft_store *store);

/* Removes up to FT_STORE_ENOUGH_CHANGES marks of published models (stale_models.h). Returns 1 if
 * more may remain, else 0; -1 on error and fills ERR. */
int ft_store_remove_published_marks(struct ft_store *store, struct ft_error *err);

/* Ends a transaction: commits, or rolls back if STATUS is negative. Returns STATUS; -1 if the
 * commit failed and fills ERR. */
int ft_store_end(struct ft_store *store, int status, struct ft_error *err);

/* Returns 0 if the transaction of ft_store_begin is still open; else -1 and fills ERR. SQLite may
 * roll back a whole transaction, not only its last statement, when the disk is full. */
int ft_store_check_transaction(struct ft_store *store, struct ft_error *err);

/* Fills ERR with SQLite's reason for the last failure on STORE's connection. Returns -1. */
int ft_store_set_error(struct ft_store *store, const char *action, struct ft_error *err);

/*
 * Inside a transaction, after runs of UID's APP were removed: marks the app as stale
 * (stale_models.h), and as removed if it has no runs left (expire.h). Returns 1 if it has none,
 * else 0; -1 on error and fills ERR.
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
