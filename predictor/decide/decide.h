/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimate + request + site policy -> a decision with its reason. Pure.
 * The explicit user wins: what was typed changes only in a mode chosen by name.
 */
#ifndef FT_DECIDE_DECIDE_H
#define FT_DECIDE_DECIDE_H

#include <stdbool.h>

#include "predictor/estimate/model_lookup.h"
#include "predictor/record/record.h"

/*
 * The policy that holds for a job: the site's, overridden by its partition's,
 * then account's, then user's, field by field. Names as typed; an empty list of
 * partitions is the default one. A job that names several may start in any of them, so what
 * they say is merged first: of the modes the one that changes least, check where some are off and
 * some not; the least of the probabilities; the largest of runs, floor, rounding, trim_factor and
 * failure_price; quiet, borrow and force only where all have them.
 */
void ft_policy_resolve(const ft_site *site, const char *partition, const char *account,
                       const char *user, ft_policy *out);

enum { FT_PARTITION_GRES = sizeof((ft_partition *)NULL)->gres / sizeof(ft_gres) };

/* What a partition that is made of several does not say. */
struct ft_merged_partitions {
  uint64_t min_default_bytes;        /* a node, where they give different ones; 0: the same */
  char min_default_partition[64];    /* the partition that gives it */
  unsigned count;                    /* of those that are known */
  uint8_t gres_count[FT_PARTITION_GRES]; /* by gres: how many of them have it */
};

/*
 * What the partitions that REQUEST names (none: SITE's default one) are to it, in one: of a list
 * the nodes and resources of all, and the most generous default and maximum, for any of them may be
 * where it runs. Returns 0; -1 with ERR where the first cannot be read.
 */
int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err);

enum { FT_PARTITION_SHOWN = 80 };

/* "partition main", "partitions a,b", as far as it fits: what is said of PARTITION (NULL: not
 * known). Returns whether it is several. */
bool ft_partition_show_name(const ft_partition *partition, char out[FT_PARTITION_SHOWN]);

struct ft_decision_input {
  ft_mode mode; /* the user's; FT_MODE_UNSET: the policy's */
  const char *app;
  const ft_request *request;
  const struct ft_estimate
      *estimate; /* NULL: there is none; of a job array: the largest element's */
  const struct ft_array_estimates *elements; /* NULL: no array, or nothing is known */
  const char
      *imported_from; /* the job name that its runs were imported under; NULL: its own runs */
  bool pooled;        /* its runs are all users' */
  unsigned similar;   /* it is from so many similar apps; 0: it is not */
  unsigned at_large;  /* it is what so many apps of the site need, and no claim; 0: it is not */
  const struct ft_facts *facts; /* what its own runs have shown; NULL: no run of it is known */
  bool interactive;   /* a person works in it */
  bool cannot_reject; /* Slurm would not heed a rejection */
  bool answer;        /* somebody waits for an answer, whether or not anything is wrong */
  const char
      *network; /* the estimate is of this, "training of batch 64 of net.onnx"; NULL: of runs */
  const ft_policy *policy;       /* resolved */
  const ft_partition *partition; /* NULL: not known */
  struct ft_merged_partitions merged; /* where there are several */
  bool memory_is_consumable;
  ft_rule rule;
};

/*
 * Put EVIDENCE (which is borrowed, as JOB_NAME is) into QUESTION, whose mode, request and policy are
 * there already: of a job array's elements the largest one's estimate is its estimate. What similar
 * apps have needed stands in for the app's own runs only where the user asks for memory to be set.
 */
void ft_decision_input_set(struct ft_decision_input *question,
                           const struct ft_model_lookup *evidence, const char *job_name);

/* Which of ELEMENTS, at least one, would be given the most under POLICY. */
size_t ft_decide_largest(const struct ft_array_estimates *elements, const ft_policy *policy);

struct ft_sizing;

/*
 * Fills OUT whole with what PLAN, made for QUESTION (decide/sizing.h), decides. OUT's mem_bytes is
 * in its mem_unit, the user's own unit where there is one.
 *
 * Rules, in order of precedence, of which out->rule names the one that decided:
 * - request: what was typed is changed only in a mode that may. raise: upward where it is too low;
 *   trim: also downward. A limit is too low where comparable runs have needed more, or the
 *   probability of that is over 5 % and over twice oom_probability.
 * - default: where nothing was typed the job gets no less than without foretell until trim_runs
 *   runs stand behind the estimate, nor on nodes of its own, nor where memory is not allocated; and
 *   no more where its own runs show that this is passed with oom_probability at most.
 * - maximum: the partition's, or its largest node.
 * - leak: killed at leak_runs growing limits, none having completed near them, it is given what
 *   those of its runs needed that completed, else no more than was tried, unless the user asks for
 *   as much as that with raise.
 * - floor: at least what comparable runs (estimate/facts.h) used or were killed at, with a margin,
 *   and 2.4 times the limit that killed the last; where none is comparable and fewer than min_runs
 *   completed, at least what any used. It holds from the first run on.
 * - ceiling: thin evidence (fewer than min_runs, borrowed, extrapolated, or runs that differ by
 * what the estimate does not know yet) sets at most ceiling_factor times the largest peak or bound
 * in it, min_runs comparable runs at most 1.3 times theirs.
 * - estimate: what is expected to waste least, at least the quantile exceeded with oom_probability.
 *
 * A rejection needs a probability over reject_probability under the memory that the job will have,
 * evidence that is not thin, and comparable completed runs which all used more. It is made in every
 * mode, off and check too; the mode force overrides it where the policy has force = yes, which
 * OUT's `overrode` says. Thin evidence warns; it never rejects and never lowers.
 * What only similar apps have needed is set where the user asked for it, and only told under a
 * site's own mode. An interactive session is not set from history.
 * One --mem covers all tasks of a job array: the amount is the largest one's, and the probability
 * that counts is the worst one's; that of any is told beside it.
 * Probabilities are within [1e-6, 1 - 1e-6]; none is given where nothing kills.
 */
void ft_decide(const struct ft_decision_input *question, const struct ft_sizing *sizing,
               ft_decision *out);

enum { FT_MESSAGE_LINES = 3, FT_MESSAGE_SIZE = 512 };

struct ft_explanation {
  int count;                                    /* 0: nothing to say */
  bool error;                                   /* a rejection: the lines are errors */
  char line[FT_MESSAGE_LINES][FT_MESSAGE_SIZE]; /* without "foretell: " */
};

/* What the user is told about DECISION, which was made of QUESTION by PLAN. */
void ft_explain(const struct ft_decision_input *question, const struct ft_sizing *sizing,
                const ft_decision *decision, struct ft_explanation *out);

#endif
