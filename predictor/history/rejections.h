/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts submissions that the site's policy rejected, per user, app and day. A rejected submission
 * is not a run: it has no job, and no model learns from it.
 */
#ifndef FT_HISTORY_REJECTIONS_H
#define FT_HISTORY_REJECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/store.h"

struct ft_rejections {
  uint32_t uid;
  char app[128]; /* empty: apps beyond FT_REJECTED_APPS, or forgotten ones */
  uint64_t count;
};

/* Distinct apps counted per user and day, because any user can report rejections. */
enum { FT_REJECTED_APPS = 64 };

/* Counts one rejected submission of UID's APP at TIME (UTC seconds). Durable on return. Returns 0;
 * -1 on error and fills ERR. */
int ft_store_count_rejection(struct ft_store *store, uint32_t uid, const char *app, double time,
                             struct ft_error *err);

/*
 * Replaces ROW by the next user and app, in the order of user and name, with the rejections since
 * the day of SINCE (UTC seconds). ROW starts zeroed. With ONE_USER only apps of ROW's uid
 * count. Returns 1; 0 after the last; -1 on error and fills ERR.
 */
int ft_store_next_rejections(struct ft_store *store, bool one_user, double since,
                             struct ft_rejections *row, struct ft_error *err);

/* Inside a transaction: removes the app's name from some hundred rejections that WHAT (forget.h)
 * covers. Returns 1 if more may remain, else 0; -1 on error and fills ERR. */
int ft_store_forget_rejections(struct ft_store *store, const ft_forget *what, struct ft_error *err);

/* Removes some hundred rejections of days before BEFORE (UTC seconds). Returns as
 * ft_store_forget_rejections. */
int ft_store_expire_rejections(struct ft_store *store, double before, struct ft_error *err);

#endif
