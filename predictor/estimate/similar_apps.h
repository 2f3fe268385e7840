/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates for apps with too few runs: partial pooling over similar apps of the same user, and the
 * site-wide prior. */
#ifndef FT_ESTIMATE_SIMILAR_APPS_H
#define FT_ESTIMATE_SIMILAR_APPS_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Similar apps that are evaluated. Chosen for time: each reads a model file. */
enum { FT_SIMILAR_APPS_MAX = 3 };

/*
 * Estimates SUBMISSION of user UID from the user's similar apps into OUT: the newest
 * FT_SIMILAR_APPS_MAX with a similar job name, otherwise with the same program. Each app's model is
 * evaluated with the features of SUBMISSION. The variance between apps combines their differences
 * with a prior; the variance within is theirs, at least the site's usual one. OWN is the estimate
 * from the app's own runs, 1 or more; NULL: none. out->runs is the number of own runs. MODEL is
 * scratch memory. Returns the number of apps used. Returns 0 and leaves OUT unchanged if there is
 * none, or if the app's own peak exceeds the pooled 95 % quantile.
 */
unsigned ft_similar_apps_estimate(int state_fd, uint32_t uid, const ft_submission *submission,
                                  const struct ft_estimate *own, ft_model *model,
                                  struct ft_estimate *out);

/* Fills OUT with the site-wide prior: the distribution of peaks over all apps, with 0 runs. Returns
 * the number of apps; 0 if there is no prior. */
unsigned ft_similar_apps_estimate_all(int state_fd, struct ft_estimate *out);

#endif
