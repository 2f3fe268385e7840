/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimates for apps with too few runs: by partial pooling over similar apps of the same user, and
 * from the site-wide prior. */
#ifndef FT_ESTIMATE_SIMILAR_APPS_H
#define FT_ESTIMATE_SIMILAR_APPS_H

#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Maximum number of similar apps that are used. Chosen for time: each requires reading a model. */
enum { FT_SIMILAR_APPS_MAX = 3 };

/*
 * Estimates the peak memory of SUBMISSION of user UID into OUT from the user's similar apps in the
 * state directory STATE_FD: the FT_SIMILAR_APPS_MAX most recent ones with a similar job name and
 * the same program, otherwise with the same program. Each app's model is evaluated with the
 * features of SUBMISSION, up to its largest peak; for a job array (TASKS; count 0: no array) with
 * those of the task for which it estimates most. The variance between apps is estimated
 * from their medians and a prior. The variance within an app is the mean of the apps' own, at least
 * the site's (ft_prior.spread). The 95 % quantile is at most four times the largest peak of the
 * apps. OWN is the estimate from the app's own runs, 1 or more; NULL: no run. out->runs is the
 * number of own runs. Returns the number of similar apps used; 0, with OUT
 * unchanged, if there is none or if the app's own peak exceeds their pooled 95 % quantile.
 */
unsigned ft_similar_apps_estimate(int state_fd, uint32_t uid, const ft_submission *submission,
                                  const struct ft_task_list *tasks, const struct ft_estimate *own,
                                  struct ft_estimate *out);

/* Fills OUT with the site-wide prior in the state directory STATE_FD: the distribution of peaks
 * over all apps. out->runs is 0. Returns the number of apps; 0, with OUT unchanged, without a
 * prior. */
unsigned ft_similar_apps_estimate_all(int state_fd, struct ft_estimate *out);

#endif
