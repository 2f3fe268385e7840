/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Submissions that the site's policy refused, counted by user, app and day. No job exists of them,
 * so they are no runs: nothing learns from them.
 */
#ifndef FT_HISTORY_REJECTIONS_H
#define FT_HISTORY_REJECTIONS_H

#include "predictor/history/store.h"

struct ft_rejections {
  uint32_t uid;
  char app[128]; /* empty: of apps that are not told apart, or were forgotten */
  uint64_t count;
};

/*
 * A submission of UID's APP was refused at TIME, UTC. At most FT_REJECTED_APPS apps of a user are
 * told apart in a day, for anybody may claim to have been refused. Durable on return. Returns 0 or
 * -1 with ERR.
 */
enum { FT_REJECTED_APPS = 64 };
int ft_store_count_rejection(struct ft_store *store, uint32_t uid, const char *app, double time,
                             struct ft_error *err);

/*
 * The user and app behind those of ROW become it, by user and then by name, with the rejections of
 * the days from SINCE on. ROW is zeroed to begin with, but for the user with ONE_USER: then those of
 * that user alone are told. Returns 1; 0 behind the last; -1 with ERR.
 */
int ft_store_next_rejections(struct ft_store *store, bool one_user, double since,
                             struct ft_rejections *row, struct ft_error *err);

/* Inside a transaction: rejections that WHAT (forget.h) names stay without their app. Returns 0 or -1
 * with ERR. */
int ft_store_forget_rejections(struct ft_store *store, const ft_forget *what,
                               struct ft_error *err);

#endif
