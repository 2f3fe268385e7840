/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about a job's memory request, from estimate, request and site policy. Pure, except
 * for ft_decide_partition. An explicit request of the user changes only in the modes raise and
 * trim.
 */
#ifndef FT_DECIDE_DECIDE_H
#define FT_DECIDE_DECIDE_H

#include <stdbool.h>

#include "predictor/estimate/model_lookup.h"
#include "predictor/record/record.h"

/*
 * Fills OUT with the policy of a job: the policy of SITE, overridden field by field by that of
 * PARTITION, then of ACCOUNT, then of USER. Names must match exactly. ACCOUNT or USER NULL:
 * unknown, no override. PARTITION NULL or "": the site's default partition. SITE NULL: built-in
 * defaults.
 *
 * A job that names several partitions may start in any of them, so their policies are merged first
 * (enum ft_policy_merge of record/policy_keys.h).
 */
void ft_policy_resolve(const ft_site *site, const char *partition, const char *account,
                       const char *user, ft_policy *out);

/* Capacity of ft_partition.gres. */
enum { FT_PARTITION_GRES = sizeof((ft_partition *)NULL)->gres / sizeof(ft_gres) };

/* A partition's default memory as a request, in the unit in which Slurm multiplies it. */
struct ft_default_request {
  ft_mem_unit unit;
  uint64_t bytes; /* per unit; 0: none */
};

/* Properties of merged partitions that have no field in ft_partition. */
struct ft_merged_partitions {
  uint64_t min_default_bytes;     /* smallest default memory per node; 0: all defaults are equal */
  char min_default_partition[64]; /* name of the partition with this default */
  struct ft_default_request default_request; /* of all of them; bytes 0: they differ, or none */
  unsigned count;                            /* number of partitions that could be read */
  uint8_t gres_count[FT_PARTITION_GRES];     /* of each GRES: number of partitions that have it */
};

/*
 * Reads the partitions that REQUEST names (none: the default partition of SITE) from the state
 * directory STATE_FD and merges them into OUT and MERGED, because the job may start in any of them:
 * the nodes and generic resources of all, the largest default and the largest maximum. Partitions
 * after the first are skipped if they cannot be read. Returns 0; -1 and fills ERR if the first
 * cannot be read.
 */
int ft_decide_partition(int state_fd, const ft_site *site, const ft_request *request,
                        ft_partition *out, struct ft_merged_partitions *merged,
                        struct ft_error *err);

/* Size in bytes of the text of ft_partition_show_name, with its NUL. */
enum { FT_PARTITION_SHOWN = 80 };

/* Writes "partition main" or "partitions a,b", cut to fit, for PARTITION (NULL: unknown) into OUT.
 * Returns whether PARTITION is several merged ones. */
bool ft_partition_show_name(const ft_partition *partition, char out[FT_PARTITION_SHOWN]);

/* The input of a decision; all pointers are borrowed. */
struct ft_decision_input {
  ft_mode mode; /* given by the user; FT_MODE_UNSET: the policy's */
  const char *app;
  const ft_request *request;
  const struct ft_estimate *estimate;     /* of a job array, the largest task's; NULL: none */
  const struct ft_array_estimates *tasks; /* of the array's tasks; NULL: no array, or unknown */
  const ft_model *model;     /* that `estimate` is from; NULL: from other apps or a network */
  const char *imported_from; /* job name of the imported runs; NULL: the app's own runs */
  bool pooled;               /* the estimate is from the runs of all users */
  unsigned similar;          /* number of similar apps in the estimate; 0: from the app alone */
  unsigned site_prior_apps;  /* number of apps, if the estimate is the site-wide prior, which is
                                no evidence about this app; else 0 */
  const struct ft_new_app *new_app; /* for the message about an app without a run; NULL: nothing */
  const struct ft_facts *facts;     /* of the app's own runs; NULL: no recorded run */
  bool reads_limit;                 /* the script sizes its programs by the job's memory limit */
  uint64_t stated_bytes;            /* memory that the script states for a program; 0: none */
  unsigned changes;                 /* since the app's last runs, set of enum ft_changes */
  unsigned changed_runs;            /* number of runs since then, which are few; 0: none */
  const char *code_files;           /* names of the files that the script runs; "": none */
  bool interactive;                 /* the job is a shell or notebook */
  bool cannot_reject;               /* Slurm would ignore a rejection */
  bool dry_run;        /* nothing is submitted (foretell predict): report also if nothing changes */
  const char *network; /* if the estimate is a network's, what it is of: "training of batch 64 of
                          net.onnx"; NULL: the estimate is from runs */
  const ft_policy *policy;            /* resolved (ft_policy_resolve) */
  const ft_partition *partition;      /* NULL: unknown */
  struct ft_merged_partitions merged; /* valid if `partition` is merged; else zero */
  bool memory_is_consumable;          /* Slurm allocates memory (SelectTypeParameters) */
  ft_rule rule;                       /* memory accounting rule of the site */
};

