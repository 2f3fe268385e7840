/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the models that can serve a submission, evaluates each, and chooses one: the user's own
 * model of the app, the pooled one, the model of imported runs, or models of similar apps. */
#ifndef FT_ESTIMATE_MODEL_LOOKUP_H
#define FT_ESTIMATE_MODEL_LOOKUP_H

#include "predictor/core/error.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/new_apps/new_app.h"
#include "predictor/estimate/runtime.h"
#include "predictor/record/record.h"

/* A model and what it says of a submission. */
struct ft_candidate {
  bool has_model; /* else nothing else is valid but facts.runs 0 */
  ft_model model;
  bool has_estimate;
  struct ft_estimate alone;        /* of a job that is no array */
  struct ft_array_estimates tasks; /* of a job array; count 0: no array, or no estimate */
  struct ft_facts facts;           /* of the model's runs; of an array, combined for all tasks */
};

struct ft_model_lookup {
  struct ft_candidate own;    /* model of the app: the user's own, else the pooled one */
  struct ft_candidate shared; /* pooled model, or that of imported runs; read if `own` has too few
                                 runs */
  struct ft_estimate others;  /* from similar apps or the site-wide prior */
  const struct ft_candidate *candidate; /* that `estimate` is from; NULL: from others, or none */
  const struct ft_estimate *estimate;   /* the estimate to use: &others, for every task, or the
                                           candidate's; NULL: none */
  const struct ft_facts *facts;         /* of the app's runs; NULL: no recorded run */
  bool pooled;                          /* `estimate` is from all users' runs of the app */
  bool imported;                        /* `estimate` is from imported runs with the job's name */
  unsigned similar;                     /* number of similar apps behind `estimate`; 0: none */
  unsigned site_prior_apps;             /* number of apps in the site-wide prior; 0: not used */
  struct ft_new_app new_app;            /* for an app without a run, else empty */
};

/* Evaluates candidate->model, which the caller has set, for SUBMISSION under POLICY. TASKS: of its
 * job array; count 0: no array. Pure. Returns false if the model yields no estimate. */
bool ft_candidate_evaluate(struct ft_candidate *candidate, const ft_submission *submission,
                           const struct ft_task_list *tasks, const ft_policy *policy);

/* Returns CANDIDATE's estimate, of a job array the first task's; NULL: none. */
const struct ft_estimate *ft_candidate_estimate(const struct ft_candidate *candidate);

/* Fills OUT without models and evidence. */
void ft_model_lookup_clear(struct ft_model_lookup *out);

/* Makes the estimate and the facts of CANDIDATE, which is evaluated and is in LOOKUP, those of
 * LOOKUP. */
void ft_model_lookup_use(struct ft_model_lookup *lookup, const struct ft_candidate *candidate);

/* Returns the model of the submission's app, own or pooled; NULL: none. */
const ft_model *ft_model_lookup_of_app(const struct ft_model_lookup *lookup);

/*
 * Fills OUT with the estimate and facts for SUBMISSION of user UID from the state directory
 * STATE_FD. USER(DATA) returns the user's name; it is called only for imported runs. TASKS: of a
 * job array; count 0: no array.
 *
 * The user's own model of the app is used if it has policy->min_runs completed runs. Otherwise: for
 * a named or declared app the pooled model; for any other the model of the runs imported from
 * Slurm's accounting for the job's name. Such a model must have min_runs runs and a 95 % quantile
 * not below the largest peak of the app's own runs. Without one, and if policy->borrow, similar
 * apps of the user (estimate/new_apps/similar_apps.h) or the site-wide prior apply. Each model file
 * is read at most once, also by ft_time_lookup_read afterwards: TIME (NULL: not wanted), which is
 * cleared, gets the run times of the files that are read.
 *
 * OUT contains pointers into itself and must not be copied. Returns 0, with out->estimate NULL if
 * there is no estimate; -1 and fills ERR, with OUT cleared, if the app's model exists and cannot be
 * read.
 */
int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *submission, const struct ft_task_list *tasks,
                         const ft_policy *policy, struct ft_time_lookup *time,
                         struct ft_model_lookup *out, struct ft_error *err);

#endif
