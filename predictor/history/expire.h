/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that are too old, and apps beyond a user's limit, leave the store: a pass now and then, in
 * steps of a few milliseconds. Every step is a transaction of its own that also marks the apps
 * whose models are to be made anew (stale_models.h), so a pass that is cut short is only late.
 *
 * A run's age counts from its end or, where that is later (an import), from when it was put first.
 * Rejections (rejections.h) of days that are too old leave when a pass begins.
 */
#ifndef FT_HISTORY_EXPIRE_H
#define FT_HISTORY_EXPIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/store.h"

struct ft_expiry {
  double max_age_seconds; /* 0: runs of any age stay */
  uint64_t max_apps;      /* of one user; 0: no limit */
  /* the pass: what it has removed so far */
  uint64_t runs, apps;
  double before; /* runs of before this time go, UTC; 0: none do */
  int64_t uid;   /* users up to this one are within max_apps */
};

/*
 * Begin a pass at the time NOW, UTC, of a clock that may be wrong: what counts as now moves on by
 * at most a day a pass, and begins at the newest run's time. A clock that is years ahead for some
 * hours therefore costs days of history. So that models are not made anew for every single run,
 * nothing goes before the oldest run is older than max_age by a sixteenth. Returns 0 or -1 with
 * ERR.
 */
int ft_store_expire_begin(struct ft_store *store, struct ft_expiry *expire, double now,
                          struct ft_error *err);

/* The next step. Returns 1 when there may be more to do, 0 when the pass is over, -1 with ERR. */
int ft_store_expire_step(struct ft_store *store, struct ft_expiry *expire, struct ft_error *err);

/*
 * UID becomes a user of whom an app has gone, until ft_store_cleanup_done says that no trace of it
 * is left elsewhere. Returns 1; 0 when there is none; -1 with ERR.
 */
int ft_store_next_cleanup_user(struct ft_store *store, uint32_t *uid, struct ft_error *err);
int ft_store_cleanup_done(struct ft_store *store, uint32_t uid, struct ft_error *err);

#endif
