/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An estimate for an app without runs enough: from similar ones of its user, and what apps need
 * here. */
#ifndef FT_ESTIMATE_SIMILAR_APPS_H
#define FT_ESTIMATE_SIMILAR_APPS_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

enum { FT_SIMILAR_APPS_MAX = 3 }; /* that are looked at */

/*
 * From up to FT_SIMILAR_APPS_MAX of UID's apps that are alike in their job's name, else in their
 * program, those noted last, each evaluated with SUBMISSION's own features. OWN: what its own RUNS,
 * at least one, say; NULL: it has none. They differ from one another by what they show, and as apps
 * mostly do; a run of the app by what runs of theirs do, and no less than is usual on the site. OUT
 * is of its own runs. MODEL is overwritten. Returns how many apps it is from; 0, and OUT is as it
 * was, where there are none or it has needed more than 95 % of runs like theirs would.
 */
unsigned ft_similar_apps_estimate(int state_fd, uint32_t uid, const ft_submission *submission,
                                  const struct ft_estimate *own, ft_model *model,
                                  struct ft_estimate *out);

/* The distribution of what the site's apps need into OUT, of 0 runs; of how many apps, 0: not told.
 */
unsigned ft_similar_apps_estimate_all(int state_fd, struct ft_estimate *out);

#endif
