/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A queue of apps whose published models are older than the store. A writer of runs marks the app
 * in the same transaction. Marks have ascending numbers, and a newer mark replaces the app's older
 * one. The learner stores the number up to which it has published.
 */
#ifndef FT_HISTORY_STALE_MODELS_H
#define FT_HISTORY_STALE_MODELS_H

#include <stdint.h>

#include "predictor/history/store.h"

/*
 * Marks the model of UID's APP as stale; an empty name marks nothing. Joins the transaction between
 * ft_store_begin and ft_store_commit. Sets NUMBER (may be NULL) to the mark's number. Returns 0; -1
 * on error and fills ERR.
 */
int ft_store_mark_stale(struct ft_store *store, uint32_t uid, const char *app, int64_t *number,
                        struct ft_error *err);

/* As ft_store_mark_stale, but changes nothing and sets NUMBER to 0 if UID's APP has a mark with a
 * number above AFTER. */
int ft_store_mark_stale_after(struct ft_store *store, uint32_t uid, const char *app, int64_t after,
                              int64_t *number, struct ft_error *err);

/* Sets NUMBER to the largest number that a mark has had, 0: none. Only an older copy of the store
 * has a smaller one. Returns 0; -1 on error and fills ERR. */
int ft_store_last_mark(struct ft_store *store, int64_t *number, struct ft_error *err);

struct ft_stale_model {
  int64_t number; /* above 0 */
  char app[128];
  uint32_t uid;
};

/* Sets STALE to the first mark with a number above AFTER. Returns 1; 0 if there is none; -1 on
 * error and fills ERR. */
int ft_store_next_stale(struct ft_store *store, int64_t after, struct ft_stale_model *stale,
                        struct ft_error *err);

/* A pass that marks apps; zero-initialise before setting the selection. */
struct ft_mark_pass {
  char app[128]; /* selection: empty: any */
  bool by_uid;   /* selection: of the user `uid` only */
  uint32_t uid;

  uint64_t count;      /* apps marked so far */
  int64_t first, last; /* numbers of the first and the latest mark; 0: none */
  uint32_t last_uid;   /* app marked last */
  char last_app[128];
};

/* Marks the next few hundred apps of PASS, in one durable transaction. Returns 1; 0 after the last
 * one; -1 on error and fills ERR. */
int ft_store_mark_step(struct ft_store *store, struct ft_mark_pass *pass, struct ft_error *err);

/* Sets COUNT to the number of marks of PASS, and of others made meanwhile, above AFTER. Returns 0;
 * -1 on error and fills ERR. */
int ft_store_marks_after(struct ft_store *store, const struct ft_mark_pass *pass, int64_t after,
                         uint64_t *count, struct ft_error *err);

/* Extends PASS to all marks made since: those of a change of all models, as of the memory
 * accounting rule, replace PASS's. Returns 0; -1 on error and fills ERR. */
int ft_store_mark_extend(struct ft_store *store, struct ft_mark_pass *pass, struct ft_error *err);

/* Reads the number stored by ft_store_set_published; 0 if there is none. Returns 0; -1 on error and
 * fills ERR. */
int ft_store_published(struct ft_store *store, int64_t *number, struct ft_error *err);

/* Records that models of all marks up to NUMBER are published. Returns 0; -1 on error, fills ERR.
 */
int ft_store_set_published(struct ft_store *store, int64_t number, struct ft_error *err);

/*
 * Records that models use the memory accounting RULE. Marks every app if the rule has changed or
 * was not recorded. Returns 1 if all apps are marked, else 0; -1 on error and fills ERR.
 */
int ft_store_set_rule(struct ft_store *store, ft_rule rule, struct ft_error *err);

/* As ft_store_set_rule for the failure cost COST; a cost that was not recorded counts as 1. */
int ft_store_set_failure_cost(struct ft_store *store, double cost, struct ft_error *err);

/* As ft_store_set_rule for the FORMAT of model files (record/model_file.h): after an update each
 * model is rebuilt, with the sections that it lacked. */
int ft_store_set_model_format(struct ft_store *store, unsigned format, struct ft_error *err);

#endif
