/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One submission from what is known to a decision: the way of the plugin, of foretell predict, of
 * --predict-partition and of tests/bench/weeks.
 */
#ifndef FT_DECIDE_SUBMISSION_H
#define FT_DECIDE_SUBMISSION_H

#include "predictor/decide/decide.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/model_lookup.h"

/* What the state directory knows of a submission, read once. */
struct ft_submission_knowledge {
  ft_policy policy;       /* resolved for its partition, account and user */
  ft_partition partition; /* where has_partition */
  bool has_partition;
  struct ft_merged_partitions merged;
  struct ft_model_lookup evidence; /* estimate NULL and no facts: nothing is known */
};

/* Whose submission it is. NAME(DATA) is called where a policy or imported runs name users. */
struct ft_submitter {
  uint32_t uid;
  const char *(*name)(void *data);
  void *data;
};

/* Resolves KNOWN's policy for REQUEST under SITE. */
void ft_known_resolve_policy(const ft_site *site, const struct ft_submitter *submitter,
                             const ft_request *request, struct ft_submission_knowledge *known);

/* Reads KNOWN's partition, or what several have in common. One that cannot be read is not known. */
void ft_known_read_partition(int state_fd, const ft_site *site, const ft_request *request,
                             struct ft_submission_knowledge *known);

/*
 * Reads the evidence for SUBMISSION, whose policy KNOWN has, from the state directory STATE_FD; of
 * a job array (ARRAY, the value of --array; NULL: none) for up to FT_ARRAY_ESTIMATES of its tasks.
 * Returns 0; -1 with ERR when a model is there and cannot be read: nothing is known then.
 */
int ft_known_read_evidence(int state_fd, const struct ft_submitter *submitter,
                           const ft_submission *submission, const char *array,
                           struct ft_submission_knowledge *known, struct ft_error *err);

enum { FT_PARAMS_LINE = 400 };

/*
 * Puts into LINE which names of PARAMS (the value of --predict-params; NULL: none) no run of
 * SUBMISSION's app has had, and which ones are known, those first that SUBMISSION lacks: a misspelt
 * one is not counted in silence. Returns false where there is no such name, or where KNOWN, filled
 * by ft_known_read_evidence, has no model of at least min_runs runs of the app itself.
 */
bool ft_known_unknown_params(const struct ft_submission_knowledge *known,
                             const ft_submission *submission, const char *params,
                             char line[FT_PARAMS_LINE]);

struct ft_submission_question {
  const ft_site *site;
  const ft_submission *submission;
  const struct ft_submission_knowledge *known;
  const ft_network *network; /* what is told of a model file; NULL: nothing */
  ft_mode mode;              /* the user's; FT_MODE_UNSET: the policy's */
  bool cannot_reject;        /* Slurm would not heed a rejection */
  bool answer;               /* somebody waits for an answer, whether or not anything is wrong */
};

/* A decision and all that it stands on; KNOWN and SUBMISSION have to outlive it. */
struct ft_submission_decision {
  struct ft_decision_input question;
  struct ft_sizing sizing;
  struct ft_estimate host; /* of the memory that a network needs */
  bool by_network;         /* the estimate is that */
  ft_decision decision;
};

/* Decides. Pure. OUT is filled whole; it points into itself and must not be copied. */
void ft_submission_decide(const struct ft_submission_question *question,
                          struct ft_submission_decision *out);

/* What the user is told of DECISION. */
void ft_submission_explain(const struct ft_submission_decision *decision,
                           struct ft_explanation *out);

#endif
