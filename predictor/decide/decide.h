/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimate + request + site policy -> a decision with its reason. Pure.
 * The explicit user wins: what was typed changes only in a mode chosen by name.
 */
#ifndef FT_DECIDE_DECIDE_H
#define FT_DECIDE_DECIDE_H

#include <stdbool.h>

#include "predictor/estimate/evidence.h"
#include "predictor/record/record.h"

/*
 * The policy that holds for a job: the site's, overridden by its partition's,
 * then account's, then user's, field by field. Names as typed; an empty list of
 * partitions is the default one. A job that names several may start in any of them, so what
 * they say is joined first: of the modes the one that changes least, check where some are off and
 * some not; the least of the probabilities; the largest of runs, floor, rounding, trim_factor and
 * failure_price; quiet, and borrow, only where all have them.
 */
void ft_policy_resolve(const ft_site *site, const char *partition, const char *account,
                       const char *user, ft_policy *out);

enum { FT_PARTITION_GRES = sizeof((ft_partition *)NULL)->gres / sizeof(ft_gres) };

/* What a partition that is made of several does not say. */
struct ft_joined {
  uint64_t least_default_bytes;      /* a node, where they give different ones; 0: the same */
  char least[64];                    /* the partition that gives it */
  unsigned count;                    /* of those that are known */
  uint8_t having[FT_PARTITION_GRES]; /* by gres: how many of them have it */
};

/*
 * What the partitions that REQUEST names (none: SITE's default one) are to it, in one: of a list
 * the nodes and resources of all, and the most generous default and maximum, for any of them may be
 * where it runs. Returns 0; -1 with ERR where the first cannot be read.
 */
int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_joined *joined, struct ft_error *err);

enum { FT_CALLED = 80 };

/* "partition main", "partitions a,b", as far as it fits: what is said of PARTITION (NULL: not
 * known). Returns whether it is several. */
bool ft_partition_called(const ft_partition *partition, char out[FT_CALLED]);

struct ft_question {
  ft_mode mode; /* the user's; FT_MODE_UNSET: the policy's */
  const char *app;
  const ft_request *request;
  const struct ft_estimate
      *estimate; /* NULL: there is none; of a job array: the largest element's */
  const struct ft_element_estimates *elements; /* NULL: no array, or nothing is known */
  const char
      *imported_from; /* the job name that its runs were imported under; NULL: its own runs */
  bool pooled;        /* its runs are all users' */
  unsigned similar;   /* it is from so many similar apps; 0: it is not */
  unsigned at_large;  /* it is what so many apps of the site need, and no claim; 0: it is not */
  const char
      *network; /* the estimate is of this, "training of batch 64 of net.onnx"; NULL: of runs */
  const ft_policy *policy;       /* resolved */
  const ft_partition *partition; /* NULL: not known */
  struct ft_joined joined;       /* where there are several */
  bool memory_is_consumable;
  ft_rule rule;
};

/*
 * Put EVIDENCE (which is borrowed, as JOB_NAME is) into QUESTION, whose policy is there already: of
 * a job array's elements the largest one's estimate is its estimate.
 */
void ft_question_take(struct ft_question *question, const struct ft_evidence *evidence,
                      const char *job_name);

/* Which of ELEMENTS, at least one, would be given the most under POLICY. */
size_t ft_decide_largest(const struct ft_element_estimates *elements, const ft_policy *policy);

/*
 * Decide. OUT is filled whole; out->mem_bytes is in out->mem_unit, the user's own
 * unit where there is one.
 *
 * The amount is what is expected to waste least where that is known, at least the quantile that is
 * passed with oom_probability, the floor and a fifth more than what a job like it lately died at,
 * rounded up, and never more than the partition's maximum or its largest node. Below min_runs
 * nothing is claimed but that: one that died gets half as much again.
 * - A limit is too low when the chance that more is needed is over 5 % and over
 *   twice oom_probability; far too high when it is more than
 *   trim_factor times the amount.
 * - set, force: memory is set where none was asked for; below trim_runs, on an
 *   exclusive node, or where memory is not allocated, only upward. raise: also
 *   upward where too little was asked for. trim: also downward, from trim_runs on.
 * - A chance over reject_probability, under the memory the job will then have,
 *   rejects it, except in the mode force and in a check that the user typed; in
 *   the site's own check it does.
 * Runs that were only imported under the same job name, none of its own, never make a job smaller
 * nor reject it. From similar apps memory is set where none was asked for and too little would be
 * had, and else only told where it is likelier than not that more is needed.
 * So it is with what a model file says, which counts whatever min_runs is.
 * One --mem covers all elements of a job array: the amount is the largest one's, and the
 * chance that counts is the worst one's; that of any is told beside it.
 * Chances are within [1e-6, 1 - 1e-6]; none is given where nothing kills.
 */
void ft_decide(const struct ft_question *question, ft_decision *out);

enum { FT_EXPLAIN_LINES = 3, FT_EXPLAIN_SIZE = 512 };

struct ft_explanation {
  int count;                                    /* 0: nothing to say */
  bool error;                                   /* a rejection: the lines are errors */
  char line[FT_EXPLAIN_LINES][FT_EXPLAIN_SIZE]; /* without "foretell: " */
};

/* What the user is told about DECISION, in the voice of ARCHITECTURE.md. */
void ft_explain(const struct ft_question *question, const ft_decision *decision,
                struct ft_explanation *out);

#endif
