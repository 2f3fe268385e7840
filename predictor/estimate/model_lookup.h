/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known for a submission: its app's model, or what was imported under its job's name. */
#ifndef FT_ESTIMATE_MODEL_LOOKUP_H
#define FT_ESTIMATE_MODEL_LOOKUP_H

#include "predictor/core/error.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/facts.h"
#include "predictor/record/record.h"

struct ft_model_lookup {
  ft_model model;
  struct ft_array_estimates elements; /* of a job array */
  struct ft_estimate alone, others;
  const struct ft_estimate *estimate; /* NULL: nothing is known; of an array: its first element's,
                                         where it is borrowed &others, which is for every element */
  const struct ft_estimate *own; /* of its own completed runs, where `estimate` is borrowed; NULL:
                                    there are none; of an array: its first element's */
  struct ft_facts facts; /* of its own runs; of an array what holds for every task */
  bool pooled;                        /* from runs of all users of an app that the site shares */
  bool imported;    /* from runs imported for the job's name, which are none of its app's own */
  unsigned similar; /* from so many similar apps of the user's, beside its own runs; 0: it is not */
  unsigned site_prior_apps; /* what so many apps of the site need, no run of it being known; 0: it
                               is not */
};

/*
 * Find what is known in the state folder STATE_FD for user UID, whom USER(DATA) names
 * where that matters, and SUBMISSION; of a
 * job array for the elements whose number (0: no array) and indices OUT->elements has. An app
 * that has fewer completed runs of this user's than POLICY's min_runs borrows a model, unless what
 * it has used so far is beyond that: the site's where it was named or declared, else that of the
 * jobs of its name that were imported from Slurm's accounting; where there is neither and POLICY
 * lets it, what similar apps of the user need (estimate/similar_apps.h), or at last what all apps
 * here do. Some more files are opened, only then; MODEL is then of no use. Returns 0, OUT->estimate
 * telling whether anything is known; -1 with ERR when a model is there and cannot be read.
 */
int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *submission, const ft_policy *policy,
                         struct ft_model_lookup *out, struct ft_error *err);

/*
 * What MODEL says of SUBMISSION under POLICY: FACTS, and OUT->estimate, of a job array for the tasks
 * that OUT->elements has. Pure. False where it has no estimate.
 */
bool ft_model_lookup_evaluate(const ft_model *model, const ft_submission *submission,
                              const ft_policy *policy, struct ft_model_lookup *out,
                              struct ft_facts *facts);

#endif
