/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the model for a submission and evaluates it: the user's own model of the app, the pooled
 * one, the model of imported runs, or models of similar apps. */
#ifndef FT_ESTIMATE_MODEL_LOOKUP_H
#define FT_ESTIMATE_MODEL_LOOKUP_H

#include "predictor/core/error.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/facts.h"
#include "predictor/record/record.h"

struct ft_model_lookup {
  ft_model model;                     /* scratch memory for the models that are read */
  struct ft_array_estimates tasks;    /* tasks of a job array; count 0: no array */
  size_t selected;                    /* number of indices that the caller set in `tasks` */
  struct ft_estimate alone;           /* estimate of a job that is no array, from `model` */
  struct ft_estimate others;          /* estimate from similar apps or the site-wide prior */
  const struct ft_estimate *estimate; /* the estimate to use: &alone, &others (for every task), or
                                         of an array the first of `tasks`; NULL: none */
  const struct ft_estimate *own; /* if `estimate` is &others: the estimate from the app's own runs,
                                    of an array the first task's; NULL: none */
  struct ft_facts facts;         /* of the app's own runs; of an array, combined for all tasks */
  bool pooled;                   /* `estimate` is from all users' runs of the app */
  bool imported;                 /* `estimate` is from imported runs with the job's name */
  unsigned similar;              /* number of similar apps behind `estimate`; 0: none */
  unsigned site_prior_apps;      /* number of apps in the site-wide prior; 0: not used */
};

/*
 * Fills OUT with the estimate and facts for SUBMISSION of user UID from the state directory
 * STATE_FD. USER(DATA) returns the user's name; it is called only for imported runs. For a job
 * array, the caller sets the number and indices of out->tasks; else out->tasks.count = 0.
 *
 * The user's own model of the app is used if it has policy->min_runs completed runs. Otherwise: for
 * a named or declared app the pooled model; for any other the model of the runs imported from
 * Slurm's accounting for the job's name. Such a model must have min_runs runs and a 95 % quantile
 * not below the largest peak of the app's own runs. Without one, and if policy->borrow, similar
 * apps of the user (estimate/similar_apps.h) or the site-wide prior apply; out->model is then
 * undefined.
 *
 * Returns 0, with out->estimate NULL if there is no estimate; -1 and fills ERR if the app's model
 * exists and cannot be read.
 */
int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *submission, const ft_policy *policy,
                         struct ft_model_lookup *out, struct ft_error *err);

/*
 * Evaluates MODEL for SUBMISSION under POLICY: fills FACTS and sets out->estimate, which points to
 * out->alone or, for a job array, to the first of out->tasks. Pure. Returns false if MODEL yields
 * no estimate.
 */
bool ft_model_lookup_evaluate(const ft_model *model, const ft_submission *submission,
                              const ft_policy *policy, struct ft_model_lookup *out,
                              struct ft_facts *facts);

#endif
