/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about one submission, from the state directory to the message. The plugin, foretell
 * predict, --predict-partition and tests/bench/weeks all use this path.
 */
#ifndef FT_DECIDE_SUBMISSION_H
#define FT_DECIDE_SUBMISSION_H

#include "predictor/decide/decide.h"
#include "predictor/decide/messages.h"
#include "predictor/estimate/model_lookup.h"

/* What the state directory holds about a submission, read once. */
struct ft_submission_knowledge {
  ft_policy policy;       /* resolved for its partition, account and user */
  ft_partition partition; /* valid if has_partition */
  bool has_partition;
  struct ft_merged_partitions merged;
  struct ft_model_lookup evidence; /* without evidence: estimate NULL and no facts */
};

/* The submitting user. NAME(DATA), the user's name, is called only if policies or imported runs
 * name users. */
struct ft_submitter {
  uint32_t uid;
  const char *(*name)(void *data);
  void *data;
};

/* Resolves KNOWN's policy for REQUEST under SITE. */
void ft_known_resolve_policy(const ft_site *site, const struct ft_submitter *submitter,
                             const ft_request *request, struct ft_submission_knowledge *known);

/* Reads KNOWN's partition, merged if REQUEST names several, from the state directory STATE_FD. A
 * partition that cannot be read is not known. */
void ft_known_read_partition(int state_fd, const ft_site *site, const ft_request *request,
                             struct ft_submission_knowledge *known);

/*
 * Reads the evidence for SUBMISSION into KNOWN, whose policy is resolved, from the state directory
 * STATE_FD; of a job array (ARRAY, the value of --array; NULL: none) for up to FT_ARRAY_ESTIMATES
 * tasks. Returns 0, also without evidence; -1 and fills ERR if a model cannot be read.
 */
int ft_known_read_evidence(int state_fd, const struct ft_submitter *submitter,
                           const ft_submission *submission, const char *array,
                           struct ft_submission_knowledge *known, struct ft_error *err);

/* Bytes of the line of ft_known_unknown_params, with its NUL. */
enum { FT_PARAMS_LINE = 400 };

/*
 * Writes a warning into LINE about names in PARAMS (the value of --predict-params; NULL: none) that
 * no run of SUBMISSION's app has had, with the known names, those first that SUBMISSION lacks: a
 * misspelt name would go unnoticed. Returns false without such a name, or if KNOWN, filled by
 * ft_known_read_evidence, has no model of at least min_runs runs of the app itself.
 */
bool ft_known_unknown_params(const struct ft_submission_knowledge *known,
                             const ft_submission *submission, const char *params,
                             char line[FT_PARAMS_LINE]);

/* The input of ft_submission_decide; all pointers are borrowed. */
struct ft_submission_question {
  const ft_site *site;
  const ft_submission *submission;
  const struct ft_submission_knowledge *known;
  const ft_network *network; /* the helper's result for a model file; NULL: none */
  ft_mode mode;              /* the user's; FT_MODE_UNSET: the policy's */
  bool cannot_reject;        /* Slurm ignores a rejection */
  bool dry_run; /* nothing is submitted (foretell predict): report also if nothing changes */
};

/* A decision with everything that led to it; the question's KNOWN and SUBMISSION must outlive it.
 */
struct ft_submission_decision {
  struct ft_decision_input question;
  struct ft_sizing sizing;
  struct ft_estimate host; /* host memory of a network; valid if by_network */
  bool by_network;         /* the estimate is `host` */
  ft_decision decision;
};

/* Decides. Pure. Fills OUT, which points into itself and must not be copied. */
void ft_submission_decide(const struct ft_submission_question *question,
                          struct ft_submission_decision *out);

/* Fills OUT with the message about DECISION. */
void ft_submission_explain(const struct ft_submission_decision *decision,
                           struct ft_explanation *out);

#endif