/*
 * Sets the estimate, its model, the facts and their origin in INPUT from EVIDENCE and JOB_NAME,
 * both borrowed. INPUT's mode, request and policy must be set. The estimate of a job array is its
 * largest task's. An estimate from similar apps replaces one from the app's own runs only if the
 * user gave a mode that sets memory, and no memory request.
 */
void ft_decision_input_set(struct ft_decision_input *input, const struct ft_model_lookup *evidence,
                           const char *job_name);

/* Returns the index in TASKS, which has 1 or more, of the task with the largest ft_sizing_need. */
size_t ft_decide_largest(const struct ft_array_estimates *tasks, const ft_policy *policy);

struct ft_sizing;

/*
 * Fills OUT with the decision that follows from SIZING, made for INPUT by ft_sizing_make.
 * out->mem_bytes is per out->mem_unit, which is the unit of the user's request if there is one.
 *
 * Evidence is *thin* if it is an estimate from fewer than min_runs runs, from other apps or
 * variants, from before the program changed, or extrapolated, or if a difference between runs is
 * not explained by the estimate yet. Thin evidence can raise an amount or warn, but never lowers an
 * amount and never rejects. An estimate whose 95 % quantile is above ten times the largest run, or
 * above every node, does not fit the runs and is not used: only facts decide.
 *
 * No amount is set below the estimate's median, nor at or below the limit that killed the last
 * comparable run. Where a rule allows no more, nothing is set (sizing->withheld), with a warning.
 * Nor is an amount lowered after a comparable run was killed, until others have completed.
 *
 * Rules in order of precedence; out->rule is the one that decided:
 * - request: an explicit request changes only in two modes. raise: it is raised if it is too low;
 *   trim: it is also lowered. A limit is too low if comparable runs needed more, or if the
 *   probability of exceeding it is over 5 % and over twice oom_probability.
 * - default: a job without a request gets at least the default memory until trim_runs runs support
 *   the estimate, also on exclusive nodes and if Slurm does not allocate memory. It gets no more
 *   than the default if the app's own runs show that the default is exceeded with at most
 *   oom_probability; or if a few comparable runs completed, none was killed, the floor (below) is
 *   within the default, and no estimate gives a probability over 5 %.
 * - maximum: the partition's maximum, or the memory of its largest node.
 * - leak: an app that was killed at leak_runs growing limits, one after the other, without a
 *   completed run near them, gets at most what its completed runs needed, so that after a kill
 *   nothing is set; unless the user requests at least the largest limit in mode raise or trim.
 * - floor: at least what comparable runs (estimate/facts.h) used or were killed at, with a margin,
 *   and 2.4 times the limit that killed the last run. If no run is comparable and fewer than
 *   min_runs completed, at least what any run used. The floor applies from the first run on.
 * - ceiling: at most ceiling_factor times the largest peak or bound of comparable runs, or without
 *   one of all runs; with min_runs comparable runs, at most 1.3 times. Where the
 *   median of an estimate with a narrow interval is above that, up to 1.5 times the median.
 * - estimate: the allocation with the least expected waste, at least the quantile that is exceeded
 *   with oom_probability.
 *
 * A job that is left to the partition's default by the app's own runs requests it explicitly
 * (sizing->kept_default): the default may have been lowered since the state directory was written.
 * out->mem_bytes remains 0.
 *
 * An app sizes itself by its memory limit if its runs show it (ft_limit_effect), or if its script
 * reads the limit and its runs do not show the contrary. Its peaks follow the limit and are no
 * evidence of its need: the request, or the default, is kept, unless a comparable run was killed at
 * as much. Then it gets the limit under which the last run completed, without a margin; before such
 * a run, the rules above apply. An amount that the script states for a program, with a margin, is a
 * lower bound of what is set.
 *
 * A job is rejected if the probability of exceeding the memory that it will have is over
 * reject_probability, the evidence is not thin, and comparable runs completed, all of which used
 * more. Every mode can reject, also off and check. The mode force overrides a rejection if the
 * policy has force = yes; out->overrode then is true.
 * An estimate from similar apps alone is set only if the user gave the mode; a mode of the site
 * only reports it. Memory of interactive sessions is not set.
 * One --mem covers all tasks of a job array: the amount is the largest task's. Whether a limit
 * suffices is decided by the probability that any task exceeds it, and by it a request is lowered.
 * Of a cohort, runs submitted together such as an array's, five at most count towards trim_runs.
 * out->p_oom is the largest probability of a task, out->p_oom_any the probability that any task
 * runs out of memory. Probabilities are within [1e-6, 1 - 1e-6]; they are unset if no limit is
 * enforced.
 */
void ft_decide(const struct ft_decision_input *input, const struct ft_sizing *sizing,
               ft_decision *out);

#endif
