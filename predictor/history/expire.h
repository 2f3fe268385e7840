/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Retention: removes runs that are too old, apps beyond a user's limit, and runs beyond an app's
 * limit. A pass consists of steps of a few milliseconds. Each step is one transaction, which also
 * marks the affected models as stale (stale_models.h). An interrupted pass loses nothing: the next
 * pass continues.
 *
 * The age of a run counts from its end or, if later (an import), from its first insertion. A pass
 * also removes old rejections (rejections.h), and tombstones (forget.h) of requests that are as
 * old.
 */
#ifndef FT_HISTORY_EXPIRE_H
#define FT_HISTORY_EXPIRE_H

#include <stdint.h>

#include "predictor/history/store.h"

struct ft_expiry {
  double max_age_seconds; /* set by the caller; 0: no limit */
  uint64_t max_apps;      /* set by the caller, per user; 0: no limit */
  uint64_t runs, apps;    /* removed so far in this pass */
  double before;          /* runs older than this UTC time are removed; 0: none */
  double rejected_before; /* likewise rejections and requests to forget; 0: none */
  int64_t uid;            /* users up to this uid are checked for max_apps; -1: none */
};

/*
 * Starts a pass at the time NOW (UTC seconds). NOW may come from a wrong clock. Ages are therefore
 * measured by a clock of the store, which starts at the newest run and advances by at most one day
 * per pass: a system clock that is years ahead for some hours costs days of history, not all. No
 * run is removed before the oldest run exceeds max_age_seconds by 1/16, so that models are not
 * rebuilt for every single run. Returns 0; -1 on error and fills ERR.
 */
int ft_store_expire_begin(struct ft_store *store, struct ft_expiry *expire, double now,
                          struct ft_error *err);

/* Runs the next step. Returns 1 if more may remain, 0 at the end of the pass; -1 on error, fills
 * ERR and leaves EXPIRE as it was. */
int ft_store_expire_step(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err);

/*
 * Sets *UID to a user with a removed app whose files outside the store may still exist; the same
 * user is returned until ft_store_cleanup_done. Returns 1; 0 if there is none; -1 on error and
 * fills ERR.
 */
int ft_store_next_cleanup_user(struct ft_store *store, uint32_t *uid, struct ft_error *err);

/* Records that all files of UID's removed apps are deleted. Returns 0; -1 on error, fills ERR. */
int ft_store_cleanup_done(struct ft_store *store, uint32_t uid, struct ft_error *err);

/*
 * Removes the oldest runs of the next app, if it has more than KEEP + KEEP / 64, until KEEP are
 * left. Each call visits one app and removes at most 64 runs of it, because more would take
 * seconds; the next call continues. Returns 1; 0 after the last app, or if KEEP is 0 (no limit); -1
 * on error and fills ERR.
 */
int ft_store_trim(struct ft_store *store, uint64_t keep, struct ft_error *err);

#endif
