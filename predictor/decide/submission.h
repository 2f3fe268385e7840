/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about one submission: reads policy, partition and evidence from the state directory,
 * decides, and writes the message. Used by the plugin, foretell predict and tests/bench/weeks.
 */
#ifndef FT_DECIDE_SUBMISSION_H
#define FT_DECIDE_SUBMISSION_H

#include "predictor/core/nearest_name.h"
#include "predictor/decide/decide.h"
#include "predictor/decide/messages.h"
#include "predictor/decide/time_decision.h"
#include "predictor/estimate/model_lookup.h"

/* The records of the state directory about a submission, read once. */
struct ft_submission_knowledge {
  ft_policy policy;       /* resolved for partition, account and user */
  ft_partition partition; /* valid if has_partition */
  bool has_partition;
  struct ft_merged_partitions merged;
  struct ft_model_lookup evidence; /* without evidence: estimate and facts NULL */
  struct ft_time_lookup time;      /* run times that were read with the evidence */
};

/* Fills KNOWN without evidence. */
void ft_known_clear(struct ft_submission_knowledge *known);

/* The submitting user. NAME(DATA) returns the user's name; it is called only if the site has
 * policies for users, or for imported runs. */
struct ft_submitter {
  uint32_t uid;
  const char *(*name)(void *data);
  void *data;
};

/* Sets known->policy to the policy of SITE for REQUEST of SUBMITTER. */
void ft_known_resolve_policy(const ft_site *site, const struct ft_submitter *submitter,
                             const ft_request *request, struct ft_submission_knowledge *known);

/* Reads the partition of REQUEST, merged if REQUEST names several, from the state directory
 * STATE_FD into KNOWN. known->has_partition is false if it cannot be read. */
void ft_known_read_partition(int state_fd, const ft_site *site, const ft_request *request,
                             struct ft_submission_knowledge *known);

/*
 * Reads the evidence for SUBMISSION from the state directory STATE_FD into KNOWN, whose policy is
 * set. ARRAY: value of --array; NULL: no array. Of an array, up to FT_ARRAY_ESTIMATES tasks are
 * estimated, with what differs between them in TASKS. TIMED: the run times will be wanted, too, and
 * are read from the same files. Returns 0, also without evidence; -1 and fills ERR if a model
 * cannot be read.
 */
int ft_known_read_evidence(int state_fd, const struct ft_submitter *submitter,
                           const ft_submission *submission, const char *array,
                           const ft_job_array *tasks, bool timed,
                           struct ft_submission_knowledge *known, struct ft_error *err);

/* Completes known->time from the state directory STATE_FD. Returns it, with runs 0 if no run is
 * recorded; NULL and fills ERR if it cannot be read. */
const struct ft_time_lookup *ft_known_read_runtimes(int state_fd,
                                                    const struct ft_submitter *submitter,
                                                    const ft_submission *submission,
                                                    struct ft_submission_knowledge *known,
                                                    struct ft_error *err);

/* Fills OUT with the run time of SUBMISSION on the partition in KNOWN by ft_known_read_runtimes;
 * ARRAY and TASKS as above. Returns 0, also without a recorded run; -1 and fills ERR if the run
 * times cannot be read. */
int ft_known_read_time(int state_fd, const struct ft_submitter *submitter,
                       const ft_submission *submission, const char *array,
                       const ft_job_array *tasks, struct ft_submission_knowledge *known,
                       struct ft_job_time *out, struct ft_error *err);

/* Size in bytes of the line of ft_params_find_unknown, with its NUL. */
enum { FT_PARAMS_LINE = 400 };

/* Whether NAME in --predict-params is a setting of a network's run. If not, NEAREST has the one
 * that it resembles, as "batch" for "bacth" or "batch_size". */
bool ft_params_is_setting(const char *name, struct ft_nearest_name *nearest);

/*
 * Finds misspelt names in PARAMS, the value of --predict-params (NULL: not given): names that no
 * run of SUBMISSION's app has had and, for a job WITH_NETWORK (a model file), that are no setting
 * of it. Writes a warning with the name that was meant, or with these names and the known ones,
 * into LINE; known names that SUBMISSION lacks come first. KNOWN is filled by
 * ft_known_read_evidence, or empty. Returns false if there is no such name, or, without a network,
 * if KNOWN has no model with min_runs runs of the app itself.
 */
bool ft_params_find_unknown(const struct ft_submission_knowledge *known,
                            const ft_submission *submission, const char *params, bool with_network,
                            char line[FT_PARAMS_LINE]);

/* The input of ft_submission_decide; all pointers are borrowed. */
struct ft_submission_query {
  const ft_site *site;
  const ft_submission *submission;
  const ft_job_array *array; /* NULL: no array, or nothing differs between its tasks */
  const struct ft_submission_knowledge *known;
  const ft_network *network; /* the helper's result for a model file; NULL: none */
  ft_mode mode;              /* given by the user; FT_MODE_UNSET: the policy's */
  bool cannot_reject;        /* Slurm would ignore a rejection */
  bool dry_run; /* nothing is submitted (foretell predict): report also if nothing changes */
};

/* A decision with its input and sizing. It points into the query's `known` and `submission`, which
 * must outlive it. */
struct ft_submission_decision {
  struct ft_decision_input input;
  struct ft_sizing sizing;
  struct ft_estimate host; /* estimated host memory of a network; valid if by_network */
  bool by_network;         /* input.estimate is `host` */
  const char
      *outvoted; /* what a model file describes, whose estimate the app's runs replace; NULL */
  ft_decision decision;
};

/* Fills OUT with the decision for QUERY. Pure. OUT contains pointers into itself and must not be
 * copied. */
void ft_submission_decide(const struct ft_submission_query *query,
                          struct ft_submission_decision *out);

/* Fills OUT with the message about DECISION. */
void ft_submission_explain(const struct ft_submission_decision *decision,
                           struct ft_explanation *out);

#endif
