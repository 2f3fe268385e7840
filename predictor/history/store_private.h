/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The store's inside, for the sources of this room that are about its tables. */
#ifndef FT_HISTORY_STORE_PRIVATE_H
#define FT_HISTORY_STORE_PRIVATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Whose turn it was: an app of a user. */
struct ft_trim_cursor {
  char app[128];
  int64_t uid; /* -1: of nobody yet */
};

struct ft_store {
  sqlite3 *db;
  char *path;
  bool inside;        /* between begin and commit */
  sqlite3_stmt *find; /* by key, for put */
  sqlite3_stmt *completed; /* runs before one of the same job */
  sqlite3_stmt *put;
  sqlite3_stmt *page; /* runs of an app after one of them */
  sqlite3_stmt *pooled_page; /* of all users */
  sqlite3_stmt *mark;
  sqlite3_stmt *next; /* changed app */
  sqlite3_stmt *stones; /* tombstones that may cover a run */
  struct ft_trim_cursor turn; /* trimmed last */
};

/*
 * Prepare HEAD, the observation's columns and TAIL as one statement. Returns it, NULL with
 * ERR.
 */
sqlite3_stmt *ft_store_prepare(struct ft_store *store, const char *head, const char *tail,
                               struct ft_error *err);

/*
 * Inside a transaction: runs of UID's APP have left it. It is marked (stale_models.h), and where
 * none is left it has gone (expire.h). Returns 1 when it has, 0 when not, -1 with ERR.
 */
int ft_store_note_removal(struct ft_store *store, uint32_t uid, const char *app,
                          struct ft_error *err);

/* Inside a transaction: keep that runs of UID's app TO were FROM's. Returns 0 or -1 with ERR. */
int ft_store_record_rename(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                           struct ft_error *err);

/*
 * Inside a transaction: O is to be put. Returns 1 when a tombstone covers it and it is not to be; 2
 * when it is, as O now is, stripped to what it overrode; 0 when none does; -1 with ERR.
 */
int ft_store_apply_tombstones(struct ft_store *store, ft_observation *o, struct ft_error *err);

/* Inside a transaction: the row ID becomes O. Returns 0 or -1 with ERR. */
int ft_store_replace(struct ft_store *store, int64_t id, const ft_observation *o,
                     struct ft_error *err);

/* Why the last call on STORE failed, while DOING what. Returns -1. */
int ft_store_set_error(struct ft_store *store, const char *doing, struct ft_error *err);

#endif
