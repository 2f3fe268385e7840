/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that somebody wants forgotten leave the store, and do not come back: not from a spool that
 * arrives late, not from a journal that is read again, not by an import of the same runs.
 *
 * What was told is kept as a tombstone: the numbers of user and job, a hash of the app's name, a
 * time, and the moment at which it was told. ft_store_put refuses an observation that a tombstone
 * covers: all that the tombstone names agrees with it, and its run is older than that moment. A run
 * is as old as its begin (its end, or its job's submission, where that alone is known); for a
 * tombstone with a job it is as old as the job's submission. So an app learns anew from later runs,
 * and a job ID that Slurm uses again is another job. A run of which no time is known is covered;
 * one without an end ended, for `before`, when it was put.
 *
 * - An app's tombstone covers the names that its runs had before they were renamed, too.
 * - Every run that leaves by its app's name gets a tombstone of its own, because an import of it
 * may know another name.
 * - A job's tombstone covers all elements of a job array of that number, or the one it names.
 *
 * A run that overrode the site's policy (or was rejected by it) is not removed: its row stays,
 * without app, job name, features and everything measured. One that comes late is put so.
 * Rejections (rejections.h) likewise stay, without their app.
 *
 * Removing is a pass in steps of a few milliseconds. Every step is a transaction that also marks
 * the apps whose models are to be made anew (stale_models.h), as expire.h does it. A pass that is
 * cut short is found again by ft_store_forget_next.
 */
#ifndef FT_HISTORY_FORGET_H
#define FT_HISTORY_FORGET_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/store.h"

/* What a tombstone names; what does not restrict is 0, or -1 where 0 is a value. */
struct ft_tombstone {
  int64_t id;  /* in the store; 0: in none */
  int64_t app; /* hash of the name */
  int64_t uid, array_task_id;
  uint32_t job_id;
  double before; /* runs that ended before this time, UTC */
  double told;   /* when, UTC */
};

/* A pass. */
struct ft_forget_pass {
  struct ft_tombstone stone;
  bool dry_run;    /* nothing is removed */
  uint64_t runs;   /* that have gone so far, or would go */
  uint64_t kept;   /* that stay as overrides, with nothing else of theirs */
  uint64_t models; /* apps that have no run left */
  uint64_t
      *apps; /* hashes of those of which runs have gone, rising; freed by ft_forget_pass_free */
  size_t app_count, app_room;
  int64_t row; /* runs up to this one were looked at */
  bool marked; /* what of it is left in the file is to be overwritten */
  /*
   * Called for each run before it goes, inside the transaction; what the callee removes elsewhere
   * it may be told to remove again after a crash. May be NULL.
   */
  int (*leaving)(const ft_observation *observation, void *data, struct ft_error *err);
  void *data;
};

/*
 * Begin to forget WHAT, which names something, at the time NOW, UTC: keep its tombstone, unless it
 * says dry_run. PASS is filled, but for leaving and data. Returns 0; -1 with ERR, also where its
 * user has told too many already.
 */
int ft_store_forget_begin(struct ft_store *store, const ft_forget *what, double now,
                          struct ft_forget_pass *pass, struct ft_error *err);

/* A pass that was begun and has not ended, from its start. Returns 1; 0: there is none; -1, ERR. */
int ft_store_forget_next(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err);

/* The next step. Returns 1 when there is more to do, 0 when all runs were looked at, -1 with ERR.
 */
int ft_store_forget_step(struct ft_store *store, struct ft_forget_pass *pass, struct ft_error *err);

/*
 * PASS has ended, and so has what followed from it elsewhere. What was removed is overwritten in
 * the files too, now where the store has no more than NOW_BYTES, else by ft_store_scrub.
 * Returns 0; -1 with ERR, and is called again: a reader may be in the way.
 */
int ft_store_forget_end(struct ft_store *store, struct ft_forget_pass *pass, uint64_t now_bytes,
                        struct ft_error *err);

/* Free what PASS holds. */
void ft_forget_pass_free(struct ft_forget_pass *pass);

/*
 * Overwrite what was removed where that is still to be done and the store has no more than
 * MOST_BYTES: it is written anew, some 70 MB a second, and nobody else can put anything meanwhile.
 * Returns 0 when nothing is to be done any more, 1 when it is larger, -1 with ERR.
 */
int ft_store_scrub(struct ft_store *store, uint64_t most_bytes, struct ft_error *err);

/*
 * Whether a tombstone covers OBSERVATION, of a run that goes on; the run then gets its own, as one
 * that leaves does. Returns 1, 0, or -1 with ERR.
 */
int ft_store_is_forgotten(struct ft_store *store, const ft_observation *observation,
                          struct ft_error *err);

#endif
