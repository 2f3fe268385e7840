/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds a model for a submission: its app's own, the site's, an imported one, or similar apps. */
#ifndef FT_ESTIMATE_MODEL_LOOKUP_H
#define FT_ESTIMATE_MODEL_LOOKUP_H

#include "predictor/core/error.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/facts.h"
#include "predictor/record/record.h"

struct ft_model_lookup {
  ft_model model;
  struct ft_array_estimates elements; /* tasks of a job array; count 0: no array */
  struct ft_estimate alone;           /* estimate of a job without an array */
  struct ft_estimate others;          /* estimate from similar apps or the site-wide prior */
  const struct ft_estimate *estimate; /* the one that applies; NULL: none. Array: the first task's,
                                         or &others for every task */
  const struct ft_estimate *own; /* from the app's own runs if `estimate` is &others; NULL: none.
                                    Array: the first task's */
  struct ft_facts facts;         /* of the app's own runs; array: what holds for every task */
  bool pooled;                   /* from all users' runs of an app that the site shares */
  bool imported;                 /* from runs imported for the job's name, not the app's own */
  unsigned similar;              /* number of similar apps behind `estimate`; 0: none */
  unsigned site_prior_apps;      /* number of apps in the site-wide prior; 0: not used */
};

/*
 * Finds the estimate and facts for SUBMISSION of user UID in the state directory STATE_FD.
 * USER(DATA) returns the user's name; it is called only for imported runs. For a job array,
 * out->elements gives the number (0: no array) and indices of the tasks.
 *
 * An app with fewer completed runs of this user than policy->min_runs uses another model, unless
 * its own peak exceeds that model's 95 % quantile. A named or declared app uses the site's model,
 * any other the runs imported from Slurm's accounting for the job's name. Without these, and if
 * policy->borrow, similar apps of the user (estimate/similar_apps.h) or the site-wide prior apply.
 * These read more files, and out->model is then undefined.
 *
 * Returns 0; out->estimate is NULL if there is no estimate. Returns -1 if a model exists and cannot
 * be read, and fills ERR.
 */
int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *submission, const ft_policy *policy,
                         struct ft_model_lookup *out, struct ft_error *err);

/*
 * Evaluates MODEL for SUBMISSION under POLICY: fills FACTS and sets out->estimate. For a job array
 * it evaluates the tasks in out->elements. Pure. Returns false if MODEL has no estimate.
 */
bool ft_model_lookup_evaluate(const ft_model *model, const ft_submission *submission,
                              const ft_policy *policy, struct ft_model_lookup *out,
                              struct ft_facts *facts);

#endif
