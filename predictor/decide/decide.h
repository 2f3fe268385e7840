/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimate + request + site policy -> a decision with its reason. Pure. A request that the user
 * gave explicitly changes only in a mode that the user or the site chose by name.
 */
#ifndef FT_DECIDE_DECIDE_H
#define FT_DECIDE_DECIDE_H

#include <stdbool.h>

#include "predictor/estimate/model_lookup.h"
#include "predictor/record/record.h"

/*
 * Fills OUT with the policy of a job: the site's, overridden by its partition's, then account's,
 * then user's, field by field. Names are compared as given; NULL: not known, or of PARTITION, ""
 * too: the default partition. SITE may be NULL: the defaults.
 *
 * A job with several partitions may start in any of them, so their policies are merged first: of
 * modes the one that changes least, or check if only some are off; of probabilities the smallest;
 * of min_runs, trim_runs, floor, round, trim_factor and failure_price the largest; of
 * ceiling_factor and leak_runs the smallest; quiet, borrow and force only if all have them.
 */
void ft_policy_resolve(const ft_site *site, const char *partition, const char *account,
                       const char *user, ft_policy *out);

enum { FT_PARTITION_GRES = sizeof((ft_partition *)NULL)->gres / sizeof(ft_gres) };

/* Facts about merged partitions that one ft_partition cannot hold. */
struct ft_merged_partitions {
  uint64_t min_default_bytes;     /* smallest default memory of a node; 0: all have the same */
  char min_default_partition[64]; /* the partition with that default */
  unsigned count;                 /* number of partitions that could be read */
  uint8_t gres_count[FT_PARTITION_GRES]; /* by gres: number of partitions that have it */
};

/*
 * Merges the partitions that REQUEST names (none: SITE's default one) into OUT: the nodes and
 * resources of all, and the most generous default and maximum, because the job may start in any.
 * Names that cannot be read are skipped after the first. STATE_FD: the state directory. Returns 0;
 * -1 and fills ERR if the first cannot be read.
 */
int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err);

/* Bytes of the text of ft_partition_show_name, with its NUL. */
enum { FT_PARTITION_SHOWN = 80 };

/* Writes "partition main" or "partitions a,b", cut to fit, for PARTITION (NULL: not known) into
 * OUT. Returns whether there are several. */
bool ft_partition_show_name(const ft_partition *partition, char out[FT_PARTITION_SHOWN]);

/* Everything that a decision depends on; all pointers are borrowed. */
struct ft_decision_input {
  ft_mode mode; /* the user's; FT_MODE_UNSET: the policy's */
  const char *app;
  const ft_request *request;
  const struct ft_estimate *estimate;        /* of a job array, the largest task's; NULL: none */
  const struct ft_array_estimates *elements; /* of the array's tasks; NULL: no array, or unknown */
  const char *imported_from;    /* job name of the imported runs; NULL: the app's own runs */
  bool pooled;                  /* the runs are those of all users */
  unsigned similar;             /* number of similar apps in the estimate; 0: it is the app's own */
  unsigned site_prior_apps;     /* number of apps in the site-wide prior, which makes no claim about
                                   this app; 0: the estimate is no prior */
  const struct ft_facts *facts; /* of the app's own runs; NULL: no recorded run */
  bool interactive;             /* a shell or notebook */
  bool cannot_reject;           /* Slurm ignores a rejection */
  bool dry_run;        /* nothing is submitted (foretell predict): report also if nothing changes */
  const char *network; /* what the estimate is of, "training of batch 64 of net.onnx"; NULL: runs */
  const ft_policy *policy;            /* resolved */
  const ft_partition *partition;      /* NULL: not known */
  struct ft_merged_partitions merged; /* where the partition is several */
  bool memory_is_consumable;          /* Slurm allocates memory (SelectTypeParameters) */
  ft_rule rule;                       /* memory accounting rule of the site */
};

/*
 * Enters EVIDENCE and JOB_NAME, both borrowed, into INPUT, whose mode, request and policy are set.
 * The estimate of a job array is its largest task's. Similar apps replace the app's own runs only
 * if the user requests that memory be set.
 */
void ft_decision_input_set(struct ft_decision_input *input, const struct ft_model_lookup *evidence,
                           const char *job_name);

/* The index of the task of ELEMENTS, at least one, that needs most under POLICY. */
size_t ft_decide_largest(const struct ft_array_estimates *elements, const ft_policy *policy);

struct ft_sizing;

/*
 * Fills OUT with the decision that SIZING, made for INPUT (decide/sizing.h), leads to. OUT's
 * mem_bytes is in its mem_unit, the user's own unit if the request has one.
 *
 * Rules in order of precedence; out->rule names the one that decided:
 * - request: an explicit request changes only in a mode that may. raise: upward if it is too low;
 *   trim: also downward. A limit is too low if comparable runs needed more, or if the probability
 *   of that is over 5 % and over twice oom_probability.
 * - default: without a request the job gets no less than without foretell until trim_runs runs
 *   support the estimate, nor on nodes of its own, nor if memory is not allocated; and no more if
 *   its own runs show that the default is exceeded with at most oom_probability, or if few
 *   comparable runs completed, none was killed, the floor below is within the default, and no
 *   estimate gives a probability over 5 %.
 * - maximum: the partition's, or its largest node.
 * - leak: an app killed at leak_runs growing limits, without a completed run near them, gets what
 *   its completed runs needed, else no more than the limits tried, unless the user requests at
 *   least that much with raise.
 * - floor: at least what comparable runs (estimate/facts.h) used or were killed at, with a margin,
 *   and 2.4 times the limit that killed the last; with no comparable run and fewer than min_runs
 *   completed, at least what any run used. It holds from the first run on.
 * - ceiling: thin evidence (fewer than min_runs, borrowed, extrapolated, or runs with differences
 *   that the estimate does not explain yet) sets at most ceiling_factor times the largest peak or
 *   bound in it; min_runs comparable runs at most 1.3 times theirs.
 * - estimate: the allocation with the least expected waste, at least the quantile that is exceeded
 *   with oom_probability.
 *
 * A rejection needs a probability over reject_probability under the memory that the job will have,
 * evidence that is not thin, and comparable completed runs all of which used more. It is made in
 * every mode, off and check too. The mode force overrides it if the policy has force = yes, which
 * OUT's `overrode` records. Thin evidence warns; it never rejects and never lowers.
 * An estimate from similar apps alone is set if the user requests it, and only reported under a
 * site's own mode. Memory of interactive sessions is not set from history.
 * One --mem covers all tasks of a job array: the amount is the largest task's, the probability the
 * worst task's; the probability for any task is reported beside it.
 * Probabilities are within [1e-6, 1 - 1e-6]; none is given if nothing enforces a limit.
 */
void ft_decide(const struct ft_decision_input *input, const struct ft_sizing *sizing,
               ft_decision *out);

#endif
